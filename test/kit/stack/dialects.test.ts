import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answer } from '../../../src/kit/understudy/answer.ts'
import { DIALECTS, type DialectName, dialectOf } from '../../../src/kit/understudy/dialects/all.ts'
import type { ServerDialect } from '../../../src/kit/understudy/dialects/dialect.ts'
import { startUnderstudy, type Understudy, type UnderstudyOptions } from '../../../src/kit/understudy/server.ts'

const NAMES = Object.keys(DIALECTS) as DialectName[]
const SCHEMA = {
  type: 'object',
  properties: { reason: { type: 'string' }, answer: { type: 'string', enum: ['Yes', 'No'] } },
  required: ['reason', 'answer'],
  additionalProperties: false,
}
const FORM = { type: 'json_schema', json_schema: { name: 'subjectivity', schema: SCHEMA, strict: true } }
const NONCE = '9f3a1c0b7d2e4a55'
const USER = {
  role: 'user',
  content: `<<claim:${NONCE}>>\nThe mill is on fire.\n<<end:${NONCE}>>\n\nAnswer format (subjectivity): ${JSON.stringify(SCHEMA)}`,
}
const PLAIN = { messages: [USER] }
const SAID = answer({ ...PLAIN, response_format: FORM }).content

let running: Understudy | undefined
afterEach(() => running?.close())

