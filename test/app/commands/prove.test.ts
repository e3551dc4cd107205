import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import type { Proof } from '../../../src/lab/commands/prove/proof-page.ts'
import { type Evaluation, estimateOf } from '../../../src/lab/evaluation/evaluation.ts'
import { commandIn } from '../../support/command-in.ts'
import { commandHere } from '../../support/commands.ts'
import { startModelServer } from '../../support/model-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'gavel-prove-'))
const [sets, out] = [join(folder, 'sets'), join(folder, 'proof')]
let understudy: Understudy
beforeAll(async () => {
  understudy = await startUnderstudy()
  mkdirSync(sets)
  const cases = Array.from({ length: 30 }, (_, at) =>
    at % 2 === 0
      ? `${at},F1,number ${at}: they are vermin and scum,hateful`
      : `${at},F2,number ${at}: a quiet day in the garden,non-hateful`,
  )
  writeFileSync(join(sets, 'hatecheck.csv'), `case_id,functionality,test_case,label_gold\n${cases.join('\n')}\n`)
  const replies = Array.from(
    { length: 12 },
    (_, at) =>
      `u${at},They of group ${at} lie.,Reply ${at}: please think of them.,${1 + (at % 5)},${1 + (at % 4)},${1 + (at % 3)},${1 + (at % 3)}`,
  )
  const columns =
    'uuid,hatespeech,predicted_counterspeech,relevance_score,aggressiveness_score,coherence_score,suitableness_score'
  writeFileSync(join(sets, 'cs-eval.csv'), `${columns}\n${replies.join('\n')}\n`)
})
afterAll(async () => {
  await understudy.close()
  rmSync(folder, { recursive: true, force: true })
})
const proved = (...args: string[]) =>
  commandHere(['prove', '--data', sets, '--out', out, '--json', ...args], understudy.settings)

it('says what each protocol is worth on one page, whose figures are eval’s, and how to get the sets that are not there', async () => {
  const { out: json, said } = await proved('--budget', '20')
  const proof: Proof = JSON.parse(json)
  expect(proof.parts.map(({ protocol, items }) => [protocol, items])).toEqual([
    ['hate', 30],
    ['counterspeech', 12],
  ])
  expect(proof.missing.map(({ protocol }) => protocol)).toEqual(['safety', 'rumor'])
  expect(said).toContain('https://raw.githubusercontent.com/openai/moderation-api-release')
  const [hate, counterspeech] = proof.parts
  for (const [part, format, more] of [
    [hate, 'hatecheck', ['--only', 'hate', '--only', 'zero-shot', '--size', '30', '--balanced']],
    [counterspeech, 'cseval', ['--rows', 'none', '--size', '12']],
  ] as const) {
    const data = ['--data', join(sets, part?.data ?? ''), '--format', format]
    const args = ['eval', '--protocol', part?.protocol ?? '', ...data, ...more, '--json']
    const { table, summary }: Evaluation = JSON.parse((await commandHere(args, understudy.settings)).out)
    expect(part?.rows.map(({ row }) => row)).toEqual(table.map(({ row }) => row))
    for (const [at, row] of (part?.rows ?? []).entries()) {
      const cell = table[at]
      if (cell === undefined) throw new Error('eval has fewer rows')
      expect(Object.keys(row.quality).length).toBe(format === 'cseval' ? 4 : 2)
      for (const [measure, estimate] of Object.entries(row.quality))
        expect([measure, estimate]).toEqual([measure, estimateOf(cell, measure as Parameters<typeof estimateOf>[1])])
      expect([row.usd, row.calls]).toEqual([cell.perItem.costUsd, cell.perItem.calls])
      expect(row.seconds).toBeGreaterThan(0)
    }
    expect(part?.unsure).toEqual(summary)
  }
  expect(proof.usd).toBeCloseTo(
    proof.parts.reduce((sum, { rows, items }) => sum + items * rows.reduce((usd, row) => usd + row.usd, 0), 0),
    10,
  )
  const { document } = parseHTML(readFileSync(join(out, 'proof.html'), 'utf8'))
  const cells = [...document.querySelectorAll('tbody tr')].map((row) => row.children[5]?.textContent)
  expect(cells[0]).toContain(((hate?.rows[0]?.quality.accuracy?.value ?? 0) * 100).toFixed(1))
  expect(document.querySelectorAll('tbody tr')).toHaveLength(2 * 2 + 4)
  expect(document.body.textContent).not.toContain('vermin')
  expect(document.body.textContent).toContain('no language model')
})

it('keeps to its budget: fewer items where money is short, all that was answered kept', async () => {
  const whole: Proof = JSON.parse(readFileSync(join(out, 'proof.json'), 'utf8'))
  const ofHate = whole.parts[0]?.usd ?? 0
  const calls = understudy.calls().length
  const args = ['--protocol', 'hate', '--budget', String(ofHate * 0.8)]
  const { out: json } = await proved(...args)
  const [part] = (JSON.parse(json) as Proof).parts
  // Of 0.8 of the money four fifths are planned, for 30 items: 19, and as many of each label.
  expect(part?.items).toBe(18)
  expect(part?.usd).toBeLessThan(ofHate * 0.8)
  // The sample is the larger one's beginning.
  expect(understudy.calls().length - calls).toBeLessThan(10)
})

/** What a form may be filled with: its label as is wanted, and anything else that it takes. */
type Form = {
  readonly properties: Readonly<
    Record<string, { readonly enum?: string[]; readonly type?: string; readonly maximum?: number }>
  >
}
function filled({ properties }: Form, isHate: boolean): Record<string, unknown> {
  const fillingOf = ({ enum: among, type, maximum = 1 }: Form['properties'][string]): unknown => {
    if (among !== undefined) return among.find((word) => /^no[nt]/i.test(word) !== isHate) ?? among[0]
    return type === 'string' ? 'so it is' : type === 'array' ? [] : maximum
  }
  return Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, fillingOf(of)]))
}

it('has just the figures of a planted endpoint: its judge errs on every fifth text, its one prompt on every third', async () => {
  const model = await startModelServer(({ text, stage }) => {
    const at = Number(/number (\d+):/.exec(text)?.[1])
    const isRight = stage === 'judge' ? at % 5 !== 0 : at % 3 !== 0
    const form: Form = JSON.parse(/Answer format \([\w-]+\): (\{.*\})$/m.exec(text)?.[1] ?? '{}')
    return filled(form, (at % 2 === 0) === isRight)
  })
  try {
    const settings = join(folder, 'planted.yaml')
    writeFileSync(settings, 'protocols: { hate: { cites: false } }\n')
    const args = ['prove', '--config', settings, '--data', sets, '--out', join(folder, 'planted'), '--json']
    const { out: json, said } = await commandHere([...args, '--protocol', 'hate', '--budget', '5'], model.settings)
    expect(said).not.toContain('no verdict')
    const [part] = (JSON.parse(json) as Proof).parts
    expect(part?.rows.map(({ row, quality }) => [row, quality.accuracy?.value])).toEqual([
      ['hate', 24 / 30],
      ['zero-shot', 20 / 30],
    ])
    expect(part?.unsure).toContain('hate has the highest accuracy. It is not shown to beat zero-shot.')
  } finally {
    await model.close()
  }
})

it('asks nothing where no set is there', async () => {
  const { code, said } = await commandIn(folder, ['prove', '--budget', '20'], understudy.settings)
  expect([code, said.includes('No data set is in')]).toEqual([1, true])
  expect(said.match(/is not there/g)).toHaveLength(4)
})
