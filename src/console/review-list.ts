import { z } from 'zod'
import { may, tenantsOf } from '../contracts/facts/person-roles.ts'
import type { CoverChoice, SavedView } from '../contracts/ports/pictures.ts'
import type { RecordedRow } from '../contracts/ports/record.ts'
import {
  LOOK_REASONS,
  MOST_POSTS_COUNTED,
  type PostItem,
  type PostPage,
  type QueueFilter,
  type QueuePlace,
  type ReviewItem,
  type ReviewPost,
  type ReviewState,
} from '../contracts/ports/review.ts'
import { covered, mayHarm, uncoveredAt } from './covers.ts'
import { onceField } from './decision-form.ts'
import type { ProtocolGuides } from './kinds.ts'
import { isLanguage, languageField, languageTag } from './languages.ts'
import { type DisturbingSubjects, field, options } from './lists.ts'
import { viewsSection } from './saved-views.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { listedPictures, thumbnails } from './thumbnails.ts'
import {
  carriedId,
  html,
  link,
  moment,
  NOTHING,
  type SafeMarkup,
  shown,
  type TemplatePart,
  when,
  words,
} from './view.ts'

/** Posts of a page of the queue. */
export const LISTED = 20
const HOUR_MS = 3_600_000
const SHOWS = ['free', 'own', 'assigned', 'all', 'any'] as const
const AGES = ['1', '24', '72'] as const
const REACHES = ['20', '100', '1000'] as const
const ORDERS = ['cost', 'oldest'] as const

/** What an address asks for, as far as this person may see it. */
export interface ListedQueue {
  readonly filter: QueueFilter & { readonly for: string }
  /** What is searched for in the words of subjects, comments and reasons; empty: anything. */
  readonly asked: string
  /** Behind which place its page begins; null: the first page. */
  readonly after: QueuePlace | null
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
  const reach = REACHES.find((one) => one === given('reach'))
  const show = SHOWS.find((one) => one === given('show'))
  const assignee = given('assignee') || (show === 'assigned' ? session.by : undefined)
  return {
    asked: given('q'),
    after: placeIn(query.get('after') ?? '', now),
    filter: {
      ...who,
      tenants: tenant === '' ? tenants : (tenants ?? [tenant]).filter((one) => one === tenant),
      protocol: given('protocol') || undefined,
      reason: LOOK_REASONS.find((one) => one === given('reason')),
      label: given('label') || undefined,
      lang: languageTag(given('lang')) || undefined,
      reach: reach === undefined ? undefined : Number(reach),
      waitingSince: hours === undefined ? undefined : now - Number(hours) * HOUR_MS,
      // What is assigned to others nobody else may take, and is listed all the same.
      reserved: given('assignee') !== '' ? 'any' : show === 'free' || show === 'assigned' ? undefined : show,
      assigned: assignee,
      order: given('order') === 'oldest' ? 'oldest' : 'cost',
    },
  }
}

const place = z.tuple([z.int(), z.number(), z.int(), z.string().max(2_000)])

/** A place as an address has it; null where it has none, one that can't be read, or one that is yet to come. */
function placeIn(text: string, now: number): QueuePlace | null {
  try {
    const read = place.safeParse(JSON.parse(text))
    if (!read.success || read.data[0] > now) return null
    const [at, score, since, verdict] = read.data
    return { at, score, since, verdict }
  } catch {
    return null
  }
}

function carriedPlace({ at, score, since, verdict }: QueuePlace): string {
  return JSON.stringify([at, score, since, verdict])
}

/** Whether this person judges it without seeing what was decided. */
export function isBlind({ reasons }: ReviewItem): boolean {
  return reasons.includes('second-opinion')
}

/** Parts that were lost which a sentence names; the item's own page names all. */
const MOST_LOST = 2

/** Why it waits, a sentence for each reason. */
export function reasonsOf({ reasons }: ReviewItem, lost: readonly string[] = []): TemplatePart {
  return reasons.map((reason): TemplatePart => {
    if (reason !== 'degraded' || lost.length === 0) return html`${TEXTS.review.reasons[reason]} `
    return html`${words(TEXTS.review.without(lost.slice(0, MOST_LOST).join('; ')), { most: 300 })} `
  })
}

