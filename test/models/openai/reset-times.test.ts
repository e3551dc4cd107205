import { expect, test } from 'vitest'
import { failureOf } from '../../../src/models/openai/refusals.ts'
import { resetIn } from '../../../src/models/openai/reset-times.ts'

const NOW = Date.UTC(2026, 10, 29, 12)

test.each<[string, Record<string, string | string[]>, number | undefined]>([
  ['OpenAI, by requests', { 'x-ratelimit-reset-requests': '1s' }, 1_000],
  ['OpenAI, in minutes and fractions', { 'x-ratelimit-reset-tokens': '1m47.5s' }, 107_500],
  [
    'Groq, the limit that is used up',
    {
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '7.66s',
      'x-ratelimit-remaining-requests': '14',
      'x-ratelimit-reset-requests': '2m59.56s',
    },
    7_660,
  ],
  ['several, none of them used up', { 'x-ratelimit-reset-tokens': '9s', 'x-ratelimit-reset-requests': '20ms' }, 20],
  ['OpenRouter, in ms since 1970', { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(NOW + 25_000) }, 25_000],
  ['GitHub, in s since 1970', { 'x-ratelimit-reset': String(NOW / 1_000 + 40) }, 40_000],
  ['a draft of the IETF, in s', { 'ratelimit-reset': '12' }, 12_000],
  ['Anthropic, a date', { 'anthropic-ratelimit-requests-reset': '2026-11-29T12:00:30Z' }, 30_000],
  ['a list', { 'x-ratelimit-reset': ['3'] }, 3_000],
  ['what has passed', { 'x-ratelimit-reset': String(NOW - 1) }, undefined],
  ['no time', { 'x-ratelimit-reset': 'soon' }, undefined],
  ['nothing', { 'x-ratelimit-reset': '' }, undefined],
  ['another header', { 'x-reset': '5' }, undefined],
])('the wait of a refusal is read from its headers: %s', (_, headers, ms) => {
  expect(resetIn(headers, NOW)).toBe(ms)
})

test('also where a gateway repeats them in the body, under status 200', () => {
  const reset = Date.now() + 25_000
  const headers = { 'X-RateLimit-Limit': '20', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(reset) }
  const json = { error: { message: 'Rate limit exceeded', code: 429, metadata: { headers } } }
  const error = failureOf({ status: 200, json, text: '' }, { body: {}, secrets: [] })
  expect(error).toMatchObject({ code: 'rate-limited', costsAttempt: false })
  expect((error as { delayMs?: number }).delayMs).toBeGreaterThan(20_000)
})

test('is read in linear time, and from no more than so many headers', () => {
  const many = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, n) => [`x-ratelimit-reset-${'a'.repeat(20)}`, `${n}`]),
  )
  expect(resetIn({ ...many, 'x-ratelimit-reset': `${'1m'.repeat(50_000)}` }, NOW)).toBe(99_999_000)
})
