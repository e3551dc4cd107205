import { setTimeout as sleep } from 'node:timers/promises'
import { decisionMessage, MAX_WHY_CHARS, MOST_CLAUSES } from '../contracts/facts/decision-messages.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { CitedClause } from '../contracts/facts/verdict-fields.ts'
import { namedIn } from '../contracts/facts/verdict-id.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionDesk, DecisionResult } from '../contracts/ports/decisions.ts'
import type { RecordReader } from '../contracts/ports/record.ts'
import type { BlindReviews } from './blind-review.ts'
import { CLOSED } from './blind-review.ts'
import { citing, clausesField, clausesTicked } from './clauses-field.ts'
import { type DONE, decisionForm, mayWithdraw, SubmittedForms } from './decision-form.ts'
import type { ProtocolGuides } from './kinds.ts'
import type { IsOwnCase } from './own-case.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import { TEXTS } from './texts.ts'
import { html, idIn, link, NOTHING, words } from './view.ts'

/** Decides, or withdraws, as the person who is signed in: no field of the form names that person. */
export function decisionPage(parts: {
  record: Pick<RecordReader, 'verdict'>
  kinds: ProtocolGuides
  decisionDesk: DecisionDesk
  blinds: BlindReviews
  isOwnCase: IsOwnCase
  clock: Clock
}): Page {
  const once = new SubmittedForms()
  return {
    method: 'POST',
    path: '/decide',
    right: 'decide',
    answer: (asked) => once.take(asked.form, asked.session, () => decided(asked)),
  }

  async function decided({ form, session, signal }: PageCall): Promise<PageAnswer> {
    const id = idIn(form)
    const row = await parts.record.verdict(id, session.tenants)
    if (row === null)
      return {
        title: TEXTS.wrong.nothing.title,
        body: html`<h1>${TEXTS.wrong.nothing.title}</h1><p>${TEXTS.wrong.nothing.says}</p>`,
        status: 404,
      }
    const { verdict, subject } = row
    if (parts.blinds.isClosed(session.by, subject)) return CLOSED
    const isOpinion = form.get('opinion') === 'yes'
    const withdraw = form.get('withdraw') === 'yes'
    const replaces = withdraw || (verdict.decidedBy === 'human' && !isOpinion)
    if (replaces && !mayWithdraw(verdict, session)) return refused(TEXTS.decide.notYours)
    const takesOwnBack = withdraw && verdict.decision?.by === session.by
    if (replaces && !takesOwnBack && (await parts.isOwnCase(id, session))) return refused(TEXTS.decide.ownCase)
    const kind = parts.kinds.get(verdict.protocol)
    const { labels = [], reading } = kind ?? {}
    const clauses = withdraw ? [] : clausesTicked(form)
    const why = (form.get('why') ?? '').trim()
    const label = form.get('label') ?? ''
    const again = {
      id,
      by: session.by,
      token: session.token,
      labels,
      means: reading?.labels,
      chosen: label,
      why,
      clauses: clausesField(kind, subject, clauses),
      opinion: isOpinion,
    }
    if (why === '' || why.length > MAX_WHY_CHARS || (!withdraw && !labels.includes(label)))
      return notDecided(TEXTS.decide.missing, again, 400)
    if (clauses.length > MOST_CLAUSES) return notDecided(TEXTS.decide.manyClauses(MOST_CLAUSES), again, 400)
    const asked = { subject, protocol: verdict.protocol, against: verdict.revision, by: session.by, why }
    const outcome = await sendDecision(
      {
        ...asked,
        ...(withdraw ? { withdraw: true as const } : { label }),
        ...(isOpinion ? { opinion: true as const } : {}),
        ...(withdraw ? {} : { sawLabel: verdict.label !== null }),
        ...citing(clauses),
      },
      parts,
      signal,
    )
    if (outcome === 'invalid') return notDecided(TEXTS.decide.missing, again, 400)
    const done = doneOf(outcome)
    if (done !== null) return { to: link('/verdict', { id: await shownAfter(parts.record, outcome, id), done }) }
    return notDecided(refusalOf(outcome), again, 409)
  }
}

