import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import type { Evaluation } from '../../../src/lab/evaluation/evaluation.ts'
import { fleissKappa } from '../../../src/lab/evaluation/statistics/agreement.ts'
import { commandIn } from '../../support/command-in.ts'

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
async function evaluated(args: readonly string[]) {
  const { code, out, said } = await commandIn(folder, ['eval', ...args], understudy.settings)
  return { code, said, table: code === 0 ? (JSON.parse(out) as Evaluation).table : [] }
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
  const shown = await commandIn(folder, ['eval', ...args, '--size', '6', '--models', 'understudy'], understudy.settings)
  const cells = shown.out.split('\n').find((line) => line.includes('AIR-Bench') && line.includes('6.88')) ?? ''
  const [, , , , ...figures] = cells.split('│').map((text) => text.trim())
  expect(figures.slice(1, 5)).toEqual(['30', '83.3', '6', '16.7'])
  expect(figures.slice(6, 12)).toEqual(['6.88', '250', '83.3', '50', '16.7', '11710'])
})

it('an ablation that ablates nothing is refused with its reason, or says whose questions it asks', async () => {
  const rows = ['debate where contested', 'debate by criteria alone', 'debate by examples alone']
  const args = ['--protocol', 'hate', '--data', POSTS_FILE, '--size', '4', '--rows', 'all']
  const only = rows.flatMap((row) => ['--only', row])
  const { table } = await evaluated([...args, ...only, '--json'])
  expect(table.map(({ row }) => row)).toEqual(rows)
  expect(table[1]).toMatchObject({ why: null, sameAs: 'debate where contested' })
  expect(table[2]).toMatchObject({
    why: 'config/perspectives/as-worded.yaml: has no shelf, and show: examples leaves it nothing to judge by',
  })
  const shown = await commandIn(folder, ['eval', ...args, ...only], understudy.settings)
  expect(shown.out).toContain('debate by criteria alone (asks what debate where contested asks)')
})

it('what predicts none of the items, an odd label, an id twice or a row that no paper has is said in one line', async () => {
  const elsewhere = fileOf('elsewhere.jsonl', [{ id: 'x', label: 'hate' }])
  const { table } = await evaluated([...HATE, '--predictions', `Guard=${elsewhere}`])
  expect(table[1]?.why).toBe('it predicts none of these items')
  const odd = fileOf('odd.jsonl', [{ id: 'p0', label: 'toxic' }])
  expect((await evaluated([...HATE, '--predictions', `Guard=${odd}`])).said).toContain(
    `${odd}:1 predicts "toxic"; the labels of hate are hate, non-hate. Translate it with --label-as.`,
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

it('the ways to decide stand beside each other, with a choice among them; a replay without the questions is equal', async () => {
  const recorded = join(folder, 'ways')
  const args = ['--protocol', 'hate', '--data', POSTS_FILE, '--rows', 'gates', '--json']
  const { out } = await commandIn(folder, ['eval', ...args, '--out', recorded], understudy.settings)
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
  const again = await commandIn(folder, ['eval', ...args, '--replay', recorded], understudy.settings)
  expect(JSON.parse(again.out)).toEqual(JSON.parse(out))
  writeFileSync(answers, '{"reply": {"text": "{}", "model": "m"}}\n')
  const without = await commandIn(folder, ['eval', ...args, '--replay', recorded], understudy.settings)
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
