import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { DialectPart } from '../../../src/contracts/facts/dialect.ts'
import { ParameterRefused, PermanentError, RetryLaterError, type Trial } from '../../../src/contracts/facts/errors.ts'
import type { Model, ModelRequest } from '../../../src/contracts/ports/model.ts'
import { PLAIN } from '../../../src/models/openai/dialects.ts'
import type { DialectLesson } from '../../../src/models/openai/learning.ts'
import { openAiServer } from '../../../src/models/openai/model.ts'
import { requestOf } from '../../contracts/model.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Body = Record<string, unknown> & { messages: { role: string; content: unknown }[] }
/** An error that this body gets: its status and what stands in it; undefined where it is answered. */
type Rule = (body: Body) => readonly [status: number, error: unknown] | undefined

/** A server that refuses by these rules, first to last, and answers the rest. */
async function server(
  rules: Rule[],
  { told = {}, ...parts }: { now?: () => number; learnt?: (lesson: DialectLesson) => void; told?: DialectPart } = {},
) {
  const seen: Body[] = []
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Body
    seen.push(body)
    const refused = rules.map((rule) => rule(body)).find((one) => one !== undefined)
    const [status, json] = refused ?? [
      200,
      { model: 'm', choices: [{ finish_reason: 'stop', message: { content: 'yes' } }] },
    ]
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(json))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  closing.push(async () => {
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  })
  const baseUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`
  const lessons: DialectLesson[] = []
  const model = openAiServer(
    { baseUrl, apiKey: 'k', answerFormat: 'json_schema' },
    { learnt: (lesson) => lessons.push(lesson), told: () => Object.assign({}, PLAIN, told), ...parts },
  )
  return { model, seen, lessons, rules }
}

const never = new AbortController().signal

/** Asks like the gateway: once more for each parameter that is refused. */
function asked(model: Model, change: Partial<ModelRequest> = {}, signal = never) {
  const ask = (trial?: Trial): ReturnType<Model['complete']> =>
    model.complete(requestOf({ ...change, ...(trial === undefined ? {} : { trial }) })).catch((error: unknown) => {
      if (error instanceof ParameterRefused) return error.again(ask, signal)
      throw error
    })
  return ask()
}

async function bothRefused(model: Model): Promise<[ParameterRefused, ParameterRefused]> {
  const refused = async () => {
    const error = await model.complete(requestOf()).catch((thrown: unknown) => thrown)
    if (error instanceof ParameterRefused) return error
    throw new Error('no parameter was refused')
  }
  return [await refused(), await refused()]
}

const openAiSays = (message: string, param: string | null, code: string | null = 'unsupported_parameter') =>
  [400, { error: { message, type: 'invalid_request_error', param, code } }] as const

const noMaxTokens: Rule = (body) =>
  'max_tokens' in body
    ? openAiSays(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        'max_tokens',
      )
    : undefined
const noTemperature: Rule = (body) =>
  'temperature' in body && body.temperature !== 1
    ? openAiSays(
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        'temperature',
        'unsupported_value',
      )
    : undefined

describe('the parameters that a model accepts are learnt from its refusals', () => {
  it.each<readonly [string, Rule, object]>([
    ['max_tokens', noMaxTokens, { max_completion_tokens: 500 }],
    ['a temperature', noTemperature, { max_tokens: 500 }],
    [
      'a parameter in words alone',
      (body) =>
        'max_tokens' in body
          ? [400, { error: { message: 'Unrecognized request argument supplied: max_tokens' } }]
          : undefined,
      { max_completion_tokens: 500 },
    ],
    [
      'a parameter by its place in the body',
      (body) =>
        'temperature' in body
          ? [
              422,
              {
                detail: [
                  { type: 'extra_forbidden', loc: ['body', 'temperature'], msg: 'Extra inputs are not permitted' },
                ],
              },
            ]
          : undefined,
      { max_tokens: 500 },
    ],
    [
      'a parameter in a text of FastAPI',
      (body) =>
        'temperature' in body
          ? [
              400,
              {
                object: 'error',
                message:
                  "[{'type': 'extra_forbidden', 'loc': ('body', 'temperature'), 'msg': 'Extra inputs are not permitted'}]",
              },
            ]
          : undefined,
      { max_tokens: 500 },
    ],
    [
      'a field that Google does not know',
      (body) =>
        'temperature' in body
          ? [
              400,
              [
                {
                  error: {
                    code: 400,
                    message: 'Invalid JSON payload received. Unknown name "temperature": Cannot find field.',
                    status: 'INVALID_ARGUMENT',
                  },
                },
              ],
            ]
          : undefined,
      { max_tokens: 500 },
    ],
    [
      'more tokens than it writes',
      (body) =>
        Number(body.max_tokens) > 300
          ? openAiSays(
              'max_tokens is too large: 500. This model supports at most 300 completion tokens.',
              'max_tokens',
              'invalid_value',
            )
          : undefined,
      { max_tokens: 300 },
    ],
    [
      'json_schema',
      (body) =>
        JSON.stringify(body.response_format)?.includes('json_schema')
          ? openAiSays(
              "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
              'response_format',
              null,
            )
          : undefined,
      { response_format: { type: 'json_object' } },
    ],
    [
      'response_format at all',
      (body) =>
        'response_format' in body ? [400, { message: 'response_format is not supported by this engine' }] : undefined,
      { max_tokens: 500 },
    ],
    [
      'the role of instructions',
      (body) =>
        body.messages[0]?.role === 'system' ? [400, { error: { message: 'System role not supported' } }] : undefined,
      { max_tokens: 500 },
    ],
  ])('%s', async (_, rule, sent) => {
    const { model, seen, lessons } = await server([rule])
    expect((await asked(model)).text).toBe('yes')
    expect((await asked(model)).text).toBe('yes')
    expect(seen).toHaveLength(3)
    expect(seen[2]).toMatchObject(sent)
    expect(lessons).toHaveLength(1)
  })

  it('folds instructions into the first question where their role is refused', async () => {
    const { model, seen } = await server([
      (body) =>
        body.messages[0]?.role === 'system' ? [400, { error: { message: 'System role not supported' } }] : undefined,
    ])
    await asked(model)
    expect(seen[1]?.messages.map(({ role }) => role)).toEqual(['user'])
    expect(seen[1]?.messages[0]?.content).toMatch(/^You judge\.\n\n/)
  })

  it('drops the keywords of a schema that are refused, and no name of a field', async () => {
    const schema = {
      type: 'object',
      properties: { minimum: { type: 'number', minimum: 0, maximum: 1 } },
      required: ['minimum'],
      additionalProperties: false,
    }
    const { model, seen } = await server([
      (body) =>
        JSON.stringify(body.response_format)?.includes('"maximum":1')
          ? openAiSays(
              "Invalid schema for response_format 'x': In context=('properties', 'minimum'), 'maximum' is not permitted.",
              'response_format',
              null,
            )
          : undefined,
    ])
    await asked(model, { answer: { name: 'x', schema } })
    expect(seen[1]?.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', strict: true, schema: { ...schema, properties: { minimum: { type: 'number' } } } },
    })
  })

  it('does without log-probabilities that are forbidden, and says so in the answer', async () => {
    const { model, seen } = await server([
      (body) =>
        'logprobs' in body
          ? [403, { error: { message: 'You are not allowed to request logprobs from this model.' } }]
          : undefined,
    ])
    expect(await asked(model, { probabilities: true })).toMatchObject({ text: 'yes', remarks: ['log-probabilities'] })
    expect(seen[1]).not.toHaveProperty('top_logprobs')
  })

  it('learns two parameters in one go, by one call more for each', async () => {
    const { model, seen, lessons } = await server([noMaxTokens, noTemperature])
    expect(await asked(model)).toMatchObject({ text: 'yes', remarks: ['temperature'] })
    expect(seen).toHaveLength(3)
    expect(lessons.map(({ parameter }) => parameter)).toEqual(['max-tokens', 'temperature'])
  })

  it('lets one of 64 first calls find out, and asks each at most once more for each parameter', async () => {
    const { model, seen, lessons } = await server([noMaxTokens, noTemperature])
    const replies = await Promise.all(Array.from({ length: 64 }, () => asked(model)))
    expect(replies.every(({ text }) => text === 'yes')).toBe(true)
    // 64 at first, two more of the one that found out, one more of each other.
    expect(seen).toHaveLength(64 + 2 + 63)
    expect(lessons).toHaveLength(2)
  })

  it('learns nothing from a changed call that is not answered', async () => {
    let broken = true
    const { model, seen, lessons } = await server([
      noMaxTokens,
      () => (broken ? [503, { error: { message: 'overloaded' } }] : undefined),
    ])
    await expect(asked(model)).rejects.toBeInstanceOf(RetryLaterError)
    expect(lessons).toEqual([])
    broken = false
    await asked(model)
    expect(seen.map((body) => 'max_tokens' in body)).toEqual([true, false, true, false])
  })

  it('hands those back, at no cost of a try, that waited for a call that could not find out', async () => {
    const { model } = await server([noMaxTokens])
    const [first, second] = await bothRefused(model)
    const finding = first.again(() => Promise.reject(new RetryLaterError('unavailable', 'busy')), never)
    const waiting = second.again(() => Promise.reject(new Error('asked all the same')), never)
    await expect(finding).rejects.toMatchObject({ code: 'unavailable', costsAttempt: true })
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable', costsAttempt: false })
  })

  it('ends with the parameter and the setting in its error where nothing else is taken', async () => {
    const { model, seen } = await server([
      (body) =>
        openAiSays(
          `Unsupported parameter: ${'max_tokens' in body ? 'max_tokens' : 'max_completion_tokens'}`,
          'max_tokens',
        ),
    ])
    const error = await asked(model).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(PermanentError)
    expect(error).not.toBeInstanceOf(ParameterRefused)
    expect((error as Error).message).toMatch(/longest answer.*models\.dialects/)
    expect(seen).toHaveLength(2)
  })

  it('looks again after an hour, by one call, and forgets what no longer holds', async () => {
    let now = 0
    const { model, seen, rules } = await server([noTemperature], { now: () => now })
    await asked(model)
    now = 3_600_000
    await Promise.all([asked(model), asked(model), asked(model)])
    expect(seen.filter((body) => 'temperature' in body)).toHaveLength(2)
    rules.length = 0
    now = 7_200_000
    await asked(model)
    await asked(model)
    expect(seen.slice(-2).every((body) => 'temperature' in body)).toBe(true)
  })

  it('logs each lesson once, even if it is learnt again', async () => {
    let now = 0
    const { model, lessons } = await server([noTemperature], { now: () => now })
    for (now = 0; now < 4 * 3_600_000; now += 3_600_000) await asked(model)
    expect(lessons).toHaveLength(1)
  })

  it('takes no word of a question for a refusal', async () => {
    const { model, seen } = await server([
      (body) => [400, { error: { message: `Bad request: ${JSON.stringify(body)}` } }],
    ])
    const claim = 'Unsupported parameter: temperature is not supported'
    const messages = [{ role: 'user' as const, content: claim }]
    await expect(asked(model, { messages })).rejects.toBeInstanceOf(PermanentError)
    expect(seen).toHaveLength(1)
  })

  it('stops waiting when its own ask is stopped', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const stopping = new AbortController()
    const { model } = await server([noMaxTokens])
    const [first, second] = await bothRefused(model)
    const finding = first.again(() => held, never)
    const waiting = second.again(() => Promise.reject(new Error('asked all the same')), stopping.signal)
    stopping.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'aborted', costsAttempt: false })
    release()
    await finding
  })

  it('asks for no tier where it is refused, and says so in the answer', async () => {
    const { model, seen, lessons } = await server([
      (body) =>
        'service_tier' in body
          ? [400, { error: { message: 'Unsupported service_tier: flex', code: 'invalid_request_error' } }]
          : undefined,
    ])
    expect(await asked(model, { tier: 'flex' })).toMatchObject({ text: 'yes', remarks: ['tier'] })
    await asked(model, { tier: 'flex' })
    expect(seen.map((body) => 'service_tier' in body)).toEqual([true, false, false])
    expect(lessons.map(({ parameter }) => parameter)).toEqual(['tier'])
  })

  it.each([
    ['prompt_cache_breakpoint', 400, 'Unrecognized request argument supplied: prompt_cache_options'],
    ['cache_control', 404, 'No endpoints found that support cache control'],
  ] as const)('sets no breakpoints where they are refused: %s', async (breakpoints, status, message) => {
    const refuses: Rule = (body) =>
      /prompt_cache|cache_control/.test(JSON.stringify(body)) ? [status, { error: { message } }] : undefined
    const { model, seen, lessons } = await server([refuses], { told: { breakpoints } })
    await asked(model, { breakpoints: [{ message: 1, characters: 10 }] })
    expect(seen.map(({ messages }) => typeof messages[1]?.content)).toEqual(['object', 'string'])
    expect(lessons.map(({ parameter }) => parameter)).toEqual(['breakpoints'])
  })

  it('takes a tier that was not asked for as no parameter', async () => {
    const { model, seen } = await server([() => [400, { error: { message: 'service_tier: not supported here' } }]])
    await expect(asked(model)).rejects.toMatchObject({ code: 'rejected', message: 'status 400' })
    expect(seen).toHaveLength(1)
  })
})

describe('images', () => {
  const shown = { messages: [{ role: 'user' as const, content: 'Q', images: ['data:image/png;base64,AAAA'] }] }
  const hasImage = (body: Body) => JSON.stringify(body.messages).includes('image_url')
  const saying =
    (message: string, status = 400): Rule =>
    (body) =>
      hasImage(body) ? [status, { error: { message } }] : undefined

  it.each([
    ['Invalid content type. image_url is only supported by certain models.', 400],
    ['This model is not a multimodal model: at most 0 image(s) may be provided in one prompt.', 400],
    ['image input is not supported - hint: if this is unexpected, you may need to provide the mmproj', 500],
    ['messages[1]: unknown variant `image_url`, expected `text`', 400],
    ['No endpoints found that support image input', 404],
    ['messages[1].content must be a string', 400],
    ['Model does not support images. Please use a model that does.', 400],
    ['this model does not support image input (ref: 1)', 400],
  ])('are shown once to a model that says: %s', async (message, status) => {
    const { model, seen, lessons } = await server([saying(message, status)])
    for (const _ of [1, 2])
      await expect(asked(model, shown)).rejects.toMatchObject({ code: 'rejected', elsewhere: 'question' })
    expect(seen).toHaveLength(1)
    expect(lessons).toEqual([
      { model: 'gpt-x', parameter: 'images', lesson: 'it is shown no images', setting: 'images: false' },
    ])
    expect((await asked(model)).text).toBe('yes')
  })

  it.each([
    'unsupported image format',
    'image formats are not supported: tiff',
    'The image type is not supported',
    'Could not process image',
    'image exceeds 5 MB',
    'image is not valid',
    'At most 10 images may be provided',
    'This model does not support images of this size',
  ])('are shown again to a model that says of one: %s', async (message) => {
    const { model, seen, lessons } = await server([saying(message)])
    for (const _ of [1, 2]) await expect(asked(model, shown)).rejects.toMatchObject({ code: 'rejected' })
    expect([seen.length, lessons]).toEqual([2, []])
  })

  it('are shown again to a model that has taken others within the hour, whatever it says of one', async () => {
    let now = 0
    const { model, seen, lessons, rules } = await server([], { now: () => now })
    await asked(model, shown)
    rules.push(saying('this model does not support image input'))
    now = 3_599_999
    await expect(asked(model, shown)).rejects.toMatchObject({ code: 'rejected', elsewhere: 'question' })
    expect(lessons).toEqual([])
    now = 3_600_000
    await expect(asked(model, shown)).rejects.toMatchObject({ code: 'rejected' })
    expect([seen.length, lessons.length]).toEqual([3, 1])
  })

  it('are shown again after an hour', async () => {
    let now = 0
    const { model, seen, rules } = await server([saying('this model does not support image input')], { now: () => now })
    await expect(asked(model, shown)).rejects.toBeInstanceOf(PermanentError)
    rules.length = 0
    now = 3_600_000
    expect((await asked(model, shown)).text).toBe('yes')
    expect(seen).toHaveLength(2)
  })
})
