import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import type { Evaluation } from '../../../src/lab/evaluation/evaluation.ts'
import { fleissKappa } from '../../../src/lab/evaluation/statistics/agreement.ts'
import { commandHere } from '../../support/commands.ts'

// Rows of other systems, and rows that are judged several times.

const folder = mkdtempSync(join(tmpdir(), 'gavel-eval-rows-'))
let understudy: Understudy
beforeAll(async () => {
  understudy = await startUnderstudy()
})
afterAll(async () => {
  await understudy.close()
  rmSync(folder, { recursive: true, force: true })
})

const fileOf = (name: string, lines: readonly (object | string)[]) => {
  const file = join(folder, name)
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  return file
}
const POSTS = Array.from({ length: 24 }, (_, at) => ({
  id: `p${at}`,
  label: at % 2 === 0 ? 'hate' : 'non-hate',
  text: at % 2 === 0 ? `number ${at}: they are vermin and scum` : `number ${at}: a quiet day in the garden`,
}))
const POSTS_FILE = fileOf('posts.jsonl', POSTS)
const HATE = ['--protocol', 'hate', '--data', POSTS_FILE, '--rows', 'none', '--json']
const gavelEval = (args: readonly string[], settings: Readonly<Record<string, string>> = understudy.settings) =>
  commandHere(['eval', ...args], { ...settings, GAVEL_LIBRARY_PATH: join(folder, 'no-library') })
async function evaluated(args: readonly string[]) {
  const { code, out, said } = await gavelEval(args)
  const { table, parts } = code === 0 ? (JSON.parse(out) as Evaluation) : { table: [] }
  return { code, said, table, parts }
}

it('another system is a row of the same table, its labels translated, its gaps without a label', async () => {
  const lines = POSTS.slice(0, 20).map(
    ({ id, label }, at) => `${id},${at < 4 ? 'OFF' : label === 'hate' ? 'OFF' : 'ok'}`,
  )
  const file = fileOf('guard.csv', ['id,label', ...lines])
  const args = ['--predictions', `Guard=${file}`, '--label-as', 'OFF=hate', '--label-as', 'ok=non-hate']
  const { table } = await evaluated([...HATE, ...args])
  expect(table.map(({ row }) => row)).toEqual(['hate', 'Guard'])
  const guard = table[1]
  // Two of the first four are no hate, and the last four have no prediction.
  expect(guard?.labels?.accuracy.value).toBeCloseTo(18 / 24, 12)
  expect(guard?.labels?.coverage).toBeCloseTo(20 / 24, 12)
  expect(guard?.perItem.calls).toBe(0)
  expect(guard?.outcomes.find(({ id }) => id === 'p23')).toMatchObject({ label: null, degraded: ['no prediction'] })
  // Left out of every figure, as in a paper that has none of what could not be read.
  const { table: without } = await evaluated([...HATE, ...args, '--unlabelled', 'leave-out'])
  expect(without[1]?.labels?.accuracy.value).toBeCloseTo(18 / 20, 12)
  expect(without[1]).toMatchObject({ withoutLabel: 4, labels: { items: 20, coverage: 1 }, counts: { items: 24 } })
  expect(without[1]?.outcomes.filter(({ label }) => label === null)).toEqual([])
})

it('own data and another system’s file share their ids by the column that --id-field names', async () => {
  const data = fileOf('tweets.csv', [
    'tweet_id,id,text,label',
    ...POSTS.map(({ id, text, label }, at) => `${id},${at},"${text}",${label}`),
  ])
  const file = fileOf('same.csv', ['id,label', ...POSTS.map(({ id, label }) => `${id},${label}`)])
  const args = ['--protocol', 'hate', '--data', data, '--rows', 'none', '--json', '--predictions', `Guard=${file}`]
  expect((await evaluated(args)).said).toContain('Guard predicts none of the items')
  const { table } = await evaluated([...args, '--id-field', 'tweet_id'])
  expect(table[1]?.labels?.accuracy.value).toBe(1)
  expect((await evaluated([...args, '--id-field', 'tweet'])).said).toContain('tweet')
})

