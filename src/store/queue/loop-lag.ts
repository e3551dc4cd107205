/** How this process copes with an event loop that lags, so that it renews its jobs' locks in time. */
export interface LoopLag {
  /** How long a lock holds now, in ms. */
  readonly leaseMs: number
  /** The part of its slots that it takes now, above 0 to 1. */
  readonly share: number
  /** Takes in the loop's longest delay since the last time, in ms. */
  note(worstMs: number): void
  /** Takes in how long it took to renew locks, in ms: Redis and this loop may both have kept it waiting. */
  renewed(tookMs: number): void
}

/** What changed: the part of the slots that are taken from now on, and the delay that was the cause. */
export interface ShareChange {
  readonly share: number
  readonly lagMs: number
}

/** A lock holds for so many of the longest delays of the last minute, and never longer than this, in ms. */
const [LAGS_A_LOCK, LONGEST_HOLD_MS] = [8, 120_000]
/** Each time, the longest recent delay counts so much less; for locks, which are renewed every few seconds, slowly. */
const [FADES, FADES_SLOWLY] = [0.98, 0.998]
/** At a delay beyond this part of the set lock the slots are halved; while it is far below, they come back step by step. */
const [TOO_LONG, SHORT] = [1 / 8, 1 / 32]
const [LEAST_SHARE, STEP] = [1 / 16, 1 / 64]

/**
 * A lock is renewed by a timer, which a busy loop runs late: locks hold as long as the delays demand, and fewer slots bring the
 * delays down. `leaseMs`: the lock as it is set. `shared` hears of each change of the share; `lagged`, for a log, of those that take slots
 away, and of the last one that gives some back.
 */
export function loopLag(
  leaseMs: number,
  { lagged, shared }: { readonly lagged: (change: ShareChange) => void; readonly shared: (share: number) => void },
): LoopLag {
  let [recentMs, longestMs] = [0, 0]
  let share = 1
  return {
    get leaseMs() {
      return Math.max(leaseMs, Math.min(LONGEST_HOLD_MS, Math.ceil(LAGS_A_LOCK * longestMs)))
    },
    get share() {
      return share
    },
    note(worstMs) {
      recentMs = Math.max(worstMs, FADES * recentMs)
      longestMs = Math.max(worstMs, FADES_SLOWLY * longestMs)
      const before = share
      if (worstMs > TOO_LONG * leaseMs) share = Math.max(LEAST_SHARE, share / 2)
      else if (recentMs < SHORT * leaseMs) share = Math.min(1, share + STEP)
      if (share !== before) shared(share)
      if (share < before || (share === 1 && before < 1)) lagged({ share, lagMs: Math.round(recentMs) })
    },
    renewed(tookMs) {
      longestMs = Math.max(longestMs, tookMs)
    },
  }
}

/** How often the loop's delay is looked at, in ms. */
const LOOK_MS = 100

/** Watches this process's event loop until `close`, by how late a timer of its own runs. */
export function watchLoop(lag: LoopLag, noted: () => void): { close(): void } {
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    lag.note(Math.max(0, now - last - LOOK_MS))
    last = now
    noted()
  }, LOOK_MS).unref()
  return { close: () => clearInterval(timer) }
}
