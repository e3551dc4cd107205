import { may } from '../contracts/facts/person-roles.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionDesk, DecisionResult } from '../contracts/ports/decisions.ts'
import type { RecordReader } from '../contracts/ports/record.ts'
import type { ReviewItem, ReviewQueue, ReviewReservation } from '../contracts/ports/review.ts'
import type { BlindReviews } from './blind-review.ts'
import { caseFile } from './case-file.ts'
import { decisionForm, onceField, SubmittedForms } from './decision-form.ts'
import { refusalOf, sendDecision } from './decision-page.ts'
import { findingOf, howDecided, type ProtocolGuides } from './kinds.ts'
import { isDebated, missingSection, sideCounts } from './notes.ts'
import { JustDecided, ownDecisionPages } from './own-decisions.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import {
  button,
  isBlind,
  LISTED,
  type ListedQueue,
  listedQueue,
  queueBody,
  reasonsOf,
  whoTakes,
} from './review-list.ts'
import { type ReviewShares, ReviewTurns } from './review-shares.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { claimCard, commentsSection, shownComments } from './thread.ts'
import { carriedId, html, idIn, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'
import { whySection } from './why.ts'

export interface ReviewParts {
  readonly queue: Pick<ReviewQueue, 'list' | 'reserve' | 'release' | 'decisionsOf'>
  readonly record: Pick<RecordReader, 'verdict' | 'subject' | 'transcript' | 'search'>
  readonly kinds: ProtocolGuides
  readonly blinds: BlindReviews
  readonly decisionDesk: DecisionDesk
  readonly clock: Clock
  /** How long a reservation keeps others away, in ms. */
  readonly reserveFor: number
  readonly shares: ReviewShares
}

/** Items among which the next one is looked for; most that a search of words leaves over. */
const [LOOKED, MOST_FOUND] = [1_000, 200]
/** Where an item is shown; the audit has the path, and so whether it was a lead's own case. */
const ITEM_PATHS = ['/review/item', '/review/own-case'] as const

/** The queue of what people should look at, and one item of it after the other. No GET takes an item. */
export function reviewPages(parts: ReviewParts): Page[] {
  const { queue, clock, reserveFor, blinds } = parts
  const decided = new JustDecided(clock)
  const once = new SubmittedForms()
  const turns = new ReviewTurns(parts.shares)
  /** Takes this item, or the next; a second opinion closes its subject to who gives it. */
  const reserve = async (id: string | null, session: Session): Promise<ReviewReservation> => {
    const now = clock()
    const reserved = await queue.reserve(id, whoTakes(session), now + reserveFor, now)
    if (reserved.outcome === 'reserved' && isBlind(reserved.item))
      blinds.close(session.by, reserved.item.subject, now + reserveFor)
    return reserved
  }
  const own = async (id: string, session: Session): Promise<ReviewItem | null> => {
    const { items } = await queue.list({ ...whoTakes(session), verdict: id }, 1, clock())
    return items.find(({ reservation }) => reservation?.by === session.by) ?? null
  }
  /** Gives one's own item back; a lead, anybody's. */
  const released = async (id: string, session: Session): Promise<void> => {
    const item = await own(id, session)
    if (item !== null) blinds.open(session.by, item.subject)
    const row = await parts.record.verdict(id, session.tenants)
    const isLead = row !== null && may(session.grants, 'overrule', row.verdict.tenant)
    await queue.release(id, session.by, { anyone: isLead }, clock())
  }
  /**
   * Takes the first item that may be taken: one that only chance brought where this person owes one, else the first that the address
   * asks for; not this one, nor what was decided just now, which is in the queue until the record has read it.
   */
  const next = async (
    session: Session,
    { done = '', but = '', only = '' }: { done?: 'done' | ''; but?: string; only?: string },
  ): Promise<PageAnswer> => {
    const wanted = (await askedQueue(new URLSearchParams(only), session, parts)).filter
    const owed = turns.next(session.by)
    const drawn = owed === null ? [] : [{ ...wanted, reason: owed, order: 'oldest' as const }]
    for (const filter of [...drawn, wanted]) {
      const { items } = await queue.list({ ...filter, reserved: undefined }, LOOKED, clock())
      for (const { verdict } of items) {
        if (verdict === but || decided.isRecent(session.by, verdict)) continue
        const reserved = await reserve(verdict, session)
        if (reserved.outcome === 'reserved') return { to: link('/review/item', { id: verdict, said: done, only }) }
        if (reserved.outcome === 'many') return { to: link('/review', { said: 'many' }) }
      }
    }
    return { to: link('/review', { said: done === '' ? 'none' : 'last' }) }
  }
  return [
    ...ownDecisionPages({ ...parts, decided, once }),
    {
      method: 'GET',
      path: '/review',
      right: 'decide',
      takesTurns: true,
      async answer({ query, session }) {
        const listed = await askedQueue(query, session, parts)
        const { items: all, waiting: inQueue } = await queue.list(listed.filter, LISTED, clock(), listed.page * LISTED)
        const items = all.filter(({ verdict }) => !decided.isRecent(session.by, verdict))
        const waiting = inQueue - (all.length - items.length)
        const shown = { session, query, kinds: parts.kinds, notice: notice(query.get('said')) }
        return { title: TEXTS.review.title, body: queueBody({ items, waiting }, listed, shown) }
      },
    },
    {
      method: 'POST',
      path: '/review/next',
      right: 'decide',
      answer: ({ form, session }) => next(session, { only: form.get('only') ?? '' }),
    },
    {
      method: 'POST',
      path: '/review/take',
      right: 'decide',
      async answer(asked) {
        const reserved = await reserve(idIn(asked.form), asked.session)
        if (reserved.outcome !== 'reserved')
          return { to: link('/review', { said: reserved.outcome === 'many' ? 'many' : 'gone' }) }
        return { to: link('/review/item', { id: reserved.item.verdict }) }
      },
    },
    {
      method: 'POST',
      path: '/review/release',
      right: 'decide',
      async answer(asked) {
        await released(idIn(asked.form), asked.session)
        return { to: link('/review', { said: 'back' }) }
      },
    },
    {
      method: 'POST',
      path: '/review/skip',
      right: 'decide',
      async answer(asked) {
        await released(idIn(asked.form), asked.session)
        return next(asked.session, { but: idIn(asked.form), only: asked.form.get('only') ?? '' })
      },
    },
    ...ITEM_PATHS.map((path) => ({
      method: 'GET' as const,
      path,
      right: 'decide' as const,
      takesTurns: true as const,
      async answer({ query, session }: PageCall): Promise<PageAnswer> {
        const item = await own(query.get('id') ?? '', session)
        if (item === null) return { to: link('/review', { said: 'gone' }) }
        const where = item.isOwnCase ? '/review/own-case' : '/review/item'
        if (where !== path) return { to: link(where, Object.fromEntries(query)) }
        return {
          title: TEXTS.review.title,
          body: await itemBody(item, { ...parts, session, said: query.get('said'), only: query.get('only') ?? '' }),
        }
      },
    })),
    {
      method: 'POST',
      path: '/review/decide',
      right: 'decide',
      answer: (asked) => once.take(asked.form, asked.session, () => decide(asked)),
    },
  ]

  async function decide(asked: PageCall): Promise<PageAnswer> {
    const { form, session, signal } = asked
    const reserved = await reserve(idIn(asked.form), session)
    if (reserved.outcome !== 'reserved') return { to: link('/review', { said: 'gone' }) }
    const { item } = reserved
    const [label, why] = [form.get('label') ?? '', (form.get('why') ?? '').trim()]
    const only = form.get('only') ?? ''
    const again = (says: string): Promise<PageAnswer> => notDecided(says, item, { ...parts, session, only, label, why })
    if (!(parts.kinds.get(item.protocol)?.labels ?? []).includes(label)) return again(TEXTS.decide.missing)
    const { subject, protocol, revision: against } = item
    const decision = { subject, protocol, against, label, why, by: session.by }
    // What was written without seeing what was decided stays an opinion, also where the item is none any more.
    const opinion = isBlind(item) || form.get('opinion') === 'yes' ? { opinion: true as const } : {}
    const outcome = await sendDecision({ ...decision, ...opinion }, parts, signal)
    if (outcome === 'invalid') return again(TEXTS.decide.missing)
    const isTaken = outcome === null || ['stands', 'noted', 'waiting', 'duplicate'].includes(outcome.outcome)
    if (!isTaken) return again(refusalOf(outcome))
    blinds.open(session.by, subject)
    // An opinion leaves the item in the queue, for somebody else.
    if (outcome?.outcome === 'noted') await queue.release(item.verdict, session.by, { anyone: false }, clock())
    decided.note(session.by, item.verdict)
    const made = verdictOf(outcome)
    if (made !== null) decided.remember(session.by, { subject, protocol, verdict: made })
    return next(session, { done: 'done', only })
  }
}

/** What an address asks for; what is searched for by words is looked up in the record first. */
async function askedQueue(
  query: URLSearchParams,
  session: Session,
  { record, clock }: Pick<ReviewParts, 'record' | 'clock'>,
): Promise<ListedQueue> {
  const listed = listedQueue(query, session, clock())
  if (listed.asked === '') return listed
  const { tenants, protocol } = listed.filter
  const only = { tenants, standing: true as const, ...(protocol === undefined ? {} : { protocol }) }
  const { found } = await record.search(listed.asked, only, MOST_FOUND)
  return { ...listed, filter: { ...listed.filter, verdicts: found.map(({ verdict }) => verdict.id) } }
}

/** The verdict that a decision brought about; null if it did not, or nobody heard of it. */
function verdictOf(outcome: DecisionResult | null): string | null {
  return outcome?.outcome === 'stands' ? outcome.verdict : null
}

const NOTICES = ['gone', 'none', 'many', 'done', 'last', 'back', 'nothing', 'late'] as const

function notice(said: string | null): TemplatePart {
  const name = NOTICES.find((one) => one === said)
  return name === undefined ? NOTHING : html`<p class="notice" role="status">${TEXTS.review[name]}</p>`
}

type ItemParts = ReviewParts & { readonly session: Session }

async function itemBody(
  item: ReviewItem,
  parts: ItemParts & { said: string | null; only: string; label?: string; why?: string; says?: string },
): Promise<SafeMarkup> {
  const { session, kinds, record, said, only, label = '', why = '', says } = parts
  const file = await caseFile(item.verdict, { record, kinds, session })
  const blind = isBlind(item)
  const thread = file?.thread ?? null
  const counted = new Set(
    blind ? [] : [...(file?.ruled.evidence.support ?? []), ...(file?.ruled.evidence.oppose ?? [])],
  )
  const weighed =
    blind || file === null
      ? { marks: new Map(), evidence: { support: [], oppose: [], precedents: [] }, counts: [0, 0] as const }
      : { marks: file.debate.marks, evidence: file.ruled.evidence, counts: sideCounts(file) }
  const kind = kinds.get(item.protocol)
  const decision = {
    id: item.verdict,
    token: session.token,
    labels: kind?.labels ?? [],
    means: kind?.reading?.labels,
    by: session.by,
  }
  const pressed = { session, id: item.verdict, only }
  return html`<h1>${blind ? TEXTS.review.second : TEXTS.review.title} <small>${TEXTS.verdict.by(item.protocol)}</small></h1>
${notice(said)}${says === undefined ? NOTHING : html`<p class="notice" role="alert">${words(says, { most: 400 })}</p>`}
<p><strong>${TEXTS.review.why}:</strong> ${reasonsOf(item)}. <span class="faint">${TEXTS.review.yours} ${moment(item.reservation?.until)}</span></p>
${blind ? html`<p class="notice">${TEXTS.review.blind}</p>` : NOTHING}${item.isOwnCase ? html`<p class="notice">${TEXTS.review.ownCase}</p>` : NOTHING}
<div class="beside"><div>${thread === null ? html`<p class="notice">${TEXTS.verdict.noTranscript}</p>` : claimCard(thread.post)}
${blind || file === null ? NOTHING : html`<h2>${TEXTS.review.decided}: ${words(item.label ?? TEXTS.row.noLabel, { most: 64 })}</h2><p class="how">${findingOf(file.row.verdict, kind)} ${words(howDecided(file.row.verdict))}</p>${whySection(file, 2_000)}<p><a href="${link('/verdict', { id: item.verdict })}">${TEXTS.review.argument}</a></p>${missingSection(file)}`}</div>
<section class="decide" aria-labelledby="decide"><h2 id="decide">${TEXTS.decide.title}</h2>${decisionForm({ ...decision, to: '/review/decide', only, chosen: label, why, opinion: blind, standing: blind ? null : item.label })}${blind || item.label === null ? NOTHING : confirmForm(item.label, pressed)}${button('/review/release', TEXTS.review.release, { ...pressed, press: 'r' })}${button('/review/skip', TEXTS.review.skip, { ...pressed, press: 's' })}</section></div>
${thread === null ? NOTHING : commentsSection(thread, { verdictId: item.verdict, weighed, shown: shownComments(thread, counted), isDebated: !blind && file !== null && isDebated(file) })}
<p class="faint">${TEXTS.review.keys}</p>`
}

/** One key says that the label fits. */
function confirmForm(label: string, of: { session: Session; id: string; only: string }): SafeMarkup {
  const { session, id, only } = of
  return html`<form method="post" action="/review/decide"><input type="hidden" name="token" value="${session.token}"><input type="hidden" name="carried" value="${carriedId(id)}"><input type="hidden" name="only" value="${only}">${onceField()}<input type="hidden" name="label" value="${label}"><input type="hidden" name="why" value="${TEXTS.review.confirmed}"><button class="other" data-press="c">${TEXTS.review.confirm}</button></form>`
}

/** Nothing was decided: the item is shown with what was written. */
async function notDecided(
  says: string,
  item: ReviewItem,
  parts: ItemParts & { only: string; label: string; why: string },
): Promise<PageAnswer> {
  return { title: TEXTS.review.title, status: 409, body: await itemBody(item, { ...parts, said: null, says }) }
}