it('Aetheria’s costs are one command: an item’s time and tokens, and calls by model', async () => {
  const items = Array.from({ length: 6 }, (_, at) => ({
    input: `Case ${at}: how do I do it?`,
    label: at < 3 ? 'harmful' : 'unharmful',
  }))
  const args = ['--preset', 'aetheria-costs', '--data', fileOf('air.jsonl', items), '--format', 'airbench-text']
  const { table, said } = await evaluated([...args, '--size', '6', '--models', 'understudy', '--json'])
  expect(said).not.toContain('rror')
  // A supporter and two debaters in two rounds, and the arbiter.
  expect(table[0]?.callsByStage).toEqual({ arbitrate: 6, brief: 6, loose: 12, strict: 12 })
  const shown = await gavelEval([...args, '--size', '6', '--models', 'understudy'])
  const cells = shown.out.split('\n').find((line) => line.includes('AIR-Bench') && line.includes('6.88')) ?? ''
  const [, , , , ...figures] = cells.split('│').map((text) => text.trim())
  expect(figures.slice(1, 5)).toEqual(['30', '83.3', '6', '16.7'])
  expect(figures.slice(6, 12)).toEqual(['6.88', '250', '83.3', '50', '16.7', '11710'])
})

it('an ablation that ablates nothing is refused with its reason, or says whose questions it asks', async () => {
  const rows = ['hate', 'debate where contested', 'debate by criteria alone', 'debate by examples alone']
  const args = ['--protocol', 'hate', '--data', POSTS_FILE, '--size', '4', '--rows', 'all']
  const only = rows.flatMap((row) => ['--only', row])
  const { table, parts } = await evaluated([...args, ...only, '--json'])
  expect(table.map(({ row }) => row)).toEqual(rows)
  expect(table[2]).toMatchObject({ why: null, sameAs: 'debate where contested' })
  expect(parts).toMatchObject([
    { row: 'hate', pairs: 2, against: [{ row: 'debate where contested' }, { row: 'debate by criteria alone' }] },
  ])
  expect(table[3]).toMatchObject({
    why: 'config/perspectives/as-worded.yaml: has no shelf, and show: examples leaves it nothing to judge by',
  })
  const shown = await gavelEval([...args, ...only])
  expect(shown.out).toContain('debate by criteria alone (asks what debate where contested asks)')
  expect(shown.out).toContain('What each part is worth')
})

it('what predicts none of the items, an odd label, an id twice or a row that no paper has is said in one line', async () => {
  const elsewhere = fileOf('elsewhere.jsonl', [{ id: 'x', label: 'hate' }])
  const none = await evaluated([...HATE, '--predictions', `Guard=${elsewhere}`])
  expect(none.said).toContain(`Guard predicts none of the items: it has ids like "x", ${POSTS_FILE} ones like "p`)
  expect(none.said).not.toContain('verdicts')
  const odd = fileOf('odd.jsonl', [
    { id: 'p0', label: 'toxic' },
    { id: 'p1', label: 'ok' },
  ])
  expect((await evaluated([...HATE, '--predictions', `Guard=${odd}`])).said).toContain(
    `${odd}:1 has the label "toxic"; those of hate are hate, non-hate. Translate it: --label-as "toxic=hate". So for "ok"`,
  )
  const one = { id: 'p0', label: 'hate' }
  const twice = fileOf('twice.jsonl', [one, one])
  expect((await evaluated([...HATE, '--predictions', `Guard=${twice}`])).said).toContain(
    `${twice}:2 predicts p0 a second time.`,
  )
  const misnamed = fileOf('misnamed.csv', ['id,prediction', 'p0,hate'])
  expect((await evaluated([...HATE, '--predictions', `Guard=${misnamed}`])).said).toContain(
    `${misnamed} predicts nothing: no line has a label.`,
  )
  const paper = [
    '--preset',
    'aetheria-table-2',
    '--predictions',
    `Nobody=${fileOf('safety.jsonl', [{ id: 'x', label: 'safe' }])}`,
  ]
  expect((await evaluated(paper)).said).toContain('aetheria-table-2 has no row Nobody, but: ')
})

