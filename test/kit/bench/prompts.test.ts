import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { estimateTokens } from '../../../src/contracts/facts/token-estimate.ts'
import { paddedAnswer } from '../../../src/kit/bench/padded-answers.ts'
import { promptShares, type RecordedPrompt } from '../../../src/kit/bench/prompt-parts.ts'
import { promptsBench, promptsTable } from '../../../src/kit/bench/prompts.ts'
import { PROTOCOLS } from '../../../src/protocols/registry.ts'
import { DOCUMENTED } from '../../support/documented-protocols.ts'

const asked = (system: string, user: string, over: Partial<RecordedPrompt> = {}): RecordedPrompt => ({
  model: 'm',
  answer: { name: 'a', schema: {} },
  messages: [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ],
  ...over,
})
const words = (name: string, length: number) => name.repeat(length).slice(0, length)

describe('the part of prompts that caches would serve', () => {
  test('is the beginning that an earlier one had, in whole blocks, of the same model', () => {
    const long = words('abcdefg', 10_000)
    const [one, same, other] = [asked(long, 'x'), asked(long, 'y'), asked(`z${long}`, 'x')]
    const all = 2 * 10_001
    const characters = (tokens: number) =>
      Math.round((tokens * all) / (2 * (estimateTokens(long) + estimateTokens('x'))))
    const [ours, theirs] = [characters(16), characters(128)]
    expect(promptShares([one, other])).toMatchObject({ inBlocks: 0, fromThousand: 0 })
    expect(promptShares([one, same]).inBlocks).toBeCloseTo((Math.floor(10_007 / ours) * ours) / all, 5)
    expect(promptShares([one, { ...same, model: 'n' }])).toMatchObject({ inBlocks: 0, fromThousand: 0 })
    // Its schema and the one name of all schemas stand before the words: 128 tokens a step.
    const found = (Math.floor((10_007 + 8) / theirs) * theirs - 8) / all
    expect(promptShares([one, same]).fromThousand).toBeCloseTo(found, 5)
    expect(promptShares([one, { ...same, answer: { name: 'b', schema: {} } }]).fromThousand).toBeCloseTo(found, 5)
    expect(promptShares([one, { ...same, answer: { name: 'a', schema: { b: 1 } } }]).fromThousand).toBe(0)
  })

  test('is nothing at OpenAI below 1,024 tokens', () => {
    const short = words('abcdefg', 3_000)
    const { inBlocks, fromThousand } = promptShares([asked(short, 'x'), asked(short, 'y')])
    expect(inBlocks).toBeGreaterThan(0.4)
    expect(fromThousand).toBe(0)
  })
})

test('packaging is the system’s message, the lines around texts and the form; texts are between them', () => {
  const user = 'Judge:\n<<text:0123>>\nwords of a stranger\n<<end:0123>>\n\nAnswer format (x): {"type":"object"}'
  const { system, fences, texts, form } = promptShares([asked('Be fair.', user)])
  const all = 'Be fair.'.length + user.length
  expect(system).toBeCloseTo(8 / all)
  expect(texts).toBeCloseTo('words of a stranger\n'.length / all)
  expect(fences).toBeCloseTo('<<text:0123>>\n<<end:0123>>\n'.length / all)
  expect(form).toBeCloseTo('Answer format (x): {"type":"object"}\n'.length / all)
  expect(promptShares([])).toMatchObject({ system: 0, inBlocks: 0 })
})

test('padded answers have texts of the length that models write, and the same choices and numbers', () => {
  const answer = { reasoning: 'So.', score: 0.5, label: 'hate', evidence: ['a', 'b'] }
  const padded = JSON.parse(paddedAnswer(JSON.stringify(answer)))
  expect(padded).toMatchObject({ score: 0.5, label: 'hate' })
  expect(padded.reasoning).toHaveLength(900)
  expect(padded.evidence.map((one: string) => one.length)).toEqual([120, 120])
  const scores = JSON.parse(
    paddedAnswer('{"subjectivity":{"reason":"r"},"scores":[{"comment":1,"reason":"r","score":0}]}'),
  )
  expect([scores.subjectivity.reason.length, scores.scores[0].reason.length]).toEqual([160, 60])
  expect(paddedAnswer('no JSON')).toBe('no JSON')
})

const settings = loadSettings({})
const io = (said: string[] = []) => ({ say: (line: string) => said.push(line), signal: AbortSignal.timeout(120_000) })
const demo = (name: string) => ({ file: join(PROJECT, 'config', 'demo', name), format: 'gavel' as const })

test('docs/cost.md has what each preset and each saving costs', { timeout: 120_000 }, async () => {
  const costs = await promptsBench(settings, demo('event.jsonl'), io())
  const rows = promptsTable(costs.filter(({ protocol }) => DOCUMENTED.some(({ name }) => name === protocol))).split(
    '\n',
  )
  for (const { name, savings = {} } of DOCUMENTED)
    for (const way of ['default', 'thrifty', 'paper', ...Object.keys(savings)])
      expect(rows.filter((row) => row.startsWith(`| \`${name}\` | ${way} | `))).toHaveLength(1)
  const page = readFileSync(join(PROJECT, 'docs', 'cost.md'), 'utf8')
  const [table = ''] = page.split('\n\n').filter((part) => part.startsWith(rows[0] ?? ''))
  expect(table.split('\n'), 'the table of docs/cost.md is what this prints: npx gavel bench --prompts').toEqual(rows)
})

test('subjects that a protocol does not judge make no row of it, and thrifty costs less than the default', async () => {
  const said: string[] = []
  const file = demo('labelled.jsonl')
  const costs = await promptsBench(settings, file, io(said))
  const usd = (protocol: string, way: string) =>
    costs.find((one) => one.protocol === protocol && one.way === way)?.usd ?? 0
  const judged = new Set(costs.map(({ protocol }) => protocol))
  expect(judged.size).toBeGreaterThan(0)
  const without = PROTOCOLS.filter(({ name }) => !judged.has(name))
  expect(said.filter((line) => line.includes('no row'))).toEqual(
    without.map(
      ({ name }) => `${name}: no row, because it judges no subject of ${file.file}; --data takes another file.`,
    ),
  )
  // Hate's judge, alone by default, has nothing to save.
  for (const { name, savings } of PROTOCOLS)
    if (savings !== undefined && judged.has(name) && name !== 'hate')
      expect(usd(name, 'thrifty')).toBeLessThan(usd(name, 'default'))
})
