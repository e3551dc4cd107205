import { MEASURES, MOST_CLAUSES } from '../contracts/facts/decision-messages.ts'
import type { CaseworkDesk } from '../contracts/ports/casework.ts'
import type { DecisionDesk, DecisionResult } from '../contracts/ports/decisions.ts'
import type { ReviewItem } from '../contracts/ports/review.ts'
import type { AppealsHeard, HearingResult } from './appeals-heard.ts'
import { caseFile } from './case-file.ts'
import { citing, clausesTicked } from './clauses-field.ts'
import { refusalOf, sendDecision } from './decision-page.ts'
import type { ProtocolGuides } from './kinds.ts'
import type { LastDecision } from './own-decisions.ts'
import type { PageAnswer, PageCall } from './page.ts'
import type { PostViewParts } from './post-view.ts'
import { type ReasonCodes, reasonOf } from './reason-codes.ts'
import type { DeskParts, ReviewDesk } from './review-desk.ts'
import type { FilledForm } from './review-form.ts'
import { itemBody } from './review-item.ts'
import { button, isBlind } from './review-list.ts'
import type { KnownReviewers } from './reviewers.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { html, idIn, idOf, link, NOTHING, words } from './view.ts'

export interface DecidingParts extends DeskParts {
  readonly kinds: ProtocolGuides
  readonly codes: ReasonCodes
  readonly decisionDesk: DecisionDesk
  /** Of the machines' verdicts so many show their label only after the person's own. */
  readonly labelAfter: number
  /** Within which time appeals are to be answered, in ms. */
  readonly appealsDue: number
  /** Tells to whom posts are assigned; null: nobody is assigned here. */
  readonly casework: CaseworkDesk | null
  readonly view: PostViewParts
  readonly reviewers: KnownReviewers
  /** Has the models heard on appeals; null: they never are. */
  readonly heard: AppealsHeard | null
}

/** Decides on an item that this person has, or can still have; leads to what else of its post is theirs, or to the next one. */
export async function decide(asked: PageCall, desk: ReviewDesk, parts: DecidingParts): Promise<PageAnswer> {
  const { form, session, signal } = asked
  const { blinds, queue, clock } = parts
  const reserved = await desk.reserve(idIn(form), session)
  if (reserved.outcome !== 'reserved') return { to: link('/review', { said: 'gone' }) }
  const { item } = reserved
  const { subject, protocol } = item
  const only = form.get('only') ?? ''
  const filled = filledIn(form, parts.codes)
  const since = form.get('since') ?? ''
  const again = async (says: string | HearingResult): Promise<PageAnswer> => {
    const post = await desk.postOf(item.verdict, session)
    if (post === null) return { to: link('/review', { said: 'gone' }) }
    const shown = typeof says === 'string' ? filled : { ...filled, heard: says.id }
    const refused = { id: item.verdict, says, filled: shown, since }
    const body = await itemBody(
      post,
      { ...parts, session, only, copiesOf: (one) => desk.copiesOf(one, session), canAssign: parts.casework !== null },
      { notice: NOTHING, refused },
    )
    return { title: TEXTS.review.title, status: typeof says === 'string' ? 409 : 200, body }
  }
  if (!(parts.kinds.get(protocol)?.labels ?? []).includes(filled.label)) return again(TEXTS.review.needsLabel)
  if (filled.clauses.length > MOST_CLAUSES) return again(TEXTS.decide.manyClauses(MOST_CLAUSES))
  // Also where it is an opinion no more when it arrives: what was not shown stays so.
  const isOpinion = form.get('opinion') === 'yes' || isBlind(item)
  const isUnseen = form.get('unseen') === 'yes'
  const overrules = !isOpinion && !isUnseen && item.label !== null && item.label !== filled.label
  const keeps = overrules ? keepsLabel(filled, parts) : null
  if (keeps !== null) return again(keeps)
  const reason = reasonOf({ code: filled.code, own: filled.why, overrules }, parts.codes)
  if (reason === null) return again(lacking(filled, { overrules, codes: parts.codes }))
  const appeals = isOpinion ? [] : form.getAll('appeal').map(idOf)
  if (appeals.length > 0 && reason.code === undefined) return again(TEXTS.review.needsCode)
  const measure = overrules ? undefined : MEASURES.find((one) => one === filled.measure)
  if (appeals.length > 0 && !overrules && form.has('measured') && measure === undefined)
    return again(TEXTS.review.appeals.measure.needed)
  const heard = await heardBefore(asked, { id: item.verdict, appeals }, parts)
  if (heard !== null) return again(heard)
  // Before the item itself is decided: it is looked for no more then.
  const copies = isOpinion || isUnseen || !form.has('copy') ? [] : await desk.copiesOf(item, session)
  // Before it is decided, too: its post is found by it.
  const ofPost = (await desk.own(item.verdict, session)).filter(({ verdict }) => verdict !== item.verdict)
  const hasSeen = parts.seenLabels.has(session.by, item.verdict)
  const { outcome, says } = await decided(
    item,
    {
      by: session.by,
      label: filled.label,
      ...reason,
      sawLabel: isOpinion ? hasSeen : item.label !== null && (!isUnseen || hasSeen),
      ...(isOpinion ? { opinion: true } : {}),
      ...(reserved.golden === true ? { golden: 'answer' } : {}),
      ...citing(filled.clauses),
      ...(appeals.length === 0 ? {} : { appeals, ...(measure && { measure }) }),
      ...timeSince(since, clock()),
    },
    parts,
    signal,
  )
  if (says !== null) return again(says)
  blinds.open(session.by, subject)
  // An opinion leaves the item in the queue, for somebody else.
  if (outcome?.outcome === 'noted') await queue.release(item.verdict, session.by, { anyone: false }, clock())
  desk.decided.note(session.by, item.verdict, filled.label)
  const rest = copies.length === 0 ? NO_COPIES : await decideCopies(asked, { item, copies, filled }, desk, parts)
  const made = [...madeBy(outcome, item), ...rest.made]
  if (made.length > 0 || isOpinion) desk.decided.remember(session.by, made, isOpinion ? item.verdict : null)
  const answers = appeals.length === 0 ? {} : { answers: String(appeals.length) }
  const done = { said: 'done', ...(isUnseen ? { of: item.verdict } : {}), ...answers, ...rest.done } as const
  if (rest.missed.length > 0) return notAll(rest.missed, session, only)
  for (const { verdict } of ofPost) {
    const left = await desk.own(verdict, session)
    const [further] = left
    if (further === undefined) continue
    if (fits(further, only)) return { to: link('/review/item', { id: further.verdict, ...done, only }) }
    await desk.giveBack(left, session)
    break
  }
  return desk.next(session, { done, only })
}