export function button(
  to: string,
  says: string,
  of: { session: Session; id?: string; press?: string; main?: boolean; only?: string },
): SafeMarkup {
  const { session, id = '', press = '', main = false, only = '' } = of
  return html`<form method="post" action="${to}"><input type="hidden" name="token" value="${session.token}"><input type="hidden" name="carried" value="${carriedId(id)}">${only === '' ? NOTHING : html`<input type="hidden" name="only" value="${only}">`}<button class="${main ? 'main' : 'other'}" data-press="${press}">${says}</button></form>`
}

/** With what a list of posts is shown. */
export interface ListParts {
  readonly session: Session
  readonly kinds: ProtocolGuides
  readonly disturbing: DisturbingSubjects
  /** The record's rows of the items. */
  readonly rows: ReadonlyMap<string, RecordedRow>
  /** What is current of their posts, by whichever protocol. */
  readonly current: readonly RecordedRow[]
  /** Who appealed against an item, and until when that is to be answered. */
  readonly appealed: ReadonlyMap<string, TemplatePart>
  /** Whether an item's label is shown to this person only after their own. */
  readonly isLabelAfter: (item: ReviewItem) => boolean
  /** Whether this person was shown an item's label already. */
  readonly hasSeen: (item: ReviewItem) => boolean
  /** What they want to have covered. */
  readonly choice: CoverChoice
  /** The address of the list, without its path. */
  readonly only: string
  /** By tenant, to whom a post may be assigned; null: nobody is assigned here. */
  readonly assignable: ReadonlyMap<string, readonly string[]> | null
}

export function queueBody(
  { posts, waiting, next }: PostPage,
  { after, asked, filter }: ListedQueue,
  parts: ListParts & {
    readonly query: URLSearchParams
    readonly notice: TemplatePart
    readonly views: readonly SavedView[]
    readonly totals: ReviewState['queue']
    /** What is said where nothing is found by a name that nobody known has; empty: somebody has it. */
    readonly unknown: string
  },
): SafeMarkup {
  const { session, query, kinds, notice, views, totals, assignable, unknown } = parts
  const given = Object.fromEntries([...query].filter(([name]) => name !== 'said' && name !== 'after'))
  const isFiltered = parts.only !== ''
  const order = TEXTS.review.inOrder[filter.order ?? 'cost']
  const unheard =
    filter.lang !== undefined && !isLanguage(filter.lang)
      ? TEXTS.review.noLanguage(filter.lang)
      : waiting === 0
        ? unknown
        : ''
  const counted =
    waiting >= MOST_POSTS_COUNTED ? TEXTS.review.waitingMany(waiting, order) : TEXTS.review.waiting(waiting, order)
  const only: { only?: string } = isFiltered ? { only: parts.only } : {}
  return html`<h1>${TEXTS.review.title}</h1>${notice}
${queueForm(query, asked, kinds)}
${viewsSection(views, only.only ?? '', session)}
${unheard === '' ? NOTHING : html`<p class="notice" role="status">${words(unheard, { most: 600 })}</p>`}<p role="status">${counted}</p>${totalsOf(totals)}
${waiting === 0 ? html`<p>${isFiltered ? TEXTS.review.noneFits : TEXTS.review.noneWaits} <a href="/review?show=any">${TEXTS.review.everything}</a></p>` : button('/review/next', TEXTS.review.next, { session, press: 'n', main: true, ...only })}
<ol class="rows">${posts.map((post) => card(post, parts))}</ol>
<p>${after === null ? NOTHING : html`<a href="${link('/review', given)}">${TEXTS.review.first}</a> `}${next === null ? NOTHING : html`<a rel="next" href="${link('/review', { ...given, after: carriedPlace(next) })}">${TEXTS.review.further}</a>`}</p>
${[...(assignable ?? [])].map(([tenant, names]) => html`<datalist id="${reviewersOf(tenant)}">${names.map((name) => html`<option value="${name}">`)}</datalist>`)}
<p class="faint">${TEXTS.review.keys}</p>`
}

/** What waits in all, whoever may take it, and since when the oldest does. */
function totalsOf(totals: ReviewState['queue']): TemplatePart {
  if (totals.length === 0) return NOTHING
  return html`<p class="faint">${TEXTS.review.inAll} ${totals.map(({ protocol, waiting, oldest }, nth) => html`${nth === 0 ? '' : ' · '}${protocol} ${waiting} (${TEXTS.review.oldest} ${moment(oldest)})`)}</p>`
}

/** The place in a page of the names of who may have posts of a tenant. */
function reviewersOf(tenant: string): string {
  return `reviewers-${encodeURIComponent(tenant)}`
}

