import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { BrotliDecompress, brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { PermanentError, RetryLaterError, withServersWords } from '../../src/contracts/facts/errors.ts'
import type { Model } from '../../src/contracts/ports/model.ts'
import { startUnderstudy, type UnderstudyOptions } from '../../src/kit/understudy/server.ts'
import { PLAIN } from '../../src/models/openai/dialects.ts'
import { type OpenAiSettings, openAiServer } from '../../src/models/openai/model.ts'
import { failureOf, requestOf, SCHEMA, SECRET } from './model.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const FORMATS = ['json_schema', 'json_object', 'text'] as const
const settings = (baseUrl: string, answerFormat: OpenAiSettings['answerFormat'] = 'json_schema'): OpenAiSettings => ({
  baseUrl,
  apiKey: 'KEY-of-the-endpoint',
  answerFormat,
})

async function understudy(options: UnderstudyOptions = {}, answerFormat?: OpenAiSettings['answerFormat']) {
  const endpoint = await startUnderstudy(options)
  closing.push(() => endpoint.close())
  return { endpoint, model: openAiServer(settings(endpoint.settings.OPENAI_BASE_URL, answerFormat)) }
}
const faulty = (kind: NonNullable<NonNullable<UnderstudyOptions['faults']>['kinds']>[number], retryAfterSeconds = 30) =>
  understudy({ faults: { rate: 1, kinds: [kind], retryAfterSeconds } })

/** An endpoint that does just this; `seen` are the requests that it got, with their bodies. */
async function endpoint(
  respond: (response: ServerResponse, body: string) => void,
  answerFormat?: OpenAiSettings['answerFormat'],
) {
  const seen: { headers: IncomingMessage['headers']; body: unknown; port: number | undefined }[] = []
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    seen.push({ headers: request.headers, body: JSON.parse(body), port: request.socket.remotePort })
    respond(response, body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return { model: openAiServer(settings(url, answerFormat)), seen, url }
}
const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }
const NO_USAGE = { unreported: true } as const

const completion = (change: object = {}) => ({
  model: 'gpt-x-2024',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hm' } }],
  ...change,
})
const choice = (message: object, finish_reason = 'stop') =>
  completion({ choices: [{ index: 0, finish_reason, message }] })

async function retryOf(model: Model, change?: Parameters<typeof failureOf>[1]): Promise<RetryLaterError> {
  const error = await failureOf(model, change)
  expect(error).toBeInstanceOf(RetryLaterError)
  return error as RetryLaterError
}
async function refusalOf(model: Model): Promise<PermanentError> {
  const error = await failureOf(model)
  expect(error).toBeInstanceOf(PermanentError)
  return error as PermanentError
}

describe('the OpenAI model', () => {
  it.each(FORMATS)('gives the answer with its usage and the name that answered, asked for %s', async (format) => {
    const { model, endpoint: one } = await understudy({}, format)
    const reply = await model.complete(requestOf())
    const answer = z
      .object({ reasoning: z.string(), answer: z.enum(['Real', 'Fake']) })
      .parse(JSON.parse(reply.text ?? ''))
    expect(answer.reasoning).not.toBe('')
    const [call] = one.calls()
    expect(reply).toEqual({
      text: reply.text,
      finish: 'stop',
      model: 'understudy',
      promptTokens: call?.promptTokens,
      cachedTokens: 0,
      completionTokens: call?.completionTokens,
    })
    expect(call).toMatchObject({ call: 'call-7', stage: 'opinion', status: 'answered' })
  })

  it.each([
    ['json_schema', { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA, strict: true } }],
    ['json_object', { type: 'json_object' }],
    ['text', undefined],
  ] as const)('sends what was asked and nothing else: rung %s', async (format, responseFormat) => {
    const { model, seen } = await endpoint(json(200, completion()), format)
    // `json_object` is refused where no message has the word.
    const messages = requestOf().messages.map((message) => ({ ...message, content: `${message.content} JSON` }))
    await model.complete(requestOf({ messages }))
    expect(seen[0]?.body).toEqual({
      model: 'gpt-x',
      messages,
      temperature: 0.2,
      max_tokens: 500,
      ...(responseFormat === undefined ? {} : { response_format: responseFormat }),
    })
    expect(seen[0]?.headers).toMatchObject({ 'x-gavel-call': 'call-7', authorization: 'Bearer KEY-of-the-endpoint' })
  })

  it.each([
    ['429 with Retry-After', '429', 'rate-limited', 30_000, false],
    ['500', '500', 'unavailable', undefined, true],
    ['503', '503', 'unavailable', undefined, true],
    ['reset', 'reset', 'unavailable', undefined, true],
    ['HTML with status 200', 'html', 'unavailable', undefined, true],
  ] as const)('makes one call and may be tried later: %s', async (_, fault, code, delayMs, costsAttempt) => {
    const { model, endpoint: one } = await faulty(fault)
    expect(await retryOf(model)).toMatchObject({ code, delayMs, costsAttempt })
    expect(one.calls()).toHaveLength(1)
  })

  it.each([
    ['Retry-After in seconds', { 'retry-after': '120' }, 120_000],
    ['Retry-After of more than OpenAI’s client heeds', { 'retry-after': '86400' }, 86_400_000],
    ['Retry-After of a fraction', { 'retry-after': '0.5' }, 500],
    ['retry-after-ms before Retry-After', { 'retry-after': '9', 'retry-after-ms': '1250' }, 1_250],
    ['Retry-After before a reset', { 'retry-after': '9', 'x-ratelimit-reset-requests': '2s' }, 9_000],
    ['the reset of a limit', { 'x-ratelimit-reset-requests': '6m0s' }, 360_000],
  ])('waits as it is told: %s', async (_, headers, delayMs) => {
    const { model } = await endpoint(json(429, { error: { message: 'slow down' } }, headers))
    expect(await retryOf(model)).toMatchObject({ code: 'rate-limited', delayMs, costsAttempt: false })
  })

  it('sends images as parts beside the words, and words alone as a string', async () => {
    const { model, seen } = await endpoint(json(200, completion()))
    const image = 'data:image/png;base64,AAAA'
    await model.complete(
      requestOf({
        messages: [
          { role: 'system', content: 'S' },
          { role: 'user', content: 'Q', images: [image] },
        ],
      }),
    )
    expect(seen[0]?.body).toMatchObject({
      messages: [
        { role: 'system', content: 'S' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Q' },
            { type: 'image_url', image_url: { url: image } },
          ],
        },
      ],
    })
  })

  it.each([
    ['prompt_cache_breakpoint', { prompt_cache_breakpoint: { mode: 'explicit' } }, { mode: 'explicit' }],
    ['cache_control', { cache_control: { type: 'ephemeral' } }, undefined],
    [null, null, undefined],
  ] as const)('says up to where a prompt is worth keeping by %s', async (breakpoints, mark, options) => {
    const { url, seen } = await endpoint(json(200, completion()))
    const model = openAiServer(settings(url), { told: () => ({ ...PLAIN, breakpoints }) })
    const messages = [
      { role: 'system' as const, content: 'S' },
      { role: 'user' as const, content: 'Q and the form' },
    ]
    await model.complete(requestOf({ messages, breakpoints: [{ message: 1, characters: 1 }] }))
    await model.complete(requestOf({ messages: [...messages.slice(0, 1), { role: 'user', content: 'Q' }] }))
    const parts = [
      { type: 'text', text: 'Q', ...mark },
      { type: 'text', text: ' and the form' },
    ]
    const [kept, alone] = seen.map(({ body }) => body as Record<string, unknown>)
    expect(kept?.messages).toEqual([
      { role: 'system', content: 'S' },
      { role: 'user', content: mark === null ? 'Q and the form' : parts },
    ])
    expect([kept?.prompt_cache_options, alone?.prompt_cache_options]).toEqual([options, options])
    // Calls that begin alike have the same key; a call that nothing is kept of needs none.
    expect([typeof kept?.prompt_cache_key, alone?.prompt_cache_key]).toEqual([
      options === undefined ? 'undefined' : 'string',
      undefined,
    ])
  })

  it.each<[string, (at: number) => string]>([
    ['the date', (at) => new Date(at).toUTCString()],
    ['the seconds since 1970', (at) => String(Math.floor(at / 1_000))],
    ['the milliseconds since 1970', (at) => String(at)],
  ])('waits until %s in Retry-After', async (_, said) => {
    const { model } = await endpoint(json(429, {}, { 'retry-after': said(Date.now() + 60_000) }))
    const { delayMs = 0, costsAttempt } = await retryOf(model)
    expect(costsAttempt).toBe(false)
    expect(delayMs).toBeGreaterThan(50_000)
    expect(delayMs).toBeLessThanOrEqual(60_000)
  })

  it.each([
    ['none', {}],
    ['no time at all', { 'retry-after': 'soon' }],
    ['nothing', { 'retry-after': '' }],
    ['not to wait: else it would ask on and on', { 'retry-after': '0' }],
  ])('waits at no attempt’s cost, however long, where it is told %s', async (_, headers) => {
    const { model } = await endpoint(json(429, {}, headers))
    expect(await retryOf(model)).toMatchObject({ code: 'rate-limited', delayMs: undefined, costsAttempt: false })
  })

  it.each([
    ['a bad request', 400, {}, 'rejected'],
    ['a bad key', 401, {}, 'rejected'],
    ['a forbidden one', 403, {}, 'rejected'],
    ['an unknown model', 404, { code: 'model_not_found' }, 'rejected'],
    ['too much text', 400, { code: 'context_length_exceeded' }, 'rejected'],
    ['a filtered prompt', 400, { code: 'content_filter' }, 'content-filter'],
    ['an empty purse', 429, { code: 'insufficient_quota' }, 'rejected'],
  ] as const)('can’t be tried later, and says no word of what was sent: %s', async (_, status, error, code) => {
    const { model, seen } = await endpoint((response, body) =>
      json(status, { error: { message: `bad: ${body}`, ...error } })(response),
    )
    const failure = await refusalOf(model)
    expect(failure.code).toBe(code)
    expect(failure.message).toContain(String(status))
    expect(failure.message).not.toContain(SECRET)
    expect(failure.message).not.toContain('KEY-of')
    expect(seen).toHaveLength(1)
  })

  it.each([
    ['an empty purse', 429, { code: 'insufficient_quota' }, 'model'],
    ['no allowance', 402, {}, 'model'],
    ['a forbidden one', 403, {}, 'model'],
    ['an unknown model', 404, { code: 'model_not_found' }, 'model'],
    ['too much text, as OpenAI says it', 400, { code: 'context_length_exceeded' }, 'question'],
    ['too much text, as vLLM says it', 400, { code: 400, message: 'the maximum context length is 8192' }, 'question'],
    ['too much text, as llama.cpp says it', 400, { message: 'exceeds the available context size' }, 'question'],
    ['too much text, as proxies say it', 413, {}, 'question'],
    ['a bad request', 400, { message: 'what?' }, undefined],
    ['a bad key', 401, {}, 'endpoint'],
  ] as const)('says whether another model may do better: %s', async (_, status, error, elsewhere) => {
    const { model } = await endpoint(json(status, { error: { message: 'no', ...error } }))
    expect((await refusalOf(model)).elsewhere).toBe(elsewhere)
  })

  it.each([503, 502, 529])('obeys Retry-After at status %i too, without using up an attempt', async (status) => {
    const { model } = await endpoint(json(status, {}, { 'retry-after': '4' }))
    expect(await retryOf(model)).toMatchObject({ code: 'unavailable', delayMs: 4_000, costsAttempt: false })
  })

  it.each([408, 409, 502, 504, 529])('may be tried later: status %i', async (status) => {
    const { model, seen } = await endpoint(json(status, { error: { message: SECRET } }))
    const failure = await retryOf(model)
    expect(failure).toMatchObject({ code: 'unavailable', costsAttempt: true })
    expect(failure.message).not.toContain(SECRET)
    expect(seen).toHaveLength(1)
  })

  it('ends at its time-out where nothing comes', async () => {
    const { model, endpoint: one } = await faulty('timeout')
    const started = performance.now()
    expect(await retryOf(model, { timeoutMs: 150 })).toMatchObject({ code: 'timeout', costsAttempt: true })
    expect(performance.now() - started).toBeLessThan(3_000)
    await expect.poll(() => one.calls()).toMatchObject([{ status: 'aborted' }])
  })

  it('ends at its time-out where the answer begins and never ends', async () => {
    const { model } = await endpoint((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"model": "gpt-x", "choices": [')
    })
    const started = performance.now()
    expect(await retryOf(model, { timeoutMs: 200 })).toMatchObject({ code: 'timeout' })
    expect(performance.now() - started).toBeLessThan(3_000)
  })

  it.each(['headers', 'body'] as const)(
    'ends at once when it is aborted while it waits for the %s, at no attempt’s cost',
    async (what) => {
      const { model } = await endpoint((response) => {
        if (what === 'headers') return
        response.writeHead(200, { 'content-type': 'application/json' })
        response.write('{')
      })
      const abort = new AbortController()
      setTimeout(() => abort.abort(), 150)
      const started = performance.now()
      expect(await retryOf(model, { signal: abort.signal })).toMatchObject({ code: 'aborted', costsAttempt: false })
      expect(performance.now() - started).toBeLessThan(3_000)
    },
  )

  it('makes no call that was aborted before', async () => {
    const { model, seen } = await endpoint(json(200, completion()))
    expect(await retryOf(model, { signal: AbortSignal.abort() })).toMatchObject({
      code: 'aborted',
      costsAttempt: false,
    })
    expect(seen).toEqual([])
  })

  it.each([
    [
      'an answer that is cut off',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' })
        response.write('{"model":', () => response.destroy())
      },
    ],
    [
      'an answer that is no JSON',
      (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"model":'),
    ],
    ['neither choices nor a word of a filter', json(200, { id: 'x', object: 'chat.completion' })],
    ['another kind of object', json(200, { object: 'list', data: [] })],
    ['an error with status 200', json(200, { error: { message: SECRET } })],
    ['null', json(200, null)],
    ['null for its choices', json(200, completion({ choices: null }))],
    ['nothing', (response: ServerResponse) => response.writeHead(200).end()],
    ['no content', (response: ServerResponse) => response.writeHead(204).end()],
  ] as const)('may be tried later: %s', async (_, respond) => {
    const { model } = await endpoint(respond)
    const failure = await retryOf(model, { timeoutMs: 2_000 })
    expect(failure.code).toBe('unavailable')
    expect(failure.message).not.toContain(SECRET)
  })

  it.each([
    ['no choices', json(200, completion({ choices: null })), 'the response has no choices'],
    ['no body', (response: ServerResponse) => response.writeHead(200).end(), 'the response is empty'],
  ] as const)('says that a response has %s, and blames no filter and no address', async (_, respond, message) => {
    expect((await retryOf((await endpoint(respond)).model)).message).toBe(message)
  })

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ])('reads what is packed though it asked for nothing packed: %s', async (encoding, pack) => {
    const { model, seen } = await endpoint((response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(pack(JSON.stringify(completion()))),
    )
    expect(await model.complete(requestOf())).toMatchObject({ text: 'hm' })
    expect(seen[0]?.headers['accept-encoding']).toBe('identity')
  })

  it('may be tried later where what is packed is broken', async () => {
    const { model } = await endpoint((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{}').subarray(0, 12)),
    )
    expect((await retryOf(model, { timeoutMs: 2_000 })).code).toBe('unavailable')
  })

  it('keeps its connection for the next call', async () => {
    const { model, seen } = await endpoint(json(200, completion()))
    for (let call = 0; call < 3; call++) await model.complete(requestOf())
    expect(new Set(seen.map(({ port }) => port)).size).toBe(1)
  })

  it.each(['KEY-of\nthe endpoint', 'KEY-€'])('names no key with which nothing can be asked: %j', async (apiKey) => {
    const model = openAiServer({ ...settings('http://127.0.0.1:1/v1'), apiKey })
    const failure = await refusalOf(model)
    expect(failure.code).toBe('rejected')
    expect(`${failure.stack} ${failure.cause}`).not.toContain('KEY')
  })

  it('may be tried later where no one listens', async () => {
    const one = await startUnderstudy()
    await one.close()
    expect(await retryOf(openAiServer(settings(one.settings.OPENAI_BASE_URL)))).toMatchObject({
      code: 'unavailable',
      costsAttempt: true,
    })
  })

  it.each([
    ['refusal', 'refusal', null],
    ['content-filter', 'content-filter', null],
    ['truncated', 'length', expect.stringMatching(/^\{"reasoning"/)],
    ['empty', 'stop', ''],
    ['fenced', 'stop', expect.stringMatching(/^```json/)],
  ] as const)('tells how the answer ended, with its cost: %s', async (fault, finish, text) => {
    const { model } = await faulty(fault)
    const reply = await model.complete(requestOf())
    expect(reply).toMatchObject({ finish, text })
    expect(reply.promptTokens).toBeGreaterThan(0)
  })

  it.each([
    ['no model', { ...completion(), model: undefined }, { model: 'unknown', ...NO_USAGE }],
    ['no visible model', { ...completion(), model: '\u0000\u202e\n' }, { model: 'unknown', ...NO_USAGE }],
    ['no finish reason', choice({ content: 'hm' }, undefined as unknown as string), NO_USAGE],
    ['a finish reason of its own', choice({ content: 'hm' }, 'eos'), NO_USAGE],
    ['an empty refusal', choice({ content: 'hm', refusal: '' }), NO_USAGE],
    ['the most usage', completion({ usage: { prompt_tokens: 1e7, completion_tokens: 0 } }), { promptTokens: 1e7 }],
    [
      'cached tokens',
      completion({ usage: { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 8 } } }),
      { promptTokens: 9, cachedTokens: 8, completionTokens: 3 },
    ],
  ] as const)('takes what compatible servers send: %s', async (_, body, expected) => {
    const { model } = await endpoint(json(200, body))
    expect(await model.complete(requestOf())).toEqual({
      text: 'hm',
      finish: 'stop',
      model: 'gpt-x-2024',
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: 0,
      ...expected,
    })
  })
})

describe('an endpoint that means harm', () => {
  const MIB = 2 ** 20
  const stream = (response: ServerResponse, chunk: Buffer, until: () => boolean) => {
    const more = () => {
      while (!until() && !response.destroyed) if (!response.write(chunk)) return response.once('drain', more)
      return response.end()
    }
    more()
  }

  it.each([
    ['plain', 200, {}, Buffer.alloc(MIB, ' '), 'unavailable'],
    ['packed', 200, { 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(16 * MIB)), 'unavailable'],
    ['as an error', 400, {}, Buffer.alloc(MIB, ' '), 'rejected'],
  ])('is hung up on when its answer has no end: %s', async (_, status, headers, chunk, code) => {
    let sent = 0
    const { model } = await endpoint((response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      stream(response, chunk, () => ++sent > 5_000)
    })
    expect(await failureOf(model, { timeoutMs: 20_000 })).toMatchObject({ code })
    expect(sent).toBeLessThan(1_000)
  })

  it('is unpacked no further than anybody reads', async () => {
    const ended = vi.spyOn(BrotliDecompress.prototype, 'destroy')
    const { model } = await endpoint((response) =>
      response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync(Buffer.alloc(64 * MIB))),
    )
    try {
      expect(await retryOf(model)).toMatchObject({
        code: 'unavailable',
        message: 'the response exceeded the size limit',
      })
      expect(ended).toHaveBeenCalled()
    } finally {
      ended.mockRestore()
    }
  })

  it.each([
    ['brackets', `${'['.repeat(33)}${']'.repeat(33)}`],
    ['half a million of lists', `[${'[],'.repeat(500_000)}[]]`],
    ['half a million of fields', `{"a":{"k":1${',"k":1'.repeat(500_000)}}}`],
  ])('is not parsed where it has more than any response has: %s', async (_, body) => {
    const { model } = await endpoint((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body)),
    )
    const parse = vi.spyOn(JSON, 'parse')
    try {
      expect(await retryOf(model)).toMatchObject({ message: 'the response is no readable JSON: a web page, perhaps' })
      expect(parse.mock.calls.filter(([text]) => text === body)).toEqual([])
    } finally {
      parse.mockRestore()
    }
  })

  it('may give as many log probabilities as a response has room for', async () => {
    const one = { token: 'a', logprob: -1, bytes: [97] }
    const content = Array.from({ length: 4_096 }, () => ({ ...one, top_logprobs: Array(20).fill(one) }))
    const body = completion({ choices: [{ finish_reason: 'stop', message: { content: 'hm' }, logprobs: { content } }] })
    expect(JSON.stringify(body).length).toBeLessThan(4 * MIB)
    const { model } = await endpoint(json(200, body))
    expect((await model.complete(requestOf({ probabilities: true }))).text).toBe('hm')
  })

  it('has its long responses parsed one in a turn of the event loop', async () => {
    const body = JSON.stringify(choice({ content: 'x'.repeat(100_000) }))
    const { model } = await endpoint((response) => response.writeHead(200).end(body))
    let turn = 0
    let going = true
    const count = () => {
      turn++
      if (going) setImmediate(count)
    }
    setImmediate(count)
    const turns: number[] = []
    const { parse: original } = JSON
    const parse = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
      if (text === body) turns.push(turn)
      return original(text, reviver) as unknown
    })
    try {
      await Promise.all(Array.from({ length: 20 }, () => model.complete(requestOf())))
    } finally {
      going = false
      parse.mockRestore()
    }
    expect(turns).toHaveLength(20)
    expect(new Set(turns).size).toBe(20)
  })

  it('may send a text in pieces of one byte', async () => {
    const text = 'x'.repeat(MIB / 8)
    const { model } = await endpoint((response) => {
      for (const byte of Buffer.from(JSON.stringify(choice({ content: text })))) response.write(Buffer.of(byte))
      response.end()
    })
    expect((await model.complete(requestOf({ timeoutMs: 20_000 }))).text).toBe(text)
  })

  it.each([
    ['cut off', { 'content-length': '500' }],
    ['no gzip, though it says so', { 'content-encoding': 'gzip' }],
  ])('has its status taken where what it says about it can’t be read: %s', async (_, headers) => {
    const { model } = await endpoint((response) => {
      response.writeHead(401, headers)
      response.write('{"error":', () => response.destroy())
    })
    expect(await refusalOf(model)).toMatchObject({ code: 'rejected', message: 'status 401: the key is not accepted' })
    const busy = await endpoint((response) => {
      response.writeHead(429, { ...headers, 'retry-after': '7' })
      response.write('{"error":', () => response.destroy())
    })
    expect(await retryOf(busy.model)).toMatchObject({ code: 'rate-limited', delayMs: 7_000 })
  })

  it('keeps no connection that answers before it has read the question', async () => {
    const sockets: Socket[] = []
    const server = createTcpServer((socket) => {
      sockets.push(socket)
      socket.once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\n{}')
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    })
    const model = openAiServer(settings(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`))
    const image = `data:image/png;base64,${'A'.repeat(12 * MIB)}`
    const failure = await failureOf(model, { messages: [{ role: 'user', content: 'Q', images: [image] }] })
    expect(failure).toMatchObject({ code: 'rejected', message: 'status 413: the question is too long for this model' })
    const [socket] = sockets
    let rest = 0
    const closed = socket && once(socket, 'close')
    socket?.on('error', () => {})
    socket?.on('data', (chunk) => {
      rest += chunk.byteLength
    })
    socket?.resume()
    await closed
    expect(rest).toBeLessThan(11 * MIB)
  })

  it('gets no redirected request: what was asked goes nowhere else', async () => {
    const elsewhere = await endpoint(json(200, completion()))
    for (const status of [301, 302, 307, 308]) {
      const { model } = await endpoint(json(status, {}, { location: elsewhere.url }))
      const refusal = await refusalOf(model)
      expect(refusal).toMatchObject({
        code: 'rejected',
        message: `status ${status}: it sends to another address, which is not followed`,
        operatorAction: 'model',
      })
      expect(withServersWords(refusal)).toContain(`Location: ${elsewhere.url}`)
    }
    expect(elsewhere.seen).toEqual([])
  })

  it('has a text of any length cut, and marked as cut', async () => {
    const { model } = await endpoint(json(200, choice({ content: '😀'.repeat(MIB / 4) })))
    const reply = await model.complete(requestOf())
    expect(reply.finish).toBe('length')
    expect(reply.text).toMatch(/^(?:😀){65536}$/u)
  })

  it('can put nothing into its model’s name that a terminal, a page or a line would obey', async () => {
    const { model } = await endpoint(
      json(200, completion({ model: ' \u001b[2J\u0000gpt\r\nx\u202e\u2028y\u200b\ud800' })),
    )
    expect((await model.complete(requestOf())).model).toBe('[2J gpt x y\ufffd')
  })

  it('can name neither its model nor its error at length, and repeat nothing there', async () => {
    const long = await endpoint(json(200, completion({ model: 'm'.repeat(MIB) })))
    expect((await long.model.complete(requestOf())).model.length).toBeLessThan(200)
    const echo = await endpoint((response, body) =>
      json(400, { error: { message: body, code: `${SECRET} ${body}`, type: body, param: body } })(response),
    )
    expect((await refusalOf(echo.model)).message).toBe('status 400')
    const named = await endpoint(json(400, { error: { message: SECRET, code: 'context_length_exceeded' } }))
    expect((await refusalOf(named.model)).message).toBe(
      'status 400 (context_length_exceeded): the question is too long for this model',
    )
  })
})
