import { describe, expect, test, vi } from 'vitest'
import { PermanentError, RetryLaterError, UnknownRefusal } from '../../../src/contracts/facts/errors.ts'
import { REFUSALS } from '../../../src/models/openai/refusal-table.ts'
import { failureOf } from '../../../src/models/openai/refusals.ts'
import { type Expected, SERVER_ERRORS } from '../../support/server-errors.ts'

const KEY = 'tok-3f9a1c'

const read = (status: number, body: unknown, asked = 'a question') =>
  failureOf(
    { status, json: typeof body === 'string' ? undefined : body, text: String(body) },
    { body: { messages: [{ role: 'user', content: asked }] }, secrets: [KEY] },
  )

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

/** A redirect says nothing of a model, and the same is to be mended: the settings that name where and whom to ask. */
const meaning = (status: number, is: Expected) =>
  status < 400 && is === 'model' ? { ...MEANS.model, message: expect.stringContaining('another address') } : MEANS[is]

describe('a server’s refusal is read by its meaning', () => {
  test.each(SERVER_ERRORS.map((one) => [one] as const))('%j', ([, status, body, is, waitMs]) => {
    const error = read(status, body)
    expect(error).toMatchObject(meaning(status, is))
    expect(error).toBeInstanceOf(['load', 'outage', 'unknown'].includes(is) ? RetryLaterError : PermanentError)
    expect(error instanceof UnknownRefusal).toBe(is === 'unknown')
    if (error instanceof RetryLaterError) expect(error.delayMs).toBe(waitMs)
  })

  test('also behind other fields, in a list, and as another server’s response in text', () => {
    for (const [, status, body, is] of SERVER_ERRORS.filter(([, , body]) => typeof body === 'object')) {
      expect(read(status, [body])).toMatchObject(meaning(status, is))
      const raw = JSON.stringify(body)
      expect(read(status, { error: { message: 'Provider returned error', metadata: { raw } } })).toMatchObject(
        meaning(status, is),
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

  describe('in the server’s own words', () => {
    const saidOf = (status: number, body: unknown, asked?: string) => {
      const error = read(status, body, asked)
      if (!(error instanceof PermanentError || error instanceof RetryLaterError)) throw error
      return { error, said: error.saidByServer?.() }
    }

    test.each<[string, number, unknown, string]>([
      ['a flat message', 400, { object: 'error', message: 'No chat template.', code: 400 }, 'No chat template.'],
      ['a flat error', 400, { error: 'unknown field "seed"' }, 'unknown field "seed"'],
      ['a flat detail', 400, { detail: 'Bad tools' }, 'Bad tools'],
      ['details', 422, { detail: [{ loc: ['body', 'top_k'], msg: 'Must be positive' }] }, 'Must be positive'],
      ['plain text', 400, 'template not found', 'template not found'],
      [
        'a field that the words name',
        400,
        { message: 'top_k is not positive', param: 'top_k' },
        'top_k is not positive',
      ],
      ['a field that they do not name', 400, { message: 'Not positive', param: 'top_k' }, 'Not positive; top_k'],
      ['a web page', 502, '<html><head><title>Bad Gateway</title></head>…', 'Bad Gateway'],
      [
        'another server’s words',
        500,
        { error: { metadata: { raw: '{"error":"CUDA out of memory"}' } } },
        'CUDA out of memory',
      ],
      [
        'a message that begins like a tag',
        400,
        { message: '<400> InternalError.Algo: bad' },
        '<400> InternalError.Algo: bad',
      ],
      ['nothing', 400, '', ''],
      ['signs that control a terminal', 400, { message: 'a\u001b[2Jb\u202ec\nd' }, 'a [2Jbc d'],
    ])('is shown: %s', (_, status, body, said) => {
      expect(saidOf(status, body).said).toBe(said)
      expect(saidOf(status, body).error.message).toBe(`status ${status}`)
    })

    test.each([
      `key ${KEY} is none`,
      `got header Authorization: Bearer ${KEY}.`,
      'Incorrect: sk-proj-abcd****wxyz9876',
      'see https://user:pa55word@host/x',
      `digest ${'0123456789abcdef'.repeat(4)} differs`,
      `${'x '.repeat(295)}${KEY}${KEY}`,
    ])('holds no key, whole or in part: %s', (message) => {
      const { said = '' } = saidOf(400, { message })
      expect(said).not.toMatch(/tok-3|abcd|wxyz|pa55|0123456/)
      expect(said).not.toBe('')
    })

    test.each([
      ['whole', 'Bad input: Ann Lee is a liar and a thief!!'],
      ['in quotation marks, however short', 'Bad input: "Ann Lee"'],
      ['in another spelling', 'Bad input: ANN  LEE IS\tA LIAR'],
      ['escaped', 'Bad input: \\u0041nn Lee is a\\nliar and a thief'],
      ['within a word', 'Bad input:xxAnn Lee is a liar and a thiefxx'],
    ])('repeats no words of the question: %s', (_, message) => {
      const { said } = saidOf(400, { message }, 'Rate this:\n"Ann Lee is a liar and a thief"')
      expect(said).toMatch(/^Bad input/)
      expect(said).not.toMatch(/Ann|liar|thief/i)
    })

    test('repeats none in a language without spaces between its words', () => {
      const { said } = saidOf(400, { message: '参数错误：他们都是小偷应该滚出去。' }, '请判断：他们都是小偷应该滚出去')
      expect(said).toBe('参数错误[…]。')
    })

    test('is short, and looked for in the question so often at most, however much is said', () => {
      const { said = '' } = saidOf(400, { message: 'ab '.repeat(1e5) }, 'ab a'.repeat(1e5))
      expect(said.length).toBeLessThanOrEqual(200)
      let state = 1
      const digits = (length: number) =>
        Array.from({ length }, () => {
          state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
          return (state >>> 16) % 10
        }).join('')
      const lookedFor = (messages: number) => {
        const detail = Array.from({ length: messages }, () => ({ msg: digits(600).replace(/.{20}/g, '$& ') }))
        const asked = digits(10_000)
        const looked = vi.spyOn(String.prototype, 'includes')
        expect(saidOf(422, { detail }, asked).said).not.toBe('')
        const { length } = looked.mock.calls
        looked.mockRestore()
        return length
      }
      expect(lookedFor(40)).toBeLessThan(2 * lookedFor(1))
    })
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
