import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AskGroup, StagedAsk, StageQueues, Work } from '../../src/contracts/ports/stage-queues.ts'
import { bullQueues } from '../../src/store/queue/workers.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { onRedis } from '../support/on-redis.ts'
import { askOf, notedWork, STAGES, together } from './stage-queues.ts'

const SOON = { timeout: 20_000, interval: 10 }
const AT_WORK = 2
let client: Redis
let queues: StageQueues
onRedis.beforeAll(({ client: one }) => {
  client = one
})
function queuesOf(concurrency: number): StageQueues {
  return bullQueues({
    connection: client,
    stages: STAGES,
    settings: {
      prefix: keysUnder(`test-${randomUUID()}`).queues,
      cases: { concurrency: 8 },
      stages: { default: { concurrency, attempts: 3, backoff: 10 } },
      classes: { waiting: 0.25, rest: 0.5 },
      queues: { lock: 5_000, stalledCheck: 2_500 },
    },
    clock: Date.now,
    report: () => {},
  })
}
beforeEach(() => {
  queues = queuesOf(AT_WORK)
})
afterEach(() => queues.close(0))

const asksOf = (caseId: string, count: number) => Array.from({ length: count }, (_, n) => askOf(caseId, `0.${n}`))

/** Work whose first answers wait until `open` is called, so that everything else stands in line. */
function gatedWork(countOf: (caseId: string) => number) {
  const gate = Promise.withResolvers<void>()
  const noted = notedWork((caseId) => asksOf(caseId, countOf(caseId)), {
    async answer() {
      await gate.promise
      return { end: 'done' }
    },
  })
  return { ...noted, open: gate.resolve, order: () => noted.answered.map(({ ask }) => ask.caseId) }
}
const waitingAsks = async () => (await queues.backlog()).find(({ stage }) => stage === 'stance')?.states.waiting

describe('cases take turns at a stage', () => {
  it('so that one with many asks holds up none with few', async () => {
    const work = gatedWork((caseId) => (caseId === 'giant' ? 40 : 1))
    queues.work(work.work)
    await queues.push(['giant'])
    await expect.poll(waitingAsks, SOON).toBe(40 - AT_WORK)
    const small = Array.from({ length: 20 }, (_, n) => `small ${n}`)
    await queues.push(small)
    await expect.poll(waitingAsks, SOON).toBe(60 - AT_WORK)
    work.open()
    await expect.poll(() => work.answered.length, SOON).toBe(60)
    const before = work.order().slice(0, work.order().lastIndexOf(small.at(-1) ?? ''))
    const last = Math.max(...small.map((caseId) => work.order().indexOf(caseId)))
    const giants = work
      .order()
      .slice(0, last)
      .filter((caseId) => caseId === 'giant')
    expect(giants.length, before.join()).toBeLessThanOrEqual(AT_WORK + 2)
  })

  it('so that one with many asks is not put off for ever by others that keep coming', async () => {
    const ASKS = 12
    const AROUND = 6
    const work = notedWork(() => [], {
      async advance(caseId) {
        const times = work.timesAdvanced(caseId)
        if (caseId === 'giant') return times === 1 ? { next: 'asks', asks: asksOf(caseId, ASKS) } : { next: 'done' }
        if (work.answered.length >= 40 * AROUND) return { next: 'done' }
        return { next: 'asks', asks: [askOf(caseId, `${times}.0`)] }
      },
    })
    const around = Array.from({ length: AROUND }, (_, n) => `small ${n}`)
    queues.work(work.work)
    await queues.push([...around, 'giant'])
    await expect.poll(() => work.timesAdvanced('giant'), SOON).toBe(2)
    await expect.poll(() => work.answered.length, SOON).toBeGreaterThanOrEqual(40 * AROUND)
    const order = work.answered.map(({ ask }) => ask.caseId)
    const between = order.lastIndexOf('giant') - order.indexOf('giant') + 1
    // In each of its turns every other case may have one ask, and those at work come on top.
    expect(between).toBeLessThanOrEqual(ASKS * (AROUND + 1) + 2 * AT_WORK)
  })

  it('and where each has one ask, they go in order of arrival', async () => {
    const work = gatedWork(() => 1)
    queues.work(work.work)
    const cases = Array.from({ length: 12 }, (_, n) => `case ${n}`)
    for (const [index, caseId] of cases.entries()) {
      await queues.push([caseId])
      await expect.poll(() => work.timesAdvanced(caseId), SOON).toBe(1)
      await expect.poll(waitingAsks, SOON).toBe(Math.max(0, index + 1 - AT_WORK))
    }
    work.open()
    await expect.poll(() => work.answered.length, SOON).toBe(12)
    expect(work.order()).toEqual(cases)
  })

  it('and an ask that waits for a later turn counts as waiting, also for the age of the oldest', async () => {
    const work = gatedWork((caseId) => (caseId === 'giant' ? 6 : 1))
    queues.work(work.work)
    await queues.push(['giant'])
    await expect.poll(waitingAsks, SOON).toBe(6 - AT_WORK)
    const age = async () => (await queues.backlog()).find(({ stage }) => stage === 'stance')?.oldestWaitingSeconds ?? 0
    await expect.poll(age, SOON).toBeGreaterThan(0.2)
    expect(await work.stranded(queues, ['giant'])).toEqual([])
    work.open()
    await expect.poll(() => work.timesAdvanced('giant'), SOON).toBe(2)
    expect(await age()).toBe(0)
  })
})

