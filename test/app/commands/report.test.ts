import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { COLUMNS, figuresOf, type ReportedAction, rowOf } from '../../../src/app/commands/report/figures.ts'
import { command } from '../../../src/app/commands/report/report.ts'
import { warnOfExpired } from '../../../src/app/commands/report/reported.ts'
import { terminal } from '../../../src/cli/terminal.ts'
import { csvTable } from '../../../src/contracts/facts/csv-table.ts'
import type { DrawnRate } from '../../../src/contracts/ports/review.ts'
import { seededRandom } from '../../../src/lab/evaluation/statistics/random.ts'
import { drawnRates } from '../../../src/record/drawn-rates.ts'
import type { Statement } from '../../../src/record/statement.ts'
import { commandHere } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'

const statement = fc.record({
  category: fc.constantFrom('STATEMENT_CATEGORY_VIOLENCE', 'STATEMENT_CATEGORY_SELF_HARM'),
  decision: fc.constantFrom('DECISION_VISIBILITY_CONTENT_REMOVED', 'DECISION_ACCOUNT_SUSPENDED'),
  ground: fc.constantFrom('terms', '=law'),
  source: fc.constantFrom('SOURCE_VOLUNTARY', 'SOURCE_ARTICLE_16'),
  automatedDetection: fc.constantFrom('Yes', 'No'),
  automatedDecision: fc.constantFrom('AUTOMATED_DECISION_FULLY', 'AUTOMATED_DECISION_PARTIALLY'),
  found: fc.option(fc.constant({ protocol: 'hate', label: 'hate', date: '2026-01-01' })),
}) as fc.Arbitrary<Partial<Statement>> as fc.Arbitrary<Statement> // What the report reads of one.
const action: fc.Arbitrary<ReportedAction> = fc.record({
  action: fc.string(),
  tenant: fc.constant('default'),
  at: fc.integer({ min: 0, max: 1e12 }),
  isWithdrawn: fc.boolean(),
  isExempt: fc.constant(false),
  after: fc.option(fc.integer({ min: 0, max: 1e9 })),
  statement: fc.option(statement),
  why: fc.constant(''),
})

test('every figure counts the rows that have its words, and all rows are counted once', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const figures = figuresOf(actions, [])
      const words = COLUMNS.slice(1, COLUMNS.indexOf('value'))
      for (const figure of figures) {
        const rows = actions.filter((one) => words.every((name) => (rowOf(one)[name] ?? '') === figure[name]))
        const times = rows.map(({ after }) => after).filter((after) => after !== null)
        if (figure.indicator === 'actions') expect(Number(figure.value)).toBe(rows.length)
        else if (figure.indicator === 'actions_withdrawn')
          expect(Number(figure.value)).toBe(rows.filter(({ isWithdrawn }) => isWithdrawn).length)
        else {
          // Half of them took no longer, and half no less.
          const seconds = Number(figure.value)
          expect(times.filter((ms) => Math.round(ms / 1_000) <= seconds).length * 2).toBeGreaterThanOrEqual(
            times.length,
          )
          expect(times.filter((ms) => Math.round(ms / 1_000) >= seconds).length * 2).toBeGreaterThanOrEqual(
            times.length,
          )
          expect(Number(figure.of)).toBe(times.length)
        }
      }
      const counted = figures.filter(({ indicator }) => indicator === 'actions')
      expect(counted.reduce((sum, { value }) => sum + Number(value), 0)).toBe(actions.length)
      expect(new Set(counted.map((one) => JSON.stringify({ ...one, value: '' }))).size).toBe(counted.length)
    }),
  )
})

test('the error rate is that of draws for audit, with its interval, by protocol and label', () => {
  const rate = (part: DrawnRate['part'], value: string, purpose: DrawnRate['purpose'] = 'audit') =>
    ({
      protocol: 'hate',
      purpose,
      part,
      value,
      counted: 40,
      share: 0.1,
      interval: { low: 0.05, high: 0.2 },
    }) as DrawnRate // As far as it is read.
  const rates = [rate('all', ''), rate('label', 'hate'), rate('language', 'de'), rate('all', '', 'control')]
  expect(figuresOf([], rates).map((one) => [one.indicator, one.label, one.value, one.low, one.high, one.of])).toEqual([
    ['error_rate_of_automated_means', '', '0.1', '0.05', '0.2', '40'],
    ['error_rate_of_automated_means', 'hate', '0.1', '0.05', '0.2', '40'],
  ])
})

test('is CSV in a file, and readable on a terminal, where no cell drives it', () => {
  const table = { head: ['indicator', 'value'], rows: [['a\u001b[31m', '1']] }
  const printed = (stream: object) => {
    const lines: string[] = []
    const out = { ...stream, write: (text: string) => lines.push(text) } as unknown as NodeJS.WriteStream // What is asked of one.
    command.print(table, { terminal: terminal(out, out), json: false } as never) // Of its context the rest is not asked for.
    return lines.join('')
  }
  expect(printed({})).toBe('\u{FEFF}indicator,value\r\na\\u001b[31m,1\n')
  expect(printed({ isTTY: true, columns: 80 })).toBe('indicator,value\na\\u001b[31m,1\n')
})

test('a spreadsheet computes no cell', () => {
  expect(csvTable({ head: ['a'], rows: [['=1+1'], ['@x'], ['-x'], ['-1.5']] })).toBe(
    "\u{FEFF}a\r\n'=1+1\r\n'@x\r\n'-x\r\n-1.5\r\n",
  )
})

