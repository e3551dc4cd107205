import { createHash } from 'node:crypto'
import type { Evaluation } from '../evaluation.ts'
import type { ItemOutcome } from '../outcomes.ts'
import { foreign, html, Markup } from './markup.ts'
import { PAGE_STYLE } from './page-style.ts'

/** Texts by data set and id, where they are to be shown. */
export type Texts = ReadonlyMap<string, ReadonlyMap<string, string>>

/** Its table has many columns of words. */
const STYLE = `main { max-width: none }
[type=search] { width: 26rem; max-width: 100%; font: inherit }
`

/** Hides the rows that lack what is typed; the page's policy allows this script and no other. */
const SCRIPT = `
const rows = [...document.querySelectorAll('tbody tr')]
const shown = document.querySelector('output')
const search = () => {
  const wanted = document.querySelector('input').value.toLowerCase().split(/\\s+/).filter(Boolean)
  let count = 0
  for (const row of rows) {
    const text = row.textContent.toLowerCase()
    row.hidden = !wanted.every((word) => text.includes(word))
    if (!row.hidden) count++
  }
  shown.textContent = count + ' of ' + rows.length
}
document.querySelector('input').addEventListener('input', search)
search()
`
const HASH = createHash('sha256').update(SCRIPT).digest('base64')

/** Every item of every row as one page with a search, which needs nothing else. */
export function itemsPage({ title, table }: Evaluation, texts: Texts | null): string {
  const judged = table.filter(({ why }) => why === null)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${new Markup(HASH)}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}: all items</title>
<style>${new Markup(PAGE_STYLE + STYLE)}</style>
</head>
<body><main>
<h1>${foreign(title, 300)}: all items</h1>
<p><label>Search <input type="search" placeholder="wrong, an id, a label, words"></label> <output></output></p>
<div class="wide" role="region" aria-label="All items" tabindex="0"><table>
<thead><tr>${['row', 'data', 'item', 'people say', 'judged', 'is', 'sure', ...(texts === null ? [] : ['text']), 'why', 'degraded'].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${judged.map(({ row, data, outcomes }) => outcomes.map((outcome) => itemRow(row, data, outcome, texts)))}</tbody>
</table></div>
</main>
<script>${new Markup(SCRIPT)}</script></body>
</html>
`
  return page.source
}

function itemRow(row: string, data: string, outcome: ItemOutcome, texts: Texts | null): Markup {
  const { id, repeat, gold, label, confidence, rationale, degraded, scores, ratings } = outcome
  const named = repeat === undefined ? id : `${id} (repeat ${repeat})`
  const said = (values: Readonly<Record<string, number>>) =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${Number(value.toFixed(2))}`)
      .join(', ')
  const is = gold === null ? '' : label === gold ? 'right' : 'wrong'
  return html`
<tr><th scope="row">${foreign(row, 120)}</th><td>${foreign(data, 80)}</td><td>${foreign(named, 120)}</td><td>${foreign(gold ?? said(ratings ?? {}), 200)}</td><td>${foreign(label ?? (said(scores) || 'no label'), 200)}</td><td>${is}</td><td class="number">${confidence === null ? '' : `${Math.round(confidence * 100)} %`}</td>${
    texts === null ? '' : html`<td>${foreign(texts.get(data)?.get(id) ?? '', 1_500)}</td>`
  }<td>${foreign(rationale, 300)}</td><td>${foreign(degraded.join('; '), 300)}</td></tr>`
}
