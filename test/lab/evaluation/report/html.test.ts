import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { noComments } from '../../../../src/contracts/facts/verdict.ts'
import { compare } from '../../../../src/lab/evaluation/against.ts'
import {
  cellOf,
  type DataSet,
  type Evaluation,
  type EvaluationCell,
  emptyCell,
} from '../../../../src/lab/evaluation/evaluation.ts'
import type { ItemOutcome } from '../../../../src/lab/evaluation/outcomes.ts'
import { PRESETS } from '../../../../src/lab/evaluation/presets/all.ts'
import type { PresetTable } from '../../../../src/lab/evaluation/presets/preset.ts'
import { mainTable } from '../../../../src/lab/evaluation/report/cells.ts'
import { disagreementsOf } from '../../../../src/lab/evaluation/report/disagreements.ts'
import { logTicks } from '../../../../src/lab/evaluation/report/drawing.ts'
import { htmlReport } from '../../../../src/lab/evaluation/report/html.ts'
import { foreign, html } from '../../../../src/lab/evaluation/report/markup.ts'
import { placed } from '../../../../src/lab/evaluation/report/quality-against-cost.ts'
import { summaryOf } from '../../../../src/lab/evaluation/summary.ts'

const LABELS = ['hate', 'non-hate']
const SEED = '1'

/** Forty items, of which every second one is hateful; `over` says what is different about one. */
function outcomes(over: (at: number) => Partial<ItemOutcome>): ItemOutcome[] {
  return Array.from({ length: 40 }, (_, at) => {
    const gold = LABELS[at % 2] as string
    return {
      id: `item ${at}`,
      unit: `item ${at}`,
      slices: { language: at < 25 ? 'ko' : 'en' },
      gold,
      label: gold,

      scores: { hate: at % 6 },
      confidence: 0.55,
      usage: { calls: 10, tokens: 5_000, costUsd: 0.002, sequence: 6 },

      rationale: `because of ${at}`,
      degraded: [],
      comments: noComments(),
      heldOut: { own: 0, nearDuplicates: 0 },
      shelves: { searched: 0, bare: {} },
      ...over(at),
    }
  })
}

const other = (at: number) => LABELS[(at + 1) % 2] as string

/** The first row is wrong of items 3, 4 and 7: the cheaper row is right of 3 and 4, and the first row was sure of 4 and 7. */
const debate = outcomes((at) => ({
  ...([3, 4, 7].includes(at) ? { label: other(at) } : {}),
  ...(at === 4 || at === 7 ? { confidence: 0.95 } : {}),
  ...(at === 4 ? { debate: [{ who: 'debater (debate)', says: 'argument: it names a group' }] } : {}),
  ...(at < 4 ? { annotations: ['hate', 'hate', 'non-hate'] } : {}),
  ...(at === 0 ? { degraded: ['no examples'] } : at < 3 ? { degraded: ['no precedents'] } : {}),
}))
const cheap = outcomes((at) => ({
  ...(at > 4 && at < 12 ? { label: other(at) } : {}),
  confidence: null,
  usage: { calls: 1, tokens: 300, costUsd: 0.0001, sequence: 1 },
}))
const free = outcomes(() => ({
  label: 'hate',
  confidence: null,
  usage: { calls: 0, tokens: 0, costUsd: 0, sequence: 0 },
}))

const data: DataSet = {
  name: 'cases.jsonl',
  file: 'cases.jsonl',
  format: 'hatecheck',
  items: [],
  unreadable: 2,
  leftOut: { unverified: 5 },
}

function cell(
  name: string,
  judged: readonly ItemOutcome[],
  over: Partial<Parameters<typeof cellOf>[0]> = {},
): EvaluationCell {
  const row = { name, how: { by: 'protocol' as const, switches: {} } }
  const input = { row, data, draws: null, outcomes: judged, models: ['a model'], refused: 1, comments: 77 }
  return cellOf({ ...input, ...over }, LABELS, SEED)
}

