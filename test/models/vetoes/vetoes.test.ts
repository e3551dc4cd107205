import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { vetoes } from '../../../config/vetoes.ts'
import { imageHash } from '../../../src/contracts/facts/image-bytes.ts'
import type { VetoFindings } from '../../../src/contracts/ports/vetoes.ts'
import { imageCache } from '../../../src/models/image-cache.ts'
import { packed } from '../../../src/models/vetoes/hash-list.ts'
import { openVetoLists, type VetoLists } from '../../../src/models/vetoes/veto-lists.ts'
import { vetoChecks } from '../../../src/models/vetoes/vetoes.ts'
import { memoryLookedAt } from '../../../src/store/veto/memory.ts'
import { postOf, T0, thread } from '../../contracts/samples.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { GATEWAY } from '../../support/parts.ts'

const folder = ownFolder('veto-checks')
const ADDRESS = 'https://a.example/1'
const PICTURE = 'data:image/png;base64,any'
const LOOK = '0f'.repeat(32)

/** A list, packed or not, of these hashes. */
async function fileOf(name: string, ...hashes: readonly string[]): Promise<string> {
  const path = join(folder, name)
  writeFileSync(path, `${hashes.join('\n')}\n`)
  if (!name.endsWith('.bin')) return path
  const { bytes } = await packed(path)
  writeFileSync(path, bytes)
  return path
}

/** Checks of one post with a picture, with lists that can be exchanged. */
async function checking(given: object, load: () => Promise<string> = async () => PICTURE) {
  const clock = () => T0
  let lists = await openVetoLists(vetoes.parse(given))
  const seen = { fetches: 0, decodes: 0 }
  const fetching = async () => {
    seen.fetches++
    return load()
  }
  const decode = async () => {
    seen.decodes++
    return Buffer.from(`${LOOK} 100`)
  }
  const images = imageCache(fetching, GATEWAY.images, clock)
  const checks = vetoChecks({ lists: () => lists, looked: memoryLookedAt(clock), images, decode, clock })
  const ref = thread('P')
  const post = postOf(ref, { media: [{ kind: 'image', url: ADDRESS }] })
  return {
    seen,
    guarded: checks.guard(async () => PICTURE),
    async reload(next: object) {
      const before = lists
      lists = await openVetoLists(vetoes.parse(next))
      await before.close()
    },
    close: () => lists.close(),
    async check(caseId: string): Promise<VetoFindings> {
      for (;;) {
        const found = await checks.check({ ref, caseId, post, around: new Map(), mayFetch: async () => {} })
        if (found !== null) return found
      }
    },
  }
}

test('a reload closes no list under a comparison', async () => {
  const known = { kind: 'sha256', list: await fileOf('known.bin', imageHash(PICTURE)) }
  const begun = Promise.withResolvers<void>()
  const shown = Promise.withResolvers<string>()
  const { check, reload, close } = await checking({ known }, () => {
    begun.resolve()
    return shown.promise
  })
  const checked = check('1')
  await begun.promise
  await reload({ known })
  shown.resolve(PICTURE)
  expect(await checked).toMatchObject({ hit: { list: 'known' }, unchecked: [] })
  await close()
})

test('a list of another kind that is added by a reload is compared with pictures that were looked at before', async () => {
  const other = { kind: 'sha256', list: await fileOf('other.txt', imageHash('data:image/png;base64,other')) }
  const alike = { kind: 'pdq', list: await fileOf('alike.txt', LOOK) }
  const { check, reload, seen } = await checking({ other })
  expect(await check('1')).toMatchObject({ hit: null, unchecked: [] })
  await reload({ other, alike })
  expect(await check('2')).toMatchObject({ hit: { list: 'alike' } })
  expect(await check('3')).toMatchObject({ hit: { list: 'alike' } })
  expect(seen).toEqual({ fetches: 2, decodes: 1 })
})

test('a picture that was compared is not decoded again for its question, until the lists change', async () => {
  const alike = { kind: 'pdq', list: await fileOf('others.txt', 'f0'.repeat(32)) }
  const { check, reload, guarded, seen } = await checking({ alike })
  expect(await check('1')).toMatchObject({ hit: null, unchecked: [] })
  const { signal } = new AbortController()
  expect(await guarded(ADDRESS, signal)).toBe(PICTURE)
  expect(seen.decodes).toBe(1)
  await reload({ alike: { ...alike, list: await fileOf('alike.txt', LOOK) } })
  await expect(guarded(ADDRESS, signal)).rejects.toThrow('it is on the list alike')
})

