import type { Clock } from '../../ports/clock.ts'
import type { AskGroup, StagedAsk, StageQueues, Work } from '../../ports/queues.ts'
import type { Report } from '../../ports/report.ts'

/** Stage queues in memory, for one process: limited only by the gateway. */
export function memoryQueues(deps: {
  stages: readonly { protocol: string; stage: string }[]
  attempts: number
  backoffMs: number
  clock: Clock
  report: Report
}): StageQueues {
  const { stages, attempts, backoffMs, clock, report } = deps
  const live = new Set<string>()
  const waiting: string[] = []
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  let closing = false
  const wake = Promise.withResolvers<void>()
  const rest = (ms: number) => Promise.race([wake.promise, new Promise((resolve) => setTimeout(resolve, ms))])
  let doing: Work | undefined

  function begin(work: Work, caseId: string): void {
    const one = run(work, caseId).finally(() => running.delete(one))
    running.add(one)
  }

  async function answer(work: Work, ask: StagedAsk): Promise<void> {
    let readyAt = clock()
    let heldMs = 0
    for (let number = 1; ; ) {
      const end = await work.answer(ask, {
        number,
        last: number >= attempts,
        waitSeconds: Math.max(0, clock() - readyAt) / 1000,
        heldMs,
        signal: stopping.signal,
      })
      if (end.end === 'done' || closing) return
      if (end.end === 'held') {
        heldMs += end.delayMs
        readyAt = clock() + end.delayMs
        await rest(end.delayMs)
      } else {
        readyAt = clock() + backoffMs * 2 ** (number - 1)
        await rest(backoffMs * 2 ** (number - 1))
        number++
      }
    }
  }

  async function run(work: Work, caseId: string): Promise<void> {
    try {
      while (!closing) {
        const advance = await work.advance(caseId)
        if (advance.next === 'done') return
        if (advance.next === 'later') await rest(advance.delayMs)
        else await Promise.all(asksOf(advance.groups).map((ask) => answer(work, ask)))
      }
    } catch (error) {
      report('error', { where: 'memory queue', error })
    } finally {
      live.delete(caseId)
    }
  }

  return {
    async push(caseIds) {
      for (const caseId of caseIds) {
        if (live.has(caseId)) continue
        live.add(caseId)
        if (doing === undefined) waiting.push(caseId)
        else begin(doing, caseId)
      }
    },
    work(work) {
      doing = work
      for (const caseId of waiting.splice(0)) begin(work, caseId)
    },
    async drop() {},
    stranded: async (cases) => cases.flatMap(({ caseId }) => (live.has(caseId) ? [] : [caseId])),
    backlog: async () =>
      stages.map(({ protocol, stage }) => ({
        protocol,
        stage,
        states: { waiting: 0, active: 0, delayed: 0 },
        oldestWaitingSeconds: 0,
      })),
    async close(graceMs) {
      closing = true
      wake.resolve()
      const abort = setTimeout(() => stopping.abort(new Error('the queues are closing')), graceMs)
      await Promise.all(running)
      clearTimeout(abort)
    },
  }
}

function asksOf(groups: readonly AskGroup[]): StagedAsk[] {
  return groups.flatMap(({ keys, name: _, ...of }) => keys.map((key) => ({ ...of, key })))
}
