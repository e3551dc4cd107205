import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { vetoes } from '../../../config/vetoes.ts'
import { imageHash } from '../../../src/contracts/facts/image-bytes.ts'
import { imageCache } from '../../../src/models/image-cache.ts'
import { openVetoLists } from '../../../src/models/vetoes/veto-lists.ts'
import { vetoChecks } from '../../../src/models/vetoes/vetoes.ts'
import { keysUnder, memberOf } from '../../../src/store/redis/keys.ts'
import { keptImages, redisThreads } from '../../../src/store/thread/redis.ts'
import { redisLookedAt } from '../../../src/store/veto/redis.ts'
import { ARRIVAL, postOf, RULES, T0, thread } from '../../contracts/samples.ts'
import { onRedis } from '../../support/on-redis.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { GATEWAY } from '../../support/parts.ts'

const folder = ownFolder('vetoed-images')

describe('a large image on a list', () => {
  onRedis(
    'is dropped, and is on the list for each later case of its post, until the post has it no more',
    async ({ client }) => {
      const keys = keysUnder('vetoed')
      const threads = redisThreads(client, keys, { keepTombstoneMs: 60_000, keepAfterFinalMs: 1_000 })
      const ref = thread('p1')
      const [good, bad] = ['good', 'evil'].map((what) => `data:image/png;base64,${what.repeat(1_000)}`) as [
        string,
        string,
      ]
      const list = join(folder, 'known.txt')
      writeFileSync(list, `${imageHash(bad)}\n`)
      const lists = await openVetoLists(vetoes.parse({ known: { kind: 'sha256', list } }))
      const keptImage = keptImages(client, keys)
      const looked = redisLookedAt(client, keys)
      const images = imageCache(
        async (url) => url,
        GATEWAY.images,
        () => T0,
        keptImage,
      )
      const checks = vetoChecks({
        lists: () => lists,
        looked,
        images,
        decode: async () => Buffer.alloc(0),
        clock: () => T0,
      })
      const put = (text: string, ...urls: string[]) =>
        threads.putPost(
          ref,
          postOf(ref, { text, media: urls.map((url) => ({ kind: 'image' as const, url })) }),
          ARRIVAL,
          RULES,
        )
      const found = async (caseId: string) => {
        const post = (await threads.read(ref))?.post
        if (post === undefined || post === null) throw new Error('no post')
        // What was found of pictures is remembered for some minutes.
        const remembered = await client.keys(`${keys.looked('', '').split('looked')[0]}looked*`)
        if (remembered.length > 0) await client.unlink(...remembered)
        for (;;) {
          const findings = await checks.check({ ref, caseId, post, around: new Map(), mayFetch: async () => {} })
          if (findings !== null) return findings
        }
      }
      await put('first', good, bad)
      expect((await found('1')).hit).toMatchObject({ list: 'known' })
      const kept = await client.hvals(keys.images(memberOf(ref)))
      expect(kept.join()).not.toContain('data:')
      const again = await found('2')
      expect(again).toMatchObject({ hit: { list: 'known' }, unchecked: [] })
      expect([...again.hashes.values()].map(({ sha256 }) => sha256)).toEqual([good, bad].map(imageHash))
      const [address = ''] = again.hashes.keys()
      expect(await keptImage(ref, address.replace('kept:', ''))).toBeNull()
      await put('second', good)
      expect(await found('3')).toMatchObject({ hit: null, unchecked: [] })
      await lists.close()
    },
  )
})
