import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { command as create } from '../../src/app/commands/keys/create.ts'
import { command as list } from '../../src/app/commands/keys/list.ts'
import { command as revoke } from '../../src/app/commands/keys/revoke.ts'
import { foundKey, newApiKey } from '../../src/contracts/facts/api-key.ts'
import { serveDoor } from '../../src/door/server/door-server.ts'
import { changeKeys, openKeyFile, readKeys } from '../../src/door/server/key-file.ts'
import { invocation } from '../support/commands.ts'
import { ownFolder } from '../support/own-folder.ts'
import { NOW, POST, testDoor } from './door-for-tests.ts'

const OF_ACME = {
  tenant: 'acme',
  scopes: ['send' as const],
  by: 'acme',
  createdAt: new Date(NOW).toISOString(),
  expiresAt: null,
}

test('nothing of a key is kept by which it could be used', () => {
  const { key, kept } = newApiKey(OF_ACME)
  expect(JSON.stringify(kept)).not.toContain(key.slice(15))
  const keys = new Map([[kept.id, kept]])
  expect(foundKey(keys, key, NOW)?.id).toBe(kept.id)
  expect(foundKey(keys, `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`, NOW)).toBeNull()
  expect(foundKey(keys, 'gavel_constructor', NOW)).toBeNull()
  expect(foundKey(new Map([[kept.id, { ...kept, expiresAt: new Date(NOW).toISOString() }]]), key, NOW)).toBeNull()
  expect(foundKey(new Map([[kept.id, { ...kept, revokedAt: new Date(NOW).toISOString() }]]), key, NOW)).toBeNull()
})

test('a key does what its scopes say, for its tenant', async () => {
  const { ask, keyOf, records } = testDoor()
  const as = (key: string) => ({ authorization: `Bearer ${key}` })
  expect((await ask('POST', '/v1/messages', [POST], as(keyOf('other', ['send'])))).status).toBe(200)
  expect(JSON.parse(String(records[0]?.value)).tenant).toBe('other')
  const reading = await ask('POST', '/v1/messages', [POST], as(keyOf('acme', ['read'])))
  expect([reading.status, reading.body.type]).toEqual([403, '/problems/scope'])
  const wrong = await ask('POST', '/v1/messages', [POST], as('gavel_aaaaaaaa_nonsense'))
  expect([wrong.status, wrong.body.type, wrong.headers.get('www-authenticate')]).toEqual([
    401,
    '/problems/key-unknown',
    'Bearer',
  ])
  const none = await ask('POST', '/v1/messages', [POST], { authorization: '' })
  expect([none.status, none.body.type]).toEqual([401, '/problems/key-unknown'])
  const inQuery = await ask('POST', `/v1/messages?key=${keyOf('acme', ['send'])}`, [POST], { authorization: '' })
  expect(inQuery.status).toBe(401)
  expect(records).toHaveLength(1)
})

test('wrong keys in a row are told to wait, and shut nobody out who has a good one', async () => {
  const { ask } = testDoor()
  const statuses = new Set<number>()
  for (let at = 0; at < 60; at++)
    statuses.add((await ask('POST', '/v1/messages', [POST], { authorization: `Bearer gavel_${at}` })).status)
  expect(statuses).toEqual(new Set([401, 429]))
  expect((await ask('POST', '/v1/messages', [POST])).status).toBe(200)
})

