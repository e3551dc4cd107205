import { describe, expect, it } from 'vitest'
import { noComments } from '../../../src/contracts/facts/verdict.ts'
import { cellOf, type DataSet, type EvaluationCell } from '../../../src/lab/evaluation/evaluation.ts'
import { pText, summaryOf } from '../../../src/lab/evaluation/summary.ts'

const LABELS = ['hate', 'non-hate']
const data: DataSet = {
  name: 'cases.jsonl',
  file: 'cases.jsonl',
  format: 'gavel',
  items: [],
  leftOut: {},
  unreadable: 0,
}

interface Row {
  readonly right?: number
  readonly tokens?: number
  readonly calls?: number
  readonly repeats?: number
  readonly over?: Partial<Parameters<typeof cellOf>[0]>
}

/** Forty items, so many of them judged right. */
function row(name: string, { right = 20, tokens = 100, calls = 1, repeats = 1, over = {} }: Row): EvaluationCell {
  const outcomes = Array.from({ length: repeats }, (_, nth) =>
    Array.from({ length: 40 }, (__, at) => {
      const gold = LABELS[at % 2] as string
      return {
        id: `p${at}`,
        unit: `p${at}`,
        slices: {},
        gold,
        label: at < right ? gold : null,
        scores: {},
        confidence: null,
        usage: { calls, tokens, costUsd: 0, sequence: calls },
        rationale: '',
        degraded: [],
        comments: noComments(),
        heldOut: { own: 0, nearDuplicates: 0 },
        shelves: { searched: 0, bare: {} },
        ...(nth === 0 ? {} : { repeat: nth + 1 }),
      }
    }),
  ).flat()
  const plan = { name, how: { by: 'protocol' as const, switches: {} } }
  const input = { row: plan, data, draws: null, outcomes, models: [], refused: 0, comments: 0, ...over }
  return cellOf(input, LABELS, '1')
}
const firstOf = (cells: readonly EvaluationCell[], over = {}) => summaryOf(cells, [data], '1', over)[0]

