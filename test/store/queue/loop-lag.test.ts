import { expect, test } from 'vitest'
import { loopLag, type ShareChange } from '../../../src/store/queue/loop-lag.ts'

test('a loop that lags takes fewer slots, holds its locks longer, and has all back once it runs in time', () => {
  const said: ShareChange[] = []
  const shares: number[] = []
  const lag = loopLag(4_000, { lagged: (change) => said.push(change), shared: (share) => shares.push(share) })
  for (let n = 0; n < 100; n++) lag.note(20)
  expect([lag.share, lag.leaseMs, said]).toEqual([1, 4_000, []])
  lag.note(1_500)
  lag.note(1_500)
  expect([lag.share, lag.leaseMs]).toEqual([1 / 4, 12_000])
  expect(said).toEqual([
    { share: 1 / 2, lagMs: 1_500 },
    { share: 1 / 4, lagMs: 1_500 },
  ])
  for (let n = 0; n < 100; n++) lag.note(2_000)
  expect(lag.share).toBe(1 / 16)
  const before = shares.length
  for (let n = 0; n < 500; n++) lag.note(5)
  expect(lag.share).toBe(1)
  // Whoever shows the share has each step, and a log only the end of it.
  expect(shares.slice(before)).toEqual(Array.from({ length: 60 }, (_, step) => (step + 5) / 64))
  expect(said.filter(({ share }) => share > 1 / 4)).toEqual([
    { share: 1 / 2, lagMs: 1_500 },
    { share: 1, lagMs: expect.any(Number) },
  ])
  // Locks are renewed every few seconds: they hold longer for a minute or two.
  expect(lag.leaseMs).toBeGreaterThan(5_000)
  for (let n = 0; n < 1_000; n++) lag.note(5)
  expect([lag.share, lag.leaseMs]).toEqual([1, 4_000])
  expect(said.at(-1)?.share).toBe(1)
})

test('no lag has a lock hold for longer than two minutes', () => {
  const lag = loopLag(4_000, { lagged() {}, shared() {} })
  lag.note(3_600_000)
  expect(lag.leaseMs).toBe(120_000)
})

test('locks hold as long as their renewal takes, too: Redis may be slow where the loop is not; slots are no cure for that', () => {
  const lag = loopLag(4_000, { lagged() {}, shared() {} })
  lag.renewed(1_500)
  expect([lag.share, lag.leaseMs]).toEqual([1, 12_000])
  lag.note(0)
  expect(lag.share).toBe(1)
})