async function speaking(options: UnderstudyOptions) {
  running = await startUnderstudy(options)
  const { OPENAI_BASE_URL: url } = running.settings
  const { query = [] } = options.dialect === undefined ? {} : dialectOf(options.dialect)
  const at = `${url}/chat/completions?${query.map((name) => `${name}=1`).join('&')}`
  return async (body: object, headers: Record<string, string> = { authorization: 'Bearer key', 'api-key': 'key' }) => {
    const response = await fetch(at, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    return { status: response.status, text, body: /^[{[]/.test(text) ? JSON.parse(text) : null }
  }
}

const words = (message: { content: unknown }) => JSON.stringify(message)

describe('every dialect', () => {
  test.each(NAMES)('%s: the answer of the plain one stands in it, whatever it is wrapped in', async (dialect) => {
    const ask = await speaking({ dialect })
    const { status, body, text } = await ask(PLAIN)
    expect(status).toBe(200)
    const held = JSON.stringify(body ?? text)
    expect(held.replaceAll(/\\+/g, '')).toContain(SAID.replaceAll(/\\+/g, ''))
  })

  const refusals = NAMES.flatMap((dialect) =>
    (dialectOf(dialect) as ServerDialect).refuses.map((refusal) => [dialect, refusal.parameter, refusal] as const),
  )
  test.each(refusals)('%s: refuses %s, says so, and names it in the log', async (dialect, parameter, refusal) => {
    const { values = ['no such value'], status = 400 } = refusal
    const [first = '', ...rest] = parameter.split('.')
    const field = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), values[0])
    const ask = await speaking({ dialect })
    const answered = await ask({ ...PLAIN, [first]: field })
    expect(answered.status).toBe(status)
    expect(answered.text).toContain(refusal.says.split(/["'{]/)[0])
    expect(running?.calls()).toMatchObject([{ status: 'failed', refused: parameter }])
  })
})

describe('OpenAI since GPT-5.6', () => {
  const start = () => speaking({ dialect: 'openai-since' })

  test('refuses max_tokens, names it, and takes max_completion_tokens', async () => {
    const ask = await start()
    const { status, body } = await ask({ ...PLAIN, max_tokens: 400 })
    expect([status, body.error.param, body.error.code]).toEqual([400, 'max_tokens', 'unsupported_parameter'])
    expect((await ask({ ...PLAIN, max_completion_tokens: 4000 })).status).toBe(200)
  })

  test('takes a temperature of 1 alone, and any where nothing is thought', async () => {
    const ask = await start()
    const statuses = []
    for (const more of [{ temperature: 0.2 }, { temperature: 1 }, { temperature: 0.2, reasoning_effort: 'none' }])
      statuses.push((await ask({ ...PLAIN, ...more })).status)
    expect(statuses).toEqual([400, 200, 200])
  })

  test('counts its thoughts among what it wrote, and thinks nothing at the effort none', async () => {
    const ask = await start()
    const { usage } = (await ask(PLAIN)).body
    const thoughts = usage.completion_tokens_details.reasoning_tokens
    expect(usage.completion_tokens).toBe(11 * (thoughts / 10))
    const { body } = await ask({ ...PLAIN, reasoning_effort: 'none' })
    expect(body.usage.completion_tokens_details.reasoning_tokens).toBe(0)
  })

  test('ends without a word where the room is spent on thoughts', async () => {
    const ask = await start()
    const { body } = await ask({ ...PLAIN, response_format: FORM, max_completion_tokens: 20 })
    expect(body.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '' } })
    expect(body.usage.completion_tokens).toBe(20)
  })

  test('wants the word json where an object is asked for', async () => {
    const ask = await start()
    const object = { response_format: { type: 'json_object' } }
    const bare = { messages: [{ role: 'user', content: 'Is it so?' }], ...object }
    expect((await ask(bare)).body.error.message).toMatch(/must contain the word 'json'/)
    expect((await ask({ messages: [{ role: 'developer', content: 'Answer in JSON.' }], ...object })).status).toBe(200)
  })

  test('asks for a key', async () => {
    const ask = await start()
    expect((await ask(PLAIN, {})).status).toBe(401)
  })

  test('lists its models with the days on which they are switched off', async () => {
    await start()
    const listed = await fetch(`${running?.settings.OPENAI_BASE_URL}/models`, { headers: { authorization: 'x' } })
    const { data } = z.object({ data: z.array(z.unknown()) }).parse(await listed.json())
    expect(data).toContainEqual(expect.objectContaining({ id: 'gpt-4o-mini', shutdown_date: '2027-01-14' }))
  })
})

describe('what else differs', () => {
  test('vLLM refuses the role developer in the words of a template', async () => {
    const ask = await speaking({ dialect: 'vllm' })
    const { status, body } = await ask({ messages: [{ role: 'developer', content: 'Be brief.' }, USER] })
    expect([status, body.error]).toEqual([
      400,
      { message: 'Unexpected message role.', type: 'BadRequestError', param: null, code: 400 },
    ])
  })

  test('vLLM sends thoughts beside the answer, and with them another answer in the same form', async () => {
    const ask = await speaking({ dialect: 'vllm' })
    const [{ message }] = (await ask({ ...PLAIN, response_format: FORM })).body.choices
    expect(message.content).toBe(SAID)
    expect(message.reasoning).toMatch(/\{.*"answer"/)
  })

  test('Ollama does not see the parameter that ends an answer elsewhere, and gives sums alone', async () => {
    const ask = await speaking({ dialect: 'ollama', thoughts: 0 })
    const { choices, usage } = (await ask({ ...PLAIN, response_format: FORM, max_completion_tokens: 1 })).body
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: SAID } })
    expect(Object.keys(usage)).toEqual(['prompt_tokens', 'completion_tokens', 'total_tokens'])
    expect((await ask({ ...PLAIN, max_tokens: 1 })).body.choices[0].finish_reason).toBe('length')
  })

  test("Anthropic's layer passes over the form, and answers in a block of code", async () => {
    const ask = await speaking({ dialect: 'anthropic' })
    const [{ message }] = (await ask({ ...PLAIN, response_format: FORM })).body.choices
    expect(message.content).toBe(`\`\`\`json\n${SAID}\n\`\`\``)
  })

  test('Azure wants its own header and a version in the query', async () => {
    const ask = await speaking({ dialect: 'azure' })
    expect((await ask(PLAIN)).status).toBe(200)
    expect((await ask(PLAIN, { authorization: 'Bearer key' })).status).toBe(401)
    const url = `${running?.settings.OPENAI_BASE_URL}/chat/completions`
    const response = await fetch(url, { method: 'POST', headers: { 'api-key': 'key' }, body: JSON.stringify(PLAIN) })
    expect(response.status).toBe(404)
  })

  test("Mistral's API says only in `loc` what it does not take", async () => {
    const ask = await speaking({ dialect: 'mistral' })
    const { status, body } = await ask({ ...PLAIN, max_completion_tokens: 100 })
    expect([status, body.param]).toEqual([422, null])
    expect(body.message.detail).toMatchObject([
      { loc: ['body', 'max_completion_tokens'], msg: 'Extra inputs are not permitted' },
    ])
  })

  test("Mistral's API answers in parts, the thoughts first", async () => {
    const ask = await speaking({ dialect: 'mistral' })
    const [{ message }] = (await ask({ ...PLAIN, response_format: FORM })).body.choices
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: [{ type: 'text' }] },
      { type: 'text', text: SAID },
    ])
  })

  test("Gemini's layer puts its error in a list, and its thoughts into the total alone", async () => {
    const ask = await speaking({ dialect: 'gemini' })
    const { body } = await ask({ ...PLAIN, logprobs: true })
    expect(body).toMatchObject([{ error: { code: 400, status: 'INVALID_ARGUMENT' } }])
    const { usage } = (await ask({ ...PLAIN, response_format: FORM })).body
    expect(usage.total_tokens).toBe(usage.prompt_tokens + 11 * usage.completion_tokens)
    const keyword = { type: 'object', properties: { n: { type: 'number', exclusiveMinimum: 0 } } }
    const strict = { type: 'json_schema', json_schema: { name: 'n', schema: keyword } }
    expect((await ask({ ...PLAIN, response_format: strict })).status).toBe(400)
    const named = { type: 'object', properties: { exclusiveMinimum: { type: 'number' } } }
    const fine = { type: 'json_schema', json_schema: { name: 'n', schema: named } }
    expect((await ask({ ...PLAIN, response_format: fine })).status).toBe(200)
  })

  test('LM Studio has words alone for an error, and its thoughts in the answer', async () => {
    const ask = await speaking({ dialect: 'lm-studio' })
    const { body } = await ask({ ...PLAIN, response_format: { type: 'json_object' } })
    expect(body).toEqual({ error: "'response_format.type' must be 'json_schema' or 'text'" })
    const [{ message }] = (await ask({ ...PLAIN, response_format: FORM })).body.choices
    expect(message.content).toMatch(/^<think>\n.*\n<\/think>\n\n\{/s)
  })

  test('DeepSeek takes an object, not a schema, and counts what its cache had', async () => {
    const ask = await speaking({ dialect: 'deepseek' })
    expect((await ask({ ...PLAIN, response_format: FORM })).body.error.message).toMatch(/unavailable now/)
    const told = {
      messages: [{ role: 'system', content: 'Answer in JSON.' }, USER],
      response_format: { type: 'json_object' },
    }
    const [{ message }] = (await ask(told)).body.choices
    expect([message.content, message.reasoning_content]).toEqual([SAID, expect.stringContaining('{')])
    const developer = { messages: [{ role: 'developer', content: 'x' }, USER] }
    expect((await ask(developer)).body.error.message).toMatch(/unknown variant `developer`/)
  })

  test('a gateway that strips leaves out usage and the reason for the end', async () => {
    const ask = await speaking({ dialect: 'gateway-strips' })
    const { body } = await ask({ ...PLAIN, response_format: FORM })
    expect([body.usage, body.choices[0].finish_reason]).toEqual([undefined, undefined])
    expect(body.choices[0].message.content).toMatch(/^◁think▷.*◁\/think▷\n\nCertainly!/s)
  })

  test('a gateway that streams sends events, with the whole answer in them', async () => {
    const ask = await speaking({ dialect: 'gateway-streams' })
    const { text } = await ask({ ...PLAIN, response_format: FORM, stream: false })
    const [first = '', last] = text.trim().split('\n\n')
    const chunk = JSON.parse(first.replace('data: ', ''))
    expect([chunk.object, last]).toEqual(['chat.completion.chunk', 'data: [DONE]'])
    expect(chunk.choices[0].delta.content).toContain(`</think>\n\n${SAID}`)
  })

  test('a gateway that makes tools of forms answers in the call of one', async () => {
    const ask = await speaking({ dialect: 'gateway-tools' })
    const [choice] = (await ask({ ...PLAIN, response_format: FORM })).body.choices
    expect([choice.finish_reason, choice.message.content]).toEqual(['tool_calls', null])
    expect(choice.message.tool_calls[0].function.arguments).toBe(SAID)
  })

  test('a call is said to be served on the tier that was asked for, where there is one', async () => {
    const ask = await speaking({ dialect: 'openai-since' })
    const tierOf = async (more: object) => (await ask({ ...PLAIN, ...more })).body.service_tier
    expect([await tierOf({}), await tierOf({ service_tier: 'flex' })]).toEqual(['default', 'flex'])
  })

  test('a row that only a test has is spoken as well', async () => {
    const dialect = {
      ...DIALECTS['openai-before'],
      refuses: [{ parameter: 'seed', says: 'No {value} here.', status: 422 }],
    }
    const ask = await speaking({ dialect })
    const { status, text } = await ask({ ...PLAIN, seed: 5 })
    expect([status, text]).toEqual([422, expect.stringContaining('No 5 here.')])
  })

  test('without a dialect everything is taken', async () => {
    const ask = await speaking({})
    const { status, body } = await ask({ ...PLAIN, max_tokens: 1, temperature: 7, reasoning_effort: 'x' }, {})
    expect([status, words(body.choices[0].message)]).toEqual([200, expect.stringContaining('reason')])
  })
})

