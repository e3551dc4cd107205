import { setTimeout as sleep } from 'node:timers/promises'

/** A wait is made of steps of this length, in ms: a timer that other work delays counts as no more. */
const STEP_MS = 50

/**
 * Waits until the event loop of this process has run for so long, in ms, or `longestMs` have passed. Where other work keeps the loop
 * waiting, a time on the clock is over before what was waited for had its turn. Rejects with the signal's reason.
 */
export async function loopTime(ms: number, longestMs: number, signal?: AbortSignal): Promise<void> {
  const end = performance.now() + longestMs
  const how = signal === undefined ? { ref: false } : { signal }
  for (let ran = 0; ran < ms && performance.now() < end; ran += STEP_MS)
    await sleep(Math.min(STEP_MS, ms - ran), undefined, how)
}
