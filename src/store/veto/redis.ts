import { hash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { LookedAtPictures } from '../../contracts/ports/vetoes.ts'
import { type Keys, memberOf } from '../redis/keys.ts'
import { KEPT_MS, UNKNOWN_KEPT_MS } from './kept.ts'

/** One who looks has so long, in ms: then somebody else does. Fetching and decoding are bounded by less. */
const CLAIM_MS = 120_000
const BEGUN = 'begun'

const lookedAt = z.union([z.object({ sha256: z.string(), pdq: z.string().nullable() }), z.object({ why: z.string() })])

/** What has been found out of pictures, in Redis: hashes alone, for some minutes. */
export function redisLookedAt(client: Redis, keys: Pick<Keys, 'looked' | 'images'>): LookedAtPictures {
  const keyOf = (ref: ThreadRef, url: string) => keys.looked(memberOf(ref), hash('sha256', url, 'base64url'))
  return {
    async claim(ref, url) {
      const key = keyOf(ref, url)
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
    async drop(ref, hashes) {
      if (hashes.length > 0) await client.hdel(keys.images(memberOf(ref)), ...hashes)
    },
  }
}
