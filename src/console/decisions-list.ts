import { nameIn } from '../contracts/facts/verdict-id.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import { DECISION_KINDS, type DecisionKind, type PersonDecision, type ReviewQueue } from '../contracts/ports/review.ts'
import type { BlindReviews } from './blind-review.ts'
import { DECISIONS_TEXTS as TEXTS } from './decisions-texts.ts'
import { badge, type ProtocolGuides } from './kinds.ts'
import { listPage } from './list-page.ts'
import { box, field, options } from './lists.ts'
import type { Page } from './page.ts'
import { TEXTS as SHARED } from './texts.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

const DAY_MS = 86_400_000
/** Days that may be asked for; the first where none is. */
const DAYS = ['7', '30', '90', '400'] as const
/** Decisions of a page. */
const MOST = 50

/** What people decided, and what has become of it: for leads, of their tenants. */
export function decisionsPage({
  queue,
  kinds,
  blinds,
  clock,
}: {
  readonly queue: Pick<ReviewQueue, 'decisions'>
  readonly kinds: ProtocolGuides
  readonly blinds: BlindReviews
  readonly clock: Clock
}): Page {
  return {
    method: 'GET',
    path: '/decisions',
    right: 'overrule',
    showsLabels: true,
    async answer({ query, session: { by, tenants } }) {
      const given = (name: string) => (query.get(name) ?? '').trim().slice(0, 400)
      const days = DAYS.find((one) => one === given('days')) ?? DAYS[0]
      const found = await queue.decisions(
        {
          viewer: by,
          tenants,
          named: given('person') || undefined,
          protocol: given('protocol') || undefined,
          subject: given('subject') || undefined,
          kind: DECISION_KINDS.find((one) => one === given('kind')),
          degraded: query.has('degraded') ? true : undefined,
          overrules: query.has('overrules') ? true : undefined,
          since: clock() - Number(days) * DAY_MS,
          before: given('before') || undefined,
        },
        MOST,
      )
      const page = { blinds, by, path: '/decisions', query, most: MOST }
      const { readable, closed, older } = listPage(found, page)
      return {
        title: TEXTS.title,
        hides: closed.flatMap(({ verdict, seen }) => [verdict ?? [], seen?.verdict ?? []].flat()),
        body: html`<h1>${TEXTS.title}</h1><p>${TEXTS.says}</p>${formOf(query, days, kinds)}
${found.length === 0 ? html`<p role="status">${[...query].every(([name, value]) => name === 'days' || value === '') ? TEXTS.nobody(days) : TEXTS.none}</p>` : tableOf(readable, kinds)}
${older}`,
      }
    },
  }
}

function formOf(query: URLSearchParams, days: string, kinds: ProtocolGuides): SafeMarkup {
  const given = (name: string) => query.get(name) ?? ''
  const chosen = (value: string, now: string) => (value === now ? html` selected` : NOTHING)
  return html`<form class="search" role="search" method="get" action="/decisions">
${field('person', TEXTS.person, given('person'))}${field('subject', TEXTS.subject, given('subject'))}
<label>${TEXTS.protocol} <select name="protocol">${options([...kinds.keys()], given('protocol'))}</select></label>
<label>${TEXTS.kind} <select name="kind"><option value="">${TEXTS.any}</option>${DECISION_KINDS.map((one) => html`<option value="${one}"${chosen(one, given('kind'))}>${TEXTS.kinds[one]}</option>`)}</select></label>
<label>${TEXTS.days} <select name="days">${DAYS.map((one) => html`<option value="${one}"${chosen(one, days)}>${one}</option>`)}</select></label>
${box('degraded', TEXTS.degraded, query.has('degraded'))}${box('overrules', TEXTS.overrules, query.has('overrules'))}
<button>${TEXTS.find}</button></form>`
}

function kindOf({ isOpinion, isTaken, label, isCurrent, isWithdrawn }: PersonDecision): DecisionKind {
  if (isOpinion) return 'opinion'
  if (!isTaken) return 'refused'
  if (label === null) return 'withdrawal'
  if (isCurrent) return 'stands'
  return isWithdrawn ? 'withdrawn' : 'replaced'
}

function tableOf(all: readonly PersonDecision[], kinds: ProtocolGuides): SafeMarkup {
  return html`<div class="scrolls" tabindex="0"><table><thead><tr>${TEXTS.heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>
${all.map((one) => html`<tr><td>${moment(one.at)}</td><td>${words(one.by, { most: 60 })}</td><td>${decidedAs(one, kinds)}</td><td>${postOf(one)}</td><td>${words(one.protocol, { most: 64 })}</td><td>${beforeIt(one)}</td><td>${TEXTS.kinds[kindOf(one)]}</td></tr>`)}</tbody></table></div>`
}

function decidedAs({ label, protocol }: PersonDecision, kinds: ProtocolGuides): TemplatePart {
  return label === null ? TEXTS.withdrew : badge({ label, protocol, decidedBy: 'human', scores: {} }, kinds)
}

function postOf({ verdict, subject }: PersonDecision): TemplatePart {
  const name = words(nameIn(subject), { most: 100 })
  return verdict === null ? name : html`<a href="${link('/verdict', { id: verdict })}">${name}</a>`
}

/** What they decided on, and whether that lacked something. */
function beforeIt({ seen }: PersonDecision): TemplatePart {
  if (seen === null) return '–'
  const label = words(seen.label ?? SHARED.row.noLabel, { most: 64 })
  return html`<a href="${link('/verdict', { id: seen.verdict })}">${label}</a>${seen.isDegraded ? html` <span class="faint">${TEXTS.lacked}</span>` : NOTHING}`
}