/** Checks of posts by number whose pictures are named by their hashes. */
function checkingPosts(lists: VetoLists, hashOf: (nth: number) => string) {
  const clock = () => T0
  const parts = { looked: memoryLookedAt(clock), images: imageCache(async () => PICTURE, GATEWAY.images, clock) }
  const decode = async () => Buffer.from(`${LOOK} 100`)
  const checks = vetoChecks({ lists: () => lists, ...parts, decode, clock })
  return async (tenant: string, nth: number) => {
    const ref = { ...thread(`p${nth}`), tenant }
    const media = [{ kind: 'image' as const, alt: 'a picture', sha256: hashOf(-nth), pdq: hashOf(-nth) }]
    const post = postOf(ref, { author: `author ${nth}`, media })
    const subject = { ref, caseId: `${tenant} ${nth}`, post, around: new Map() }
    for (;;) {
      const found = await checks.check({ ...subject, mayFetch: async () => {} })
      if (found !== null) return found
    }
  }
}

test('a tenant that has very much compared holds up no other’s look at a list', async () => {
  const hashOf = (nth: number) => createHash('sha256').update(`hash ${nth}`).digest('hex')
  const path = await fileOf('long.txt', ...Array.from({ length: 70_000 }, (_, nth) => hashOf(nth)))
  const lists = await openVetoLists(vetoes.parse({ alike: { kind: 'pdq', list: path } }))
  let looked = 0
  const counted: VetoLists = {
    ...lists,
    findPicture: (hashes, turns) => lists.findPicture(hashes, turns).finally(() => looked++),
  }
  const check = checkingPosts(counted, hashOf)
  const many = Promise.all(Array.from({ length: 60 }, (_, nth) => check('alpha', 1 + nth)))
  await check('beta', 1_000)
  expect(looked).toBeLessThan(10)
  await many
  await lists.close()
})

test('what waits for its turn at a list makes no other wait longer: no signal is listened to by all', async () => {
  const lists = await openVetoLists(
    vetoes.parse({ words: { kind: 'pattern', list: await fileOf('words.txt', 'zyzzyva') } }),
  )
  const listeners = new Map<EventTarget, number>()
  const listen = vi.spyOn(EventTarget.prototype, 'addEventListener').mockImplementation(function (this: EventTarget) {
    listeners.set(this, (listeners.get(this) ?? 0) + 1)
  })
  const check = checkingPosts(lists, String)
  await Promise.all(Array.from({ length: 20 }, (_, nth) => check('alpha', 1 + nth)))
  listen.mockRestore()
  expect(listeners.size).toBeGreaterThanOrEqual(16)
  expect(Math.max(...listeners.values())).toBe(1)
  await lists.close()
})

test('a tenant that has very much asked of a service holds up no other’s question to it', async () => {
  const hashOf = (nth: number) => createHash('sha256').update(`hash ${nth}`).digest('hex')
  const waiting = new Map<string, ServerResponse>()
  const server = createServer(async (request, response) => {
    waiting.set(JSON.parse(await text(request)).hash, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const lists = await openVetoLists(vetoes.parse({ alike: { kind: 'pdq', service, timeout: '60s' } }))
  const check = checkingPosts(lists, hashOf)
  const many = Promise.all(Array.from({ length: 60 }, (_, nth) => check('alpha', 1 + nth)))
  await vi.waitFor(() => expect(waiting.size).toBe(4))
  const one = check('beta', 1_000)
  await vi.waitFor(() => expect(waiting.size).toBe(5))
  expect(waiting.has(hashOf(-1_000))).toBe(true)
  waiting.get(hashOf(-1_000))?.end('{"match": false}')
  expect(await one).toMatchObject({ hit: null, unchecked: [] })
  server.removeAllListeners('request')
  server.on('request', (_, response: ServerResponse) => response.end('{"match": false}'))
  for (const response of waiting.values()) response.end('{"match": false}')
  await many
  await lists.close()
  server.closeAllConnections()
  server.close()
})