test('wrong keys count for the network that a forwarder names, in IPv6 the 64 bits that are given out together', async () => {
  const own = testDoor()
  const server = await serveDoor(
    {
      host: '127.0.0.1',
      port: 0,
      hosts: [],
      requestTime: 5_000,
      connections: 100,
      keepAlive: 5_000,
      forwarders: ['127.0.0.1'],
    },
    { fetch: own.fetch, refuse: () => ({ type: 'text/plain', body: '' }) },
  )
  const statusFrom = async (address: string) => {
    const headers = { authorization: 'Bearer gavel_wrong', 'x-forwarded-for': `198.51.100.1, ${address}` }
    return (await fetch(`http://127.0.0.1:${server.port}/v1/messages`, { method: 'POST', headers })).status
  }
  const statuses = new Set<number>()
  for (let at = 1; at <= 60; at++) statuses.add(await statusFrom(`2001:db8:0:1::${at}`))
  expect(statuses).toEqual(new Set([401, 429]))
  expect(await statusFrom('2001:db8:0:2::1')).toBe(401)
  const networks = own.events
    .map(([, event]) => event)
    .filter((event) => JSON.stringify(event).includes('"key-unknown"'))
  expect(networks.at(-1)).toMatchObject({ network: '2001:db8:0:2' })
  await server.close(0)
})

test('the rate of one key is no other’s', async () => {
  const { ask, keyOf } = testDoor({ rate: { perSecond: 1, burst: 1 } })
  const [one, other] = [keyOf('acme', ['send']), keyOf('acme', ['send'], { rate: { perSecond: 9, burst: 9 } })]
  const statusAs = async (key: string) =>
    (await ask('POST', '/v1/messages', [POST], { authorization: `Bearer ${key}` })).status
  expect([await statusAs(one), await statusAs(one), await statusAs(other), await statusAs(other)]).toEqual([
    200, 429, 200, 200,
  ])
})

test('more keys give a tenant no more than one, unless they have rates of their own', async () => {
  const { ask, keyOf } = testDoor({ rate: { perSecond: 1, burst: 2 } })
  const [first, second] = [keyOf('acme', ['send']), keyOf('acme', ['send'])]
  const own = keyOf('acme', ['send'], { rate: { perSecond: 1, burst: 1 } })
  const statuses: number[] = []
  for (const key of [first, second, second, first, own, keyOf('other', ['send'])])
    statuses.push((await ask('POST', '/v1/messages', [POST], { authorization: `Bearer ${key}` })).status)
  expect(statuses).toEqual([200, 200, 429, 429, 200, 200])
})

test('a file of keys that changes is read again, and one that can’t be read changes nothing', async () => {
  const path = join(ownFolder('keys'), 'deep', 'keys.json')
  expect(() => openKeyFile(path, () => NOW)).toThrow('gavel keys create')
  const { kept } = newApiKey(OF_ACME)
  await changeKeys(path, (keys) => ({ keys: [...keys, kept], result: null }))
  expect(statSync(path).mode & 0o777).toBe(0o600)
  let now = NOW
  const file = openKeyFile(path, () => now)
  expect([...file.byId.keys()]).toEqual([kept.id])
  await Promise.all(
    Array.from({ length: 5 }, () =>
      changeKeys(path, (keys) => ({ keys: [...keys, newApiKey(OF_ACME).kept], result: null })),
    ),
  )
  await file.poll()
  expect(file.byId.size).toBe(6)
  now += 5_000
  writeFileSync(path, '{"schema":1,"keys":[{"id":"secret content"}]}')
  await expect(file.poll()).rejects.toThrow(/not as "gavel keys" writes them/)
  await expect(file.poll()).rejects.not.toThrow(/secret content/)
  expect([file.byId.size, file.seenAt]).toEqual([6, NOW])
  expect(existsSync(`${path}.lock`)).toBe(false)
})

test('a file of keys that may come later holds none until then', async () => {
  const path = join(ownFolder('keys'), 'keys.json')
  const file = openKeyFile(path, () => NOW, { mayCome: true })
  await file.poll()
  expect(file.byId.size).toBe(0)
  const { kept } = newApiKey(OF_ACME)
  await changeKeys(path, (keys) => ({ keys: [...keys, kept], result: null }))
  await file.poll()
  expect([...file.byId.keys()]).toEqual([kept.id])
  rmSync(path)
  await expect(file.poll()).rejects.toThrow('gavel keys create')
  expect(file.byId.size).toBe(1)
})

