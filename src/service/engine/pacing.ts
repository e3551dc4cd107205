import type { Clock } from '../ports/clock.ts'
import type { WaitingScripts } from './waiting-scripts.ts'

/** So many cases may always be in progress… */
const LEAST_IN_PROGRESS = 128
/** …and so many for each ask that is being answered here. */
const PER_ASK = 2
/** Of these, one share has at most one in so many. */
const SHARES = 4
/** More cases of a share than this don't wait here, where they would take up the workers of others. */
const MOST_WAITING = 8
/** A case whose round began longer ago, in ms, waits for something else than for its turn, and counts for nothing. */
const RECENT_MS = 5_000
/** When no case could begin for so long, in ms, a few begin all the same. */
const LONGEST_PAUSE_MS = 2_000
const A_FEW = 32
const LOOK_MS = 10

export type Pacing = ReturnType<typeof pacing>

/**
 * Lets cases begin as fast as this process can judge them, in order, so that those that have begun end before others
 * begin. More of them would end no sooner, and their scripts would fill the memory. A share that has a part of what may be
 * in progress waits for its own cases to end, and holds up no other.
 */
export function pacing(scripts: Pick<WaitingScripts, 'recent'>, clock: Clock) {
  const waiting = new Set<{ readonly share: string; readonly begin: () => void }>()
  let answering = 0
  let looking: NodeJS.Timeout | undefined
  let pausedFor = 0

  /** How many more cases may begin now, and of a share. */
  function room() {
    const most = Math.max(LEAST_IN_PROGRESS, PER_ASK * answering)
    const of = scripts.recent(clock() - RECENT_MS)
    const all = [...of.values()].reduce((sum, some) => sum + some, 0)
    return { free: most - all, ofShare: (share: string) => most / SHARES - (of.get(share) ?? 0) }
  }

  function look(): void {
    pausedFor += LOOK_MS
    const { free, ofShare } = room()
    const paused = pausedFor >= LONGEST_PAUSE_MS
    let left = Math.max(free, paused ? A_FEW : 0)
    const begun = new Map<string, number>()
    for (const one of waiting) {
      if (left <= 0) break
      const before = begun.get(one.share) ?? 0
      if (!paused && ofShare(one.share) <= before) continue
      waiting.delete(one)
      one.begin()
      begun.set(one.share, before + 1)
      left--
    }
    if (begun.size > 0) pausedFor = 0
    if (waiting.size > 0) return
    clearInterval(looking)
    looking = undefined
  }

  return {
    /** Resolves with true when another case of this share may begin; at once with false if too many of them wait already. */
    async begin(share: string): Promise<boolean> {
      const { free, ofShare } = room()
      if (free > 0 && ofShare(share) > 0) return true
      if (ofShare(share) <= 0 && [...waiting].filter((one) => one.share === share).length >= MOST_WAITING) return false
      const turn = new Promise<boolean>((resolve) => waiting.add({ share, begin: () => resolve(true) }))
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
