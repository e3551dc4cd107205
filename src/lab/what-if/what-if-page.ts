import type { WhatIfFlip, WhatIfReport, WhatIfShare, WhatIfSide } from '../../contracts/facts/what-if-report.ts'
import {
  interval,
  leftOutSentences,
  named,
  percent,
  whatIfParts,
  whatIfSentences,
} from '../../contracts/facts/what-if-words.ts'
import { foreign, html, type Markup } from '../evaluation/report/markup.ts'
import { framedPage } from '../evaluation/report/page-frame.ts'

/** Its tables stand one below the other. */
const STYLE = `.wide { margin-bottom: 1.4rem }
`

/** The report as one page, which needs nothing else. */
export function whatIfPage(report: WhatIfReport): string {
  const { protocol, tried, flips, people, posts, cases } = report
  const leftOut = leftOutSentences(cases.leftOut)
  const body = html`<ul>${tried.map((one) => html`<li>${foreign(one)}</li>`)}</ul>
${whatIfSentences(report).map((sentence, at) => html`<p class="${at === 0 ? 'lead' : ''}">${sentence}</p>`)}
${leftOut.length === 0 ? '' : html`<h2>Left out</h2><ul>${leftOut.map((one) => html`<li>${one}</li>`)}</ul>`}
<h2>What flips</h2>
${whatIfParts(report).map(({ what, rows }) => sharesTable(what, rows))}
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
${posts.map(flipMarkup)}`
  return framedPage(`What if: ${protocol}`, body, { style: STYLE })
}

function sharesTable(what: string, rows: readonly { readonly name: string; readonly share: WhatIfShare }[]): Markup {
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