/** A post with all that waits of it: what is to be judged stands first, what the machines said of it comes after. */
function card(post: ReviewPost, parts: ListParts): SafeMarkup {
  const { session, rows, isLabelAfter, hasSeen, choice, only, assignable } = parts
  const free = post.items.find(({ may }) => may === 'yes')
  const isOwn = post.items.some(({ reservation }) => reservation?.by === session.by)
  const waits = post.items.map((item) => {
    const isHidden = isBlind(item) || isLabelAfter(item)
    const label = isBlind(item) ? TEXTS.review.second : words(item.label ?? TEXTS.row.noLabel, { most: 64 })
    const lost = isHidden ? [] : (rows.get(item.verdict)?.verdict.degraded ?? [])
    return html`<li><span class="protocol">${TEXTS.verdict.by(item.protocol)}</span> ${isLabelAfter(item) ? NOTHING : html`<strong>${label}</strong> `}<span class="faint">${reasonsOf(item, lost)}${parts.appealed.get(item.verdict) ?? NOTHING}${isBlind(item) && hasSeen(item) ? TEXTS.review.seenBefore : ''} · ${TEXTS.review.since} ${moment(item.since)}</span>${item.reservation?.by === session.by ? html`<span class="faint"> · ${TEXTS.review.yours} ${moment(item.reservation.until)}</span>` : item.may === 'yes' ? NOTHING : takenBy(item, session, only)}</li>`
  })
  return html`<li class="row" tabindex="-1" id="${placeOf(post.items[0]?.verdict ?? '')}">${postWords(post, parts)}${thumbnails(listedPictures(post.items[0]?.verdict ?? '', post.pictures), choice)}<ul class="waits">${waits}</ul>${decidedOf(post, parts.current)}${assigneeOf(post)}${post.assignee !== null && assignable !== null && mayHandOver(post, session) ? button('/review/assign', TEXTS.review.unassign, { session, id: post.items[0]?.verdict ?? '', only }) : NOTHING}
${free === undefined ? NOTHING : button('/review/take', isOwn ? TEXTS.review.open : TEXTS.review.take, { session, id: free.verdict, press: 't', only })}${assignable !== null && mayAssign(post, session) ? assignForm(post, { session, only, names: reviewersOf(post.subject.tenant) }) : NOTHING}</li>`
}

/** By which protocols a person has decided on it already: not what, since another part may be judged blindly. */
function decidedOf({ items, subject }: ReviewPost, current: readonly RecordedRow[]): TemplatePart {
  const waiting = new Set(items.map(({ protocol }) => protocol))
  const isOf = ({ subject: other }: RecordedRow) =>
    other.postId === subject.postId && other.tenant === subject.tenant && other.kind === subject.kind
  const decided = current.filter(
    (row) => isOf(row) && row.verdict.decidedBy === 'human' && !waiting.has(row.verdict.protocol),
  )
  if (decided.length === 0) return NOTHING
  return html`<p class="faint">${TEXTS.review.halfDecided(decided.map(({ verdict }) => verdict.protocol))}</p>`
}

/** How a post begins; hidden until somebody asks where it may harm, without a hint at a label that this person is not to see. */
function postWords(post: ReviewPost, { disturbing, rows, kinds, isLabelAfter }: ListParts): SafeMarkup {
  if (post.words === null) return html`<p class="row-words faint">${TEXTS.live.noWords}</p>`
  const said = html`<p class="row-words">${words(post.words, { most: 300, lang: post.lang ?? '' })}</p>`
  const own = post.items.flatMap(({ verdict }) => rows.get(verdict) ?? [])
  const why = own.map((row) => disturbing.because(row)).find((one) => one !== null)
  const hidden = post.items.filter((item) => isBlind(item) || isLabelAfter(item)).map(({ protocol }) => protocol)
  const uncovered = uncoveredAt(post.items[0]?.verdict ?? '')
  if (mayHarm(hidden, kinds)) return covered(TEXTS.review.hidden, said, { uncovered })
  if (why === undefined) return said
  return covered(hidden.length > 0 ? TEXTS.review.hidden : why, said, { uncovered })
}

/** The place in a page of the post of this item. */
export function placeOf(verdict: string): string {
  return `post-${encodeURIComponent(verdict)}`
}

/** Whether this person may take an assignment from who has it: who has it themselves, who gave it, and leads. */
function mayHandOver({ assignee, assignedBy, subject }: ReviewPost, { by, grants }: Session): boolean {
  return may(grants, 'overrule', subject.tenant) || (assignee !== null && [assignee, assignedBy].includes(by))
}