/** Whether a further part of the post comes before the next one: who answers appeals goes on to the next of these. */
function fits({ reasons }: ReviewItem, only: string): boolean {
  return new URLSearchParams(only).get('reason') !== 'appealed' || reasons.includes('appealed')
}

/** Why this reason can't overrule a label; null if it can. */
function keepsLabel({ code: chosen }: FilledForm, { codes }: Pick<DecidingParts, 'codes'>): string | null {
  const keeps = codes.find(({ code, confirms }) => code === chosen && confirms)
  return keeps === undefined ? null : TEXTS.review.keepsLabel(keeps.says)
}

/** What the person is shown before their decision counts; null where that is nothing. */
async function heardBefore(
  { form, session }: PageCall,
  { id, appeals }: { readonly id: string; readonly appeals: readonly string[] },
  { heard, record, kinds }: Pick<DecidingParts, 'heard' | 'record' | 'kinds'>,
): Promise<HearingResult | null> {
  if (heard === null || appeals.length === 0) return null
  const file = await caseFile(id, { record, kinds, session })
  if (file === null) return null
  const asks = form.has('hear')
  return heard.before({ by: session.by, ids: appeals, asks, shown: form.get('heard') ?? '' }, file)
}

/** Sends one decision about an item, and says why it was not carried out; null if it was, or is on its way. */
async function decided(
  { subject, protocol, revision: against }: ReviewItem,
  said: Omit<Parameters<typeof sendDecision>[0], 'subject' | 'protocol' | 'against'>,
  parts: DecidingParts,
  signal: AbortSignal,
): Promise<{ outcome: DecisionResult | null; says: string | null }> {
  const outcome = await sendDecision({ subject, protocol, against, ...said }, parts, signal)
  if (outcome === 'invalid') return { outcome: null, says: TEXTS.review.needsWords }
  const isTaken = outcome === null || ['stands', 'noted', 'waiting', 'duplicate'].includes(outcome.outcome)
  return { outcome, says: isTaken ? null : refusalOf(outcome) }
}

/** A copy that the decision does not count for, and why. */
interface MissedCopy {
  readonly id: string
  readonly words: string
  readonly says: string
}
interface DecidedCopies {
  readonly done: { readonly copies?: string }
  readonly missed: readonly MissedCopy[]
  readonly made: readonly LastDecision[]
}
const NO_COPIES: DecidedCopies = { done: {}, missed: [], made: [] }

