import { may } from '../contracts/facts/person-roles.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionDesk } from '../contracts/ports/decisions.ts'
import type { RecordReader } from '../contracts/ports/record.ts'
import type { ReviewItem, ReviewQueue, ReviewReservation } from '../contracts/ports/review.ts'
import type { BlindReviews } from './blind-review.ts'
import { caseFile } from './case-file.ts'
import { decisionForm, SubmittedForms } from './decision-form.ts'
import { refusalOf, sendDecision } from './decision-page.ts'
import { findingOf, howDecided, type ProtocolGuides } from './kinds.ts'
import { isDebated, missingSection, sideCounts } from './notes.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { claimCard, commentsSection, shownComments } from './thread.ts'
import { carriedId, html, idIn, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'
import { whySection } from './why.ts'

export interface ReviewParts {
  readonly queue: Pick<ReviewQueue, 'list' | 'reserve' | 'release'>
  readonly record: Pick<RecordReader, 'verdict' | 'subject' | 'transcript'>
  readonly kinds: ProtocolGuides
  readonly blinds: BlindReviews
  readonly decisionDesk: DecisionDesk
  readonly clock: Clock
  /** How long a reservation keeps others away, in ms. */
  readonly reserveFor: number
}

/** Items that a page of the queue lists, and among which the next one is looked for. */
const [LISTED, LOOKED] = [30, 1_000]
/** How long the record may take to read a decision, in ms; most decisions of which that is known. */
const [RECORDED_MS, MOST_DECIDED] = [30_000, 10_000]

/** What people have decided just now. */
class Decided {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(by: string, verdict: string): void {
    this.#until.set(`${verdict} ${by}`, this.#clock() + RECORDED_MS)
    for (const name of this.#until.keys()) if (this.#until.size > MOST_DECIDED) this.#until.delete(name)
  }

  isRecent(by: string, verdict: string): boolean {
    return (this.#until.get(`${verdict} ${by}`) ?? 0) > this.#clock()
  }
}

/** The queue of what people should look at, and one item of it after the other. No GET takes an item. */
export function reviewPages(parts: ReviewParts): Page[] {
  const { queue, clock, reserveFor, blinds } = parts
  const decided = new Decided(clock)
  const once = new SubmittedForms()
  const filter = ({ by, tenants }: Session) => ({ for: by, tenants })
  /** Takes this item, or the next; a second opinion closes its subject to who gives it. */
  const reserve = async (id: string | null, session: Session): Promise<ReviewReservation> => {
    const now = clock()
    const reserved = await queue.reserve(id, filter(session), now + reserveFor, now)
    if (reserved.outcome === 'reserved' && isBlind(reserved.item))
      blinds.close(session.by, reserved.item.subject, now + reserveFor)
    return reserved
  }
  const own = async (id: string, session: Session): Promise<ReviewItem | null> => {
    const { items } = await queue.list({ ...filter(session), verdict: id }, 1, clock())
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
  /** Takes the first item that may be taken: not this one, nor what was decided just now, which is in the queue until the record has read it. */
  const next = async (session: Session, done: 'done' | '', but = ''): Promise<PageAnswer> => {
    const { items } = await queue.list(filter(session), LOOKED, clock())
    for (const { verdict } of items) {
      if (verdict === but || decided.isRecent(session.by, verdict)) continue
      const reserved = await reserve(verdict, session)
      if (reserved.outcome === 'reserved') return { to: link('/review/item', { id: verdict, said: done }) }
      if (reserved.outcome === 'many') return { to: link('/review', { said: 'many' }) }
    }
    return { to: link('/review', { said: done === '' ? 'none' : 'last' }) }
  }
  return [
    {
      method: 'GET',
      path: '/review',
      right: 'decide',
      async answer({ query, session }) {
        const { items: all, waiting: inQueue } = await queue.list(filter(session), LISTED, clock())
        const items = all.filter(({ verdict }) => !decided.isRecent(session.by, verdict))
        const waiting = inQueue - (all.length - items.length)
        return { title: TEXTS.review.title, body: listBody(items, waiting, { session, said: query.get('said') }) }
      },
    },
    { method: 'POST', path: '/review/next', right: 'decide', answer: ({ session }) => next(session, '') },
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
        return next(asked.session, '', idIn(asked.form))
      },
    },
    {
      method: 'GET',
      path: '/review/item',
      right: 'decide',
      takesTurns: true,
      async answer({ query, session }) {
        const item = await own(query.get('id') ?? '', session)
        if (item === null) return { to: link('/review', { said: 'gone' }) }
        return { title: TEXTS.review.title, body: await itemBody(item, { ...parts, session, said: query.get('said') }) }
      },
    },
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
    const again = (says: string): Promise<PageAnswer> => notDecided(says, item, { ...parts, session, label, why })
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
    return next(session, 'done')
  }
}

function isBlind({ reasons }: ReviewItem): boolean {
  return reasons.includes('second-opinion')
}

const NOTICES = ['gone', 'none', 'many', 'done', 'last', 'back'] as const

function notice(said: string | null): TemplatePart {
  const name = NOTICES.find((one) => one === said)
  return name === undefined ? NOTHING : html`<p class="notice" role="status">${TEXTS.review[name]}</p>`
}

function button(
  to: string,
  says: string,
  of: { session: Session; id?: string; press?: string; main?: boolean },
): SafeMarkup {
  const { session, id = '', press = '', main = false } = of
  return html`<form method="post" action="${to}"><input type="hidden" name="token" value="${session.token}"><input type="hidden" name="carried" value="${carriedId(id)}"><button class="${main ? 'main' : 'other'}" data-press="${press}">${says}</button></form>`
}

function listBody(
  items: readonly ReviewItem[],
  waiting: number,
  { session, said }: { session: Session; said: string | null },
): SafeMarkup {
  return html`<h1>${TEXTS.review.title}</h1>${notice(said)}
<p>${TEXTS.review.waiting(waiting)}</p>
${waiting === 0 ? NOTHING : button('/review/next', TEXTS.review.next, { session, press: 'n', main: true })}
<ol class="rows">${items.map(
    (
      item,
    ) => html`<li class="row"><div class="row-head"><strong>${isBlind(item) ? TEXTS.review.second : words(item.label ?? TEXTS.row.noLabel, { most: 64 })}</strong> <span class="protocol">${TEXTS.verdict.by(item.protocol)}</span> <span class="faint">${TEXTS.review.since}</span> ${moment(item.since)} <span class="faint">${reasonsOf(item)}</span></div>
${item.words === null ? html`<p class="row-words faint">${TEXTS.live.noWords}</p>` : html`<details class="hidden"><summary>${TEXTS.review.words}</summary><p class="row-words">${words(item.words, { most: 160, lang: item.lang ?? '' })}</p></details>`}
${item.reservation !== null && item.reservation.by !== session.by ? html`<p class="faint">${TEXTS.review.reservedBy} ${words(item.reservation.by, { most: 60 })}</p>${may(session.grants, 'overrule', item.subject.tenant) ? button('/review/release', TEXTS.review.releaseTheirs, { session, id: item.verdict }) : NOTHING}` : button('/review/take', TEXTS.review.take, { session, id: item.verdict })}</li>`,
  )}</ol>
${waiting > items.length ? html`<p>${TEXTS.review.further(waiting - items.length)}</p>` : NOTHING}
<p class="faint">${TEXTS.review.keys}</p>`
}

function reasonsOf({ reasons }: ReviewItem): string {
  return reasons.map((reason) => TEXTS.review.reasons[reason]).join('; ')
}

type ItemParts = ReviewParts & { readonly session: Session }

async function itemBody(
  item: ReviewItem,
  parts: ItemParts & { said: string | null; label?: string; why?: string; says?: string },
): Promise<SafeMarkup> {
  const { session, kinds, record, said, label = '', why = '', says } = parts
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
  return html`<h1>${blind ? TEXTS.review.second : words(item.label ?? TEXTS.row.noLabel, { most: 64 })} <small>${TEXTS.verdict.by(item.protocol)}</small></h1>
${blind || file === null ? NOTHING : html`<p class="how">${findingOf(file.row.verdict, kind)} ${words(howDecided(file.row.verdict))}</p>`}
${notice(said)}${says === undefined ? NOTHING : html`<p class="notice" role="alert">${words(says, { most: 400 })}</p>`}
<p><strong>${TEXTS.review.why}:</strong> ${reasonsOf(item)}. <span class="faint">${TEXTS.review.yours} ${moment(item.reservation?.until)}</span></p>
${blind ? html`<p class="notice">${TEXTS.review.blind}</p>` : NOTHING}
<div class="beside"><div>${thread === null ? html`<p class="notice">${TEXTS.verdict.noTranscript}</p>` : claimCard(thread.post)}
${blind || file === null ? NOTHING : [whySection(file, 2_000), html`<p><a href="${link('/verdict', { id: item.verdict })}">${TEXTS.review.argument}</a></p>`, missingSection(file)]}</div>
<section class="decide" aria-labelledby="decide"><h2 id="decide">${TEXTS.decide.title}</h2>${decisionForm({ to: '/review/decide', id: item.verdict, token: session.token, labels: kind?.labels ?? [], means: kind?.reading?.labels, chosen: label, why, opinion: blind, standing: blind ? null : item.label, by: session.by })}${button('/review/release', TEXTS.review.release, { session, id: item.verdict, press: 'r' })}${button('/review/skip', TEXTS.review.skip, { session, id: item.verdict, press: 's' })}</section></div>
${thread === null ? NOTHING : commentsSection(thread, { verdictId: item.verdict, weighed, shown: shownComments(thread, counted), isDebated: !blind && file !== null && isDebated(file) })}
<p class="faint">${TEXTS.review.keys}</p>`
}

/** Nothing was decided: the item is shown with what was written. */
async function notDecided(
  says: string,
  item: ReviewItem,
  parts: ItemParts & { label: string; why: string },
): Promise<PageAnswer> {
  return { title: TEXTS.review.title, status: 409, body: await itemBody(item, { ...parts, said: null, says }) }
}
