import { expect, test } from 'vitest'
import { latenciesTable } from '../../../src/kit/bench/latencies.ts'
import { shortfall, untilDone } from '../../../src/kit/bench/service.ts'

const running = { exitCode: null }
const signal = new AbortController().signal

test('a run that is stopped because it took too long has lost nothing by that', async () => {
  const isDone = await untilDone(running, () => false, signal, 1)
  expect(isDone).toBe(false)
  expect(shortfall(7, { isCutOff: !isDone })).toEqual({ lost: 0, unfinished: 7 })
})

test('what a run has not judged that came to its end is lost', async () => {
  let looks = 0
  const isDone = await untilDone(running, () => ++looks > 2, signal)
  expect([isDone, looks]).toEqual([true, 3])
  expect(shortfall(7, { isCutOff: !isDone })).toEqual({ lost: 7, unfinished: 0 })
})

test('a run whose service ends by itself, or that is stopped by hand, is an error', async () => {
  await expect(untilDone({ exitCode: 3 }, () => false, signal)).rejects.toThrow('The service under load ended with 3')
  await expect(untilDone(running, () => false, AbortSignal.abort())).rejects.toThrow('Stopped before the end')
})

test('the table says so, and that fewer slots were taken, where that was the case', () => {
  const row = {
    latencyMs: 500,
    verdicts: 90,
    lost: 0,
    unfinished: 0,
    callsPerVerdict: 6,
    verdictsPerSecond: 1,
    cpuMs: { node: 1, redis: 1 },
    roundTrips: 1,
    kibToRedis: 1,
    lapsedLocks: 0,
    leastShare: 1,
    stalledJobs: 0,
    rssMiB: 1,
  }
  expect(latenciesTable({ rows: [row] })).toMatch(/; 0 lapsed locks, 0 lost$/)
  expect(latenciesTable({ rows: [{ ...row, unfinished: 10, leastShare: 0.25 }] })).toMatch(
    /; 0 lapsed locks, at times only 25 % of the slots, 0 lost, 10 unfinished when it was stopped after five minutes$/,
  )
})
