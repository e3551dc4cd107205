import type { Clock } from '../ports/clock.ts'
import type { LoadImage } from '../ports/images.ts'

export interface ImageCacheSettings {
  /** How long a fetched image is kept for the next try of its ask, in ms. */
  readonly keepMs: number
  /** Most bytes kept in all, as data URLs: the oldest images are evicted first. */
  readonly maxBytes: number
}

/**
 * The images of asks that have not ended: a deferred ask that is tried again finds its fetched images, in this process.
 * Each ask has its own: no ask is shown what another's URL returned earlier, or can tell that it was fetched.
 */
export interface ImageCache {
  load(askId: string, url: string, signal: AbortSignal): Promise<string>
  /** The ask has ended. */
  forget(askId: string): void
}

export function imageCache(loadImage: LoadImage, settings: ImageCacheSettings, clock: Clock): ImageCache {
  // By ask, in the order in which they began to fetch.
  const byAsk = new Map<string, Fetched>()
  let bytes = 0

  function forget(askId: string): void {
    bytes -= byAsk.get(askId)?.bytes ?? 0
    byAsk.delete(askId)
  }

  /** Evicts expired images and, while there are too many bytes, the oldest. */
  function evict(): void {
    for (const [askId, { until }] of byAsk) {
      if (until > clock() && bytes <= settings.maxBytes) return
      forget(askId)
    }
  }

  return {
    async load(askId, url, signal) {
      // A data URL needs no fetch, and is stored with the case anyway.
      if (/^data:/i.test(url)) return loadImage(url, signal)
      evict()
      const known = byAsk.get(askId)?.images.get(url)
      if (known !== undefined) return known
      const data = await loadImage(url, signal)
      const own = byAsk.get(askId) ?? { images: new Map<string, string>(), bytes: 0, until: clock() + settings.keepMs }
      if (!own.images.has(url)) {
        own.images.set(url, data)
        own.bytes += data.length
        bytes += data.length
      }
      byAsk.set(askId, own)
      evict()
      return data
    },
    forget,
  }
}

interface Fetched {
  readonly images: Map<string, string>
  bytes: number
  /** ms since 1970 */
  readonly until: number
}