/** They may decide, but not this. */
function refused(says: string): PageAnswer {
  const { title } = TEXTS.wrong.role
  return { title, body: html`<h1>${title}</h1><p>${says}</p>`, status: 403 }
}

interface Decision {
  readonly subject: ThreadRef
  readonly protocol: string
  /** The revision that was seen. */
  readonly against: number
  readonly by: string
  readonly why: string
  readonly label?: string
  readonly withdraw?: true
  readonly opinion?: true
  readonly golden?: 'key' | 'answer'
  /** How long they had it before them. */
  readonly seconds?: number
  /** The reason's code. */
  readonly code?: string
  readonly clauses?: readonly CitedClause[]
  /** The appeals that it answers. */
  readonly appeals?: readonly string[]
  /** The label in force was shown before they chose. */
  readonly sawLabel?: boolean
}

/** Sends a decision, and waits for what comes of it; null where nothing was heard in time. */
export async function sendDecision(
  { subject, ...asked }: Decision,
  { decisionDesk, clock }: { decisionDesk: DecisionDesk; clock: Clock },
  signal: AbortSignal,
): Promise<DecisionResult | null | 'invalid'> {
  const { tenant, kind } = subject
  const named = { ...namedIn(subject), tenant, ...(kind === 'post' ? {} : { subjectKind: kind }) }
  const given = { ...asked, ...named, ...(kind === 'reply' ? { kind } : {}) }
  const message = decisionMessage.safeParse({ ...given, at: new Date(clock()).toISOString() })
  return message.success ? (await decisionDesk.decide(message.data, signal)).decided : 'invalid'
}

/** The outcome as an address names it; null if nothing was done. */
export function doneOf(decided: DecisionResult | null): keyof typeof DONE | null {
  if (decided === null || decided.outcome === 'waiting') return 'unconfirmed'
  if (decided.outcome === 'stands' || decided.outcome === 'noted') return decided.outcome
  if (decided.outcome === 'withdrawn') return decided.verdict === null ? 'anew' : 'withdrawn'
  return null
}

/** How long is waited until the record has the new verdict, and how often is looked, in ms. */
const [RECORDED_MS, LOOK_MS] = [3_000, 100]

/** The verdict that is shown after a decision: the new one, once the record has it; until then the one that was seen. */
export async function shownAfter(record: Pick<RecordReader, 'verdict'>, decided: DecisionResult | null, seen: string) {
  const id = decided?.outcome === 'stands' || decided?.outcome === 'withdrawn' ? decided.verdict : null
  for (let waited = 0; id !== null && waited < RECORDED_MS; waited += LOOK_MS) {
    if ((await record.verdict(id)) !== null) return id
    await sleep(LOOK_MS)
  }
  return seen
}

export function refusalOf(decided: DecisionResult | null): string {
  if (decided?.outcome === 'late') return TEXTS.decide.late(decided.last)
  if (decided?.outcome === 'refused') return `${TEXTS.decide.refused} ${decided.why}`
  if (decided?.outcome === 'deleted') return `${TEXTS.decide.refused} ${TEXTS.decide.deleted}`
  return `${TEXTS.decide.refused} ${TEXTS.decide.unknown}`
}

/** Nothing was decided: what was written stands in the page, to be sent again. */
function notDecided(says: string, again: Parameters<typeof decisionForm>[0], status: 400 | 409): PageAnswer {
  return {
    title: TEXTS.decide.title,
    status,
    body: html`<h1>${TEXTS.decide.title}</h1><p class="notice" role="alert">${words(says, { most: 400 })}</p>
${again.labels.length === 0 ? NOTHING : decisionForm(again)}
<p><a href="${link('/verdict', { id: again.id })}">${TEXTS.decide.back}</a></p>`,
  }
}
