import { PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import { keptHash } from '../contracts/facts/kept-image.ts'
import { fairSlots } from '../contracts/facts/slots.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { LoadImage } from '../contracts/ports/images.ts'
import type { ThreadStore } from '../contracts/ports/threads.ts'

export interface ImageCacheSettings {
  /** How long a fetched image is kept for the next try of its ask, in ms. */
  readonly keepFor: number
  /**
   * Most bytes kept in all, as data URLs: of asks that wait for their next try the oldest images are evicted first, and
   * nothing more is fetched while those of asks that are being asked leave no room for it.
   */
  readonly keepBytes: number
  /** Most fetches at a time, of all tenants; one tenant has half of them, and one of its authors half of that. */
  readonly fetches: number
  /** Longest image, in bytes. */
  readonly maxBytes: number
}

/** Whose image it is. */
export interface ImageOwner {
  readonly askId: string
  readonly subject: ThreadRef
  /** Who posted it, or where that is not said, the post. */
  readonly author: string
  readonly signal: AbortSignal
  /** Rejects if the ask may not be asked now. Called again before a fetch that had to wait. */
  readonly mayFetch: () => Promise<void>
}

/**
 * The images of asks that have not ended: a deferred ask that is tried again finds its fetched images, in this process.
 * Each ask has its own: no ask is shown what another's URL returned earlier, or can tell that it was fetched. Slow hosts
 * hold up fetches alone, of other tenants not half, and of other authors of the tenant not half of its own. Hosts themselves
 * have no bound: a platform's images may all be at one, and who means harm has many. An author whose fetches have taken
 * {@link SPENT_MS} within a minute gets no more of them until it is over: who waits for them keeps a case open, of which a
 * tenant has so many, and all who post after it would wait for their deadlines.
 */
export interface ImageCache {
  /**
   * Throws a `RetryLaterError`, at no attempt's cost, while fetches or images that wait leave no room, and a `PermanentError`
   * where the author's have taken too long.
   */
  load(url: string, owner: ImageOwner): Promise<string>
  /** The ask is deferred: its images may be evicted. */
  release(askId: string): void
  /** The ask has ended. */
  forget(askId: string): void
}

/** How long an ask is deferred that finds no room, in ms, at least; of many of one author one comes back after the other. */
const DEFERRED_MS = { least: 1_000, apart: 50, most: 30_000 }
/** Within so long the fetches of one author may take so long together, in ms: half of what its share of them is. */
const WINDOW_MS = 60_000
const SPENT_MS = 60_000
/** Most authors of whom this is remembered; the oldest go first. */
const MOST_AUTHORS = 10_000

/** Why there is no image that was set aside from a post. */
export const IMAGE_GONE = 'the post was edited, and has this image no longer'

/** `kept`: an image that was set aside from the subject's post. */
export function imageCache(
  loadImage: LoadImage,
  settings: ImageCacheSettings,
  clock: Clock,
  kept: ThreadStore['keptImage'] = async () => null,
): ImageCache {
  // By ask, in the order in which they began to fetch.
  const byAsk = new Map<string, Fetched>()
  let bytes = 0
  let arriving = 0
  const each = Math.ceil(settings.fetches / 2)
  const ofPart = Math.ceil(each / 2)
  const fetches = fairSlots({ all: () => settings.fetches, each, ofPart })
  const longest = Math.ceil((settings.maxBytes * 4) / 3)
  const spending = spent(clock)

  function forget(askId: string): void {
    bytes -= byAsk.get(askId)?.bytes ?? 0
    byAsk.delete(askId)
  }

  /** Evicts expired images and, while there are too many bytes, the oldest; never those that are in use. */
  function evict(): void {
    for (const [askId, { until, inUse }] of byAsk)
      if (!inUse && (until <= clock() || bytes > settings.keepBytes)) forget(askId)
  }

  /** Whether what is in use and arriving leaves room for one more image, be it the longest. One ask alone always has room. */
  function hasRoom(askId: string): boolean {
    let [inUse, others] = [longest, arriving > 0]
    for (const [id, own] of byAsk) {
      if (!own.inUse) continue
      inUse += own.bytes
      if (id !== askId) others = true
    }
    return !others || inUse + arriving <= settings.keepBytes
  }

  return {
    async load(url, { askId, subject, author, signal, mayFetch }) {
      const hash = keptHash(url)
      const shown = hash === null ? url : await kept(subject, hash)
      if (shown === null) throw new PermanentError('image', IMAGE_GONE)
      // A data URL needs no fetch, and is stored with the case or its post anyway.
      if (/^data:/i.test(shown)) return loadImage(shown, signal)
      evict()
      const own = byAsk.get(askId) ?? { images: new Map(), bytes: 0, until: clock() + settings.keepFor, inUse: true }
      own.inUse = true
      byAsk.set(askId, own)
      const known = own.images.get(url)
      if (known !== undefined) return known
      const { tenant } = subject
      const whose = { name: tenant, part: author }
      const waiting = fetches.waiting(whose)
      // Who waits here holds a place of the stage's workers.
      const by = spending.of(`${tenant}/${author}`)
      const deferred = (why: string) =>
        new RetryLaterError('limited', why, { costsAttempt: false, delayMs: by.comesBackIn() })
      by.check()
      if (waiting.ofPart >= ofPart || waiting.ofName >= settings.fetches)
        throw deferred('as many images as may be fetched at a time are being fetched')
      return fetches.run(whose, signal, async (waited) => {
        by.check()
        if (waited) await mayFetch()
        if (!hasRoom(askId)) throw deferred('images of other asks take all of images.keepBytes')
        arriving += longest
        const began = clock()
        let data: string
        try {
          data = await loadImage(url, signal)
        } finally {
          arriving -= longest
          by.took(clock() - began)
        }
        if (!own.images.has(url) && byAsk.get(askId) === own) {
          own.images.set(url, data)
          own.bytes += data.length
          bytes += data.length
        }
        evict()
        return data
      })
    },
    release(askId) {
      const own = byAsk.get(askId)
      if (own === undefined) return
      own.inUse = false
      evict()
    },
    forget,
  }
}

/** How long the fetches of each author have taken lately, and when its deferred asks come back. */
function spent(clock: Clock) {
  const authors = new Map<string, { since: number; ms: number; back: number }>()
  return {
    of(name: string) {
      const own = authors.get(name) ?? { since: clock(), ms: 0, back: 0 }
      authors.set(name, own)
      for (const oldest of authors.keys()) {
        if (authors.size <= MOST_AUTHORS) break
        authors.delete(oldest)
      }
      const renew = () => {
        if (clock() - own.since >= WINDOW_MS) Object.assign(own, { since: clock(), ms: 0 })
      }
      return {
        check() {
          renew()
          if (own.ms >= SPENT_MS) throw new PermanentError('image', 'images of this author take too long to come')
        },
        took(ms: number) {
          renew()
          own.ms += ms
        },
        comesBackIn(): number {
          const { least, apart, most } = DEFERRED_MS
          own.back = Math.min(clock() + most, Math.max(clock() + least, own.back + apart))
          return own.back - clock()
        },
      }
    },
  }
}

interface Fetched {
  readonly images: Map<string, string>
  bytes: number
  /** ms since 1970 */
  readonly until: number
  /** Its ask is being asked. */
  inUse: boolean
}
