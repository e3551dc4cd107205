import { expect, test } from 'vitest'
import { deadlines, extendedDeadline } from '../../../src/judging/engine/deadline.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'

const SETTINGS = { deadline: 600, mostHeld: 3_600 }
const CASE = { protocol: 'rumor', openedAt: 10_000, deadline: 10_600 }

test.each([
  ['nothing was ever held', null, 10_600],
  ['something was held before it opened', 9_999, 10_600],
  ['it was held for a while', 12_000, 12_600],
  ['it was held for as long as may be', 13_600, 14_200],
  ['it was held for longer', 50_000, 14_200],
])('a case’s deadline, where %s', (_, unansweredUntil, deadline) => {
  expect(extendedDeadline(CASE, unansweredUntil, SETTINGS)).toBe(deadline)
})

test('a hold takes no time from a case that has more for another reason', () => {
  expect(extendedDeadline({ ...CASE, deadline: 20_000 }, 12_000, SETTINGS)).toBe(20_000)
})

test('a hold that one process notes is the others’ as well, but another protocol’s is not', async () => {
  let now = 12_000
  const { cases } = memoryStores(() => now)
  const one = deadlines({ cases, clock: () => now, settings: SETTINGS })
  const other = deadlines({ cases, clock: () => now, settings: SETTINGS })
  expect(await other.of(CASE)).toBe(10_600)
  expect(await one.extend(CASE)).toBe(12_600)
  expect(await other.of(CASE)).toBe(12_600)
  expect(await other.of({ ...CASE, protocol: 'hate' })).toBe(10_600)
  now += 500
  expect(await one.extend(CASE)).toBe(13_100)
})

test('a clock that is set back stops no process from noting what it holds, and gives no case more than it has', async () => {
  let now = 2e9
  const { cases } = memoryStores(() => now)
  const noted: number[] = []
  const noteUnanswered = async (protocol: string, at: number) => {
    noted.push(at)
    await cases.noteUnanswered(protocol, at)
  }
  const one = deadlines({ cases: { ...cases, noteUnanswered }, clock: () => now, settings: SETTINGS })
  await one.extend(CASE)
  now = 12_000
  expect(await one.extend(CASE)).toBe(12_600)
  expect(noted).toEqual([2e9, 12_000])
  expect(await one.of(CASE)).toBe(12_600)
})

test('a hold is noted once a second for each protocol', async () => {
  let now = 12_000
  const noted: string[] = []
  const cases = {
    noteUnanswered: async (protocol: string, at: number) => void noted.push(`${protocol} ${at}`),
    unansweredUntil: async () => null,
  }
  const of = deadlines({ cases, clock: () => now, settings: SETTINGS })
  for (const step of [0, 500, 499, 1]) {
    now += step
    await of.extend(CASE)
    await of.extend({ ...CASE, protocol: 'hate' })
  }
  expect(noted).toEqual(['rumor 12000', 'hate 12000', 'rumor 13000', 'hate 13000'])
})

test('whether its asks were held is looked up two minutes before a case’s deadline, and not before', async () => {
  let [now, asked] = [0, 0]
  const cases = {
    noteUnanswered: async () => {},
    unansweredUntil: async () => {
      asked++
      return 400_000
    },
  }
  const settings = { deadline: 600_000, mostHeld: 3_600_000 }
  const of = deadlines({ cases, clock: () => now, settings })
  now = 479_999
  expect(await of.of({ protocol: 'rumor', openedAt: 0, deadline: 600_000 })).toBe(600_000)
  expect(asked).toBe(0)
  now = 480_000
  expect(await of.of({ protocol: 'rumor', openedAt: 0, deadline: 600_000 })).toBe(1_000_000)
})
