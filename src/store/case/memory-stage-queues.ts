import type { Clock } from '../../contracts/ports/clock.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { AskGroup, StagedAsk, StageQueues, Work } from '../../contracts/ports/stage-queues.ts'

/**
 * Stage queues in memory, for one process. Cases begin in the order in which they were pushed, while fewer than `atOnce` asks of
 * those before them are unanswered: so those that have begun end before others begin. Left out, only the gateway bounds them.
 */
export function memoryQueues(deps: {
  stages: readonly { protocol: string; stage: string }[]
  attempts: number
  backoffMs: number
  atOnce?: number
  clock: Clock
  report: Report
}): StageQueues {
  const { stages, attempts, backoffMs, atOnce = Number.POSITIVE_INFINITY, clock, report } = deps
  const live = new Set<string>()
  const waiting: string[] = []
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  let closing = false
  const wake = Promise.withResolvers<void>()
  const rest = (ms: number) => Promise.race([wake.promise, new Promise((resolve) => setTimeout(resolve, ms))])
  let doing: Work | undefined
  /** Of the cases that have begun: their unanswered asks; a case between two rounds counts as one. */
  let load = 0
  /** Cases of which it is not known yet how many asks they begin with. */
  let beginning = 0

  /** Begins those that wait, in their order, as far as there is room. */
  function beginWaiting(): void {
    const work = doing
    if (work === undefined || closing) return
    while (load < atOnce && (beginning === 0 || atOnce === Number.POSITIVE_INFINITY)) {
      const caseId = waiting.shift()
      if (caseId === undefined) return
      load++
      beginning++
      let isBeginning = true
      const begun = () => {
        if (isBeginning) beginning--
        isBeginning = false
      }
      const one = run(work, caseId, begun).finally(() => {
        running.delete(one)
        begun()
        load--
        beginWaiting()
      })
      running.add(one)
    }
  }

  /** The asks of a round: each makes room when it is answered, but one, whose place the case keeps for its next round. */
  async function answerAll(work: Work, asks: readonly StagedAsk[]): Promise<void> {
    let unanswered = asks.length
    load += Math.max(0, unanswered - 1)
    await Promise.all(
      asks.map(async (ask) => {
        await answer(work, ask)
        if (--unanswered === 0) return
        load--
        beginWaiting()
      }),
    )
  }

  async function answer(work: Work, ask: StagedAsk): Promise<void> {
    let readyAt = clock()
    let heldMs = 0
    for (let number = 1; ; ) {
      const end = await work.answer({
        ...ask,
        number,
        last: number >= attempts,
        waitSeconds: Math.max(0, clock() - readyAt) / 1000,
        heldMs,
        signal: stopping.signal,
      })
      if (end.end === 'done' || closing) return
      if (end.end === 'deferred') {
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

  /** `begun` is called when the case's first asks count. */
  async function run(work: Work, caseId: string, begun: () => void): Promise<void> {
    try {
      while (!closing) {
        const advance = await work.advance(caseId)
        if (advance.next === 'done') return
        const next = advance.next === 'later' ? rest(advance.delayMs) : answerAll(work, asksOf(advance.groups))
        begun()
        beginWaiting()
        await next
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
        waiting.push(caseId)
      }
      beginWaiting()
    },
    work(work) {
      doing = work
      beginWaiting()
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
