import { createHash } from 'node:crypto'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { noComments } from '../../../../src/contracts/facts/verdict.ts'
import { cellOf, type DataSet, type Evaluation, emptyCell } from '../../../../src/lab/evaluation/evaluation.ts'
import type { ItemOutcome } from '../../../../src/lab/evaluation/outcomes.ts'
import { htmlReport } from '../../../../src/lab/evaluation/report/html.ts'
import { itemsPage } from '../../../../src/lab/evaluation/report/items.ts'
import { summaryOf } from '../../../../src/lab/evaluation/summary.ts'

const HOSTILE = '</td></table><script>parent.evil = 1</script><img src=x onerror="evil()"> & \u202egnp.exe'
const LABELS = ['hate', 'non-hate']

function outcome(id: string, gold: string, label: string | null, over: Partial<ItemOutcome> = {}): ItemOutcome {
  return {
    id,
    unit: id,
    slices: {},
    gold,
    label,
    scores: {},
    confidence: 0.5,
    rationale: `because of ${id}`,
    degraded: [],
    comments: noComments(),
    heldOut: { own: 0, nearDuplicates: 0 },
    usage: { calls: 1, tokens: 10, costUsd: 0, sequence: 1 },
    shelves: { searched: 0, bare: {} },
    ...over,
  }
}

const OUTCOMES = [
  outcome('p1', 'hate', 'hate'),
  outcome('p2', 'hate', 'non-hate', { rationale: HOSTILE, degraded: [HOSTILE] }),
  outcome(HOSTILE, 'non-hate', null, { confidence: null }),
]
const data: DataSet = {
  name: 'cases.jsonl',
  file: 'cases.jsonl',
  format: 'gavel',
  items: [],
  unreadable: 0,
  leftOut: {},
}
const row = { name: 'the debate', how: { by: 'protocol' as const, switches: {} } }
const table = [
  cellOf({ row, data, draws: null, outcomes: OUTCOMES, models: ['a'], refused: 0, comments: 0 }, LABELS, '1'),
  emptyCell('gold stances', data.name, 'the data set has no stances'),
]
const { items: _, file: __, ...set } = data
const evaluation: Evaluation = {
  schema: 1,
  title: `hate ${HOSTILE}`,
  protocol: 'hate',
  seed: '1',
  preset: null,
  data: [{ ...set, items: 3 }],
  metrics: {},
  counts: (table[0] as (typeof table)[0]).counts,
  table,
  summary: summaryOf(table, [data], '1'),
}
const TEXTS = new Map([
  [
    'cases.jsonl',
    new Map([
      ['p1', 'words of the first'],
      ['p2', HOSTILE],
    ]),
  ],
])

/** The page with its script run, and what a reader does with it. */
function opened(source: string) {
  const { document, Event } = parseHTML(source)
  // A browser's first option is chosen from the beginning.
  const kind = { value: 'all' }
  Object.defineProperty(document.querySelector('select') ?? {}, 'value', { get: () => kind.value })
  const script = document.querySelector('script')?.textContent ?? ''
  new Function('document', script)(document)
  const rows = [...document.querySelectorAll('tbody tr')]
  return {
    document,
    script,
    rows,
    search(words: string, show = 'all') {
      kind.value = show
      const input = document.querySelector('input')
      if (input === null) throw new Error('the page has no search')
      input.value = words
      input.dispatchEvent(new Event('input'))
      return {
        shown: rows.filter((one) => !one.hasAttribute('hidden')).map((one) => one.children[2]?.textContent),
        says: document.querySelector('output')?.textContent,
      }
    },
  }
}

describe('the page of all items', () => {
  it('has a row for every item of every row that was judged, and finds those that have all words', () => {
    const page = opened(itemsPage(evaluation, TEXTS))
    expect(page.rows.map((one) => one.children[5]?.textContent)).toEqual(['right', 'wrong', 'wrong'])
    expect(page.search('')).toMatchObject({ says: '3 of 3' })
    expect(page.search('WRONG non-hate')).toMatchObject({ says: '2 of 3' })
    expect(page.search('words first')).toEqual({ shown: ['p1'], says: '1 of 3' })
    expect(page.search('right  p2')).toEqual({ shown: [], says: '0 of 3' })
    expect(page.search('(.*')).toEqual({ shown: [], says: '0 of 3' })
    expect(page.search(' ')).toMatchObject({ says: '3 of 3' })
    expect(page.search('', 'wrong')).toMatchObject({ says: '2 of 3' })
    expect(page.search('', 'rows')).toMatchObject({ says: '0 of 3' })
  })

  it('tells on which items rows differ, and on which the repeats of a row do', () => {
    const other = { ...row, name: 'another' }
    const judged = [outcome('p1', 'hate', 'hate'), outcome('p2', 'hate', 'hate'), outcome('p3', 'hate', 'hate')]
    const again = judged.map((one) => ({ ...one, repeat: 2, label: one.id === 'p3' ? 'non-hate' : one.label }))
    const theirs = [...judged, ...judged.map((one) => ({ ...one, repeat: 2 }))].map((one) =>
      one.id === 'p2' ? { ...one, label: 'non-hate' } : one,
    )
    const cells = [
      cellOf(
        { row, data, draws: null, outcomes: [...judged, ...again], models: [], refused: 0, comments: 0 },
        LABELS,
        '1',
      ),
      cellOf({ row: other, data, draws: null, outcomes: theirs, models: [], refused: 0, comments: 0 }, LABELS, '1'),
    ]
    const page = opened(itemsPage({ ...evaluation, table: cells }, null))
    const ids = (show: string) => [...new Set(page.search('', show).shown.map((name) => name?.slice(0, 2)))]
    expect(ids('rows')).toEqual(['p2', 'p3'])
    expect(ids('repeats')).toEqual(['p3'])
  })

  it('shows texts only where they are wanted', () => {
    expect(itemsPage(evaluation, null)).not.toContain('words of the first')
    expect(opened(itemsPage(evaluation, null)).rows[0]?.children).toHaveLength(9)
    expect(opened(itemsPage(evaluation, TEXTS)).rows[0]?.children).toHaveLength(10)
    expect(htmlReport(evaluation, null, [], {})).not.toContain('onerror=&quot;')
  })

  it('holds strangers’ words as words: no element, no script but its own, which its policy names by its hash', () => {
    for (const source of [itemsPage(evaluation, TEXTS), htmlReport(evaluation, null, [], { texts: TEXTS })]) {
      const { document } = parseHTML(source)
      expect(document.querySelectorAll('img, iframe, object, [onerror], [onclick], a[href^="javascript"]').length).toBe(
        0,
      )
      expect(document.querySelectorAll('script').length).toBe(source.includes('type="search"') ? 1 : 0)
      expect(document.querySelector('main')?.textContent).toContain('<script>parent.evil = 1</script>')
      // A direction mark would turn what stands after it.
      expect(source).not.toContain('\u202e')
    }
    const { document, script } = opened(itemsPage(evaluation, TEXTS))
    const policy = document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.getAttribute('content')
    const hash = createHash('sha256').update(script).digest('base64')
    expect(policy).toBe(`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'`)
  })
})

describe('the report', () => {
  it('has the judged words beside disagreements where they are wanted', () => {
    const shown = (texts: typeof TEXTS | null) =>
      parseHTML(htmlReport(evaluation, null, [], { texts })).document.body.textContent
    expect(shown(TEXTS)).toContain('gnp.exe')
    expect(shown(null)).toContain('--texts shows them here')
    expect(shown(TEXTS)).not.toContain('--texts shows them here')
  })
})