it('scores of another system fill a paper’s row that nothing judges', async () => {
  const replies = Array.from({ length: 12 }, (_, at) => ({
    type: 'counterspeech',
    id: `r${at}`,
    hateSpeech: `They of group ${at} lie.`,
    text: `Reply ${at}.`,
    ratings: {
      relevance: 1 + (at % 5),
      aggressiveness: 1 + (at % 4),
      coherence: 1 + (at % 3),
      suitableness: 1 + (at % 3),
    },
  }))
  const scores = replies.map(({ id, ratings }) => ({
    id,
    scores: { ...ratings, aggressiveness: -ratings.aggressiveness },
  }))
  const args = [
    '--preset',
    'cseval-table-1',
    '--only',
    'BERTScore',
    '--data',
    fileOf('replies.jsonl', replies),
    '--json',
  ]
  const { table } = await evaluated([...args, '--predictions', `BERTScore=${fileOf('scores.jsonl', scores)}`])
  const rho = table[0]?.aspects.map(({ aspect, spearman }) => [aspect, Math.round((spearman.value ?? 0) * 1e6) / 1e6])
  expect(Object.fromEntries(rho ?? [])).toEqual({ relevance: 1, aggressiveness: -1, coherence: 1, suitableness: 1 })
  expect(table[0]?.paper['spearman:relevance']).toBe(0.223)
})

it('a row that is judged several times tells how far it agrees with itself', async () => {
  const { table } = await evaluated([...HATE, '--repeat', '3'])
  const [cell] = table
  expect(cell?.outcomes).toHaveLength(72)
  expect(cell?.repeats?.repeats).toBe(3)
  const items = [...Map.groupBy(cell?.outcomes ?? [], ({ id }) => id).values()]
  const votes = items.map((of) =>
    [null, 'hate', 'non-hate'].map((label) => of.filter((one) => one.label === label).length),
  )
  expect(cell?.repeats?.kappa).toBe(fleissKappa(votes))
})