function evaluation(table: readonly EvaluationCell[], over: Partial<Evaluation> = {}): Evaluation {
  const { items: _, file: __, ...set } = data
  return {
    schema: 1,
    title: 'hate: how good its verdicts are',
    protocol: 'hate',
    seed: SEED,
    preset: null,
    data: [{ ...set, items: 40 }],
    metrics: {},
    counts: (table[0] as EvaluationCell).counts,
    table,
    summary: summaryOf(table, [data], SEED),
    ...over,
  }
}

const table = [
  cell('the debate', debate),
  cell('zero-shot', cheap),
  cell('always hate', free, { draws: 3 }),
  emptyCell('gold stances', data.name, 'the data set has no stances'),
]

const pageOf = (source: string) => parseHTML(source).document
const textOf = (node: { textContent: string | null } | null) => (node?.textContent ?? '').replace(/\s+/g, ' ').trim()
/** The cells of each row of a table, with a space between them. */
const rowsOf = (page: ReturnType<typeof pageOf>, table: string) =>
  [...page.querySelectorAll(`${table} tbody tr`)].map((row) => [...row.children].map(textOf).join(' '))
const count = (page: ReturnType<typeof pageOf>, selector: string) => page.querySelectorAll(selector).length

it('says first what the summary says first, and shows every row and every figure of the main table', () => {
  const whole = evaluation(table)
  const page = pageOf(htmlReport(whole, null))
  expect(textOf(page.querySelector('h1'))).toBe(whole.title)
  expect(textOf(page.querySelector('.lead'))).toBe(whole.summary[0])
  for (const sentence of whole.summary) expect.soft(textOf(page.querySelector('main'))).toContain(sentence)
  const shown = [...(page.querySelector('[aria-label="All rows"]')?.querySelectorAll('tr') ?? [])].map((row) =>
    [...row.children].map(textOf).filter((text) => text !== ''),
  )
  const { head, rows } = mainTable(whole, null)
  expect(shown).toEqual([head, ...rows].map((cells) => cells.filter((text) => text !== '')))
  expect(shown.flat()).toContain('– (the data set has no stances)')
})

it('draws each row against tokens and dollars with its interval and its name, and names those without a place', () => {
  const page = pageOf(htmlReport(evaluation(table), null))
  const pictures = [...page.querySelectorAll('figure')].filter((figure) => textOf(figure).includes('log scale'))
  expect(pictures.map((figure) => textOf(figure.querySelector('figcaption')))).toEqual([
    'Accuracy in points against tokens an item',
    'Accuracy in points against US dollars for 1,000 items',
  ])
  for (const picture of pictures) {
    expect.soft(picture.querySelectorAll('circle').length).toBe(2)
    expect.soft(picture.querySelectorAll('[aria-label="rule"] line').length).toBe(2)
    expect.soft(textOf(picture)).toMatch(/the debate.*zero-shot|zero-shot.*the debate/)
    expect.soft(textOf(picture)).not.toContain('always hate')
  }
  const { value, interval } = table[0]?.labels?.accuracy ?? {}
  if (value == null || interval == null) throw new Error('the first row has an interval')
  // The first row is drawn last. Its dot divides its upright line as its accuracy does the interval.
  const line = pictures[0]?.querySelectorAll('[aria-label="rule"] line')[1]
  const dot = Number(pictures[0]?.querySelectorAll('circle')[1]?.getAttribute('cy'))
  const [bottom, top] = ['y1', 'y2'].map((end) => Number(line?.getAttribute(end))) as [number, number]
  const below = (Math.max(bottom, top) - dot) / Math.abs(bottom - top)
  expect(below).toBeCloseTo((value - interval.low) / (interval.high - interval.low), 6)
  const says = pictures.map((picture) => picture.querySelector('[role=img]')?.getAttribute('aria-label'))
  expect(says[0]).toContain('zero-shot 82.5 for 300; the debate 92.5 for 5k')
  expect(says[1]).toContain('zero-shot 82.5 for 0.1')
  expect(textOf(page.querySelector('main'))).toContain('which has no zero: always hate (50.0 for 0).')
})

