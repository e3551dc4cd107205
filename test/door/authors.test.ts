import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import type { AuthorErasure } from '../../src/contracts/facts/author-erasure.ts'
import { authorHashes } from '../../src/contracts/facts/author-hash.ts'
import { authorRoutes } from '../../src/door/authors.ts'
import { placeholders } from '../../src/judging/threads/rules.ts'
import { NOW, testDoor } from './door-for-tests.ts'

const HASH = authorHashes('a key')

function erasing() {
  const known = new Map<string, AuthorErasure>()
  const erasures = {
    async ask(one: AuthorErasure, mostOpen = 0) {
      if (known.size >= mostOpen) return null
      known.set(one.id, known.get(one.id) ?? one)
      return known.get(one.id) ?? one
    },
    read: async (id: string) => known.get(id) ?? null,
  }
  const routes = authorRoutes({
    erasures,
    hashOf: HASH,
    isPlaceholder: placeholders(['[deleted]', 'unknown']),
    clock: () => NOW,
    report: () => {},
  })
  const door = testDoor({ routes })
  const as = (tenant: string, scope: 'erase' | 'send' = 'erase') => ({
    authorization: `Bearer ${door.keyOf(tenant, [scope])}`,
  })
  return { ...door, as, known }
}

test('the erasure of a person is begun once, for the tenant of the key, and told without their name', async () => {
  const { ask, as, known } = erasing()
  const first = await ask('DELETE', '/v1/authors/at%3A%2F%2Fann', undefined, as('acme'))
  expect(first.status).toBe(202)
  const told = first.body as { erasure: string; stays: string[] }
  expect(told).toMatchObject({ erasure: HASH('acme', 'at://ann'), tenant: 'acme', state: 'asked', sent: 0 })
  expect(told.stays.length).toBeGreaterThan(3)
  expect(JSON.stringify(told)).not.toContain('ann')
  expect(first.headers.get('location')).toBe(`/v1/erasures/${told.erasure}`)
  await ask('DELETE', '/v1/authors/at%3A%2F%2Fann', undefined, as('acme'))
  expect([...known.keys()]).toEqual([told.erasure])
  await ask('DELETE', '/v1/authors/at%3A%2F%2Fann', undefined, as('other'))
  expect(known.size).toBe(2)
  const found = await ask('GET', `/v1/erasures/${told.erasure}`, undefined, as('acme'))
  expect([found.status, found.body]).toEqual([200, told])
  // Another tenant's is nobody's.
  expect((await ask('GET', `/v1/erasures/${told.erasure}`, undefined, as('other'))).status).toBe(404)
})

test('so many of a tenant are under way at a time', async () => {
  const { ask, as } = erasing()
  const statuses: number[] = []
  for (let nth = 0; nth <= 100; nth++)
    statuses.push((await ask('DELETE', `/v1/authors/ann-${nth}`, undefined, as('acme'))).status)
  expect(statuses.slice(99)).toEqual([202, 429])
})

test('a placeholder is refused, and so is a key without the scope', async () => {
  const { ask, as, known } = erasing()
  for (const name of ['%5Bdeleted%5D', 'Unknown', '%40unknown', '%E2%80%8B'])
    expect((await ask('DELETE', `/v1/authors/${name}`, undefined, as('acme'))).status, name).toBe(400)
  expect((await ask('DELETE', '/v1/authors/ann', undefined, as('acme', 'send'))).status).toBe(403)
  expect(known.size).toBe(0)
})

test('the routes are described', async () => {
  const { ask, as } = erasing()
  const document = (await ask('GET', '/openapi.json', undefined, as('acme'))).body as { paths: object }
  expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(['/v1/authors/{id}', '/v1/erasures/{id}']))
  expect((await new Validator().validate(document)).valid).toBe(true)
})