test.each([
  [999, false],
  [1_001, true],
])('a time that began %d s ago is said to lack actions where the record keeps less: %s', (ago, lacks) => {
  const said: unknown[] = []
  warnOfExpired({ since: Date.now() - ago * 1_000, keep: 1_000_000 }, { say: (line) => said.push(line) })
  expect(said).toHaveLength(lacks ? 1 : 0)
})

/** A draw of a planted set, in the order in which it was drawn. */
interface Planted {
  readonly chance: number
  readonly label: string
  readonly lang: string
  readonly isWrong: boolean | null
}

/** Verdicts that are wrong in this share, each drawn by a chance of its own; some of what was drawn nobody has looked at yet. */
function plantedSet(rate: number, seed: string): Planted[] {
  const random = seededRandom(seed)
  return Array.from({ length: 2_000 }, (_, nth): Planted[] => {
    const chance = [0.02, 0.1, 0.5, 1][random.below(4)] ?? 1
    if (random.unit() >= chance) return []
    // What is drawn more often is wrong more often: without its weights the rate would be too high.
    const isWrong = random.unit() < rate * (chance > 0.1 ? 1.6 : 0.4)
    return [
      {
        chance,
        label: random.below(3) === 0 ? 'hate' : 'non-hate',
        lang: nth % 2 === 0 ? 'en' : 'de',
        isWrong: nth > 1_800 && random.below(10) === 0 ? null : isWrong,
      },
    ]
  }).flat()
}

/** By definition: each draw stands for as many as its chance says, up to the first that nobody has looked at. */
function rateByHand(drawn: readonly Planted[]) {
  const end = drawn.findIndex(({ isWrong }) => isWrong === null)
  const counted = end < 0 ? drawn : drawn.slice(0, end)
  const total = (of: (one: Planted) => number) => counted.reduce((sum, one) => sum + of(one), 0)
  const share = total(({ chance, isWrong }) => Number(isWrong) / chance) / total(({ chance }) => 1 / chance)
  // The variance of a ratio, by its residuals; and so many equal draws as would vary as much.
  const residuals = total(({ chance, isWrong }) => ((Number(isWrong) - share) / chance) ** 2)
  const n = counted.length
  const variance = (residuals / total(({ chance }) => 1 / chance) ** 2) * (n / (n - 1))
  const most = total(({ chance }) => 1 / chance) ** 2 / total(({ chance }) => chance ** -2)
  const effective = variance > 0 ? Math.min(most, (share * (1 - share)) / variance) : most
  return { share, effective, n }
}

/** The part of a beta distribution that lies below, by adding up its density. */
function betaBelow(end: number, a: number, b: number): number {
  const steps = 20_000
  // Over u = t^a where a is below one, in which the density has no pole; and beside its highest value, which may be tiny.
  const isSteep = a < 1
  const logAt = (t: number) =>
    isSteep ? (b - 1) * Math.log1p(-(t ** (1 / a))) : (a - 1) * Math.log(t) + (b - 1) * Math.log1p(-t)
  const highest = isSteep ? 0 : logAt(Math.min(1 - 1e-9, Math.max(1e-9, (a - 1) / Math.max(1e-9, a + b - 2))))
  const area = (to: number) => {
    const width = to / steps
    let sum = 0
    for (let at = 0; at < steps; at++) sum += Math.exp(logAt((at + 0.5) * width) - highest)
    return sum * width
  }
  return area(isSteep ? end ** a : end) / area(1)
}

test('the error rate equals one reckoned by hand, on planted sets that were drawn with unequal chances', () => {
  for (const [nth, rate] of [0.005, 0.02, 0.1, 0.3].entries())
    for (let seed = 0; seed < 5; seed++) {
      const drawn = plantedSet(rate, `planted ${nth} ${seed}`)
      const rows = drawn.map(({ chance, label, lang, isWrong }, at) => ({
        item: `hate~p${at}`,
        tenant: 'default',
        purpose: 'audit' as const,
        protocol: 'hate',
        verdict: `hate~p${at}~r1`,
        lang,
        chance,
        drawn_at: at,
        label,
        differs: isWrong === null ? null : Number(isWrong),
      }))
      const figures = figuresOf([], drawnRates(rows))
      expect(figures.map(({ label }) => label)).toEqual(['', 'hate', 'non-hate'])
      for (const { label, value, low, high, of } of figures) {
        const { share, effective, n } = rateByHand(label === '' ? drawn : drawn.filter((one) => one.label === label))
        expect([Number(of), Number(value)]).toEqual([n, expect.closeTo(share, 10)])
        const hits = share * effective
        if (hits > 0) expect(betaBelow(Number(low), hits, effective - hits + 1)).toBeCloseTo(0.025, 3)
        else expect(Number(low)).toBe(0)
        expect(betaBelow(Number(high), hits + 1, effective - hits)).toBeCloseTo(0.975, 3)
      }
    }
})

test('what a command takes is taken by it, and by no command that it stands under', async () => {
  const sent = join(ownFolder('report'), 'sent.txt')
  writeFileSync(sent, '')
  const period = ['--since', '2026-01-01T00:00:00Z', '--until', '2027-01-01T00:00:00Z']
  const { code, said } = await commandHere(['report', 'reconcile', ...period, '--sent', sent], {})
  // It begins, and Kafka is not set here.
  expect([code, said]).toEqual([1, expect.stringContaining('KAFKA_BROKERS')])
})