it('shows confusion matrices, labels, confidence, slices, annotators and counts', () => {
  const page = pageOf(htmlReport(evaluation(table), null))
  const matrices = [...page.querySelectorAll('.confusion')].map((matrix) =>
    [...matrix.querySelectorAll('tbody tr')].map((row) => [...row.querySelectorAll('td')].map(textOf)),
  )
  expect(matrices).toEqual([
    [
      ['19 95.0 %', '1 5.0 %', '0 0.0 %'],
      ['2 10.0 %', '18 90.0 %', '0 0.0 %'],
    ],
    [
      ['17 85.0 %', '3 15.0 %', '0 0.0 %'],
      ['4 20.0 %', '16 80.0 %', '0 0.0 %'],
    ],
    [
      ['20 100.0 %', '0 0.0 %', '0 0.0 %'],
      ['20 100.0 %', '0 0.0 %', '0 0.0 %'],
    ],
  ])
  const shades = [...(page.querySelector('.confusion')?.querySelectorAll('td') ?? [])].map((cell) =>
    cell.getAttribute('style'),
  )
  expect(shades).toEqual(['0.950', '0.050', '0.000', '0.100', '0.900', '0.000'].map((share) => `--share: ${share}`))
  const text = textOf(page.querySelector('main'))
  for (const name of ['precision', 'recall', 'F1']) expect.soft(text).toContain(name)
  expect(rowsOf(page, '[aria-label="By label"]')).toEqual([
    expect.stringMatching(/^hate 20 90\.5 \[[\d., ]+\] 95\.0 \[[\d., ]+\] 92\.7 \[/),
    expect.stringMatching(/^non-hate 20 94\.7 \[[\d., ]+\] 90\.0 \[[\d., ]+\] 92\.3 \[/),
  ])
  const titles = [...page.querySelectorAll('figcaption')].map(textOf)
  expect(titles).toEqual(
    expect.arrayContaining([expect.stringMatching(/^Reliability/), expect.stringMatching(/^Risk/)]),
  )
  expect(text).toContain('40 verdicts say how sure they are.')
  const curves = [...page.querySelectorAll('[role=img]')].slice(2)
  expect(curves.map((curve) => curve.getAttribute('aria-label'))).toEqual([
    'Reliability: 38 items 55 % sure, 97 % right; 2 items 95 % sure, 0 % right',
    expect.stringMatching(/^Risk–coverage: 8 % wrong where no person reviews any; [\d.]+ % where people review 20 %$/),
  ])
  const reach = [...(curves[0]?.querySelectorAll('[aria-label="rule"] line') ?? [])].map((line) =>
    Math.abs(Number(line.getAttribute('y1')) - Number(line.getAttribute('y2'))),
  )
  // Wilson's intervals of 37 of 38 and of 0 of 2, in a picture 234 high.
  expect(reach.map((height) => (height / 234).toFixed(2))).toEqual(['0.13', '0.66'])
  expect(rowsOf(page, '.slices')).toEqual([expect.stringMatching(/^ko 25 88\.0 \[70\.0, 95\.8\]/)])
  expect(count(page, '.slices rect')).toBe(3)
  expect(text).toContain('1 of 2 values have too few items for a figure. en: 15')
  expect(text).toContain('over 4 items with several annotators')
  expect(text).toContain('cases.jsonl (hatecheck): 40 items judged, 2 lines unreadable, left out 5 unverified.')
  expect(rowsOf(page, '[aria-label="What was shown and left out"]')).toEqual([
    'the debate cases.jsonl 40 77 0 1 3 0 0 0',
    'zero-shot cases.jsonl 40 77 0 1 0 0 0 0',
    'always hate cases.jsonl 40 77 0 1 0 0 0 0',
  ])
  expect(text).toMatch(/2 times: no precedents.*1 times: no examples/)
})

it('draws no curve if verdicts have no confidence', () => {
  const page = pageOf(htmlReport(evaluation(table.slice(1)), null))
  expect(textOf(page.querySelector('main'))).toContain('These verdicts have no confidence')
  expect(count(page, 'figure')).toBe(2)
})

it('tells the disagreements first that the cheaper row sees otherwise, then those that were sure, and how many are left out', () => {
  const [first, second] = table as [EvaluationCell, EvaluationCell]
  const { wrong, telling } = disagreementsOf(first, second)
  expect(wrong).toBe(3)
  expect(telling.map(({ outcome, other, sure }) => [outcome.id, other?.label ?? null, sure])).toEqual([
    ['item 4', 'hate', true],
    ['item 3', 'non-hate', false],
    ['item 7', null, true],
  ])
  const page = pageOf(htmlReport(evaluation(table), null))
  const cases = [...page.querySelectorAll('details.case')]
  expect(cases.map((one) => textOf(one.querySelector('summary')))).toEqual([
    'item 4: people say hate, judged non-hate, 95 % sure',
    'item 3: people say non-hate, judged hate, 55 % sure',
    'item 7: people say non-hate, judged hate, 95 % sure',
  ])
  expect(cases.map((one) => textOf(one.querySelector('blockquote')))).toEqual([
    'because of 4',
    'because of 3',
    'because of 7',
  ])
  expect(cases.every((one) => !one.hasAttribute('open'))).toBe(true)
  expect(textOf(cases[1] ?? null)).toContain('zero-shotnon-hate. because of 3annotatorshate, hate, non-hate')
  expect(textOf(page.querySelector('main'))).toContain(
    'the debate and people disagree on 3 items. On 2 of them zero-shot says something else than the debate. On 2 of them the verdict was at least 80 % sure. Shown are 3, left out 0.',
  )
  expect(textOf(page.querySelector('main'))).toContain('debater (debate): argument: it names a group')
})

it('compares with the row that the summary compares with: the best of the cheaper ones', () => {
  const [first, second, third] = table as [EvaluationCell, EvaluationCell, EvaluationCell]
  const page = pageOf(htmlReport(evaluation([first, third, second]), null))
  expect(textOf(page.querySelector('.lead'))).toContain('the best row that costs no more, zero-shot')
  expect(textOf(page.querySelector('main'))).toContain('On 2 of them zero-shot says something else than the debate.')
})

it('shows twenty disagreements at most, each item once, and counts the others', () => {
  const wrong = outcomes((at) => ({ label: other(at), confidence: 0.9 }))
  const repeated = [...wrong, ...wrong.map((outcome) => ({ ...outcome, repeat: 2 }))]
  const page = pageOf(htmlReport(evaluation([cell('the debate', repeated), table[1] as EvaluationCell]), null))
  const ids = [...page.querySelectorAll('details.case summary > bdi')].map(textOf)
  expect(ids.length).toBe(20)
  expect(new Set(ids).size).toBe(20)
  expect(textOf(page.querySelector('main'))).toContain('disagree on 40 items')
  expect(textOf(page.querySelector('main'))).toContain('Shown are 20, left out 20.')
})

it('shows what changed, and marks what is beyond chance and margin', () => {
  const before = { outcomes: debate, counts: { comments: 77 } }
  const now = { outcomes: outcomes((at) => (at < 20 ? { label: other(at) } : {})), counts: { comments: 70 } }
  const comparison = compare(before, now, { margin: 0.03, seed: SEED })
  const page = pageOf(htmlReport(evaluation(table), null, [{ data: data.name, comparison }]))
  expect(textOf(page.querySelector('main'))).toContain('Shown differently: comments: 77 before, 70 now')
  const marked = rowsOf(page, '[aria-label^="What changed"]').filter((_, at) => comparison.differences[at]?.alarm)
  expect(count(page, 'tr.marked')).toBe(marked.length)
  expect(marked[0]).toMatch(/^all 40 92\.5 50\.0 -42\.5 \[/)
})

it('prints a paper’s figures beside ours, and how the paper is read', () => {
  const preset = {
    name: 'p',
    of: 'P, Table 1',
    protocol: 'hate',
    switches: {},
    data: [],
    measures: ['accuracy'],
    decimals: 3,
    rows: [],
    notes: ['The paper gives no temperature.'],
  } as PresetTable
  const rows = [cell('the debate', debate, { paper: { accuracy: 0.9165 } })]
  const text = textOf(pageOf(htmlReport(evaluation(rows, { preset: 'p' }), preset)).querySelector('main'))
  expect(text).toContain('paper: accuracy')
  expect(text).toMatch(/92\.5 \[[\d., ]+\]\s*91\.[67]/)
  expect(text).toContain('The paper gives no temperature.')
})

it('draws a paper’s figure: a line for each name, a point for each place, the paper’s own numbers as rings', () => {
  const figure3 = PRESETS.find(({ name }) => name === 's2mad-figure-3')
  const rows = ['first 5 comments', 'first 10 comments', 'after 1 hour', 'whole thread'].map((name, at) =>
    cell(name, at === 0 ? cheap : debate, at === 1 ? { paper: { macroF1: 0.7 } } : {}),
  )
  const page = pageOf(htmlReport(evaluation(rows, { preset: 's2mad-figure-3' }), figure3 ?? null))
  const drawing = [...page.querySelectorAll('figure')].find((one) =>
    textOf(one).startsWith('Macro-F1 by comments read'),
  )
  // Rows by age are in no figure.
  expect(drawing?.querySelector('[role="img"]')?.getAttribute('aria-label')).toBe(
    'Macro-F1 by comments read. cases.jsonl, 5: 82.5; cases.jsonl, 10: 92.5; cases.jsonl, all: 92.5',
  )
  expect(drawing?.querySelectorAll('circle')).toHaveLength(3 + 1)
  expect(textOf(page.querySelector('main'))).toContain('Rings are the paper’s own numbers.')
  const table = pageOf(htmlReport(evaluation(rows), null))
  expect(textOf(table.querySelector('main'))).not.toContain('The figure')
})

it('shows scores beside people’s ratings where a protocol gives no label', () => {
  const rated = outcomes((at) => ({
    gold: null,
    label: null,
    confidence: null,
    ratings: { relevance: 1 + (at % 5) },
    scores: { relevance: 1 + (at % 4) },
  }))
  const items = rated.map(({ id }, at) => ({
    id,
    line: at,
    label: null,
    unit: id,
    slices: {},
    ratings: { relevance: [1 + (at % 5)] },
  }))
  const page = pageOf(htmlReport(evaluation([cell('counterspeech', rated, { data: { ...data, items } })]), null))
  expect(rowsOf(page, '[aria-label="Scores beside ratings"]')).toEqual([
    'relevance 40 0 0.000 1.000 0.000 1.000 0.861 0.861 – – – –',
  ])
  expect(textOf(page.querySelector('figcaption'))).toBe('Spearman’s ρ × 100 of relevance against tokens an item')
})

const HOSTILE = `</title></style></script><script>alert("1")</script><img src=x onerror='a()'>\u202e\u2066\u200b\u001b[31m\u0007\u0085"'&\`<!--`

it('takes texts of data sets and models for texts, wherever they stand', () => {
  const hostile = outcomes((at) => ({
    id: `${HOSTILE}${at}`,
    unit: `${at}`,
    slices: { [`${HOSTILE}a`]: at < 20 ? HOSTILE : `${HOSTILE}b` },

    label: other(at),
    rationale: HOSTILE,
    degraded: [HOSTILE],
    debate: [{ who: HOSTILE, says: HOSTILE }],
    annotations: ['hate', HOSTILE],
    scores: { [HOSTILE]: 1 },
    confidence: 0.9,
  }))
  const set = { ...data, name: HOSTILE, leftOut: { [HOSTILE]: 1 } }
  const rows = [
    cell(HOSTILE, hostile, { models: [HOSTILE], data: set }),
    cell(`${HOSTILE}2`, cheap, { data: set }),
    emptyCell(`${HOSTILE}3`, HOSTILE, HOSTILE),
  ]
  const whole = evaluation(rows, { title: HOSTILE, seed: HOSTILE, summary: [HOSTILE, HOSTILE] })
  const comparison = {
    ...compare(
      { outcomes: hostile, counts: {} },
      { outcomes: hostile, counts: { [HOSTILE]: 1 } },
      { margin: 0, seed: '1' },
    ),
  }
  const source = htmlReport({ ...whole, data: [{ ...set, items: 40 }] }, null, [{ data: HOSTILE, comparison }])
  const page = pageOf(source)
  expect(count(page, 'script, img, iframe, object, embed, link, base, form')).toBe(0)
  const elements = [...page.querySelectorAll('*')]
  expect(elements.length).toBeGreaterThan(300)
  // One address is its own.
  for (const element of elements)
    for (const { name, value } of element.attributes)
      expect.soft(value === 'items.html' ? '' : name).not.toMatch(/^on|^(src|href|xlink:href|action|srcdoc)$/)
  expect(source.match(/<script|<img|<!--/gi)).toBe(null)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
  expect(source.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]|\p{Cf}/gu)).toBe(null)
  expect(textOf(page.querySelector('h1'))).toContain('<script>alert("1")</script><img src=x onerror=')
  expect(textOf(page.querySelector('blockquote'))).toContain(`"'&\`<!--`)
})

it('cuts what is too long', () => {
  const long = 'x'.repeat(10_000)
  const hostile = outcomes((at) => ({
    id: `${at}${long}`,
    unit: `${at}`,
    slices: { by: `${at % 2}${long}` },
    label: other(at),
    rationale: long,
    confidence: 1,
  }))
  const source = htmlReport(evaluation([cell(long, hostile)], { title: long, summary: [long] }), null)
  // Not the page itself: a failure would print it.
  expect(source.includes('x'.repeat(1_500))).toBe(false)
  expect(source.includes(`${'x'.repeat(1_499)}…`)).toBe(true)
  expect(source.length).toBeLessThan(200_000)
})

it('needs nothing from elsewhere', () => {
  const source = htmlReport(evaluation(table), null)
  expect(source.includes(`content="default-src 'none'; style-src 'unsafe-inline'"`)).toBe(true)
  expect(source.match(/@import|url\(|https?:|<script|<link|javascript:/gi)).toBe(null)
  expect(source.includes('prefers-color-scheme: dark')).toBe(true)
  expect(source.includes('@media print')).toBe(true)
})

it('keeps the spaces around a text, and the direction of a foreign one to itself', () => {
  expect(html`<p>${'a '}${[1, ' b']}</p>`.source).toBe('<p>a 1 b</p>')
  expect(foreign('\u202eab"c\nd', 4).source).toBe('<bdi>ab&#34;…</bdi>')
})

it('puts names beside their points: in order, apart from each other, inside the picture', () => {
  const points = [50, 50, 50, 50, 90, 91, 1, 0].map((quality, at) => ({ quality, cost: at }))
  const names = placed(points, (quality) => (200 * (100 - quality)) / 100, 200)
  expect(names.map(({ quality }) => quality)).toEqual([91, 90, 50, 50, 50, 50, 1, 0])
  for (const [at, { top }] of names.entries()) {
    expect.soft(top).toBeGreaterThanOrEqual(at === 0 ? 0 : (names[at - 1]?.top ?? 0) + 16)
    expect.soft(top).toBeLessThanOrEqual(200)
  }
  // Of four points on one level the leftmost have the outermost names.
  expect(names.slice(2, 6).map(({ cost }) => cost)).toEqual([0, 2, 3, 1])
  expect(names.slice(2, 6).map(({ top }) => top)).toEqual([76, 92, 108, 124])
})

it('says so where nothing can be compared with people', () => {
  const unrated = outcomes(() => ({ gold: null, label: null, confidence: null }))
  const page = pageOf(htmlReport(evaluation([cell('counterspeech', unrated)]), null))
  expect(textOf(page.querySelector('main'))).toContain('No row has labels or ratings to be compared with people’s.')
  expect(count(page, 'figure')).toBe(0)
  expect([...page.querySelectorAll('h2')].map(textOf)).toEqual([
    'Quality against cost',
    'All rows',
    'What was shown, and what was left out',
  ])
})

it('has two ticks at least around any cost', () => {
  expect(logTicks(284, 5_385)).toEqual([200, 500, 1_000, 2_000, 5_000, 10_000])
  expect(logTicks(0.05, 0.05)).toEqual([0.02, 0.05, 0.1])
})
