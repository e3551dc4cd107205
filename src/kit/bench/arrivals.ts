import { setTimeout as sleep } from 'node:timers/promises'

// The moments at which the gateway's bench sends, sent by a process of its own: a timer in a busy process is late by what it
// is busy with, and in an idle one by up to a millisecond; only the first is the gateway's. It gets a rate and a length, and
// tells the time (monotonic, ms) at which each call is due, then null.

process.on('message', ({ perSecond, seconds }: { perSecond: number; seconds: number }) => void tell(perSecond, seconds))
process.once('disconnect', () => process.exit(0))
process.send?.('ready')

/** A Poisson process: `perSecond` of them on average, whatever became of those before. */
async function tell(perSecond: number, seconds: number): Promise<void> {
  const random = steady(7)
  const began = performance.now()
  for (let due = began; due < began + seconds * 1000; due += (-Math.log(1 - random()) * 1000) / perSecond) {
    const wait = due - performance.now()
    if (wait > 0) await sleep(Math.ceil(wait))
    process.send?.(Number(process.hrtime.bigint()) / 1e6)
  }
  process.send?.(null)
}

/** Mulberry32: the same arrivals in every run. */
function steady(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
