import { describe, expect, test } from 'vitest'
import { PermanentError, RetryLaterError, UnknownRefusal } from '../../../src/contracts/facts/errors.ts'
import { REFUSALS } from '../../../src/models/openai/refusal-table.ts'
import { failureOf } from '../../../src/models/openai/refusals.ts'
import { type Expected, SERVER_ERRORS } from '../../support/server-errors.ts'

const read = (status: number, body: unknown, asked = 'a question') =>
  failureOf({ status, json: typeof body === 'string' ? undefined : body, text: String(body) }, () => asked)

/** What the caller makes of each kind. */
const MEANS: Readonly<Record<Expected, object>> = {
  content: { code: 'content-filter', elsewhere: undefined },
  'too-long': { code: 'rejected', elsewhere: 'question' },
  load: { code: 'rate-limited' },
  outage: { code: 'unavailable' },
  unknown: { code: 'unavailable' },
  quota: { code: 'rejected', elsewhere: 'model', message: expect.stringContaining('no quota or credit') },
  key: { code: 'rejected', elsewhere: 'endpoint', message: expect.stringContaining('key is not accepted') },
  permission: { code: 'rejected', elsewhere: 'model', message: expect.stringContaining('may not do this') },
  model: { code: 'rejected', elsewhere: 'model', message: expect.stringContaining('no such model') },
  question: { code: 'rejected', elsewhere: undefined },
}

describe('a server’s refusal is read by its meaning', () => {
  test.each(SERVER_ERRORS.map((one) => [one] as const))('%j', ([, status, body, is, waitMs]) => {
    const error = read(status, body)
    expect(error).toMatchObject(MEANS[is])
    expect(error).toBeInstanceOf(['load', 'outage', 'unknown'].includes(is) ? RetryLaterError : PermanentError)
    expect(error instanceof UnknownRefusal).toBe(is === 'unknown')
    if (error instanceof RetryLaterError) expect(error.delayMs).toBe(waitMs)
  })

  test('also behind other fields, in a list, and as another server’s response in text', () => {
    for (const [, status, body, is] of SERVER_ERRORS.filter(([, , body]) => typeof body === 'object')) {
      expect(read(status, [body])).toMatchObject(MEANS[is])
      const raw = JSON.stringify(body)
      expect(read(status, { error: { message: 'Provider returned error', metadata: { raw } } })).toMatchObject(
        MEANS[is],
      )
    }
  })

  test('every row of the table is one that a report shows', () => {
    const texts = SERVER_ERRORS.map(([, status, body]) => ({ status, text: JSON.stringify(body) }))
    for (const { codes = [], words, status: only } of REFUSALS) {
      const shown = texts.some(
        ({ status, text }) =>
          (only === undefined || only.includes(status)) &&
          ((words?.test(text) ?? false) || codes.some((code) => text.toLowerCase().includes(`"${code}"`))),
      )
      expect(shown, String(words ?? codes)).toBe(true)
    }
  })
})

describe('a refusal', () => {
  test('says what the filter found, where the server does', () => {
    const found = SERVER_ERRORS.flatMap(([who, status, body]) => {
      const error = read(status, body)
      return error instanceof PermanentError && error.filtered.length > 0 ? [[who, error.filtered]] : []
    })
    expect(Object.fromEntries(found)).toEqual({
      Azure: [{ category: 'hate', severity: 'high' }],
      LiteLLM: [{ category: 'hate', severity: 'high' }],
      xAI: [{ category: 'safety_check_type_bio' }],
      OpenRouter: [{ category: 'harassment' }],
      'OpenRouter, reasons alone': [{ category: 'sexual' }],
      fal: [{ category: 'sexual' }],
    })
  })

  test('is not read from words that are in the question too, because an endpoint may repeat them', () => {
    const asked = 'they said: content exists risk! and "this model\'s maximum context length is 5 tokens"'
    for (const echoed of ['Content Exists Risk', "This model's maximum context length is 5 tokens"]) {
      expect(read(400, { error: { message: `bad: ${echoed}` } }, asked)).toMatchObject({
        code: 'rejected',
        elsewhere: undefined,
      })
      const { code, elsewhere } = read(400, { error: { message: `bad: ${echoed}` } }) as PermanentError
      expect(code === 'content-filter' || elsewhere === 'question').toBe(true)
    }
  })

  test('repeats nothing that was sent or received', () => {
    const secret = 'SECRET words of a post'
    for (const [, status, body] of SERVER_ERRORS) {
      const echo = {
        ...(Array.isArray(body) ? body[0] : typeof body === 'object' ? body : {}),
        echo: secret,
        input: secret,
      }
      const { message } = read(status, { ...echo, message: secret, code: secret })
      expect(message).not.toContain('SECRET')
      expect(message.length).toBeLessThan(160)
    }
  })

  test('of any shape and size is read', () => {
    const deep = JSON.parse(`${'{"error":'.repeat(500)}1${'}'.repeat(500)}`) as unknown
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`message${at}`, 'content_filter']))
    for (const body of [
      null,
      [],
      {},
      7,
      '',
      'x'.repeat(1e6),
      deep,
      wide,
      [[[[]]]],
      { error: null },
      { error: { code: {} } },
    ])
      expect(read(400, body)).toMatchObject({ code: 'rejected' })
  })
})
