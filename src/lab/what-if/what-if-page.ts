import { entryOf } from '../../contracts/facts/entry-of.ts'
import { foreign, html, Markup } from '../evaluation/report/markup.ts'
import { PAGE_STYLE } from '../evaluation/report/page-style.ts'
import { LEFT_OUT } from './replayable.ts'
import type { WhatIfFlip, WhatIfReport, WhatIfShare, WhatIfSide } from './what-if-report.ts'

/** Its tables stand one below the other. */
const STYLE = `.wide { margin-bottom: 1.4rem }
`

/** The report as one page, which needs nothing else. */
export function whatIfPage(report: WhatIfReport): string {
  const { protocol, tried, flips, people, posts, cases } = report
  const title = `What if: ${protocol}`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Markup(PAGE_STYLE + STYLE)}</style>
</head>
<body><main>
<h1>${title}</h1>
<ul>${tried.map((one) => html`<li>${foreign(one)}</li>`)}</ul>
${whatIfSentences(report).map((sentence, at) => html`<p class="${at === 0 ? 'lead' : ''}">${sentence}</p>`)}
${leftOutSentences(cases.leftOut).length === 0 ? '' : html`<h2>Left out</h2><ul>${leftOutSentences(cases.leftOut).map((one) => html`<li>${one}</li>`)}</ul>`}
<h2>What flips</h2>
${sharesTable(
  'direction',
  flips.directions.map(({ from, to, ...share }) => ({ name: `${named(from)} → ${named(to)}`, share })),
)}
${sharesTable(
  'label before',
  flips.labels.map(({ value, ...share }) => ({ name: named(value), share })),
)}
${sharesTable(
  'clause cited, before or after',
  flips.clauses.map(({ value, ...share }) => ({ name: value ?? '', share })),
)}
${sharesTable(
  'language',
  flips.languages.map(({ value, ...share }) => ({ name: value ?? 'none named', share })),
)}
${sharesTable(
  'tenant',
  flips.tenants.map(({ value, ...share }) => ({ name: value ?? '', share })),
)}
${
  people.before.cases === 0
    ? ''
    : html`<h2>What people had decided</h2>${sharesTable('verdicts with people’s label', [
        { name: 'before', share: people.before },
        { name: 'after', share: people.after },
      ])}`
}
<h2>The posts</h2>
<p class="note">${posts.length < flips.all.hits ? `${posts.length} of ${flips.all.hits} flips, those first on which people had decided.` : `${flips.all.hits} flips, those first on which people had decided.`}</p>
${posts.map(flipMarkup)}
</main></body>
</html>
`.source
}

/** The findings in sentences, the first of them the answer. */
export function whatIfSentences({ flips, cases, usd, people, since, until }: WhatIfReport): string[] {
  const { all } = flips
  const sampled = cases.notDrawn > 0
  const dollars = (value: number | null) => (value === null ? 'unknown' : `$${value.toFixed(2)}`)
  return [
    all.share === null
      ? 'No case could be replayed.'
      : `${percent(all.share)} of verdicts would flip (95 % interval: ${interval(all)}): ${all.hits} of ${all.cases} replayed cases${sampled ? ', each weighted by its chance of being drawn' : ''}.`,
    `Cases decided from ${since} to ${until}: ${cases.found} found, ${cases.replayed} replayed, ${cases.unchanged} of them without a new question${sampled ? `; ${cases.notDrawn} with new questions were not drawn` : ''}.`,
    `New questions cost $${usd.bill.toFixed(4)}, foretold $${usd.drawn.toFixed(4)}; all cases together, as foretold, $${usd.all.toFixed(4)}. A thousand verdicts cost ${dollars(usd.perThousand.before)} before and ${dollars(usd.perThousand.after)} after.`,
    ...(people.before.cases === 0
      ? []
      : [
          `People had decided ${people.before.cases} of them: ${people.before.hits} verdicts had their label before, ${people.after.hits} would have it after.`,
        ]),
  ]
}

/** How many cases can't be replayed, and why. */
export function leftOutSentences(leftOut: WhatIfReport['cases']['leftOut']): string[] {
  return Object.entries(LEFT_OUT).flatMap(([why, words]) => {
    const count = entryOf(leftOut, why) ?? 0
    return count === 0 ? [] : [`${count}: ${words}`]
  })
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 2 : 1)} %`
}

export function interval({ interval: { low, high } }: WhatIfShare): string {
  return `${percent(low)} to ${percent(high)}`
}

/** A label, or that there is none. */
export function named(label: string | null): string {
  return label ?? 'no label'
}

function sharesTable(
  what: string,
  rows: readonly { readonly name: string; readonly share: WhatIfShare }[],
): Markup | '' {
  if (rows.length === 0) return ''
  return html`<div class="wide" role="region" aria-label="${what}" tabindex="0"><table>
<thead><tr>${[what, 'share', '95 % interval', 'cases', 'of'].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    ({ name, share }) =>
      html`<tr><th scope="row">${foreign(name, 120)}</th><td class="number">${share.share === null ? '' : percent(share.share)}</td><td class="interval">${interval(share)}</td><td class="number">${share.hits}</td><td class="number">${share.cases}</td></tr>`,
  )}</tbody>
</table></div>`
}

function flipMarkup({ subjectId, tenant, lang, words, person, before, after }: WhatIfFlip): Markup {
  const about = [tenant === 'default' ? '' : tenant, lang ?? '', person === null ? '' : `people decided ${person}`]
  return html`
<section class="case"><h3>${foreign(subjectId, 120)}</h3>
<p class="note">${foreign(about.filter((one) => one !== '').join(', '), 200)}</p>
<blockquote>${foreign(words ?? '', 400)}</blockquote>
<div class="pair">${sideMarkup('Before', before)}${sideMarkup('After', after)}</div></section>`
}

function sideMarkup(when: string, { label, decidedBy, rationale, clauses = [] }: WhatIfSide): Markup {
  const cited = clauses.map(
    ({ id, quote }) => html`<li>${foreign(id, 40)}${quote === undefined ? '' : html`: ${foreign(quote, 300)}`}</li>`,
  )
  return html`<div><h4>${when}: ${foreign(named(label), 60)} (${decidedBy})</h4><p>${foreign(rationale, 1_000)}</p><ul>${cited}</ul></div>`
}
