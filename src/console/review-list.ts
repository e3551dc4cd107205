import { may, tenantsOf } from '../contracts/facts/person-roles.ts'
import { LOOK_REASONS, type QueueFilter, type ReviewItem } from '../contracts/ports/review.ts'
import type { ProtocolGuides } from './kinds.ts'
import { field, options } from './lists.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { carriedId, html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

/** Items that a page of the queue lists. */
export const LISTED = 30
/** The furthest page: up to it items are in the exact order. */
const MOST_PAGES = 600
const HOUR_MS = 3_600_000
const SHOWS = ['free', 'own', 'all'] as const
const AGES = ['1', '24', '72'] as const
const ORDERS = ['cost', 'oldest'] as const

/** What an address asks for, as far as this person may see it. */
export interface ListedQueue {
  readonly filter: QueueFilter & { readonly for: string }
  /** What is searched for in the words of subjects, comments and reasons; empty: anything. */
  readonly asked: string
  /** From 0 on. */
  readonly page: number
}

export function whoTakes({ by, tenants, grants }: Session): QueueFilter & { readonly for: string } {
  const led = tenantsOf(grants, 'overrule')
  return { for: by, tenants, ...(led?.length === 0 ? {} : { lead: { tenants: led } }) }
}

export function listedQueue(query: URLSearchParams, session: Session, now: number): ListedQueue {
  const given = (name: string) => (query.get(name) ?? '').trim().slice(0, 400)
  const { tenants, ...who } = whoTakes(session)
  const tenant = given('tenant')
  const hours = AGES.find((one) => one === given('age'))
  const show = SHOWS.find((one) => one === given('show'))
  return {
    asked: given('q'),
    page: Math.min(MOST_PAGES, Math.max(1, Number.parseInt(given('page'), 10) || 1)) - 1,
    filter: {
      ...who,
      tenants: tenant === '' ? tenants : (tenants ?? [tenant]).filter((one) => one === tenant),
      protocol: given('protocol') || undefined,
      reason: LOOK_REASONS.find((one) => one === given('reason')),
      label: given('label') || undefined,
      lang: given('lang') || undefined,
      waitingSince: hours === undefined ? undefined : now - Number(hours) * HOUR_MS,
      reserved: show === 'own' || show === 'all' ? show : undefined,
      order: given('order') === 'oldest' ? 'oldest' : 'cost',
    },
  }
}

/** The first line of a card, and the only one that tells what the machines said. */
export function isBlind({ reasons }: ReviewItem): boolean {
  return reasons.includes('second-opinion')
}

export function reasonsOf({ reasons }: ReviewItem): string {
  return reasons.map((reason) => TEXTS.review.reasons[reason]).join('; ')
}

export function button(
  to: string,
  says: string,
  of: { session: Session; id?: string; press?: string; main?: boolean; only?: string },
): SafeMarkup {
  const { session, id = '', press = '', main = false, only = '' } = of
  return html`<form method="post" action="${to}"><input type="hidden" name="token" value="${session.token}"><input type="hidden" name="carried" value="${carriedId(id)}">${only === '' ? NOTHING : html`<input type="hidden" name="only" value="${only}">`}<button class="${main ? 'main' : 'other'}" data-press="${press}">${says}</button></form>`
}

export function queueBody(
  { items, waiting }: { items: readonly ReviewItem[]; waiting: number },
  { page, asked }: ListedQueue,
  of: { session: Session; query: URLSearchParams; kinds: ProtocolGuides; notice: TemplatePart },
): SafeMarkup {
  const { session, query, kinds, notice } = of
  const at = (page: number) => link('/review', { ...Object.fromEntries(query), page: String(page + 1), said: '' })
  const before = page * LISTED
  const hasMore = waiting > before + items.length && page + 1 < MOST_PAGES
  const only = [...query].some(([name, value]) => !['said', 'page'].includes(name) && value !== '')
  return html`<h1>${TEXTS.review.title}</h1>${notice}
${queueForm(query, asked, kinds)}
<p role="status">${TEXTS.review.waiting(waiting)}</p>
${waiting === 0 ? NOTHING : button('/review/next', TEXTS.review.next, { session, press: 'n', main: true, ...(only ? { only: String(query) } : {}) })}
<ol class="rows" start="${before + 1}">${items.map((item) => card(item, session))}</ol>
<p>${page === 0 ? NOTHING : html`<a rel="prev" href="${at(page - 1)}">${TEXTS.review.before}</a> `}${hasMore ? html`<a rel="next" href="${at(page + 1)}">${TEXTS.review.further(waiting - before - items.length)}</a>` : NOTHING}</p>
<p class="faint">${TEXTS.review.keys}</p>`
}

