import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import type { Evaluation } from '../../../src/lab/evaluation/evaluation.ts'
import { seededRandom } from '../../../src/lab/evaluation/statistics/random.ts'
import { commandIn } from '../../support/command-in.ts'
import { commandHere } from '../../support/commands.ts'
import { IN_PROOF } from '../../support/in-proof.ts'
import { startMisbehaving } from '../../support/misbehaving.ts'
import { startOneModel } from '../../support/one-model.ts'
import { tell } from '../../support/pipeline.ts'

interface How {
  readonly killAfterMs?: number
  readonly offline?: boolean
}

const SEED = process.env.EVAL_SEED ?? String(Date.now())
const KILLS = IN_PROOF ? 10 : 1
const folder = mkdtempSync(join(tmpdir(), 'gavel-eval-'))
/** Loaded before everything else: no socket can be opened. */
const NO_NETWORK = join(folder, 'no-network.mjs')
writeFileSync(
  NO_NETWORK,
  "import net from 'node:net'\nnet.Socket.prototype.connect = () => { throw new Error('the network is cut off') }\n",
)

let understudy: Understudy
beforeAll(async () => {
  understudy = await startUnderstudy({ latencyMs: 40 })
})
afterAll(async () => {
  await understudy.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Every post is debated, and to the end: so there is much to kill, to pay and to keep. */
const EVERY_DEBATE = { GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'always', GAVEL_PROTOCOLS_HATE_EXITS: 'false' }
/** None are shown examples. */
const NO_SHELVES = { GAVEL_LIBRARY_PATH: join(folder, 'no-library') }

const evalHere = (args: readonly string[], settings: Readonly<Record<string, string>>) =>
  commandHere(['eval', ...args], { ...NO_SHELVES, ...settings })
const gavelEval = (args: readonly string[]) => evalHere(args, { ...EVERY_DEBATE, ...understudy.settings })

/** The same in a process of its own, which may be killed, or cut off from any network. */
function processEval(args: readonly string[], { killAfterMs, offline = false }: How = {}) {
  const settings = { ...EVERY_DEBATE, ...(offline ? {} : understudy.settings) }
  return commandIn(folder, ['eval', ...args], settings, {
    ...(offline ? { flags: ['--import', NO_NETWORK] } : {}),
    ...(killAfterMs === undefined ? {} : { kill: { calls: () => understudy.calls().length, afterMs: killAfterMs } }),
  })
}

const linesOf = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
const TEXTS = join(folder, 'texts.jsonl')
/** Twelve posts, half of them hateful by the understudy's word list. */
const post = (at: number, over: object = {}) => ({
  type: 'post',
  id: `p${at}`,
  createdAt: '2025-01-01T12:00:00Z',
  label: at % 2 === 0 ? 'hate' : 'non-hate',
  text:
    at % 2 === 0 ? `number ${at}: they are vermin and scum, get them out` : `number ${at}: a quiet day in the garden`,
  ...over,
})
const fileOf = (name: string, lines: readonly (object | string)[]) => {
  const file = join(folder, name)
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  return file
}
fileOf(
  'texts.jsonl',
  Array.from({ length: 12 }, (_, at) => post(at)),
)
const HATE = ['--protocol', 'hate', '--data', TEXTS, '--rows', 'baselines']

describe('gavel eval', () => {
  it(`killed ${KILLS} times and run again asks no recorded answer twice, and its table is the same; so is a replay without a network`, async () => {
    const random = seededRandom(SEED)
    const whole = join(folder, 'whole')
    const first = await processEval([...HATE, '--out', whole])
    expect(first.code, first.said).toBe(0)
    const inOneRun = understudy.calls().length

    const killed = join(folder, 'killed')
    for (let kill = 0; kill < KILLS; kill++)
      await processEval([...HATE, '--out', killed], { killAfterMs: random.below(700) })
    const last = await processEval([...HATE, '--out', killed])
    expect(last.code, last.said).toBe(0)
    expect(readFileSync(join(killed, 'report.json'), 'utf8')).toBe(readFileSync(join(whole, 'report.json'), 'utf8'))

    const [answers, calls] = [linesOf(join(killed, 'answers.jsonl')), linesOf(join(killed, 'calls.jsonl'))]
    expect(new Set(answers.map(({ digest }) => digest)).size).toBe(answers.length)
    const answered = new Set(answers.map(({ call }) => call))
    const lost = calls.filter(({ call }) => !answered.has(call)).length
    const made = understudy.calls().length - inOneRun
    tell(`seed ${SEED}: ${inOneRun} calls in one run; ${made} over ${KILLS} kills, ${lost} of them lost in flight`)
    expect(answers.length).toBe(inOneRun)
    expect(made).toBeLessThanOrEqual(answers.length + lost)

    const replay = await processEval([...HATE, '--replay', killed, '--json'], { offline: true })
    expect(replay.code, replay.said).toBe(0)
    expect(replay.out).toBe(readFileSync(join(whole, 'report.json'), 'utf8'))

    // One deleted answer fails by its name.
    const [gone, ...left] = answers
    const cut = join(folder, 'cut')
    cpSync(killed, cut, { recursive: true })
    writeFileSync(join(cut, 'answers.jsonl'), left.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const missing = await processEval([...HATE, '--replay', cut, '--json'], { offline: true })
    expect(missing.code).toBe(1)
    expect(missing.said).toContain(gone.digest)
    expect(missing.out).toBe('')
  }, 180_000)

  it('prints counts, metrics and a row for each baseline as JSON, and the same as a page in Markdown', async () => {
    const out = join(folder, 'reports')
    const { code, out: printed, said } = await gavelEval([...HATE, '--out', out, '--json'])
    expect(code, said).toBe(0)
    const evaluation = JSON.parse(printed) as Evaluation
    expect(evaluation.counts).toMatchObject({ items: 12, comments: 0, unreadable: 0, refused: 0, degraded: 0 })
    expect(evaluation.table.map(({ row, counts }) => [row, counts.items])).toEqual([
      ['hate', 12],
      ['zero-shot', 12],
      ['chain of thought', 12],
      ['self-consistency', 12],
    ])
    expect(evaluation.metrics.accuracy).toEqual(evaluation.table[0]?.labels?.accuracy)
    expect(evaluation.summary[0]).toMatch(/^The debate (pays|does not pay): /)
    expect(evaluation.summary.join('\n')).toMatch(/no language model.*12 items can show a share to ± 2\d\.\d points/s)
    const page = readFileSync(join(out, 'report.md'), 'utf8')
    for (const { row } of evaluation.table) expect(page).toContain(`| ${row}`)
    expect(page).toContain(evaluation.summary[0])
  })

  it('says first that no call was answered, has no figures then, and ends with exit code 1', async () => {
    const refusing = await startMisbehaving(() => ({ status: 400, body: { error: { message: 'not this one' } } }))
    try {
      const { code, out, said } = await evalHere([...HATE, '--json'], refusing.settings)
      expect([code, said]).toEqual([1, expect.stringContaining('No call was answered')])
      const { table, summary, metrics } = JSON.parse(out) as Evaluation
      expect(summary[0]).toMatch(/^0 of \d+ calls answered: \d+ rejected\.$/)
      expect(table.map(({ why, labels }) => [why?.replace(/\d+/g, 'N'), labels])).toEqual(
        table.map(() => ['N of N calls answered: N rejected', null]),
      )
      expect([table.length, metrics]).toEqual([4, {}])
    } finally {
      await refusing.close()
    }
  })

  it('takes ids that are numbers as they are written, those beyond 2^53 too: none is taken for another', async () => {
    const ids = ['267081518403440641', '267081518403440642', '267081518403440643', '7', '7.0', '7e0']
    const lines = ids.map((id, at) => JSON.stringify(post(at, { id: 'ID' })).replace('"ID"', id))
    const file = fileOf('numbers.jsonl', lines)
    const out = join(folder, 'numbers')
    const args = ['--protocol', 'hate', '--data', file, '--rows', 'none', '--out', out, '--json']
    const { code, out: printed, said } = await gavelEval(args)
    expect(code, said).toBe(0)
    const evaluation = JSON.parse(printed) as Evaluation
    expect(evaluation.counts).toMatchObject({ items: ids.length, unreadable: 0, refused: 0 })
    expect(evaluation.metrics.accuracy).toMatchObject({ value: 1 })
  })

  it('ends with exit code 1 against a run that fared otherwise, and with 0 against itself', async () => {
    const out = join(folder, 'against')
    await gavelEval([...HATE, '--rows', 'none', '--out', out])
    const same = await gavelEval([...HATE, '--rows', 'none', '--replay', out, '--against', join(out, 'report.json')])
    expect(same.code, same.said).toBe(0)
    const before = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))
    before.table[0].counts.comments = 7
    const other = fileOf('before.json', [before])
    const changed = await gavelEval([...HATE, '--rows', 'none', '--replay', out, '--against', other])
    expect(changed.code).toBe(1)
    expect(changed.out).toContain('comments: 7 before, 0 now')
    expect(changed.said).toContain('Changed since')
  })

  it('shows what other settings would ask, asks nothing without --yes, and with it only that', async () => {
    const out = join(folder, 'what-if')
    await gavelEval([...HATE, '--rows', 'none', '--out', out])
    const settings = fileOf('settings.yaml', ['protocols:\n  hate:\n    rounds: 1'])
    const args = [...HATE, '--rows', 'none', '--replay', out, '--what-if', settings]
    const asked = understudy.calls().length
    const dry = await gavelEval(args)
    expect(dry.code, dry.said).toBe(0)
    expect(dry.said).toMatch(/12 questions would be asked, for about \$0\.0\d+.*12 times a question of judge/s)
    expect(understudy.calls().length).toBe(asked)
    const paid = await gavelEval([...args, '--yes', '--json'])
    expect(paid.code, paid.said).toBe(0)
    expect(understudy.calls().length).toBe(asked + 12)
    expect((JSON.parse(paid.out) as Evaluation).table[0]?.perItem.calls).toBe(6)
    expect(paid.said).not.toContain('Run it again with --yes')
  })

  it('stops when its money is spent, keeps what was answered, and goes on with more', async () => {
    const out = join(folder, 'money')
    const poor = await gavelEval([...HATE, '--rows', 'none', '--out', out, '--max-cost', '0.002'])
    expect(poor.code).toBe(1)
    expect(poor.said).toMatch(/Stopped at --max-cost: \d+ of 12 verdicts, \$0\.00\d+ paid/)
    expect(linesOf(join(out, 'answers.jsonl')).length).toBeGreaterThan(0)
    expect(existsSync(join(out, 'report.json'))).toBe(false)
    expect((await gavelEval([...HATE, '--rows', 'none', '--out', out])).code).toBe(0)
  })

  it.each([
    [
      'a label that the protocol lacks',
      [post(1, { label: 'nasty' })],
      /texts.*:1 has the label "nasty"; those of hate are/,
    ],
    ['an id with two labels', [post(1), post(1, { label: 'hate' })], /:2 labels p1 hate, and line 1 non-hate/],
    ['no label at all', [post(1, { label: undefined })], /has no item to judge by/],
  ])('ends with one clear line for %s', async (_, lines, expected) => {
    const file = fileOf('texts-bad.jsonl', lines)
    const { code, out, said } = await gavelEval(['--protocol', 'hate', '--data', file, '--rows', 'none'])
    expect(code).toBe(1)
    expect(out).toBe('')
    expect(said.trim().split('\n')).toHaveLength(1)
    expect(said).toMatch(expected)
  })

  it('names a broken line and goes on; says what is missing on its command line', async () => {
    const file = fileOf('broken.jsonl', [post(0), '{"type": "post", ', post(1), post(2), post(3)])
    const { code, out, said } = await gavelEval(['--protocol', 'hate', '--data', file, '--rows', 'none', '--json'])
    expect(code, said).toBe(0)
    expect(said).toMatch(/broken\.jsonl:2 .*left out/)
    expect((JSON.parse(out) as Evaluation).counts.unreadable).toBe(1)
    for (const [args, why] of [
      [[], /give --protocol or --preset/],
      [['--preset', 's2mad-table-1', '--rows', 'all'], /has its own rows/],
      [[...HATE, '--replay', 'b', '--max-cost', '1'], /--max-cost limits nothing/],
    ] as const) {
      const wrong = await gavelEval(args)
      expect(wrong.code).toBe(2)
      expect(wrong.said).toMatch(why)
    }
    const none = await gavelEval([...HATE, '--replay', folder])
    expect(none.code).toBe(1)
    expect(none.said).toContain('holds no answers')
  })
})

describe('a paper’s table on an endpoint with one model', () => {
  const KODOLI = fileOf('kodoli.jsonl', [
    { text: '또 잘난 척하시네', label: 'LIKELY' },
    { text: '내일 비가 온대요', label: 'NOT' },
  ])
  const TABLE = ['--preset', 'predict-table-2', '--data', KODOLI, '--format', 'kodoli', '--size', '2', '--balanced']

  it('is judged by that model, in the rows that are wanted, and says first for whom it stood in and second what was missing', async () => {
    const mine = await startOneModel('mine')
    try {
      const how = [...TABLE, '--models', 'mine', '--only', 'Round 1', '--only', 'majority voting', '--json']
      const { code, out, said } = await evalHere(how, mine.settings)
      expect(code, said).toBe(0)
      const { summary, table, title } = JSON.parse(out) as Evaluation
      expect(summary[0]).toBe('Not the paper’s models: mine stood in for gpt-3.5-turbo-0125.')
      expect(summary[1]).toMatch(
        /^Missing: 2 of 2 items without examples, because of 5 shelves: .*; 20 of 20 verdicts \(100 %\) are degraded/,
      )
      expect(title).toContain('2 of 2 items without examples')
      const judged = table.filter(({ why }) => why === null)
      expect(judged.map(({ row }) => row)).toEqual(['Majority voting', 'Round 1'])
      expect(new Set(mine.asked)).toEqual(new Set(['mine']))
    } finally {
      await mine.close()
    }
  })

  it('is judged by a model of another endpoint that is declared, and asks nothing where that endpoint lacks it', async () => {
    const [mine, other] = [await startOneModel('mine'), await startOneModel('other')]
    try {
      const config = join(folder, 'endpoints.yaml')
      writeFileSync(config, `endpoints: { lab: { baseUrl: "${mine.settings.OPENAI_BASE_URL}", apiKey: none } }\n`)
      const judged = (by: string) =>
        evalHere(
          ['--config', config, ...TABLE, '--only', 'Round 1', '--model', `gpt-3.5-turbo-0125=${by}`, '--json'],
          other.settings,
        )
      const { code, out, said } = await judged('lab/mine')
      expect(code, said).toBe(0)
      const { summary, table } = JSON.parse(out) as Evaluation
      expect(summary[0]).toBe('Not the paper’s models: lab/mine stood in for gpt-3.5-turbo-0125.')
      expect(table.filter(({ why }) => why === null).map(({ row, counts }) => [row, counts.items])).toEqual([
        ['Round 1', 2],
      ])
      expect([new Set(mine.asked), other.asked]).toEqual([new Set(['mine']), []])
      const before = mine.asked.length
      const missing = await judged('lab/absent')
      expect([missing.code, missing.out]).toEqual([1, ''])
      expect(missing.said).toContain('Nothing was asked: the endpoint has no model lab/absent. Name your models')
      expect([mine.asked.slice(before), other.asked]).toEqual([['absent'], []])
    } finally {
      await mine.close()
      await other.close()
    }
  })

  it('asks nothing where the endpoint lacks a model, and says what would help', async () => {
    const mine = await startOneModel('mine')
    try {
      const own = await evalHere(TABLE, mine.settings)
      expect(own.code).toBe(1)
      expect(own.said).toContain(
        "Nothing was asked: the endpoint has no model gpt-3.5-turbo-0125. Name your models: --model PAPER'S=YOURS for one of gpt-3.5-turbo-0125, or --models YOURS for all; or judge other rows: --only ROW.",
      )
      expect(mine.asked).toEqual(['gpt-3.5-turbo-0125'])
      const misnamed = await evalHere([...TABLE, '--model', 'gpt-4=mine'], mine.settings)
      expect(misnamed.said).toContain('predict-table-2 names no model gpt-4, but: gpt-3.5-turbo-0125.')
      const noRow = await evalHere([...TABLE, '--only', 'Round 3'], mine.settings)
      expect(noRow.said).toContain('No row is called Round 3, but: In-dataset; Majority voting; Round 1; ')
      expect(mine.asked).toHaveLength(1)
    } finally {
      await mine.close()
    }
  })
})
