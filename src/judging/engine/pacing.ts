import type { ServiceClass } from '../../contracts/facts/service-class.ts'
import { COMMENT_CHARACTERS } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { WaitingScripts } from './waiting-scripts.ts'

/** So many cases may always be in progress… */
const LEAST_IN_PROGRESS = 128
/** …and so many for each ask that is being answered here. */
const PER_ASK = 2
/** Of these, one share has at most this part. */
const OF_SHARE = 0.5
/** Beside these there is room for so large a part of them for which somebody waits: no case of the rest stands before them. */
const OF_WAITING = 0.25
/** One share begins no more than one case in this time, in ms: as fast as a process can judge them… */
const BETWEEN_MS = 20
/** …and so much later for each {@link COMMENT_CHARACTERS} of the case before, in ms: they are read and written at each of its steps. */
const PER_COMMENT_MS = 4
/** A case that is to wait longer for its share, in ms, does not wait here, where it would keep a worker from others. */
const LONGEST_WAIT_MS = 200
/** Above so many shares, those that may begin are forgotten. */
const MOST_SHARES = 1_000
/** A case whose round began longer ago, in ms, waits for something else than for its turn, and counts for nothing. */
const RECENT_MS = 5_000
/** When no case could begin for so long, in ms, a few begin all the same. */
const LONGEST_PAUSE_MS = 2_000
const A_FEW = 32
const POLL_MS = 10

/** A case that is to begin: its class, and whose share of the service it uses. */
interface PacedCase {
  readonly tenant: string
  readonly share: string
  readonly serviceClass: ServiceClass
}

export type Pacing = ReturnType<typeof pacing>

/**
 * Lets cases begin as fast as this process can judge them, in order, so that those that have begun end before others
 * begin. More of them would end no sooner, and their scripts would fill the memory. Of those that wait, the tenant begins
 * one of whom none has begun for longest. A share that has a part of what may be in progress waits for its own cases to end,
 * and holds up no other.
 */
export function pacing(scripts: Pick<WaitingScripts, 'recent'>, clock: Clock) {
  const waiting = new Set<PacedCase & { readonly begin: () => void }>()
  let answering = 0
  let polling: NodeJS.Timeout | undefined
  let pausedFor = 0
  /** By tenant, the number of its case that began last, while cases wait. */
  const lastOf = new Map<string, number>()
  let begunInAll = 0
  /** When the next case of each share may begin, by a monotonic clock, in ms. */
  const nextOf = new Map<string, number>()

  function comesAfter({ share, serviceClass }: PacedCase, afterMs = BETWEEN_MS): void {
    if (serviceClass === 'waiting') return
    const now = performance.now()
    nextOf.set(share, Math.max(nextOf.get(share) ?? 0, now + afterMs))
    if (nextOf.size > MOST_SHARES) for (const [one, at] of nextOf) if (at <= now) nextOf.delete(one)
  }
  const waitOf = ({ share, serviceClass }: PacedCase) =>
    serviceClass === 'waiting' ? 0 : Math.max(0, (nextOf.get(share) ?? 0) - performance.now())

  /** How many more cases may begin now, and of a share. */
  function room(serviceClass: ServiceClass) {
    const most = Math.max(LEAST_IN_PROGRESS, PER_ASK * answering)
    const of = scripts.recent(clock() - RECENT_MS, serviceClass)
    const all = [...of.values()].reduce((sum, some) => sum + some, 0)
    // Its tenants have taken turns in the queue, and pay for each call.
    if (serviceClass === 'waiting') return { free: Math.ceil(most * OF_WAITING) - all, hasRoom: () => true }
    return { free: most - all, hasRoom: (share: string) => (of.get(share) ?? 0) < most * OF_SHARE }
  }

  function poll(): void {
    pausedFor += POLL_MS
    beginWaiting('waiting', false)
    if (beginWaiting('rest', pausedFor >= LONGEST_PAUSE_MS) > 0) pausedFor = 0
    if (waiting.size > 0) return
    clearInterval(polling)
    polling = undefined
  }

  /** Lets those of a class begin for which there is room; returns how many began. */
  function beginWaiting(serviceClass: ServiceClass, paused: boolean): number {
    const { free, hasRoom } = room(serviceClass)
    const most = Math.max(free, paused ? A_FEW : 0)
    const may = (one: PacedCase) =>
      one.serviceClass === serviceClass && waitOf(one) === 0 && (paused || hasRoom(one.share))
    let begun = 0
    for (; begun < most; begun++) {
      const next = leastOf([...waiting].filter(may), ({ tenant }) => lastOf.get(tenant) ?? 0)
      if (next === undefined) break
      waiting.delete(next)
      lastOf.set(next.tenant, ++begunInAll)
      comesAfter(next)
      next.begin()
    }
    if (waiting.size === 0) lastOf.clear()
    return begun
  }

  return {
    /** How long a case is to be put off, in ms; 0 if it may wait here. */
    delayFor(one: PacedCase): number {
      const wait = waitOf(one)
      return wait > LONGEST_WAIT_MS ? wait : 0
    },
    /** The case that has begun is as long as this. */
    weigh(one: PacedCase, characters: number): void {
      if (characters > COMMENT_CHARACTERS) comesAfter(one, (PER_COMMENT_MS * characters) / COMMENT_CHARACTERS)
    },
    /** Resolves when the case may begin. */
    async begin(one: PacedCase): Promise<void> {
      const turn = new Promise<void>((begin) => waiting.add({ ...one, begin }))
      beginWaiting(one.serviceClass, false)
      if (waiting.size === 0) return turn
      if (polling === undefined) pausedFor = 0
      polling ??= setInterval(poll, POLL_MS)
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

/** The first of those with the lowest number. */
function leastOf<One>(all: readonly One[], numberOf: (one: One) => number): One | undefined {
  const least = Math.min(...all.map(numberOf))
  return all.find((one) => numberOf(one) === least)
}
