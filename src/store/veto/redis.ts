import { hash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { keptHash } from '../../contracts/facts/kept-image.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { LookedAtPictures } from '../../contracts/ports/vetoes.ts'
import { type Keys, memberOf } from '../redis/keys.ts'
import { script } from '../redis/script.ts'
import { KEPT_MS, UNKNOWN_KEPT_MS } from './kept.ts'

/** One who looks has so long, in ms: then somebody else does. Fetching and decoding are bounded by less. */
const CLAIM_MS = 120_000
const BEGUN = 'begun'
/** What an image is takes less, in bytes, and an image that is kept beside its post takes more. */
const LONGEST_FOUND = 1_024

const dropImages = script('veto/drop', { keys: ['images'], args: ['dropped[].hash', 'dropped[].found'] })

const lookedAt = z.union([
  z.object({ sha256: z.string(), pdq: z.string().nullable().optional() }),
  z.object({ why: z.string() }),
])

/** What has been found out of pictures, in Redis: hashes alone, for some minutes. */
export function redisLookedAt(client: Redis, keys: Pick<Keys, 'looked' | 'images'>): LookedAtPictures {
  const keyOf = (ref: ThreadRef, url: string) => keys.looked(memberOf(ref), hash('sha256', url, 'base64url'))
  /** What stands in place of an image that was kept beside its post; null where none did, or it is there. */
  const droppedAt = async (ref: ThreadRef, url: string) => {
    const [images, own] = [keys.images(memberOf(ref)), keptHash(url)]
    if (own === null || (await client.hstrlen(images, own)) > LONGEST_FOUND) return null
    return client.hget(images, own)
  }
  return {
    async claim(ref, url) {
      const key = keyOf(ref, url)
      const dropped = await droppedAt(ref, url)
      if (dropped !== null) return lookedAt.parse(JSON.parse(dropped))
      if ((await client.set(key, BEGUN, 'PX', CLAIM_MS, 'NX')) !== null) return null
      const known = await client.get(key)
      // It has ended in between.
      if (known === null || known === BEGUN) return BEGUN
      return lookedAt.parse(JSON.parse(known))
    },
    async keep(ref, url, found) {
      const ms = 'why' in found ? UNKNOWN_KEPT_MS : KEPT_MS
      await client.set(keyOf(ref, url), JSON.stringify(found), 'PX', ms)
    },
    async release(ref, url) {
      await client.unlink(keyOf(ref, url))
    },
    async drop(ref, images) {
      const dropped = [...images].map(([hash, found]) => ({ hash, found: JSON.stringify(found) }))
      if (dropped.length > 0) await dropImages(client, { images: keys.images(memberOf(ref)), dropped })
    },
  }
}
