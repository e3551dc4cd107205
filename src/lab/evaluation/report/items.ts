import type { Evaluation, EvaluationCell } from '../evaluation.ts'
import type { ItemOutcome } from '../outcomes.ts'
import { foreign, html, type Markup } from './markup.ts'
import { framedPage } from './page-frame.ts'

/** Texts by data set and id, where they are to be shown. */
export type Texts = ReadonlyMap<string, ReadonlyMap<string, string>>

/** Where the debate of a judging stands, beside the page; null where it has no page. */
export type DebateLinks = (of: {
  readonly row: string
  readonly data: string
  readonly id: string
  readonly repeat?: number
}) => string | null

/** Its table has many columns of words. */
const STYLE = `main { max-width: none }
[type=search] { width: 26rem; max-width: 100%; font: inherit }
select { font: inherit }
`

/** Hides the rows that lack what is typed, or are not of the kind that is chosen; the page's policy allows this script and no other. */
const SCRIPT = `
const rows = [...document.querySelectorAll('tbody tr')]
const shown = document.querySelector('output')
const kind = document.querySelector('select')
const search = () => {
  const wanted = document.querySelector('input').value.toLowerCase().split(/\\s+/).filter(Boolean)
  let count = 0
  for (const row of rows) {
    const text = row.textContent.toLowerCase()
    const isOf = kind.value === 'all' || row.getAttribute('data-is').split(' ').includes(kind.value)
    row.hidden = !isOf || !wanted.every((word) => text.includes(word))
    if (!row.hidden) count++
  }
  shown.textContent = count + ' of ' + rows.length
}
document.querySelector('input').addEventListener('input', search)
kind.addEventListener('change', search)
search()
`

/** Every item of every row as one page with a search, which needs nothing else. */
export function itemsPage(
  { title, table }: Evaluation,
  texts: Texts | null,
  debates: DebateLinks = () => null,
): string {
  const judged = table.filter(({ why }) => why === null)
  const differing = differingItems(judged)
  const isRepeated = judged.some(({ outcomes }) => outcomes.some(({ repeat }) => repeat !== undefined))
  const body = html`<p><label>Search <input type="search" placeholder="wrong, an id, a label, words"></label> <label>Show <select>${KINDS.map(([value, says]) => html`<option value="${value}">${says}</option>`)}</select></label> <output></output></p>
<div class="wide" role="region" aria-label="All items" tabindex="0"><table>
<thead><tr>${['row', 'data', 'item', ...(isRepeated ? ['repeat'] : []), 'people say', 'judged', 'is', 'sure', ...(texts === null ? [] : ['text']), 'why', 'degraded'].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${judged.map(({ row, data, outcomes }) => outcomes.map((outcome) => itemRow({ row, data, outcome }, { texts, debates, differing, isRepeated })))}</tbody>
</table></div>`
  return framedPage(`${title}: all items`, body, { style: STYLE, script: SCRIPT })
}

const KINDS = [
  ['all', 'all items'],
  ['wrong', 'judged other than people say'],
  ['rows', 'on which rows differ'],
  ['repeats', 'on which repeats differ'],
] as const

/** What judgings of an item differ in: `rows`, `repeats` of a row, or both; none where all say the same. */
function differingItems(judged: readonly EvaluationCell[]) {
  const all = judged.flatMap(({ row, data, outcomes }) =>
    outcomes.map(({ id, label, repeat = 1 }) => ({ row, item: JSON.stringify([data, id]), label, repeat })),
  )
  return new Map(
    [...Map.groupBy(all, ({ item }) => item)].map(([item, of]) => {
      const ofRows = [...Map.groupBy(of, ({ row }) => row).values()]
      const isMixed = (labels: readonly (string | null)[]) => new Set(labels).size > 1
      const repeats = ofRows.some((one) => isMixed(one.map(({ label }) => label)))
      const rows = [...Map.groupBy(of, ({ repeat }) => repeat).values()].some((one) =>
        isMixed(one.map(({ label }) => label)),
      )
      return [item, [...(rows ? ['rows'] : []), ...(repeats ? ['repeats'] : [])]] as const
    }),
  )
}

function itemRow(
  { row, data, outcome }: { row: string; data: string; outcome: ItemOutcome },
  {
    texts,
    debates,
    differing,
    isRepeated,
  }: {
    texts: Texts | null
    debates: DebateLinks
    differing: ReadonlyMap<string, readonly string[]>
    isRepeated: boolean
  },
): Markup {
  const { id, repeat, gold, label, confidence, rationale, degraded, scores, ratings } = outcome
  const said = (values: Readonly<Record<string, number>>) =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${Number(value.toFixed(2))}`)
      .join(', ')
  const is = gold === null ? '' : label === gold ? 'right' : 'wrong'
  const kinds = [...(is === 'wrong' ? [is] : []), ...(differing.get(JSON.stringify([data, id])) ?? [])]
  const debate = debates({ row, data, id, ...(repeat === undefined ? {} : { repeat }) })
  const item = debate === null ? foreign(id, 120) : html`<a href="${debate}">${foreign(id, 120)}</a>`
  return html`
<tr data-is="${kinds.join(' ')}"><th scope="row">${foreign(row, 120)}</th><td>${foreign(data, 80)}</td><td>${item}</td>${isRepeated ? html`<td class="number">${repeat ?? 1}</td>` : ''}<td>${foreign(gold ?? said(ratings ?? {}), 200)}</td><td>${foreign(label ?? (said(scores) || 'no label'), 200)}</td><td>${is}</td><td class="number">${confidence === null ? '' : `${Math.round(confidence * 100)} %`}</td>${
    texts === null ? '' : html`<td>${foreign(texts.get(data)?.get(id) ?? '', 1_500)}</td>`
  }<td>${foreign(rationale, 300)}</td><td>${foreign(degraded.join('; '), 300)}</td></tr>`
}
