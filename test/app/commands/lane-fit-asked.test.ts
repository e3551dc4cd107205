import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { performWords } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('lane-asked')

/** A chat model that is sure of what has the word "vermin", and of what has not; it tells log-probabilities unless told otherwise. */
let [calls, tells, decides] = [0, true, false]
/** Questions over the interface for decisions: one that is sent again on a busy machine is the same. */
const decisions = new Set<string>()
const server = createServer(async (request, response) => {
  let body = ''
  for await (const piece of request) body += piece
  response.setHeader('content-type', 'application/json')
  if (decides && request.url?.endsWith('/decisions')) {
    decisions.add(body)
    return void response.end(JSON.stringify(decided(body.includes('vermin') ? 0.93 : 0.07)))
  }
  if (!request.url?.endsWith('/chat/completions')) return void response.writeHead(404).end()
  calls++
  const sent = JSON.parse(body)
  expect(sent).toMatchObject({ logprobs: true, model: 'gpt-6-luna' })
  const [label, first, other] = body.includes('vermin') ? ['hate', 'hate', 'non'] : ['non-hate', 'non', 'hate']
  const of = (token: string, probability: number) => ({ token, logprob: Math.log(probability), bytes: null })
  const plain = (token: string) => ({ ...of(token, 1), top_logprobs: [of(token, 1)] })
  const chosen = { ...of(first, 0.93), top_logprobs: [of(first, 0.93), of(other, 0.07)] }
  const content = [plain('{"label'), plain('":"'), chosen, plain(`${label.slice(first.length)}"}`)]
  response.end(
    JSON.stringify({
      model: 'gpt-6-luna',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: JSON.stringify({ label }) },
          finish_reason: 'stop',
          logprobs: tells ? { content } : null,
        },
      ],
      usage: { prompt_tokens: 300, completion_tokens: 5, total_tokens: 305 },
    }),
  )
})
/** OpenAI's answer to the one question, by how likely hate is. */
function decided(hate: number) {
  const probabilities = [
    { value: 'hate', probability: hate },
    { value: 'non-hate', probability: 1 - hate },
  ]
  const choice = hate > 0.5 ? 'hate' : 'non-hate'
  return {
    model: 'gpt-6-luna',
    answers: [{ type: 'choice', name: 'label', choice, confidence: 0.9, probabilities }],
    usage: { input_tokens: 200, output_tokens: 1 },
  }
}

beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
afterAll(() => new Promise((resolve) => server.close(resolve)))
beforeEach(() => {
  ;[calls, tells, decides] = [0, true, false]
  decisions.clear()
})

const WORDS = 'river stone bridge garden letter window candle market harbour meadow'.split(' ')
const ITEMS = Array.from({ length: 300 }, (_, at) => ({
  id: `t${at}`,
  text: `${[...String(at)].map((digit) => WORDS[Number(digit)]).join(' ')} ${at % 2 === 0 ? 'vermin' : 'people'}`,
  label: at % 2 === 0 ? 'hate' : 'non-hate',
  lang: 'en',
}))
const DATA = join(folder, 'labelled.jsonl')
writeFileSync(DATA, ITEMS.map((item) => JSON.stringify(item)).join('\n'))

const settings = () =>
  loadSettings({
    OPENAI_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // It listens on a port.
    OPENAI_API_KEY: 'k',
    GAVEL_LIBRARY_PATH: join(folder, 'library'),
  })
const fitted = (...more: readonly string[]) =>
  performWords(['lane', 'fit', '--protocol', 'hate', '--data', DATA, '--model', 'gpt-6-luna', ...more], settings())

it('asks a model for the label, and takes the probabilities of its tokens; kept answers are not paid for again', async () => {
  const [file, keep] = [join(folder, 'lane.json'), join(folder, 'answers')]
  const { out } = await fitted('--out', file, '--keep', keep)
  expect(calls).toBe(300)
  expect(out.at(-1)).toMatch(/^It settles 100\.0 % of items\./)
  const lane = JSON.parse(readFileSync(file, 'utf8'))
  expect(lane).toMatchObject({
    decider: {
      model: 'gpt-6-luna',
      asked: 'gpt-6-luna',
      wire: 'chat',
      prompts: expect.stringMatching(/^[0-9a-f]{16}$/),
    },
    thresholds: [
      { label: 'hate', errors: 0 },
      { label: 'non-hate', errors: 0 },
    ],
  })
  const again = join(folder, 'again.json')
  await fitted('--out', again, '--keep', keep)
  expect(calls).toBe(300)
  expect(readFileSync(again, 'utf8')).toBe(readFileSync(file, 'utf8'))
})

it('asks anew of other labels, and refuses answers that are old: the decider may have changed since', async () => {
  const keep = join(folder, 'kept')
  await fitted('--keep', keep)
  const grown = join(folder, 'grown.jsonl')
  const more = { ...ITEMS[0], id: 'one more', text: 'one more vermin' }
  writeFileSync(grown, [...ITEMS, more].map((item) => JSON.stringify(item)).join('\n'))
  await fitted('--keep', keep, '--data', grown)
  expect(calls).toBe(300 + 301)
  for (const folderOf of readdirSync(keep)) {
    const file = join(keep, folderOf, 'calls.jsonl')
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"at":"[^"]*"/g, '"at":"2026-01-01T00:00:00.000Z"'))
  }
  await expect(fitted('--keep', keep)).rejects.toThrow(
    /: 300 answers of before, the oldest given on 2026-01-01T00:00:00.000Z\. A promise rests on the decider as it is/,
  )
  expect(calls).toBe(601)
})

it('counts a benign answer about a text that is not shown whole as none, and says what it left out', async () => {
  const file = join(folder, 'long.jsonl')
  const long = ITEMS.slice(0, 80).map(({ id, text, ...item }) => {
    const words = Array.from({ length: 3_000 }, (_, at) => `${WORDS[(at * 7) % 10]}${at}`)
    return { ...item, id: `long ${id}`, text: `${text} ${words.join(' ')}` }
  })
  const none = { id: 'none', text: 'nobody said what this is', lang: 'en' }
  writeFileSync(file, [...ITEMS, ...long, none].map((item) => JSON.stringify(item)).join('\n'))
  const { out } = await fitted('--data', file, '--json')
  const { fit, unlabelled } = JSON.parse(out[0] ?? '')
  expect(unlabelled).toBe(1)
  expect(fit.tested).toBe(253)
  // Two thirds of the forty benign ones; the harmful ones count.
  expect(fit.unanswered).toBeGreaterThan(15)
  expect(fit.unanswered).toBeLessThanOrEqual(40)
  const ofHate = fit.groups.find(({ label }: { label: string }) => label === 'hate').tested
  expect(ofHate).toBeGreaterThan(fit.tested - fit.unanswered - ofHate)
})

it('asks a decision model over its interface, and says so in the file', async () => {
  decides = true
  const file = join(folder, 'decided.json')
  await fitted('--out', file)
  expect(decisions.size).toBe(300)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ decider: { wire: 'openai' } })
})

it('stops where the model tells no log-probabilities, and where the money is spent', async () => {
  tells = false
  await expect(fitted()).rejects.toThrow('gpt-6-luna gives no log-probabilities')
  expect(calls).toBeLessThan(300)
  tells = true
  await expect(fitted('--max-cost', '0.0005')).rejects.toThrow(
    /^Stopped at --max-cost, \$0\.\d+ paid: \d+ of 300 texts were decided\. With --keep/,
  )
})
