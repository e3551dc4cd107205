import { nameIn } from '../contracts/facts/verdict-id.ts'
import type { WhatIfFlip, WhatIfReport, WhatIfShare, WhatIfSide } from '../contracts/facts/what-if-report.ts'
import {
  interval,
  leftOutSentences,
  named,
  percent,
  whatIfParts,
  whatIfSentences,
} from '../contracts/facts/what-if-words.ts'
import type { RecordedRow, RecordReader } from '../contracts/ports/record.ts'
import type { TrialDesk } from '../contracts/ports/trials.ts'
import type { BlindReviews } from './blind-review.ts'
import { covered, harmIn, uncoveredAt } from './covers.ts'
import { type ProtocolGuides, toneOf } from './kinds.ts'
import type { DisturbingSubjects } from './lists.ts'
import type { Page } from './page.ts'
import { tableOf } from './trials.ts'
import { TRIALS_TEXTS as TEXTS } from './trials-texts.ts'
import { html, link, NOTHING, type SafeMarkup, type TemplatePart, when, words } from './view.ts'

/** Posts of a page. */
const MOST = 20

/** What the page of a report is made of. */
export interface WhatIfPageParts {
  readonly desk: Pick<TrialDesk, 'whatIfs'>
  readonly record: Pick<RecordReader, 'verdict'>
  readonly blinds: BlindReviews
  readonly disturbing: DisturbingSubjects
  readonly kinds: ProtocolGuides
}

/** A report of `gavel what-if`: for leads of its tenants. Of posts it shows those that the record still has. */
export function whatIfPage({ desk, record, blinds, disturbing, kinds }: WhatIfPageParts): Page {
  return {
    method: 'GET',
    path: '/what-if',
    right: 'overrule',
    showsLabels: true,
    isCostly: true,
    async answer({ query, session: { tenants, by } }) {
      const run = query.get('run') ?? ''
      const report = (await desk.whatIfs(tenants)).find(({ name }) => name === run)?.report
      if (report === undefined)
        return {
          title: TEXTS.whatIfs,
          status: 404,
          body: html`<h1>${TEXTS.whatIfs}</h1><p>${TEXTS.gone}</p>${BACK}`,
        }
      const given = Number(query.get('from'))
      const from = Number.isSafeInteger(given) && given > 0 ? given : 0
      const flips = report.posts.slice(from, from + MOST)
      const rows = await Promise.all(flips.map(({ verdictId }) => record.verdict(verdictId, tenants)))
      const kept = rows.filter((row) => row !== null)
      const found = blinds.openTo(by, kept)
      await disturbing.look(found)
      const byId = new Map(found.map((row) => [row.verdict.id, row]))
      const posts = flips.flatMap((flip) => {
        const row = byId.get(flip.verdictId)
        return row === undefined ? [] : [flipMarkup(flip, row, { protocol: report.protocol, disturbing, kinds })]
      })
      const next = from + MOST < report.posts.length ? link('/what-if', { run, from: String(from + MOST) }) : null
      return {
        title: TEXTS.whatIf(report.protocol),
        hides: kept.filter((row) => !found.includes(row)).map(({ verdict }) => verdict.id),
        body: html`${findings(report)}
<section aria-labelledby="posts"><h2 id="posts">${TEXTS.posts}</h2><p class="faint">${TEXTS.postsSay(report.posts.length, report.flips.all.hits)}</p>
${posts.length === flips.length ? NOTHING : html`<p class="notice">${TEXTS.notShown(flips.length - posts.length)}</p>`}
<ol class="rows">${posts}</ol>${when(next, (to) => html`<p><a href="${to}">${TEXTS.further}</a></p>`)}</section>${BACK}`,
      }
    },
  }
}

const BACK = html`<p><a href="/trials">${TEXTS.back}</a></p>`