/** What is to be judged stands first; what the machines said of it comes after. */
function card(item: ReviewItem, session: Session): SafeMarkup {
  const { reservation, subject, protocol, lang } = item
  const isTheirs = reservation !== null && reservation.by !== session.by
  const said =
    item.words === null
      ? html`<p class="row-words faint">${TEXTS.live.noWords}</p>`
      : html`<details class="hidden"><summary>${TEXTS.review.words}</summary><p class="row-words">${words(item.words, { most: 160, lang: lang ?? '' })}</p></details>`
  const label = isBlind(item) ? TEXTS.review.second : words(item.label ?? TEXTS.row.noLabel, { most: 64 })
  return html`<li class="row">${said}<div class="row-head"><span class="protocol">${TEXTS.verdict.by(protocol)}</span> <strong>${label}</strong> <span class="faint">${TEXTS.review.since}</span> ${moment(item.since)} <span class="faint">${reasonsOf(item)}</span></div>
${reservation === null ? NOTHING : html`<p class="faint">${isTheirs ? html`${TEXTS.review.reservedBy} ${words(reservation.by, { most: 60 })}` : TEXTS.review.yours} ${moment(reservation.until)}</p>`}
${isTheirs ? (may(session.grants, 'overrule', subject.tenant) ? button('/review/release', TEXTS.review.releaseTheirs, { session, id: item.verdict }) : NOTHING) : button('/review/take', TEXTS.review.take, { session, id: item.verdict })}</li>`
}

function queueForm(query: URLSearchParams, asked: string, kinds: ProtocolGuides): SafeMarkup {
  const given = (name: string) => query.get(name) ?? ''
  const choice = (name: string, says: string, all: readonly (readonly [string, string])[]) =>
    html`<label>${says} <select name="${name}">${all.map(([value, text]) => html`<option value="${value}"${value === given(name) ? html` selected` : NOTHING}>${text}</option>`)}</select></label>`
  const { filters, reasons } = TEXTS.review
  const more = ['label', 'lang', 'tenant', 'age', 'q'].some((name) => given(name) !== '')
  return html`<form class="search" role="search" method="get" action="/review">
<label>${TEXTS.live.protocol} <select name="protocol">${options([...kinds.keys()], given('protocol'))}</select></label>
${choice('reason', filters.reason, [['', filters.any], ...LOOK_REASONS.map((one) => [one, reasons[one]] as const)])}
${choice(
  'show',
  filters.show,
  SHOWS.map((one) => [one === 'free' ? '' : one, filters.shows[one]] as const),
)}
${choice(
  'order',
  filters.order,
  ORDERS.map((one) => [one === 'cost' ? '' : one, filters.orders[one]] as const),
)}
<button>${filters.go}</button>
<details${more ? html` open` : NOTHING}><summary>${TEXTS.live.filters}</summary>
${choice('age', filters.age, [['', filters.any], ...AGES.map((one) => [one, filters.ages[one]] as const)])}${field('label', TEXTS.live.label, given('label'))}${field('lang', filters.lang, given('lang'))}${field('tenant', TEXTS.live.tenant, given('tenant'))}
<label class="wide">${TEXTS.search.query} <input type="search" name="q" value="${asked}" maxlength="400" dir="auto"></label></details></form>`
}
