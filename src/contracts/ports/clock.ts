/** Wall time, ms since 1970. */
export type Clock = () => number

/** The ms since then; 0 where the clock was set back meanwhile, as a process's is that has found Redis's time badly at its start. */
export function msSince(clock: Clock, then: number): number {
  return Math.max(0, clock() - then)
}