describe('a case for which somebody waits', () => {
  const WAITED = 'rumor/asked@acme~f1~r1'
  const stands = () =>
    queues
      .backlog()
      .then((rows) => rows.flatMap(({ stage, states }) => (states.waiting > 0 ? [[stage, states.waiting]] : [])))

  it('stands behind none of the rest, at no stage, and is not taken for lost', async () => {
    const rest = Array.from({ length: 40 }, (_, n) => `rest ${n}`)
    const work = gatedWork(() => 1)
    queues.work(work.work)
    await queues.push(rest)
    await expect.poll(waitingAsks, SOON).toBe(40 - AT_WORK)
    await queues.push([WAITED])
    await expect.poll(() => work.timesAdvanced(WAITED), SOON).toBe(1)
    expect(await work.stranded(queues, [WAITED])).toEqual([])
    work.open()
    await expect.poll(() => work.answered.length, SOON).toBe(41)
    // Those at work go on: none is cut off.
    expect(work.order().indexOf(WAITED)).toBeLessThanOrEqual(AT_WORK + 1)
    expect(work.timesAdvanced(WAITED)).toBe(2)
  })

  it('counts as waiting in rows of its own, and may be dropped', async () => {
    await queues.push([WAITED, 'rest'])
    expect(await stands()).toEqual([
      ['case', 1],
      ['waiting-case', 1],
    ])
    await queues.drop([WAITED])
    expect(await stands()).toEqual([['case', 1]])
    expect(await notedWork(() => []).stranded(queues, [WAITED])).toEqual([WAITED])
  })

  it('takes turns with those of other tenants by calls', async () => {
    const [dear, other] = ['rumor/asked@dear~f1~r1', 'rumor/asked@other~f2~r1']
    const work = gatedWork((caseId) => (caseId === dear ? 30 : 1))
    queues.work(work.work)
    await queues.push([dear])
    await expect.poll(() => stands(), SOON).toEqual([['waiting', 30 - AT_WORK]])
    await queues.push([other])
    await expect.poll(() => work.timesAdvanced(other), SOON).toBe(1)
    work.open()
    await expect.poll(() => work.answered.length, SOON).toBe(31)
    expect(work.order().indexOf(other)).toBeLessThanOrEqual(AT_WORK + 2)
  })

  it.each([
    ['all calls are known at once', 0],
    ['no price can be known: what it costs is ordered as its first answer comes', 1],
  ])('takes no more of the share than its calls: %s', async (_what, rounds) => {
    const GROUP = 8
    const named = (tenant: string) => Array.from({ length: 10 }, (_, n) => `rumor/asked@${tenant}~f${n}~r1`)
    const [dear, other] = [named('dear'), named('other')]
    const gate = Promise.withResolvers<void>()
    const work = notedWork(() => [], {
      groups: (asks) => together(asks, asks[0]?.key.slice(0, 1)),
      async advance(caseId) {
        const round = work.timesAdvanced(caseId) - 1
        if (other.includes(caseId)) return round === 0 ? { next: 'asks', asks: [askOf(caseId)] } : { next: 'done' }
        if (round < rounds) return { next: 'asks', asks: [askOf(caseId, `${round}.0`)] }
        if (round > rounds) return { next: 'done' }
        return { next: 'asks', asks: Array.from({ length: GROUP }, (_, n) => askOf(caseId, `${round}.${n}`)) }
      },
      async answer({ key }) {
        if (key.startsWith(`${rounds}.`)) await gate.promise
        return { end: 'done' }
      },
    })
    queues.work(work.work)
    await queues.push(dear)
    // Half of the slots are theirs: those at work wait, and everything else stands in line.
    await expect
      .poll(() => work.answered.filter(({ ask }) => ask.key.startsWith(`${rounds}.`)).length, SOON)
      .toBe(AT_WORK / 2)
    await expect.poll(() => dear.every((caseId) => work.timesAdvanced(caseId) > 0), SOON).toBe(true)
    await queues.push(other)
    await expect.poll(() => other.every((caseId) => work.timesAdvanced(caseId) > 0), SOON).toBe(true)
    gate.resolve()
    await expect.poll(() => work.answered.length, SOON).toBe(10 * (GROUP + rounds) + 10)
    const order = work.answered.map(({ ask }) => ask.caseId)
    const last = Math.max(...other.map((caseId) => order.indexOf(caseId)))
    const before = work.answered.slice(0, last).filter(({ ask }) => dear.includes(ask.caseId)).length
    // Those at work, and in its ten turns a group and what is left of the first rounds.
    expect(before).toBeLessThanOrEqual((AT_WORK + 2) * GROUP + 10 * rounds)
  })
})

