import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { LookedAt, LookedAtPictures } from '../../contracts/ports/vetoes.ts'
import { KEPT_MS, UNKNOWN_KEPT_MS } from './kept.ts'

/** What has been found out of pictures, in this process. */
export function memoryLookedAt(clock: Clock): LookedAtPictures {
  const known = new Map<string, { readonly found: LookedAt | 'begun'; readonly until: number }>()
  const nameOf = ({ tenant, kind, postId }: ThreadRef, url: string) => JSON.stringify([tenant, kind, postId, url])
  return {
    async claim(ref, url) {
      const name = nameOf(ref, url)
      for (const [one, { until }] of known) if (until <= clock()) known.delete(one)
      const own = known.get(name)
      if (own !== undefined) return own.found
      known.set(name, { found: 'begun', until: Number.POSITIVE_INFINITY })
      return null
    },
    async keep(ref, url, found) {
      known.set(nameOf(ref, url), { found, until: clock() + ('why' in found ? UNKNOWN_KEPT_MS : KEPT_MS) })
    },
    async release(ref, url) {
      known.delete(nameOf(ref, url))
    },
    // No images are kept beside posts in memory.
    async drop() {},
  }
}
