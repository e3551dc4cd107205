import type { Clock } from '../ports/clock.ts'
import type { WaitingScripts } from './waiting-scripts.ts'

/** So many cases may always be in progress… */
const LEAST_IN_PROGRESS = 128
/** …and so many for each ask that is being answered here. */
const PER_ASK = 2
/** Of these, one share has at most this part. */
const OF_SHARE = 0.5
/** One share begins no more than one case in this time, in ms: as fast as a process can judge them. */
const BETWEEN_MS = 20
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
  /** When the last case of each share began, by a monotonic clock, in ms. */
  const lastBegun = new Map<string, number>()

  function begins(share: string): void {
    lastBegun.delete(share)
    lastBegun.set(share, performance.now())
    for (const [oldest, at] of lastBegun) {
      if (performance.now() - at < BETWEEN_MS) break
      lastBegun.delete(oldest)
    }
  }

  /** How many more cases may begin now, and of a share. */
  function room() {
    const most = Math.max(LEAST_IN_PROGRESS, PER_ASK * answering)
    const of = scripts.recent(clock() - RECENT_MS)
    const all = [...of.values()].reduce((sum, some) => sum + some, 0)
    const soon = (share: string) => performance.now() - (lastBegun.get(share) ?? Number.NEGATIVE_INFINITY) < BETWEEN_MS
    return { free: most - all, mayBegin: (share: string) => !soon(share) && (of.get(share) ?? 0) < most * OF_SHARE }
  }

  function look(): void {
    pausedFor += LOOK_MS
    const { free, mayBegin } = room()
    const paused = pausedFor >= LONGEST_PAUSE_MS
    let left = Math.max(free, paused ? A_FEW : 0)
    for (const one of waiting) {
      if (left <= 0) break
      if (!paused && !mayBegin(one.share)) continue
      waiting.delete(one)
      begins(one.share)
      one.begin()
      left--
      pausedFor = 0
    }
    if (waiting.size > 0) return
    clearInterval(looking)
    looking = undefined
  }

  return {
    /** Resolves when another case of this share may begin. */
    async begin(share: string): Promise<void> {
      const { free, mayBegin } = room()
      if (free > 0 && mayBegin(share)) return begins(share)
      const turn = new Promise<void>((begin) => waiting.add({ share, begin }))
      if (looking === undefined) pausedFor = 0
      looking ??= setInterval(look, LOOK_MS)
      return turn
    },
    /** Counts an ask that is being answered, until the returned function is called; once. */
    countAsk(): () => void {
      answering++
      return () => {
        answering--
      }
    },
  }
}