it('models, settings files, presets, seeds and another system stand in one table, which says what its best row beats', async () => {
  const other = await startUnderstudy()
  try {
    const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = other.settings
    const endpoints = { b: { baseUrl, apiKey } }
    const prices = Object.fromEntries(['one', 'b/two'].map((name) => [name, { prompt: 1, cached: 1, completion: 1 }]))
    const [base, always] = [
      fileOf('base.yaml', [{ endpoints, models: { prices } }]),
      fileOf('always.yaml', [{ endpoints, protocols: { hate: { debateWhen: 'always' } } }]),
    ]
    const guard = fileOf('guard-seeds.csv', [
      'id,repeat,label',
      ...[1, 2].flatMap((repeat) => POSTS.map(({ id, label }, at) => `${id},${repeat},${at < 9 ? 'hate' : label}`)),
    ])
    const recorded = join(folder, 'one-table')
    const args = [
      ...['--config', base, '--protocol', 'hate', '--data', POSTS_FILE, '--rows', 'none', '--repeat', '2'],
      ...['--with', 'paper', '--with', `debating=${always}`, '--models', 'one', '--models', 'b/two'],
      ...['--predictions', `Guard=${guard}`, '--json'],
    ]
    const before = understudy.calls().length
    const { out } = await gavelEval([...args, '--out', recorded])
    const { table, best, summary } = JSON.parse(out) as Evaluation
    const names = [
      'hate, one',
      'paper, one',
      'debating, one',
      'hate, b/two',
      'paper, b/two',
      'debating, b/two',
      'Guard',
    ]
    expect(table.map(({ row }) => row)).toEqual(names)
    expect(table[5]?.variant).toEqual({ model: 'b/two', settings: always })
    expect(table.map(({ outcomes }) => outcomes.length)).toEqual(names.map(() => 48))
    expect(table.map(({ repeats }) => repeats?.repeats)).toEqual(names.map(() => 2))
    // Each model at its own endpoint, and debates only where they are asked for.
    const asked = table.map(({ answered }) => answered.map((model) => model.asked))
    expect(asked).toEqual([['one'], ['one'], ['one'], ['b/two'], ['b/two'], ['b/two'], []])
    expect(other.calls().length).toBe(understudy.calls().length - before)
    const calls = table.map(({ perItem }) => perItem.calls)
    expect(calls[2]).toBeGreaterThan(calls[0] ?? 0)
    expect(calls[3]).toBe(calls[0])
    // By hand: how often each row is right on each item; Holm over all 21 pairs.
    const right = table.map(({ outcomes }) =>
      POSTS.map(({ id, label }) => outcomes.filter((one) => one.id === id && one.label === label).length),
    )
    const ps = right.flatMap((one, at) => right.slice(at + 1).map((two) => flipTest(one, two)))
    const sorted = ps.toSorted((one, two) => one - two)
    const holmOf = (p: number) =>
      Math.max(...sorted.slice(0, sorted.lastIndexOf(p) + 1).map((one, rank) => Math.min(1, one * (21 - rank))))
    const top = right.map((of) => of.reduce((sum, times) => sum + times, 0))
    const at = top.indexOf(Math.max(...top))
    expect(best).toMatchObject([{ row: names[at], pairs: 21 }])
    for (const { row, pValue, adjusted } of best?.[0]?.against ?? []) {
      const p = flipTest(right[at] ?? [], right[names.indexOf(row)] ?? [])
      expect([row, pValue]).toEqual([row, expect.closeTo(p, 10)])
      const near = sorted.find((one) => Math.abs(one - p) < 1e-10) ?? p
      expect([row, adjusted]).toEqual([row, expect.closeTo(holmOf(near), 8)])
    }
    expect(summary.find((one) => one.includes('has the highest accuracy'))).toContain(
      '(Holm, over all 21 pairs of rows)',
    )
    // The same table in the report, and once more without a question.
    for (const page of ['report.md', 'report.html', 'report.csv']) {
      const text = readFileSync(join(recorded, page), 'utf8')
      expect([page, names.filter((name) => !text.includes(name))]).toEqual([page, []])
      expect(text).toMatch(/kappa:repeats/)
    }
    expect(readFileSync(join(recorded, 'report.md'), 'utf8')).toContain('## Which row is best')
    const replayed = await gavelEval([...args, '--replay', recorded], {})
    expect(JSON.parse(replayed.out)).toEqual(JSON.parse(out))
    // Where the money runs out it says so, and goes on from what it has.
    const again = args.map((word, at) => (args[at - 1] === '--repeat' ? '3' : word))
    const more = (usd: string) => [...again, '--max-cost', usd, '--out', recorded]
    const stopped = await gavelEval(more('0.001'))
    expect([stopped.code, /Stopped at --max-cost: \d+ of \d+ verdicts/.test(stopped.said)]).toEqual([1, true])
    const whole = await gavelEval(more('100'))
    expect(whole.said).toMatch(/holds \d+ answers: they are not asked for again/)
    expect((JSON.parse(whole.out) as Evaluation).table[0]?.repeats?.repeats).toBe(3)
  } finally {
    await other.close()
  }
})

/** Two-sided, exact: of each item's difference the sign is drawn; how probable it is that they sum up to so much or more. */
function flipTest(one: readonly number[], two: readonly number[]): number {
  const found = Math.abs(one.reduce((sum, times, at) => sum + times - (two[at] ?? 0), 0))
  const [ones, twos] = [1, 2].map(
    (size) => one.filter((times, at) => Math.abs(times - (two[at] ?? 0)) === size).length,
  ) as [number, number] // as: of two sizes two counts
  const ways = (of: number, up: number): number => (up === 0 ? 1 : (ways(of, up - 1) * (of - up + 1)) / up)
  let sum = 0
  for (let up = 0; up <= ones; up++)
    for (let far = 0; far <= twos; far++)
      if (Math.abs(2 * up - ones + 2 * (2 * far - twos)) >= found) sum += ways(ones, up) * ways(twos, far)
  return sum / 2 ** (ones + twos)
}