/** The same label for each copy that the person left ticked, each against its own revision; what is in the way of one leaves the others. */
async function decideCopies(
  { form, session, signal }: PageCall,
  { item, copies, filled }: { item: ReviewItem; copies: readonly ReviewItem[]; filled: FilledForm },
  desk: ReviewDesk,
  parts: DecidingParts,
): Promise<DecidedCopies> {
  const missed: MissedCopy[] = []
  const made: LastDecision[] = []
  let count = 0
  const ticked = new Set(form.getAll('copy').map(idOf))
  for (const id of ticked) {
    const copy = copies.find(({ verdict }) => verdict === id)
    const miss = (says: string) => missed.push({ id, words: copy?.words ?? id, says })
    const overrules = copy?.label !== null && copy?.label !== filled.label
    const reason = reasonOf({ code: filled.code, own: filled.why, overrules }, parts.codes)
    const keeps = overrules ? keepsLabel(filled, parts) : null
    if (copy !== undefined && (reason === null || keeps !== null)) {
      const needs = reason === null ? TEXTS.review.needsWords : keeps
      miss(`${TEXTS.review.copyDiffers(copy.label ?? TEXTS.row.noLabel)}. ${needs}`)
      continue
    }
    const reserved = copy === undefined ? null : await desk.reserve(id, session)
    if (reserved?.outcome !== 'reserved' || reason === null) {
      miss(TEXTS.review.copyGone)
      continue
    }
    // They are in the same words, with the same pictures.
    const { seenPosts } = parts.view
    for (const part of ['words', ...Array.from({ length: item.pictures }, (_, nth) => nth)] as const)
      if (seenPosts.has(session.by, item.subject, part)) seenPosts.note(session.by, reserved.item.subject, part)
    const sawLabel = reserved.item.label !== null
    const said = { by: session.by, label: filled.label, ...reason, sawLabel, ...citing(filled.clauses) }
    const { outcome, says } = await decided(reserved.item, said, parts, signal)
    if (says === null) {
      count++
      made.push(...madeBy(outcome, reserved.item))
      desk.decided.note(session.by, id)
    } else {
      miss(says)
      await parts.queue.release(id, session.by, { anyone: false }, parts.clock())
    }
  }
  return { done: count === 0 ? {} : { copies: String(count) }, missed, made }
}

/** The decision stands, and some copies are as they were. */
function notAll(missed: readonly MissedCopy[], session: Session, only: string): PageAnswer {
  return {
    title: TEXTS.review.notAll,
    status: 409,
    body: html`<h1>${TEXTS.review.notAll}</h1><p class="notice" role="alert">${TEXTS.review.notAllSays}</p>
<ul>${missed.map(({ id, words: said, says }) => html`<li><a href="${link('/verdict', { id })}">${words(said, { most: 160 })}</a><p>${words(says, { most: 400 })}</p></li>`)}</ul>
${button('/review/next', TEXTS.review.goOn, { session, main: true, press: 'n', only })}`,
  }
}

/** What a reason lacks. */
function lacking(
  { code, why }: Pick<FilledForm, 'code' | 'why'>,
  { overrules, codes }: { overrules: boolean; codes: ReasonCodes },
): string {
  const chosen = codes.find((one) => one.code === code)
  if (why !== '') return TEXTS.review.needsWords
  if (overrules) return TEXTS.review.needsWhy
  return chosen === undefined ? TEXTS.review.needsReason : TEXTS.review.needsOwn(chosen.says)
}

/**
 * What a form has; the button that confirms names the label, and gives the first reason for keeping it where none is chosen: not for an
 * appeal, whose answer has the reason that a person chose.
 */
function filledIn(form: URLSearchParams, codes: ReasonCodes): FilledForm {
  const [why, code] = [(form.get('why') ?? '').trim(), form.get('code') ?? '']
  const [clauses, heard] = [clausesTicked(form), form.get('heard') ?? '']
  const more = { why, clauses, heard, measure: form.get('measure') ?? '' }
  const confirmed = form.get('confirm')
  if (confirmed === null) return { label: form.get('label') ?? '', code, ...more }
  if (form.has('appeal')) return { label: confirmed, code, ...more }
  const keeps = codes.filter(({ confirms }) => confirms).map((one) => one.code)
  return { label: confirmed, code: keeps.includes(code) ? code : (keeps[0] ?? ''), ...more }
}

/** What a decision on an item brought about; nothing if it did not, or nobody heard of it. */
function madeBy(outcome: DecisionResult | null, { subject, protocol }: ReviewItem): LastDecision[] {
  if (outcome?.outcome !== 'stands' || outcome.verdict === null) return []
  return [{ subject, protocol, verdict: outcome.verdict }]
}

const DAY_S = 86_400

/** How long somebody had an item before them; nothing where the form does not say, or a clock was set back. */
function timeSince(since: string, now: number): { seconds?: number } {
  const seconds = since === '' ? Number.NaN : Math.round((now - Number(since)) / 1_000)
  return seconds >= 0 && seconds <= DAY_S ? { seconds } : {}
}
