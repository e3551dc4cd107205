import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
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

/** Checks of one post with pictures, with lists that can be exchanged. */
async function checking(
  given: object,
  load: (url: string) => Promise<string> = async () => PICTURE,
  addresses: readonly string[] = [ADDRESS],
) {
  const clock = () => T0
  const seen = { scans: 0, fetches: 0, decodes: 0 }
  const opened = async (settings: object): Promise<VetoLists> => {
    const own = await openVetoLists(vetoes.parse(settings))
    return {
      ...own,
      findWords(...texts) {
        seen.scans++
        return own.findWords(...texts)
      },
    }
  }
  let lists = await opened(given)
  const fetching = async (url: string) => {
    seen.fetches++
    return load(url)
  }
  const decode = async () => {
    seen.decodes++
    return Buffer.from(`${LOOK} 100`)
  }
  const images = imageCache(fetching, GATEWAY.images, clock)
  const checks = vetoChecks({ lists: () => lists, looked: memoryLookedAt(clock), images, decode, clock })
  const ref = thread('P')
  const post = postOf(ref, { media: addresses.map((url) => ({ kind: 'image', url })) })
  return {
    seen,
    guarded: checks.guard(async () => PICTURE),
    async reload(next: object) {
      const before = lists
      lists = await opened(next)
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
  expect(seen).toEqual({ scans: 3, fetches: 2, decodes: 1 })
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
      // As the opener, which comes back to it later: what answers meanwhile is heard.
      await sleep(10)
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

test('a service that fails once, or for some seconds, leaves nothing uncompared', async () => {
  // It runs on between: a failure that is noticed late is tried again a second after that.
  const begun = performance.now()
  let passed = 0
  const now = vi.spyOn(Date, 'now').mockImplementation(() => T0 + passed + performance.now() - begun)
  let asked = 0
  let answer = (response: ServerResponse) => void response.destroy()
  const server = createServer((_, response) => {
    asked++
    answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const lists = await openVetoLists(vetoes.parse({ alike: { kind: 'pdq', service } }))
  const check = checkingPosts(lists, (nth) => createHash('sha256').update(`hash ${nth}`).digest('hex'))
  const many = Array.from({ length: 20 }, (_, nth) => check('alpha', 1 + nth))
  await vi.waitFor(() => expect(asked).toBeGreaterThanOrEqual(5))
  answer = (response) => void response.end('{"match": false}')
  passed = 6_000
  for (const found of await Promise.all(many)) expect(found.unchecked).toEqual([])
  // One that stays away is told, also to who has asked before.
  answer = (response) => void response.destroy()
  const before = asked
  const late = Array.from({ length: 6 }, (_, nth) => check('beta', 101 + nth))
  await vi.waitFor(() => expect(asked).toBeGreaterThanOrEqual(before + 5))
  passed = 30_000
  await vi.waitFor(() => expect(asked).toBeGreaterThanOrEqual(before + 6), 10_000)
  passed = 60_000
  for (const found of await Promise.all(late)) expect(found.unchecked).toHaveLength(1)
  now.mockRestore()
  await lists.close()
  server.close()
})

/** A service of hashes that fails, the hashes it was asked about, and the picture of each address. */
async function failing() {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    asked.push(JSON.parse(await text(request)).hash)
    response.writeHead(500).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const pictureAt = (url: string) => `data:image/png;base64,${Buffer.from(url).toString('base64')}`
  return { asked, server, theirs: { kind: 'sha256', service }, pictureAt }
}
const TWO = [ADDRESS, 'https://a.example/2'] as const

test('pictures that a service has no answer to are fetched once, and wait no longer than one, in the next case not at all', async () => {
  const now = vi.spyOn(Date, 'now').mockReturnValue(T0)
  const { asked, server, theirs, pictureAt } = await failing()
  const { check, seen, close } = await checking({ theirs }, async (url) => pictureAt(url), TWO)
  const checked = check('1')
  await vi.waitFor(() => expect(new Set(asked).size).toBe(2), 20_000)
  now.mockReturnValue(T0 + 30_000)
  expect((await checked).unchecked.map(({ url }) => url).sort()).toEqual(TWO)
  expect(seen).toEqual({ scans: 1, fetches: 2, decodes: 0 })
  now.mockReturnValue(T0 + 89_000)
  expect((await check('2')).unchecked).toHaveLength(2)
  expect(seen).toEqual({ scans: 2, fetches: 2, decodes: 0 })
  now.mockRestore()
  await close()
  server.close()
})

test('a picture that is on a list is found at once beside a service that fails, and beside a picture that waits for it', async () => {
  const { server, theirs, pictureAt } = await failing()
  const known = { kind: 'sha256', list: await fileOf('second.txt', imageHash(pictureAt(TWO[1]))) }
  const { check, seen, close } = await checking({ theirs, known }, async (url) => pictureAt(url), TWO)
  expect(await check('1')).toMatchObject({ hit: { list: 'known' }, unchecked: [] })
  expect(seen).toEqual({ scans: 1, fetches: 2, decodes: 0 })
  await close()
  server.close()
})

test('a tenant whose pictures wait for a service keeps no more in memory, and no other tenant out; so does an author', async () => {
  const server = createServer(() => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const lists = await openVetoLists(vetoes.parse({ alike: { kind: 'pdq', service, timeout: '60s' } }))
  let looked = 0
  const findWords: VetoLists['findWords'] = (...given) => {
    looked++
    return lists.findWords(...given)
  }
  const clock = () => T0
  const parts = { looked: memoryLookedAt(clock), images: imageCache(async () => PICTURE, GATEWAY.images, clock) }
  const checks = vetoChecks({
    lists: () => ({ ...lists, findWords }),
    ...parts,
    decode: async () => Buffer.of(),
    clock,
  })
  const ask = (tenant: string, nth: number, isSeen = true, author = `author ${nth}`) => {
    const ref = { ...thread(`p${nth}`), tenant }
    const media = isSeen ? { media: [{ kind: 'image' as const, pdq: LOOK }] } : {}
    return checks.check({
      ref,
      caseId: `${tenant} ${nth}`,
      post: postOf(ref, { author, ...media }),
      around: new Map(),
      mayFetch: async () => {},
    })
  }
  await Promise.all(Array.from({ length: 300 }, (_, nth) => ask('alpha', nth)))
  expect(looked).toBe(200)
  expect(await ask('alpha', 999, false)).toMatchObject({ hit: null })
  await ask('beta', 1)
  expect(looked).toBe(202)
  await Promise.all(Array.from({ length: 100 }, (_, nth) => ask('gamma', nth, true, 'one')))
  expect(looked).toBe(252)
  await ask('gamma', 999)
  expect(looked).toBe(253)
  server.closeAllConnections()
  server.close()
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