/** Whether this person may assign a post: nobody else has it, or they may take it from who has. */
export function mayAssign(post: ReviewPost, session: Session): boolean {
  const isHeld = post.items.some(({ reservation }) => reservation !== null && reservation.by !== session.by)
  return mayHandOver(post, session) || (post.assignee === null && !isHeld)
}

/** Takes a post for oneself, or hands it over to a person or to nobody. `names`: the place of the names that are offered. */
export function assignForm(
  post: ReviewPost,
  { session, only, names }: { session: Session; only: string; names: string },
): TemplatePart {
  const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`
  const id = post.items[0]?.verdict ?? ''
  return html`<details><summary>${TEXTS.review.assign}</summary><form class="search" method="post" action="/review/assign">${hidden('token', session.token)}${hidden('carried', carriedId(id))}${hidden('only', only)}${onceField()}<label>${TEXTS.review.assignTo} <input name="to" maxlength="256" dir="auto" autocomplete="off" list="${names}"></label><button>${TEXTS.review.assign}</button> <button name="me" value="yes">${TEXTS.review.assignMe}</button></form></details>`
}

/** To whom a post is assigned. */
export function assigneeOf({ assignee }: ReviewPost): TemplatePart {
  return when(assignee, (name) => html`<p class="faint">${TEXTS.review.assignedTo} ${words(name, { most: 60 })}</p>`)
}

/** Who has an item that this person can't take, and, for a lead, the way to release it. */
export function takenBy(item: PostItem, session: Session, only: string): TemplatePart {
  const { reservation, subject, may: mayTake } = item
  if (mayTake === 'own') return html`<p class="faint">${TEXTS.review.ownHere}</p>`
  if (mayTake === 'assigned') return html`<p class="faint">${TEXTS.review.assignedHere}</p>`
  if (reservation === null || mayTake !== 'taken')
    return mayTake === 'yes' ? button('/review/take', TEXTS.review.take, { session, id: item.verdict, only }) : NOTHING
  const says = html`<p class="faint">${TEXTS.review.takenBy} ${words(shown(reservation.by, 60))}, ${TEXTS.review.until} ${moment(reservation.until)}</p>`
  if (!may(session.grants, 'overrule', subject.tenant)) return says
  return html`${says}${button('/review/release', TEXTS.review.releaseTheirs, { session, id: item.verdict, only })}`
}

function queueForm(query: URLSearchParams, asked: string, kinds: ProtocolGuides): SafeMarkup {
  const given = (name: string) => query.get(name) ?? ''
  const choice = (name: string, says: string, all: readonly (readonly [string, string])[]) =>
    html`<label>${says} <select name="${name}">${all.map(([value, text]) => html`<option value="${value}"${value === given(name) ? html` selected` : NOTHING}>${text}</option>`)}</select></label>`
  const { filters, reasons } = TEXTS.review
  const any = ['', filters.any] as const
  const more = ['label', 'lang', 'tenant', 'assignee', 'age', 'reach', 'q'].some((name) => given(name) !== '')
  const first = (one: string, all: readonly string[]) => (one === all[0] ? '' : one)
  return html`<form class="search" role="search" method="get" action="/review">
<label>${TEXTS.live.protocol} <select name="protocol">${options([...kinds.keys()], given('protocol'))}</select></label>
${choice('reason', filters.reason, [any, ...LOOK_REASONS.map((one) => [one, reasons[one]] as const)])}
${choice(
  'show',
  filters.show,
  SHOWS.map((one) => [first(one, SHOWS), filters.shows[one]] as const),
)}
${choice(
  'order',
  filters.order,
  ORDERS.map((one) => [first(one, ORDERS), filters.orders[one]] as const),
)}
<button>${filters.go}</button>
<details${more ? html` open` : NOTHING}><summary>${TEXTS.live.filters}</summary>
${choice('age', filters.age, [any, ...AGES.map((one) => [one, filters.ages[one]] as const)])}${choice('reach', filters.reach, [any, ...REACHES.map((one) => [one, filters.reaches[one]] as const)])}${field('label', TEXTS.live.label, given('label'))}${languageField(filters.lang, languageTag(given('lang')))}${field('tenant', TEXTS.live.tenant, given('tenant'))}${field('assignee', filters.assignee, given('assignee'))}
<label class="wide">${TEXTS.search.query} <input type="search" name="q" value="${asked}" maxlength="400" dir="auto"></label></details></form>`
}
