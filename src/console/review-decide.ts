import type { DecisionDesk, DecisionResult } from '../contracts/ports/decisions.ts'
import { refusalOf, sendDecision } from './decision-page.ts'
import type { ProtocolGuides } from './kinds.ts'
import type { PageAnswer, PageCall } from './page.ts'
import { type ReasonCodes, reasonOf } from './reason-codes.ts'
import type { DeskParts, ReviewDesk } from './review-desk.ts'
import type { Filled } from './review-form.ts'
import { itemBody } from './review-item.ts'
import { isBlind } from './review-list.ts'
import { TEXTS } from './texts.ts'
import { idIn, link, NOTHING } from './view.ts'

export interface DecidingParts extends DeskParts {
  readonly kinds: ProtocolGuides
  readonly codes: ReasonCodes
  readonly decisionDesk: DecisionDesk
  /** Of the machines' verdicts so many show their label only after the person's own. */
  readonly labelAfter: number
}

/** Decides on an item that this person has, or can still have; leads to what else of its post is theirs, or to the next one. */
export async function decide(asked: PageCall, desk: ReviewDesk, parts: DecidingParts): Promise<PageAnswer> {
  const { form, session, signal } = asked
  const { blinds, queue, clock } = parts
  const reserved = await desk.reserve(idIn(form), session)
  if (reserved.outcome !== 'reserved') return { to: link('/review', { said: 'gone' }) }
  const { item } = reserved
  const { subject, protocol, revision: against } = item
  const only = form.get('only') ?? ''
  const filled = filledIn(form, parts.codes)
  const again = async (says: string): Promise<PageAnswer> => {
    const post = await desk.postOf(item.verdict, session)
    if (post === null) return { to: link('/review', { said: 'gone' }) }
    const refused = { id: item.verdict, says, filled }
    const body = await itemBody(post, { ...parts, session, only }, { notice: NOTHING, refused })
    return { title: TEXTS.review.title, status: 409, body }
  }
  if (!(parts.kinds.get(protocol)?.labels ?? []).includes(filled.label)) return again(TEXTS.review.needsWords)
  // Also where it is an opinion no more when it arrives: what was not shown stays so.
  const isOpinion = form.get('opinion') === 'yes' || isBlind(item)
  const isUnseen = form.get('unseen') === 'yes'
  const overrules = !isOpinion && !isUnseen && item.label !== null && item.label !== filled.label
  const reason = reasonOf({ code: filled.code, own: filled.why, overrules }, parts.codes)
  if (reason === null) return again(TEXTS.review.needsWords)
  const outcome = await sendDecision(
    {
      subject,
      protocol,
      against,
      by: session.by,
      label: filled.label,
      ...reason,
      sawLabel: !isOpinion && !isUnseen && item.label !== null,
      ...(isOpinion ? { opinion: true } : {}),
    },
    parts,
    signal,
  )
  if (outcome === 'invalid') return again(TEXTS.review.needsWords)
  const isTaken = outcome === null || ['stands', 'noted', 'waiting', 'duplicate'].includes(outcome.outcome)
  if (!isTaken) return again(refusalOf(outcome))
  blinds.open(session.by, subject)
  // An opinion leaves the item in the queue, for somebody else.
  if (outcome?.outcome === 'noted') await queue.release(item.verdict, session.by, { anyone: false }, clock())
  desk.decided.note(session.by, item.verdict)
  const made = verdictOf(outcome)
  if (made !== null) desk.decided.remember(session.by, { subject, protocol, verdict: made })
  const done = { said: 'done', ...(isUnseen ? { of: item.verdict } : {}) } as const
  const [rest] = await desk.own(item.verdict, session)
  return rest === undefined
    ? desk.next(session, { done, only })
    : { to: link('/review/item', { id: rest.verdict, ...done, only }) }
}

/** What a form has; the button that confirms names the label, and gives the first reason for keeping it where none is chosen. */
function filledIn(form: URLSearchParams, codes: ReasonCodes): Filled {
  const [why, code] = [(form.get('why') ?? '').trim(), form.get('code') ?? '']
  const confirmed = form.get('confirm')
  if (confirmed === null) return { label: form.get('label') ?? '', code, why }
  const keeps = codes.filter(({ confirms }) => confirms).map((one) => one.code)
  return { label: confirmed, code: keeps.includes(code) ? code : (keeps[0] ?? ''), why }
}

/** The verdict that a decision brought about; null if it did not, or nobody heard of it. */
function verdictOf(outcome: DecisionResult | null): string | null {
  return outcome?.outcome === 'stands' ? outcome.verdict : null
}
