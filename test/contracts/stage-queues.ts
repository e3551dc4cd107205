import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type {
  Advance,
  AskGroup,
  Attempt,
  AttemptEnd,
  StagedAsk,
  StageQueues,
  Work,
} from '../../src/contracts/ports/stage-queues.ts'

export const STAGES = [
  { protocol: 'rumor', stage: 'stance' },
  { protocol: 'rumor', stage: 'judge' },
]
export const ATTEMPTS = 3
export const BACKOFF_MS = 400
const GRACE_MS = 10_000
/** Long enough for anything that happens at once, on a busy machine too. */
const SOON = { timeout: 10_000, interval: 10 }

export const askOf = (caseId: string, key = '0.0', stage = 'stance'): StagedAsk => ({
  protocol: 'rumor',
  stage,
  caseId,
  run: 0,
  key,
})

/** Each ask in a job of its own. */
export const alone = (asks: readonly StagedAsk[]): AskGroup[] =>
  asks.map(({ key, ...of }) => ({ ...of, share: of.caseId, name: key, keys: [key] }))

/** The asks of each stage in one job. */
export const together = (asks: readonly StagedAsk[], name = '0'): AskGroup[] =>
  [...Map.groupBy(asks, ({ stage }) => stage).values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const { key: _, ...of } = first
    return [{ ...of, share: of.caseId, name, keys: group.map(({ key }) => key) }]
  })

/** What a test says of an advance: asks stand for groups of one. */
type GivenAdvance = Advance | { readonly next: 'asks'; readonly asks: readonly StagedAsk[] }
/** What a test says of an answer: whether it ends the round is counted here. */
type GivenEnd = Exclude<AttemptEnd, { end: 'done' }> | { readonly end: 'done' }

/** Work that notes what is asked of it. Each case has one round of the asks given, and then its end. */
export function notedWork(
  asksOf: (caseId: string) => readonly StagedAsk[],
  given: {
    readonly advance?: (caseId: string) => Promise<GivenAdvance>
    readonly answer?: (ask: StagedAsk, attempt: Attempt) => Promise<GivenEnd>
    readonly groups?: (asks: readonly StagedAsk[]) => AskGroup[]
  } = {},
) {
  const advanced: string[] = []
  const answered: { ask: StagedAsk; attempt: Attempt; at: number }[] = []
  const { groups: groupsOf = alone } = given
  /** By case, the asks of its last round that are open. */
  const open = new Map<string, Set<string>>()
  const waitsFor = new Map<string, readonly AskGroup[]>()
  const nameOf = ({ run, key }: { run: number; key: string }) => `${run}/${key}`

  async function advance(caseId: string): Promise<GivenAdvance> {
    advanced.push(caseId)
    if (given.advance !== undefined) return given.advance(caseId)
    const first = advanced.filter((one) => one === caseId).length === 1
    return first ? { next: 'asks', asks: asksOf(caseId) } : { next: 'done' }
  }
  const work: Work = {
    async advance(caseId): Promise<Advance> {
      const next = await advance(caseId)
      if (next.next !== 'asks') return next
      const groups = 'asks' in next ? groupsOf(next.asks) : next.groups
      waitsFor.set(caseId, groups)
      open.set(caseId, new Set(groups.flatMap(({ run, keys }) => keys.map((key) => nameOf({ run, key })))))
      return { next: 'asks', groups }
    },
    async answer(attempt): Promise<AttemptEnd> {
      const { protocol, stage, caseId, run, key } = attempt
      const ask = { protocol, stage, caseId, run, key }
      answered.push({ ask, attempt, at: performance.now() })
      const end = (await given.answer?.(ask, attempt)) ?? { end: 'done' }
      if (end.end !== 'done') return end
      const left = open.get(ask.caseId)
      left?.delete(nameOf(ask))
      return { end: 'done', outcome: 'answered', advance: left === undefined || left.size === 0 }
    },
  }
  return {
    work,
    advanced,
    answered,
    timesAdvanced: (caseId: string) => advanced.filter((one) => one === caseId).length,
    /** Those of the cases that nothing would continue. */
    stranded: (queues: StageQueues, caseIds: readonly string[]) =>
      queues.stranded(caseIds.map((caseId) => ({ caseId, groups: waitsFor.get(caseId) ?? [] }))),
  }
}

/** Those of the cases that nothing would continue; they wait for no asks. */
export const strandedIn = (queues: StageQueues, caseIds: readonly string[]) =>
  queues.stranded(caseIds.map((caseId) => ({ caseId, groups: [] })))