function findings(report: WhatIfReport): SafeMarkup {
  const { people } = report
  const leftOut = leftOutSentences(report.cases.leftOut)
  return html`<h1>${TEXTS.whatIf(report.protocol)}</h1>
<ul>${report.tried.map((one) => html`<li>${words(one, { most: 400 })}</li>`)}</ul>
${whatIfSentences(report).map((sentence) => html`<p>${sentence}</p>`)}
${leftOut.length === 0 ? NOTHING : html`<section aria-labelledby="left-out"><h2 id="left-out">${TEXTS.leftOut}</h2><ul>${leftOut.map((one) => html`<li>${one}</li>`)}</ul></section>`}
<section aria-labelledby="flips"><h2 id="flips">${TEXTS.whatFlips}</h2>${whatIfParts(report).map(({ what, rows }) => sharesTable(what, rows))}</section>
${
  people.before.cases === 0
    ? NOTHING
    : html`<section aria-labelledby="people"><h2 id="people">${TEXTS.people}</h2>${sharesTable(TEXTS.byPeople, [
        { name: TEXTS.before, share: people.before },
        { name: TEXTS.after, share: people.after },
      ])}</section>`
}`
}

function sharesTable(
  what: string,
  rows: readonly { readonly name: string; readonly share: WhatIfShare }[],
): SafeMarkup {
  return tableOf(
    [what, ...TEXTS.shareHeads],
    rows.map(({ name, share }) => [
      words(name, { most: 120 }),
      share.share === null ? '–' : percent(share.share),
      interval(share),
      share.hits,
      share.cases,
    ]),
  )
}

/** A post before and after. Its words are the record's; they are covered where the verdict, or what would take its place, is harmful. */
function flipMarkup(
  { tenant, lang, person, before, after }: WhatIfFlip,
  row: RecordedRow,
  { protocol, disturbing, kinds }: Pick<WhatIfPageParts, 'disturbing' | 'kinds'> & { readonly protocol: string },
): SafeMarkup {
  const { id } = row.verdict
  const about = [tenant, lang ?? '', person === null ? '' : TEXTS.person(person)].filter((one) => one !== '')
  const why = disturbing.because(row) ?? harmIn({ ...after, protocol }, kinds)?.why ?? null
  const inside = html`${row.words === null ? NOTHING : html`<p class="row-words">${words(row.words, { lang: lang ?? '' })}</p>`}<div class="before-after">${[before, after].map(reasons)}</div>`
  const said = row.erased ? html`<p class="faint">${TEXTS.erased}</p>` : inside
  return html`<li class="row"><div class="row-head"><a class="of" href="${link('/verdict', { id })}">${words(nameIn(row.subject), { most: 120 })}</a> <span>${label(before, protocol, kinds)} → ${label(after, protocol, kinds)}</span> ${when(clausesOf(after, before), (ids) => html`<span>${words(ids, { most: 120 })}</span> `)}<span class="faint">${words(about.join(' · '), { most: 200 })}</span></div>
${why === null || row.erased ? said : covered(why, said, { uncovered: uncoveredAt(id) })}</li>`
}

function label({ label: said }: WhatIfSide, protocol: string, kinds: ProtocolGuides): SafeMarkup {
  return html`<strong class="label ${toneOf({ protocol, label: said }, kinds)}">${words(named(said), { most: 64 })}</strong>`
}

/** The clauses that one side alone cites; null where both cite the same. */
function clausesOf(one: WhatIfSide, other: WhatIfSide): string | null {
  const idsOf = ({ clauses = [] }: WhatIfSide) => clauses.map(({ id }) => id)
  const [ones, others] = [idsOf(one), idsOf(other)]
  const alone = [...ones, ...others].filter((id) => !ones.includes(id) || !others.includes(id))
  return [...new Set(alone)].join(', ') || null
}

function reasons({ rationale, clauses = [] }: WhatIfSide, at: number): TemplatePart {
  return html`<div><h3>${at === 0 ? TEXTS.before : TEXTS.after}</h3><p>${words(rationale, { most: 1_000 })}</p>${clauses.length === 0 ? NOTHING : html`<ul>${clauses.map(({ id, quote }) => html`<li>${words(quote === undefined ? id : `${id}: ${quote}`, { most: 340 })}</li>`)}</ul>`}</div>`
}
