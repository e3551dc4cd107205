import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import { command } from '../../../src/lab/commands/scores/scores.ts'
import { perform } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'

let understudy: Understudy
beforeAll(async () => {
  understudy = await startUnderstudy()
})
afterAll(() => understudy.close())

const folder = ownFolder('scores')
let printed: { out: string[]; said: string[]; progress: string[] }
beforeEach(() => {
  printed = { out: [], said: [], progress: [] }
})

const AT = [0.7]

function gavelScores(file: string, more: object = {}, signal = new AbortController().signal) {
  const terminal = {
    out: (line: unknown) => void printed.out.push(String(line)),
    say: (line: unknown) => void printed.said.push(String(line)),
    progress: (line: string) => void printed.progress.push(line),
  }
  const options = { attribute: 'TOXICITY' as const, at: AT, ...more }
  return perform(command, loadSettings(understudy.settings), [file], options, { terminal, signal })
}

function fileOf(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

/** Rude texts, which the understudy knows by their words, and kind ones; the old scores follow the labels. */
const ROWS = Array.from({ length: 20 }, (_, at) =>
  at % 2 === 0
    ? `You are an idiot and a fool no. ${at}.,1,0.${90 - at}`
    : `The bridge is closed ${at} days.,0,0.${10 + at}`,
)
const CSV = `text,label,old\n${ROWS.join('\n')}\n`

describe('gavel scores', () => {
  it('carries old thresholds over, as a table and as JSON', async () => {
    const file = fileOf('good.csv', CSV)
    const result = await gavelScores(file, { oldField: 'old' })
    expect(result).toMatchObject({
      texts: 20,
      positive: 10,
      unscored: {},
      models: ['understudy'],
      spent: { calls: 20 },
    })
    const [at] = result.carried
    expect(at?.old).toMatchObject({ threshold: 0.7, flagged: 10, precision: 1, recall: 1 })
    for (const ours of [at?.sameShare, at?.sameRecall, at?.samePrecision])
      expect(ours).toMatchObject({ precision: 1, recall: 1 })
    expect(printed.said.join('\n')).toMatch(
      /TOXICITY of 20 texts, 10 of them to be flagged, by understudy \(gavel-score-\d+\)/,
    )
    expect(printed.said.join('\n')).toContain('Fewer than 100 texts of a kind')
    expect(printed.progress.at(-1)).toMatch(/^20 of 20 texts, 20 calls/)
    await gavelScores(file, { oldField: 'old', json: true })
    expect(JSON.parse(printed.out.at(-1) ?? '')).toEqual({ ...result, spent: expect.anything() })
  })

  it('without old scores shows the effect of our thresholds', async () => {
    const lines = ROWS.map((row) => row.split(',')).map(([text, label]) =>
      JSON.stringify({ comment: text, abusive: label === '1' ? 'abuse' : 'fine' }),
    )
    const file = fileOf('own.jsonl', lines.join('\n'))
    const result = await gavelScores(file, { textField: 'comment', labelField: 'abusive', positive: ['abuse'] })
    expect(result.carried).toEqual([])
    expect(result.thresholds[0]).toMatchObject({ flagged: 10, precision: 1, recall: 1 })
  })

  it('stopped, keeps what it has with --out, and goes on from there', async () => {
    const texts = Array.from({ length: 300 }, (_, at) => `Text no. ${at} of an idiot.,${at % 2}`)
    const file = fileOf('long.csv', `text,label\n${texts.join('\n')}\n`)
    const out = join(folder, 'kept')
    const stopping = new AbortController()
    const calls = understudy.calls().length
    const watched = setInterval(() => {
      if (understudy.calls().length - calls > 30) stopping.abort()
    }, 1)
    const stopped = gavelScores(file, { out }, stopping.signal)
    const why = await stopped.then(() => '', String)
    const [, done = ''] =
      /Stopped: (\d+) of 300 texts were scored\. The answers are kept: run it again to continue\.$/.exec(why) ?? []
    expect(why).toContain(`${done} of 300`)
    expect(Number(done)).toBeGreaterThan(0)
    clearInterval(watched)
    const result = await gavelScores(file, { out })
    expect(result.texts).toBe(300)
    expect(result.spent.calls).toBeLessThanOrEqual(300 - Number(done))
    expect(printed.said.join('\n')).toMatch(/holds \d+ answers: they are not asked for again/)
    expect((await gavelScores(file, { out })).spent.calls).toBe(0)
  })

  it('names lines that it leaves out', async () => {
    const bad = [',1', 'A text.,', 'A text.,perhaps', 'A text.,0.3', 'You idiot.,yes', `${'x'.repeat(21_000)},1`]
    const file = fileOf('partly.csv', `text,label\n${bad.join('\n')}\n`)
    expect((await gavelScores(file)).texts).toBe(2)
    const said = printed.said.join('\n')
    for (const part of [
      ':2 has no text',
      ':3 has no label',
      ':4 has the label "perhaps"',
      ':7 has more than 20480 bytes',
    ])
      expect(said).toContain(part)
  })

  it.each([
    ['no such column', 'comment,toxic\nA text.,1\n', /--text-field/],
    [
      'labels of one kind',
      'text,label\nA text.,1\nAnother.,1\n',
      /every label is one to be flagged \("1": 2\).+--positive/,
    ],
    ['nothing to be flagged', 'text,label\nA text.,0\n', /no label is one to be flagged/],
    ['labels that say neither', 'text,label\nA text.,spam\n', /no line has a text and a label/],
    ['nothing', '', /empty/],
  ])('refuses a file with %s before anything is asked', async (name, text, why) => {
    const calls = understudy.calls().length
    await expect(gavelScores(fileOf(`${name}.csv`, text))).rejects.toThrow(why)
    await expect(gavelScores(join(folder, 'none.csv'))).rejects.toThrow(/none\.csv/)
    expect(understudy.calls()).toHaveLength(calls)
  })
})