/** What stage queues promise. `make` gives queues with {@link STAGES}, {@link ATTEMPTS} and {@link BACKOFF_MS}. */
export function stageQueuesContract(name: string, make: () => Promise<StageQueues>): void {
  describe(`the stage queues, ${name}`, () => {
    let queues: StageQueues
    beforeEach(async () => {
      queues = await make()
    })
    afterEach(async () => {
      await queues.close(0)
    })

    const ids = [
      'rumor~at://did:plc:z/3k~r1',
      '12345',
      'rumor@b~評論~r2',
      'a:b:c',
      ...Array.from({ length: 16 }, (_, n) => `case ${n}`),
    ]

    it('answers every ask of a round once, before its case is advanced again', async () => {
      const open = new Map<string, number>()
      const faults: string[] = []
      const noted = notedWork(() => [], {
        async advance(caseId) {
          const left = open.get(caseId)
          if (left !== undefined && left > 0) faults.push(`${caseId} was advanced with ${left} asks open`)
          if (left !== undefined) return { next: 'done' }
          open.set(caseId, 3)
          return { next: 'asks', asks: [askOf(caseId, '0.0'), askOf(caseId, '0.1'), askOf(caseId, '0.2', 'judge')] }
        },
        async answer({ caseId }) {
          await sleep(Math.random() * 20)
          open.set(caseId, (open.get(caseId) ?? 0) - 1)
          return { end: 'done' }
        },
      })
      queues.work(noted.work)
      await queues.push(ids)
      await expect.poll(() => noted.advanced.length, SOON).toBe(ids.length * 2)
      expect(faults).toEqual([])
      const keys = noted.answered.map(({ ask }) => JSON.stringify(ask))
      expect(new Set(keys).size).toBe(ids.length * 3)
      expect(keys).toHaveLength(ids.length * 3)
      expect(noted.answered.find(({ ask }) => ask.key === '0.2')?.ask).toMatchObject({
        protocol: 'rumor',
        stage: 'judge',
        run: 0,
      })
    })

    it('leads a case through several rounds, also with the same keys in another run', async () => {
      let round = 0
      const noted = notedWork(() => [], {
        async advance(caseId) {
          if (round === 3) return { next: 'done' }
          return { next: 'asks', asks: [{ ...askOf(caseId), run: round++ }] }
        },
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.advanced.length, SOON).toBe(4)
      expect(noted.answered.map(({ ask }) => ask.run)).toEqual([0, 1, 2])
    })

    it('works off what was pushed before it began', async () => {
      await queues.push(['c1', 'c2'])
      const noted = notedWork((caseId) => [askOf(caseId)])
      queues.work(noted.work)
      await expect.poll(() => noted.advanced.length, SOON).toBe(4)
    })

    it('tries an ask again up to the set attempts, with a pause, and says which is the last', async () => {
      const noted = notedWork((caseId) => [askOf(caseId)], {
        answer: async (_, { last }) => ({ end: last ? 'done' : 'again' }),
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.advanced.length, SOON).toBe(2)
      expect(noted.answered.map(({ attempt: { number, last } }) => ({ number, last }))).toEqual([
        { number: 1, last: false },
        { number: 2, last: false },
        { number: 3, last: true },
      ])
      const [first, second] = noted.answered
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(BACKOFF_MS / 2 - 20)
    })

    it('counts as waiting no time at work and none of the set pauses', async () => {
      const noted = notedWork((caseId) => [askOf(caseId)], {
        async answer(_, { number, heldMs }) {
          await sleep(200)
          if (number === 1) return { end: 'again' }
          return heldMs === 0 ? { end: 'deferred', delayMs: 300 } : { end: 'done' }
        },
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.advanced.length, SOON).toBe(2)
      const waits = noted.answered.map(({ attempt }) => attempt.waitSeconds)
      expect(waits).toHaveLength(3)
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(0)
      expect(Math.max(...waits)).toBeLessThan(0.15)
    })

    it('holds an ask back for the given time, without using up an attempt, and adds the holds up', async () => {
      const noted = notedWork((caseId) => [askOf(caseId)], {
        answer: async (_, { heldMs }) => (heldMs < 800 ? { end: 'deferred', delayMs: 200 } : { end: 'done' }),
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.advanced.length, SOON).toBe(2)
      expect(noted.answered.map(({ attempt: { number, heldMs } }) => [number, heldMs])).toEqual([
        [1, 0],
        [1, 200],
        [1, 400],
        [1, 600],
        [1, 800],
      ])
      const times = noted.answered.map(({ at }) => at)
      const deferredMs = (times.at(-1) ?? 0) - (times[0] ?? 0)
      expect(deferredMs).toBeGreaterThanOrEqual(790)
      // Not a matter of speed: a queue that waits in whole seconds takes four of them.
      expect(deferredMs).toBeLessThan(2_500)
    })

    it('answers the asks of a job side by side, each tried again and deferred by itself', async () => {
      const slow = Promise.withResolvers<void>()
      const keys = ['slow', 'deferred', 'fails', 'plain']
      const noted = notedWork((caseId) => keys.map((key) => askOf(caseId, key)), {
        groups: together,
        async answer({ key }, { number, heldMs }) {
          if (key === 'slow') await slow.promise
          if (key === 'deferred' && heldMs === 0) return { end: 'deferred', delayMs: 50 }
          if (key === 'fails' && number < ATTEMPTS) return { end: 'again' }
          return { end: 'done' }
        },
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      const triesOf = (wanted: string) =>
        noted.answered.flatMap(({ ask, attempt }) => (ask.key === wanted ? [[attempt.number, attempt.heldMs]] : []))
      // All the others end although one is still being answered.
      await expect.poll(() => triesOf('fails').length, SOON).toBe(ATTEMPTS)
      expect(triesOf('slow')).toEqual([[1, 0]])
      expect(triesOf('plain')).toEqual([[1, 0]])
      expect(triesOf('deferred')).toEqual([
        [1, 0],
        [1, 50],
      ])
      expect(triesOf('fails')).toEqual([
        [1, 0],
        [2, 0],
        [3, 0],
      ])
      expect(noted.timesAdvanced('c1')).toBe(1)
      slow.resolve()
      await expect.poll(() => noted.timesAdvanced('c1'), SOON).toBe(2)
      expect(triesOf('slow')).toHaveLength(1)
    })

    it('answers again only what is open of a job, when all that is left of it waits', async () => {
      const noted = notedWork((caseId) => ['a', 'b', 'c'].map((key) => askOf(caseId, key)), {
        groups: together,
        async answer({ key }, { heldMs }) {
          const delayMs = { a: 0, b: 100, c: 300 }[key] ?? 0
          return heldMs < delayMs ? { end: 'deferred', delayMs } : { end: 'done' }
        },
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.timesAdvanced('c1'), SOON).toBe(2)
      expect(noted.answered.map(({ ask: { key }, attempt }) => `${key} ${attempt.heldMs}`)).toEqual([
        'a 0',
        'b 0',
        'c 0',
        'b 100',
        'c 300',
      ])
    })

    it('advances a case later when it says so at the end of a round', async () => {
      let ended = 0
      const noted = notedWork((caseId) => [askOf(caseId)], {
        async advance(caseId) {
          const times = noted.timesAdvanced(caseId)
          if (times === 1) return { next: 'asks', asks: [askOf(caseId)] }
          if (times === 3) return { next: 'done' }
          ended = performance.now()
          return { next: 'later', delayMs: 250 }
        },
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.timesAdvanced('c1'), SOON).toBe(3)
      expect(performance.now() - ended).toBeGreaterThanOrEqual(240)
    })

    it('advances a case later when it says so', async () => {
      let first = 0
      const noted = notedWork(() => [], {
        async advance() {
          if (first > 0) return { next: 'done' }
          first = performance.now()
          return { next: 'later', delayMs: 250 }
        },
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.advanced.length, SOON).toBe(2)
      expect(performance.now() - first).toBeGreaterThanOrEqual(240)
    })

    it('does nothing for a case that has a job, and starts one that has ended anew', async () => {
      const gate = Promise.withResolvers<void>()
      const noted = notedWork((caseId) => [askOf(caseId)], {
        async advance(caseId) {
          const ended = noted.answered.length > 0 && noted.timesAdvanced(caseId) > 2
          if (ended) return { next: 'done' }
          return { next: 'asks', asks: [askOf(caseId)] }
        },
        async answer() {
          await gate.promise
          return { end: 'done' }
        },
      })
      await queues.push(['c1', 'c1'])
      await queues.push(['c1'])
      queues.work(noted.work)
      await expect.poll(() => noted.answered.length, SOON).toBe(1)
      expect(noted.advanced).toEqual(['c1'])
      // While its ask is being answered: if it is advanced again, the ask has its job already.
      await queues.push(['c1'])
      await queues.push([])
      await sleep(200)
      expect(noted.answered).toHaveLength(1)
      const before = noted.advanced.length
      expect(before).toBeLessThanOrEqual(2)
      gate.resolve()
      await expect.poll(() => noted.stranded(queues, ['c1']), SOON).toEqual(['c1'])
      const after = noted.advanced.length
      expect(after).toBeGreaterThan(before)
      await queues.push(['c1'])
      await expect.poll(() => noted.advanced.length, SOON).toBe(after + 1)
    })

    it('calls no case stranded that waits, is advanced, is asked, is deferred or tries again', async () => {
      const gate = Promise.withResolvers<void>()
      await queues.push(['waits'])
      expect(await strandedIn(queues, ['waits', 'nobody’s'])).toEqual(['nobody’s'])
      const noted = notedWork((caseId) => [askOf(caseId)], {
        async answer({ caseId }) {
          if (caseId === 'deferred') return { end: 'deferred', delayMs: 60_000 }
          if (caseId === 'tries again') return { end: 'again' }
          await gate.promise
          return { end: 'done' }
        },
        async advance(caseId) {
          if (caseId === 'is advanced') await gate.promise
          if (caseId === 'comes later') return { next: 'later', delayMs: 60_000 }
          return { next: 'asks', asks: [askOf(caseId)] }
        },
      })
      queues.work(noted.work)
      await queues.push(['is advanced', 'is asked', 'deferred', 'tries again', 'comes later'])
      await expect.poll(() => noted.advanced.length, SOON).toBe(6)
      await expect.poll(() => noted.answered.length, SOON).toBeGreaterThanOrEqual(4)
      await sleep(100)
      expect(
        await noted.stranded(queues, [
          'waits',
          'is advanced',
          'is asked',
          'deferred',
          'tries again',
          'comes later',
          'nobody’s',
        ]),
      ).toEqual(['nobody’s'])
      gate.resolve()
    })

    it.each(['advance', 'answer'] as const)(
      'loses no case for a bug in %s: it goes on, or is found stranded and goes on when pushed',
      async (where) => {
        let broken = true
        const bug = () => {
          if (broken) throw new Error('a bug')
        }
        const noted = notedWork(() => [], {
          async advance(caseId) {
            if (where === 'advance') bug()
            return noted.answered.length < 2
              ? { next: 'asks', asks: [askOf(caseId, String(noted.answered.length))] }
              : { next: 'done' }
          },
          async answer() {
            if (where === 'answer') bug()
            return { end: 'done' }
          },
        })
        queues.work(noted.work)
        await queues.push(['c1'])
        await expect.poll(() => noted.advanced.length, SOON).toBe(1)
        await sleep(50)
        broken = false
        await expect
          .poll(async () => {
            const stranded = noted.answered.length >= 2 ? [] : await noted.stranded(queues, ['c1'])
            await queues.push(stranded)
            return noted.answered.length
          }, SOON)
          .toBeGreaterThanOrEqual(2)
      },
    )

    it('lets attempts end within the grace when it closes', async () => {
      const signals: boolean[] = []
      const noted = notedWork((caseId) => [askOf(caseId)], {
        async answer(_, { signal }) {
          await sleep(400)
          signals.push(signal.aborted)
          return { end: 'done' }
        },
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.answered.length, SOON).toBe(1)
      const started = performance.now()
      await queues.close(GRACE_MS)
      expect(signals).toEqual([false])
      expect(performance.now() - started).toBeLessThan(GRACE_MS - 1_000)
    })

    it('aborts attempts through their signal after the grace, and takes no job any more', async () => {
      let abortedAt = 0
      const noted = notedWork((caseId) => [askOf(caseId)], {
        answer: (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              abortedAt = performance.now()
              resolve({ end: 'deferred', delayMs: 0 })
            })
          }),
      })
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.answered.length, SOON).toBe(1)
      const started = performance.now()
      await queues.close(300)
      const closed = performance.now()
      expect(abortedAt - started).toBeGreaterThanOrEqual(290)
      expect(abortedAt).toBeLessThanOrEqual(closed)
      expect(closed - started).toBeLessThan(3_000)
      await sleep(300)
      expect(noted.answered).toHaveLength(1)
      expect(noted.advanced).toHaveLength(1)
    })
  })
}
