import { beforeEach, expect, test } from 'vitest'
import { transcript, verdict } from '../../../src/contracts/facts/verdict.ts'
import { attendCases } from '../../../src/judging/engine/unattended.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { ARRIVAL, callOf, endOf, entryOf, HOUR, postOf, RULES, T0, thread } from '../../contracts/samples.ts'
import { openCase } from '../../contracts/stores.ts'
import { WRITES } from '../../support/verdicts.ts'

const p1 = thread('p1')
const HAND_BACK = 30_000
/** A case's deadline, as the samples set it. */
const DEADLINE = T0 + HOUR

let now: number
let stores: ReturnType<typeof memoryStores> & { pass(): Promise<void>; close(): Promise<void> }
let pushed: string[]
let dropped: string[]

beforeEach(async () => {
  now = T0
  pushed = []
  dropped = []
  stores = { ...memoryStores(() => now), async pass() {}, async close() {} }
  await stores.threads.putPost(p1, postOf(p1), ARRIVAL, RULES)
})

const looking = (...protocols: string[]) =>
  attendCases({
    protocols,
    cases: stores.cases,
    queues: {
      push: async (ids) => void pushed.push(...ids),
      drop: async (ids) => void dropped.push(...ids),
    },
    clock: () => now,
    report() {},
    settings: { handBack: HAND_BACK, transcriptBytes: 100_000, writes: WRITES },
  })

test('a case of a protocol that is off ends after its deadline and the time to hand it back, and says why', async () => {
  const { id } = await openCase(stores, p1)
  await stores.cases.answer(id, 0, '0.0', entryOf(1))
  await stores.cases.loseCalls(id, [{ key: '0.1', ...callOf('call-2', 'failed') }])
  const look = looking('hate')
  expect(await look()).toEqual([])
  expect(await stores.cases.countOpen()).toBe(0)
  now = DEADLINE + HAND_BACK
  expect(await look()).toEqual([])
  now++
  expect(await look()).toEqual([id])
  expect(dropped).toEqual([id])
  const [entry] = await stores.outbox.next('one', 10, 1)
  if (entry?.kind !== 'verdict') throw new Error('there is no verdict')
  expect(verdict.parse(JSON.parse(entry.verdict))).toMatchObject({
    id,
    label: null,
    decidedBy: 'none',
    degraded: ['protocol-off'],
    usage: { calls: 2 },
  })
  expect(transcript.parse(JSON.parse(entry.transcript)).verdictId).toBe(id)
  await stores.outbox.done([entry])
  expect((await stores.threads.read(p1))?.revisions.get('rumor')?.openId).toBeNull()
  expect(await look()).toEqual([])
})

test('one that others still judge is left to them, and comes back where it is worked on', async () => {
  const { id } = await openCase(stores, p1)
  await looking('hate')()
  now = DEADLINE
  expect(await looking('rumor', 'hate')()).toEqual([])
  expect(pushed).toEqual([id])
  expect(await stores.cases.countOpen()).toBe(1)
  now = DEADLINE + HAND_BACK + 1
  expect(await looking('rumor')()).toEqual([])
  expect(await stores.outbox.size()).toBe(0)
})

test('one that was concluded meanwhile is not ended again', async () => {
  const { id } = await openCase(stores, p1)
  const look = looking('hate')
  await look()
  const taken = await stores.cases.take(id)
  if (taken === null) throw new Error('not open')
  await stores.cases.conclude(taken.record, taken.epoch, { ...endOf(taken.record), verdict: '{}', transcript: '{}' })
  now = DEADLINE + HAND_BACK + 1
  expect(await look()).toEqual([])
  expect(await stores.outbox.size()).toBe(1)
})