test('keys that no door would read are not written', async () => {
  const path = join(ownFolder('keys'), 'keys.json')
  await changeKeys(path, () => ({ keys: [newApiKey(OF_ACME).kept], result: null }))
  const before = readFileSync(path, 'utf8')
  const door = { ...loadSettings({}).door, keys: path }
  const io = { terminal: { out() {}, say() {}, progress() {} }, signal: new AbortController().signal }
  const made = (more: object) =>
    create.run(invocation({ door }, [], { tenant: 'acme', scopes: ['send'] as const, ...more }, io))
  await expect(made({ rate: 2_000_000 })).rejects.toThrow('Nothing was changed')
  await expect(made({ rate: 5, burst: 20_000_000 })).rejects.toThrow('Nothing was changed')
  await expect(made({ expires: 4_000_000 * 86_400_000 })).rejects.toThrow('--expires')
  await expect(made({ expires: 99_999_999_999 * 86_400_000 })).rejects.toThrow('--expires')
  expect(readFileSync(path, 'utf8')).toBe(before)
})

test('a file of keys that changes stays where a link leads, with its mode', async () => {
  const folder = ownFolder('keys')
  const [file, link] = [join(folder, 'real.json'), join(folder, 'link.json')]
  await changeKeys(file, () => ({ keys: [], result: null }))
  chmodSync(file, 0o640)
  symlinkSync(file, link)
  await changeKeys(link, () => ({ keys: [newApiKey(OF_ACME).kept], result: null }))
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  expect(readKeys(file).keys).toHaveLength(1)
  expect(statSync(file).mode & 0o777).toBe(0o640)
})

test('a file of keys that everybody may write is none', async () => {
  const path = join(ownFolder('keys'), 'keys.json')
  await changeKeys(path, () => ({ keys: [], result: null }))
  chmodSync(path, 0o666)
  expect(() => openKeyFile(path, () => NOW)).toThrow('chmod o-w')
})

// Only root may give files away.
test.runIf(process.getuid?.() === 0)('a file of keys that root changes stays its owner’s', async () => {
  const path = join(ownFolder('keys'), 'keys.json')
  await changeKeys(path, () => ({ keys: [], result: null }))
  chownSync(path, 12_345, 12_346)
  await changeKeys(path, () => ({ keys: [newApiKey(OF_ACME).kept], result: null }))
  const { uid, gid } = statSync(path)
  expect([uid, gid]).toEqual([12_345, 12_346])
})

test('gavel keys makes, lists and revokes them, and shows a key once', async () => {
  const path = join(ownFolder('keys'), 'keys.json')
  const door = { ...loadSettings({}).door, keys: path }
  const said: string[] = []
  const out: string[] = []
  const io = {
    terminal: {
      out: (line: string) => void out.push(line),
      say: (line: string) => void said.push(line),
      progress() {},
    },
    signal: new AbortController().signal,
  }
  const making = invocation({ door }, [], { tenant: 'acme', scopes: ['send', 'decide'] as const, expires: 1_000 }, io)
  const made = await create.run(making)
  create.print(made, making)
  expect(out).toEqual([made.key])
  expect(readFileSync(path, 'utf8')).not.toContain(made.key.slice(15))
  const listing = invocation({ door }, [], { json: true }, io)
  list.print(await list.run(listing), listing)
  expect(JSON.parse(out[1] ?? '')).toMatchObject({
    id: made.id,
    tenant: 'acme',
    scopes: ['send', 'decide'],
    revokedAt: null,
  })
  expect(out.slice(1).join() + said.join()).not.toMatch(/sha256|gavel_/)
  await expect(revoke.run(invocation({ door }, [made.id, 'absent12'], {}, io))).rejects.toThrow('nothing was revoked')
  expect(readKeys(path).keys[0]?.revokedAt).toBeNull()
  await revoke.run(invocation({ door }, [made.id], {}, io))
  expect(readKeys(path).keys[0]?.revokedAt).not.toBeNull()
  await expect(create.run(invocation({ door }, [], { tenant: 'a b', scopes: ['send'] as const }, io))).rejects.toThrow(
    '--tenant',
  )
})
