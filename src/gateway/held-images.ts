import type { Clock } from '../ports/clock.ts'
import type { LoadImage } from '../ports/images.ts'

export interface HeldImagesSettings {
  /** Longest time that a fetched image is kept for the next try of its ask, in ms. */
  readonly keepMs: number
  /** Most that is kept in all, in bytes as data URLs: the oldest go first. */
  readonly maxBytes: number
}

/**
 * The images of asks that have not ended: one that is held and comes again finds what it has fetched, in this process. Each
 * ask has its own: nobody is shown what another post's address held a while ago, or can tell that it was asked about.
 */
export interface HeldImages {
  load(askId: string, url: string, signal: AbortSignal): Promise<string>
  /** The ask has ended. */
  forget(askId: string): void
}

export function heldImages(loadImage: LoadImage, settings: HeldImagesSettings, clock: Clock): HeldImages {
  // By ask, in the order in which they began to fetch.
  const held = new Map<string, Held>()
  let bytes = 0

  function forget(askId: string): void {
    bytes -= held.get(askId)?.bytes ?? 0
    held.delete(askId)
  }

  /** What is too old goes, and while there is too much, the oldest. */
  function tidy(): void {
    for (const [askId, { until }] of held) {
      if (until > clock() && bytes <= settings.maxBytes) return
      forget(askId)
    }
  }

  return {
    async load(askId, url, signal) {
      // Nothing is fetched for these, and the case holds them.
      if (/^data:/i.test(url)) return loadImage(url, signal)
      tidy()
      const known = held.get(askId)?.images.get(url)
      if (known !== undefined) return known
      const data = await loadImage(url, signal)
      const own = held.get(askId) ?? { images: new Map<string, string>(), bytes: 0, until: clock() + settings.keepMs }
      if (!own.images.has(url)) {
        own.images.set(url, data)
        own.bytes += data.length
        bytes += data.length
      }
      held.set(askId, own)
      tidy()
      return data
    },
    forget,
  }
}

interface Held {
  readonly images: Map<string, string>
  bytes: number
  /** ms since 1970 */
  readonly until: number
}
