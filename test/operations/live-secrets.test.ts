import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { liveSecrets } from '../../src/operations/live-secrets.ts'
import { changedSettings } from '../../src/operations/reloading.ts'
import { bearer } from '../../src/platform/http.ts'
import { ownFolder } from '../support/own-folder.ts'

const file = join(ownFolder('secrets'), 'gavel.yaml')
const read = (yaml: string, environment: Record<string, string> = {}) => {
  writeFileSync(file, yaml)
  return loadSettings(environment, file)
}
const hooks = (secret: string) =>
  `{ to: { shop: { url: "https://shop.example/", tenant: acme, secrets: [whsec_${secret.repeat(32)}] } } }`
const kafka = (password: string) => `{ sasl: { mechanism: plain, username: gavel, password: ${password} } }`

it('names each secret as something that needs no restart, and what stands beside it as something that does', () => {
  const one = read(
    `{ endpoints: { azure: { baseUrl: "http://a/v1", headers: { api-key: one } } }, webhooks: ${hooks('A')}, kafka: ${kafka('one')} }`,
    { REDIS_URL: 'redis://gavel:one@host:1', OPENAI_API_KEY: 'one', GAVEL_HTTP_TOKEN: 'one-one-one-one-one' },
  )
  const other = read(
    `{ endpoints: { azure: { baseUrl: "http://a/v1", headers: { api-key: two } } }, webhooks: ${hooks('B')}, kafka: ${kafka('two')} }`,
    { REDIS_URL: 'redis://gavel:two@host:1', OPENAI_API_KEY: 'two', GAVEL_HTTP_TOKEN: 'two-two-two-two-two' },
  )
  const { paths, fixed } = changedSettings(one, other)
  expect(paths.sort()).toEqual([
    'endpoints.azure.headers.api-key',
    'http.token',
    'kafka.sasl.password',
    'openai.apiKey',
    'redis.url',
    'webhooks.to.shop.secrets',
  ])
  expect(fixed).toEqual([])
  const elsewhere = read('{}', { REDIS_URL: 'redis://gavel:two@other:1', GAVEL_FENCES_KEY: 'x'.repeat(16) })
  expect(changedSettings(read('{}', { REDIS_URL: 'redis://gavel:one@host:1' }), elsewhere).fixed).toEqual([
    'redis.url',
    'fences.key',
  ])
})

it('takes neither a header that is new or gone nor the first or last token of the port, and no user of the record', () => {
  const azure = (headers: string) =>
    read(`{ endpoints: { azure.eu: { baseUrl: "http://a/v1", headers: { ${headers} } } } }`)
  expect(changedSettings(azure('a: one'), azure('a: two')).fixed).toEqual([])
  expect(changedSettings(azure('a: one'), azure('a: one, b: two')).fixed).toEqual(['endpoints.azure.eu.headers.b'])
  expect(changedSettings(azure('a: one, b: two'), azure('a: one')).fixed).toEqual(['endpoints.azure.eu.headers.b'])
  const [closed, open] = [read('{}', { GAVEL_HTTP_TOKEN: 'one-one-one-one-one' }), read('{}')]
  expect(changedSettings(closed, open).fixed).toEqual(['http.token'])
  expect(changedSettings(open, closed).fixed).toEqual(['http.token'])
  const record = (user: string) => read(`{ record: { postgres: { url: "postgresql://${user}@host:1/gavel" } } }`)
  expect(changedSettings(record('one:one'), record('one:two')).fixed).toEqual([])
  expect(changedSettings(record('one:one'), record('two:one')).fixed).toEqual(['record.postgres.url'])
})

it('gives whoever holds a part of the settings the secrets that were taken last, and nothing else of them', () => {
  const { settings, take } = liveSecrets(read('{}', { GAVEL_REDIS_PASSWORD: 'one' }))
  const { redis } = settings
  expect(redis.password).toBe('one')
  take(read('{ redis: { prefix: other } }', { GAVEL_REDIS_PASSWORD: 'two' }))
  expect(redis.password).toBe('two')
  expect(redis.prefix).toBe('gavel')
  expect(JSON.parse(JSON.stringify(settings))).toMatchObject({ redis: { password: 'two', prefix: 'gavel' } })
})

it('lets a replaced token in for a minute, beside the new one', () => {
  const now = { token: 'one', ms: 0 }
  const knows = bearer(
    () => now.token,
    () => now.ms,
  )
  expect([knows('Bearer one'), knows('Bearer two'), knows(undefined)]).toEqual([true, false, false])
  now.token = 'two'
  expect([knows('Bearer one'), knows('Bearer two'), knows('Bearer three')]).toEqual([true, true, false])
  now.ms += 59_000
  expect(knows('Bearer one')).toBe(true)
  now.ms += 2_000
  expect([knows('Bearer one'), knows('Bearer two')]).toEqual([false, true])
})
