import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { pacing } from '../../../src/judging/engine/pacing.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const of = (share: string, tenant = 'acme') => ({ tenant, share, serviceClass: 'rest' as const })

/** So many cases in progress, each of a share of its own. */
const others = (count: number) => new Map(Array.from({ length: count }, (_, nth) => [`other ${nth}`, 1]))

/** How many of the scripts in progress began within the last five seconds is said by the test. */
function paced(recent: () => Map<string, number>) {
  const asked: number[] = []
  const pace = pacing(
    {
      recent(since) {
        asked.push(Date.now() - since)
        return recent()
      },
    },
    Date.now,
  )
  const begun = async (share = 'own', tenant?: string) => {
    let began = false
    const waiting = pace.begin(of(share, tenant)).then(() => {
      began = true
    })
    await vi.advanceTimersByTimeAsync(0)
    return { began: () => began, waiting }
  }
  return { countAsk: pace.countAsk, begun, asked }
}

test('a case begins at once while few are in progress', async () => {
  const { begun, asked } = paced(() => others(127))
  expect((await begun()).began()).toBe(true)
  expect(asked).toEqual([5_000])
})

test('a case waits while many are in progress, and begins when one of them has ended', async () => {
  let recent = 128
  const { begun } = paced(() => others(recent))
  const next = await begun()
  await vi.advanceTimersByTimeAsync(500)
  expect(next.began()).toBe(false)
  recent = 127
  await vi.advanceTimersByTimeAsync(20)
  expect(next.began()).toBe(true)
})

test('more may be in progress where more asks are answered at once', async () => {
  const { begun, countAsk } = paced(() => others(399))
  const ends = Array.from({ length: 200 }, countAsk)
  expect((await begun()).began()).toBe(true)
  for (const end of ends) end()
  const next = await begun()
  expect(next.began()).toBe(false)
  await vi.advanceTimersByTimeAsync(2_000)
  await next.waiting
})

test('some begin every two seconds, in order, whatever the others wait for', async () => {
  const { begun } = paced(() => others(10_000))
  const cases = await Promise.all(Array.from({ length: 70 }, (_, nth) => begun(`case ${nth}`)))
  const begunOf = () => cases.map(({ began }) => began()).lastIndexOf(true) + 1
  await vi.advanceTimersByTimeAsync(1_900)
  expect(begunOf()).toBe(0)
  await vi.advanceTimersByTimeAsync(200)
  expect(begunOf()).toBe(32)
  await vi.advanceTimersByTimeAsync(4_000)
  expect(begunOf()).toBe(70)
  expect(vi.getTimerCount()).toBe(0)
})

test('a share with half of what may be in progress waits for its own cases to end, and holds up no other', async () => {
  let flood = 64
  const { begun } = paced(() => new Map([['flood', flood]]))
  const waiting = await Promise.all(Array.from({ length: 40 }, () => begun('flood')))
  await vi.advanceTimersByTimeAsync(1_000)
  expect(waiting.filter(({ began }) => began())).toEqual([])
  expect((await begun('bystander')).began()).toBe(true)
  flood = 63
  await vi.advanceTimersByTimeAsync(10)
  expect(waiting.map(({ began }) => began()).lastIndexOf(true)).toBe(0)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(waiting.every(({ began }) => began())).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('tenants take turns: one with cases of many shares holds up none with few', async () => {
  let recent = 128
  const { begun } = paced(() => others(recent))
  const loud = await Promise.all(Array.from({ length: 40 }, (_, nth) => begun(`share ${nth}`, 'loud')))
  const quiet = await Promise.all(Array.from({ length: 3 }, (_, nth) => begun(`its ${nth}`, 'quiet')))
  recent = 121
  await vi.advanceTimersByTimeAsync(10)
  expect(quiet.map(({ began }) => began())).toEqual([true, true, true])
  expect(loud.filter(({ began }) => began())).toHaveLength(4)
  await vi.advanceTimersByTimeAsync(1_000)
})

test('a share begins one case after the other, and not all at once', async () => {
  const { begun } = paced(() => new Map())
  const cases = await Promise.all(Array.from({ length: 10 }, () => begun('flood')))
  const begunOf = () => cases.filter(({ began }) => began()).length
  expect(begunOf()).toBe(1)
  await vi.advanceTimersByTimeAsync(100)
  expect(begunOf()).toBe(6)
  await vi.advanceTimersByTimeAsync(100)
  expect(begunOf()).toBe(10)
})

test('a share whose case was long begins the next so much later, and is put off until then', async () => {
  vi.setSystemTime(0)
  const pace = pacing({ recent: () => new Map() }, Date.now)
  await pace.begin(of('images'))
  pace.weigh(of('images'), 5_000_000)
  expect(pace.delayFor(of('images'))).toBe(2_000)
  expect(pace.delayFor(of('another'))).toBe(0)
  await pace.begin(of('another'))
  await vi.advanceTimersByTimeAsync(1_900)
  expect(pace.delayFor(of('images'))).toBe(0)
  let began = false
  const next = pace.begin(of('images')).then(() => {
    began = true
  })
  await vi.advanceTimersByTimeAsync(50)
  expect(began).toBe(false)
  await vi.advanceTimersByTimeAsync(100)
  expect(began).toBe(true)
  await next
})
