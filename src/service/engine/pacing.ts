import type { Clock } from '../ports/clock.ts'
import type { WaitingScripts } from './waiting-scripts.ts'

/** So many cases may always be in progress… */
const LEAST_IN_PROGRESS = 128
/** …and so many for each ask that is being answered here. */
const PER_ASK = 2
/** A case whose round began longer ago, in ms, waits for something else than for its turn, and counts for nothing. */
const RECENT_MS = 5_000
/** When no case could begin for so long, in ms, a few begin all the same. */
const LONGEST_PAUSE_MS = 2_000
const A_FEW = 32
const LOOK_MS = 10

export type Pacing = ReturnType<typeof pacing>

/**
 * Lets cases begin as fast as this process can judge them, in order, so that those that have begun end before others
 * begin. More of them would end no sooner, and their scripts would fill the memory.
 */
export function pacing(scripts: Pick<WaitingScripts, 'recent'>, clock: Clock) {
  const waiting: (() => void)[] = []
  let answering = 0
  let looking: NodeJS.Timeout | undefined
  let pausedFor = 0

  const room = () => Math.max(LEAST_IN_PROGRESS, PER_ASK * answering) - scripts.recent(clock() - RECENT_MS)

  function look(): void {
    pausedFor += LOOK_MS
    const free = Math.max(room(), pausedFor >= LONGEST_PAUSE_MS ? A_FEW : 0)
    if (free > 0) pausedFor = 0
    for (const begin of waiting.splice(0, Math.max(0, free))) begin()
    if (waiting.length > 0) return
    clearInterval(looking)
    looking = undefined
  }

  return {
    /** Resolves when another case may begin. */
    async begin(): Promise<void> {
      if (waiting.length === 0 && room() > 0) return
      const turn = new Promise<void>((resolve) => waiting.push(resolve))
      if (looking === undefined) pausedFor = 0
      looking ??= setInterval(look, LOOK_MS)
      return turn
    },
    /** Counts an ask that is being answered. */
    async during<Result>(answer: () => Promise<Result>): Promise<Result> {
      answering++
      try {
        return await answer()
      } finally {
        answering--
      }
    },
  }
}