describe('tenants take turns', () => {
  const LOUD = Array.from({ length: 200 }, (_, n) => `rumor@loud~${n}~r1`)
  const QUIET = 'rumor@quiet~1~r1'
  // As many as are in the turn that has begun, and in the next.
  const TURNS = 2 * 32

  it('so that the cases of one with many accounts are advanced after those of others that come later', async () => {
    const gate = Promise.withResolvers<void>()
    const advanced: string[] = []
    queues.work({
      async advance(caseId) {
        advanced.push(caseId)
        await gate.promise
        return { next: 'done' }
      },
      answer: async () => ({ end: 'done', outcome: 'answered', advance: false }),
    })
    await queues.push(LOUD)
    await expect.poll(() => advanced.length, SOON).toBe(8)
    await queues.push([QUIET])
    gate.resolve()
    await expect.poll(() => advanced.length, SOON).toBe(LOUD.length + 1)
    expect(advanced.indexOf(QUIET)).toBeLessThanOrEqual(8 + TURNS)
  })

  it('so that the asks of one with many accounts are answered after those of others that come later', async () => {
    const work = gatedWork(() => 1)
    queues.work(work.work)
    await queues.push(LOUD)
    await expect.poll(waitingAsks, SOON).toBe(LOUD.length - AT_WORK)
    await queues.push([QUIET])
    await expect.poll(waitingAsks, SOON).toBe(LOUD.length + 1 - AT_WORK)
    work.open()
    await expect.poll(() => work.answered.length, SOON).toBe(LOUD.length + 1)
    expect(work.order().indexOf(QUIET)).toBeLessThanOrEqual(AT_WORK + TURNS)
  })
})

describe('shares take turns', () => {
  const FLOOD = Array.from({ length: 60 }, (_, n) => `flood ${n}`)
  const shares = new Map(FLOOD.map((caseId) => [caseId, 'one account']))
  const shared = (asks: readonly StagedAsk[]): AskGroup[] =>
    together(asks).map((group) => ({ ...group, share: shares.get(group.caseId) ?? group.caseId }))

  it('so that the cases of one account that floods are advanced after others that come later', async () => {
    const gate = Promise.withResolvers<void>()
    const advanced: string[] = []
    const work: Work = {
      async advance(caseId) {
        advanced.push(caseId)
        await gate.promise
        return { next: 'done' }
      },
      answer: async () => ({ end: 'done', outcome: 'answered', advance: false }),
    }
    queues.work(work)
    await queues.push(FLOOD.slice(0, 30), shares)
    await queues.push(FLOOD.slice(30), shares)
    await expect.poll(() => advanced.length, SOON).toBe(8)
    await queues.push(['bystander'])
    gate.resolve()
    await expect.poll(() => advanced.length, SOON).toBe(61)
    // Those at work, and at most two of the turn that has begun.
    expect(advanced.indexOf('bystander')).toBeLessThanOrEqual(8 + 2)
    expect(advanced.filter((caseId) => caseId !== 'bystander')).toEqual(FLOOD)
  })

  it('so that the asks of one account that floods are a part of a stage, and others that come later are answered', async () => {
    await queues.close(0)
    queues = queuesOf(8)
    const gate = Promise.withResolvers<void>()
    const [now, most] = [new Map<string, number>(), new Map<string, number>()]
    const noted = notedWork((caseId) => asksOf(caseId, 2), {
      groups: shared,
      async answer({ caseId }) {
        const share = shares.get(caseId) ?? caseId
        now.set(share, (now.get(share) ?? 0) + 1)
        most.set(share, Math.max(most.get(share) ?? 0, now.get(share) ?? 0))
        if (share === 'one account') await gate.promise
        now.set(share, (now.get(share) ?? 0) - 1)
        return { end: 'done' }
      },
    })
    queues.work(noted.work)
    // As many as are less than the stage's workers, so that one is free.
    await queues.push(FLOOD.slice(0, 7), shares)
    await expect.poll(() => now.get('one account'), SOON).toBe(4)
    await queues.push(['bystander'])
    await expect.poll(() => noted.timesAdvanced('bystander'), SOON).toBe(2)
    expect(now.get('one account')).toBe(4)
    gate.resolve()
    await expect.poll(() => noted.advanced.length, SOON).toBe(2 * 8)
    expect(most.get('one account')).toBe(4)
  })
})
