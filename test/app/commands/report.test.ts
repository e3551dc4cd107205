import fc from 'fast-check'
import { expect, test } from 'vitest'
import { COLUMNS, figuresOf, type ReportedAction, rowOf } from '../../../src/app/commands/report/figures.ts'
import { warnOfExpired } from '../../../src/app/commands/report/reported.ts'
import { csvTable } from '../../../src/contracts/facts/csv-table.ts'
import type { DrawnRate } from '../../../src/contracts/ports/review.ts'
import type { Statement } from '../../../src/record/statement.ts'

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
