import { hostname } from 'node:os'
import { expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { identityOf } from '../../src/operations/identity.ts'

const fingerprintOf = (environment: Record<string, string>) => identityOf(loadSettings(environment), []).settings

it('tells which process this is', () => {
  expect(identityOf(loadSettings({ GAVEL_NAME: 'news.eu-1' }), ['judge', 'publish'])).toEqual({
    gavel: 'news.eu-1',
    host: hostname(),
    roles: ['judge', 'publish'],
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    settings: expect.stringMatching(/^[0-9a-f]{8}$/),
  })
  expect(loadSettings({}).name).toBe('gavel')
  for (const name of ['two words', 'x'.repeat(65), 'a"b'])
    expect(() => loadSettings({ GAVEL_NAME: name })).toThrow(/name: 1 to 64 letters.*set by GAVEL_NAME/)
})

it('has another fingerprint for other settings, whichever they are', () => {
  const others = [
    {},
    { GAVEL_NAME: 'other' },
    { GAVEL_PROTOCOLS_RUMOR_K: '19' },
    { REDIS_URL: 'redis://redis-1:6379' },
    { REDIS_URL: 'redis://redis-2:6379' },
    { GAVEL_KAFKA_TOPIC_PREFIX: 'other.' },
  ]
  expect(new Set(others.map(fingerprintOf)).size).toBe(others.length)
  expect(fingerprintOf({ GAVEL_DRAIN: '1m' })).toBe(fingerprintOf({ GAVEL_DRAIN: '60s' }))
})

it.each([
  [{ OPENAI_API_KEY: '1' }],
  [{ GAVEL_FENCES_KEY: 'one that nobody knows' }],
  [{ GAVEL_HTTP_TOKEN: 'one-that-nobody-knows' }],
  [{ GAVEL_REDIS_PASSWORD: '1' }],
  [{ GAVEL_REDIS_SENTINEL_PASSWORD: '1' }],
])('has a fingerprint into which no secret goes: %o', (secret) => {
  expect(fingerprintOf(secret)).toBe(fingerprintOf({}))
})

it('has a fingerprint into which no password of a URL goes, and none of Kafka', () => {
  expect(fingerprintOf({ REDIS_URL: 'redis://user:1@redis:1' })).toBe(fingerprintOf({ REDIS_URL: 'redis://redis:1' }))
  expect(fingerprintOf({ OPENAI_BASE_URL: 'https://user:1@host/v1' })).toBe(
    fingerprintOf({ OPENAI_BASE_URL: 'https://host/v1' }),
  )
  const sasl = { GAVEL_KAFKA_SASL_MECHANISM: 'plain', GAVEL_KAFKA_SASL_USERNAME: 'gavel' }
  expect(fingerprintOf({ ...sasl, GAVEL_KAFKA_SASL_PASSWORD: '1' })).toBe(
    fingerprintOf({ ...sasl, GAVEL_KAFKA_SASL_PASSWORD: '2' }),
  )
})

it('has the same fingerprint in two replicas on one machine, whose pages have ports of their own', () => {
  expect(fingerprintOf({ GAVEL_HTTP_PORT: '9465' })).toBe(fingerprintOf({ GAVEL_HTTP_PORT: '9464' }))
})

it('has a fingerprint into which no secret of a webhook goes', () => {
  const hook = (secret: string) => `{ shop: { url: "https://shop.example/", tenant: acme, secrets: ["${secret}"] } }`
  const [one, other] = ['MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz', 'OTg3NjU0MzIxMDk4NzY1NDMyMTA5ODc2'].map((secret) =>
    fingerprintOf({ GAVEL_WEBHOOKS_TO: hook(`whsec_${secret}`) }),
  )
  expect(one).toBe(other)
  expect(one).not.toBe(fingerprintOf({}))
})