describe('prompt caches', () => {
  const long = (marked: boolean) => ({
    role: 'system',
    content: [
      { type: 'text', text: 'x'.repeat(8000), ...(marked ? { prompt_cache_breakpoint: { mode: 'explicit' } } : {}) },
    ],
  })
  const detailsOf = async (dialect: DialectName, ...bodies: object[]) => {
    const ask = await speaking({ dialect })
    const seen = []
    for (const body of bodies) seen.push((await ask(body)).body.usage.prompt_tokens_details)
    return seen
  }
  const other = { role: 'user', content: 'And this?' }

  test('before GPT-5.6 a beginning is known to the end of each message, in steps, and costs nothing to write', async () => {
    const [first, second] = await detailsOf(
      'openai-before',
      { messages: [long(false), USER] },
      { messages: [long(false), other] },
    )
    expect([first.cached_tokens, second.cached_tokens, second.cache_write_tokens]).toEqual([0, 1920, undefined])
  })

  test('since then the whole prompt is written, and another end finds nothing', async () => {
    const asked = { messages: [long(false), other] }
    const [first, second, again] = await detailsOf('openai-since', { messages: [long(false), USER] }, asked, asked)
    expect([first.cached_tokens, second.cached_tokens]).toEqual([0, 0])
    expect(second.cache_write_tokens).toBe(2003)
    expect([again.cached_tokens, again.cache_write_tokens]).toEqual([2003, 0])
  })

  test('a breakpoint keeps what stands before it, and nothing more where only explicit ones are wanted', async () => {
    const only = { prompt_cache_options: { mode: 'explicit' } }
    const [first, second] = await detailsOf(
      'openai-since',
      { messages: [long(true), USER], ...only },
      { messages: [long(true), other], ...only },
    )
    expect([first.cached_tokens, first.cache_write_tokens]).toEqual([0, 2000])
    expect([second.cached_tokens, second.cache_write_tokens]).toEqual([2000, 0])
  })

  test('nothing is written where no breakpoint is set and only explicit ones are wanted, nor below 1,024 tokens', async () => {
    const none = { messages: [long(false), USER], prompt_cache_options: { mode: 'explicit' } }
    const [first, short] = await detailsOf('openai-since', none, PLAIN)
    expect([first.cache_write_tokens, short.cache_write_tokens]).toEqual([0, 0])
  })
})