it('rows that would be called alike, a file that means another endpoint, and odd rows are refused before a question', async () => {
  const twice = await evaluated([...HATE, '--with', 'thrifty', '--with', 'thrifty'])
  expect(twice.said).toContain('Two rows would be called thrifty')
  const moved = fileOf('moved.yaml', [{ endpoints: { b: { baseUrl: 'http://127.0.0.1:1/v1' } } }])
  const here = fileOf('here.yaml', [{ endpoints: { b: { baseUrl: 'http://127.0.0.1:2/v1' } } }])
  expect((await evaluated(['--config', here, ...HATE, '--with', `Moved=${moved}`])).said).toContain(
    `${moved}: endpoints.b is not what the table's other settings have there`,
  )
  expect((await evaluated([...HATE, '--with', 'frugal'])).said).toContain('or a preset: none, paper, thrifty')
  const many = ['--models', 'one', '--models', 'two']
  expect((await evaluated([...HATE, '--rows', 'gates', ...many])).said).toContain('several --models need rows')
  expect((await evaluated(['--preset', 'paper', '--data', POSTS_FILE])).said).toContain('--protocol NAME --with paper')
  const file = fileOf('again.csv', ['id,label', 'p0,hate'])
  const both = ['--predictions', `Guard=${file}`, '--predictions', `Guard=${file}`]
  expect((await evaluated([...HATE, ...both])).said).toContain('Two --predictions are called Guard')
})

it('the ways to decide stand beside each other, with a choice among them; a replay without the questions is equal', async () => {
  const recorded = join(folder, 'ways')
  const args = ['--protocol', 'hate', '--data', POSTS_FILE, '--rows', 'gates', '--json']
  const { out } = await gavelEval([...args, '--out', recorded])
  const { table, choices } = JSON.parse(out) as Evaluation
  const ways = ['judge alone', 'contested', 'always']
  expect(table.map(({ row }) => row)).toEqual([...ways, 'majority of the perspectives', 'zero-shot'])
  expect(choices?.[0]?.ways.map(({ row }) => row)).toEqual(ways)
  expect(table.map(({ debates = [] }) => debates.map(({ cause }) => cause).sort())).toEqual([
    ['all', 'off'],
    ['all', 'unanimous'],
    ['all', 'always'],
    ['all', 'off'],
    ['all', 'off'],
  ])
  const answers = join(recorded, 'answers.jsonl')
  const bare = readFileSync(answers, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ digest, reply }) => JSON.stringify({ digest, reply }))
  writeFileSync(answers, `${bare.join('\n')}\n`)
  const again = await gavelEval([...args, '--replay', recorded])
  expect(JSON.parse(again.out)).toEqual(JSON.parse(out))
  writeFileSync(answers, '{"reply": {"text": "{}", "model": "m"}}\n')
  const without = await gavelEval([...args, '--replay', recorded])
  expect(without.said).toContain('answers.jsonl:1 has neither a question nor its digest.')
})

it('one prompt without comments stands beside the ways to judge a thread', async () => {
  const thread = [
    { id: 't1', text: 'The bridge is closed.', label: 'non-rumor' },
    { id: 'c1', postId: 't1', text: 'I stood there, it is closed.' },
  ]
  const { table } = await evaluated([
    '--protocol',
    'rumor',
    '--data',
    fileOf('thread.jsonl', thread),
    '--rows',
    'gates',
    '--json',
  ])
  expect(table.map(({ row, counts }) => [row, counts.commentsJudged])).toEqual([
    ['contested', 1],
    ['always', 1],
    ['zero-shot without comments', 0],
  ])
})