describe('the first sentence of the summary', () => {
  it('compares the debate with the best row that costs no more', () => {
    const cells = [
      row('hate', { right: 38, tokens: 5_000, calls: 9 }),
      row('zero-shot', {}),
      row('dear', { tokens: 9_000 }),
    ]
    expect(firstOf(cells)).toMatch(
      /^The debate pays: hate \(95\.0 % right, 5000 tokens an item\) beats the best row that costs no more, zero-shot \(50\.0 % right, 100 tokens an item\): \+45\.0 points \[.*\], McNemar p < 0\.001, 40 items\.$/,
    )
  })

  it('holds self-consistency against it even where its last draw went a little beyond the debate’s tokens', () => {
    const consistent = row('self-consistency', { right: 39, tokens: 5_100, over: { draws: 17 } })
    expect(firstOf([row('hate', { tokens: 5_000, calls: 9 }), row('zero-shot', {}), consistent])).toMatch(
      /^The debate does not pay: .* is worse than .* self-consistency/,
    )
    const tooDear = row('self-consistency', { right: 39, tokens: 9_000, over: { draws: 3 } })
    expect(firstOf([row('hate', { tokens: 5_000, calls: 9 }), row('zero-shot', {}), tooDear])).toContain('zero-shot')
  })

  it('is how many calls were answered, where a verdict rests on none', () => {
    const dead = row('dead', { calls: 0 })
    const over = { outcomes: dead.outcomes.map((one) => ({ ...one, unanswered: { unavailable: 4, timeout: 1 } })) }
    const none = row('dead', { over })
    expect(firstOf([none])).toBe('0 of 200 calls answered: 160 unavailable, 40 timeout.')
    expect(none).toMatchObject({ why: expect.stringContaining('0 of 200'), labels: null, repeats: null })
    expect(none.counts.items).toBe(40)
    expect(firstOf([row('hate', { calls: 3 }), none])).toMatch(/^120 of 320 calls answered/)
    // A call that was tried again is nothing to lead with.
    const { outcomes } = row('hate', { tokens: 5_000, calls: 9 })
    const again = { outcomes: outcomes.map((one) => ({ ...one, unanswered: { timeout: 1 } })) }
    expect(firstOf([row('hate', { over: again }), row('zero-shot', {})])).toMatch(/^The debate/)
  })

  it('takes no row for cheap whose labels are people’s own work', () => {
    const crowd = row('gold stances', { right: 40, tokens: 0, calls: 0 })
    expect(firstOf([row('rumor', { tokens: 5_000, calls: 9 }), crowd, row('zero-shot', {})])).not.toContain(
      'gold stances',
    )
  })

  it('counts items, and not how often each was judged', () => {
    const cells = [row('hate', { right: 38, tokens: 5_000, repeats: 5 }), row('zero-shot', { repeats: 5 })]
    expect(firstOf(cells)).toContain(', 40 items.')
    expect(summaryOf(cells, [data], '1').join(' ')).not.toContain('groups')
  })

  it('is about the dearest row of a paper’s table, whichever comes first', () => {
    const cells = [row('base agent', {}), row('two rounds', { right: 38, tokens: 5_000, calls: 9 })]
    const said = summaryOf(cells, [data], '1', { paper: { stoodIn: null } })
    expect(said[0]).toBe('The paper’s own models answered.')
    expect(said[1]).toMatch(/^The dearest row pays: two rounds .* base agent/)
  })

  it('says where it can’t tell, instead of nothing', () => {
    const same = 'is unknown: '
    expect(firstOf([row('hate', { tokens: 50 }), row('zero-shot', {})])).toBe(
      `Whether the default pays ${same}every other row costs more tokens than hate.`,
    )
    expect(firstOf([row('hate', { tokens: 0 }), row('zero-shot', { tokens: 0 })])).toBe(
      `Whether the default pays ${same}the endpoint reported no tokens.`,
    )
  })
})

describe('the summary', () => {
  it('names the models that have no price, since their costs read as nothing', () => {
    const cells = [row('hate', { over: { unpriced: ['local-7b'] } })]
    expect(summaryOf(cells, [data], '1')).toContain(
      'The settings have no price for local-7b (models.prices): in all costs here they count as free.',
    )
  })

  it('says in its second sentence what the judges lacked, each item once', () => {
    const bare = (row: EvaluationCell, shelves: number) => ({
      ...row,
      outcomes: row.outcomes.map((outcome) => ({
        ...outcome,
        degraded: ['no examples: the shelf "a" is missing'],
        shelves: {
          searched: 2,
          bare: { a: 'the shelf "a" is missing', ...(shelves > 1 && { b: 'the shelf "b" is empty' }) },
        },
      })),
    })
    const cells = [row('hate', { right: 38, tokens: 5_000, calls: 9 }), row('zero-shot', {})]
    expect(summaryOf(cells, [data], '1').join(' ')).not.toContain('Missing')
    const none = cells.map((cell) => bare(cell, 2))
    expect(summaryOf(none, [data], '1', { paper: { stoodIn: 'Mine stood in.' } }).slice(0, 2)).toEqual([
      'Mine stood in.',
      'Missing: 40 of 40 items without examples, because of 2 shelves: the shelf "a" is missing, the shelf "b" is empty; 80 of 80 verdicts (100 %) are degraded, most often “no examples: the shelf "a" is missing” 80.',
    ])
    const some = summaryOf([bare(cells[0] as EvaluationCell, 1), ...cells.slice(1)], [data], '1')
    expect(some[0]).toMatch(/^The debate pays/)
    expect(some[1]).toMatch(/^Missing: 40 of 40 items with examples of some shelves alone, because of 1 shelf: /)
  })

  it('has p-values that never read as zero', () => {
    expect([0.0004, 0.001, 1].map(pText)).toEqual(['< 0.001', '0.001', '1.000'])
  })
})
