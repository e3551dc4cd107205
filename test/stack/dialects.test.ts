import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answer } from '../../src/tools/understudy/answer.ts'
import { DIALECTS, type DialectName } from '../../src/tools/understudy/dialects/all.ts'
import { startUnderstudy, type Understudy, type UnderstudyOptions } from '../../src/tools/understudy/server.ts'

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
  return async (body: object, headers: Record<string, string> = { authorization: 'Bearer key' }) => {
    const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : null }
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

  test.each(NAMES)('%s: names the parameter in the log of each call that it refuses', async (dialect) => {
    for (const { parameter, except = [], values = ['no such value'] } of DIALECTS[dialect].refuses as readonly {
      parameter: string
      except?: readonly unknown[]
      values?: readonly unknown[]
    }[]) {
      const value = values.find((one) => !except.includes(one))
      const [first = '', ...rest] = parameter.split('.')
      const field = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
      const ask = await speaking({ dialect })
      const { status } = await ask({ ...PLAIN, [first]: field })
      expect([parameter, status]).toEqual([parameter, expect.toSatisfy((code: number) => code === 400 || code === 422)])
      expect(running?.calls()).toMatchObject([{ status: 'failed', refused: parameter }])
      await running?.close()
    }
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
