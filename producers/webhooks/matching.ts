import type { AppealOutcome } from '../../src/contracts/facts/appeal-messages.ts'
import type { Review } from '../../src/contracts/facts/decision-messages.ts'
import { redactWords } from '../../src/contracts/facts/redact-words.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { Delivery, Receiver } from '../../src/contracts/ports/webhooks.ts'

/** A receiver, and its filters: which verdicts of its tenant it is sent, with all that take their place; without a filter all of them. */
export interface Hook extends Receiver {
  readonly tenant: string
  readonly protocols?: readonly string[] | undefined
  readonly labels?: readonly string[] | undefined
  /** Final verdicts alone. */
  readonly final?: boolean | undefined
  /** Outcomes of appeals, too. */
  readonly appeals?: boolean | undefined
  /** What concerns actions, too: reversals that are asked for, and statements of reasons. */
  readonly actions?: boolean | undefined
}

/** A verdict that has been published, and its bytes. */
export interface PublishedVerdict {
  readonly verdict: Verdict
  readonly json: string
  readonly ref: ThreadRef
  readonly from: Delivery['from']
}

/** What is to be sent of published verdicts, and to whom. */
export function deliveriesOf(
  hooks: Readonly<Record<string, Hook>>,
  published: readonly PublishedVerdict[],
): readonly Delivery[] {
  return published.flatMap(({ verdict, json, ref, from }) =>
    Object.entries(hooks)
      .filter(([, hook]) => concerns(hook, verdict))
      .map(([name, hook]) => {
        const { id: verdictId, protocol, revision, timing } = verdict
        const retracts = isRetraction(verdict)
        const type = retracts ? 'verdict.retracted' : 'verdict.published'
        // The verdict's own bytes, as they are on the topic.
        const bodyOf = (data: string) =>
          `{"type":"${type}","timestamp":${JSON.stringify(timing.decidedAt)},"data":${data}}`
        const body = bodyOf(json)
        // A person's reason is theirs, unless they cite the subject's words beside it; a retraction has no words.
        const quotes = !retracts && (verdict.decidedBy !== 'human' || verdict.clauses !== undefined)
        return {
          hook: name,
          verdictId,
          from,
          ref,
          protocol,
          revision,
          follows: !retracts && !asksFor(hook, verdict),
          retracts,
          body,
          bare: quotes ? bodyOf(redactWords(json)) : body,
        }
      }),
  )
}

/**
 * Whether it is sent if its receiver has an older one. A retraction goes to all who may have been sent what it retracts. A filter
 * belongs here only if it holds for all verdicts of a protocol and subject, or says that others are never sent.
 */
function concerns({ tenant, protocols, final }: Hook, verdict: Verdict): boolean {
  if (verdict.tenant !== tenant) return false
  if (protocols !== undefined && !protocols.includes(verdict.protocol)) return false
  return isRetraction(verdict) || final !== true || verdict.final
}

/** Whether it is sent also if its receiver has no older one. A filter by what a later revision may change belongs here. */
function asksFor({ labels }: Hook, { label }: Verdict): boolean {
  return labels === undefined || (label !== null && labels.includes(label))
}

function isRetraction({ decidedBy }: Verdict): boolean {
  return decidedBy === 'deleted'
}

/** What is to be sent of appeals that have ended, and to whom. */
export function appealDeliveriesOf(
  hooks: Readonly<Record<string, Hook>>,
  ended: readonly { readonly entry: string; readonly outcome: AppealOutcome }[],
): readonly Delivery[] {
  return ended.flatMap(({ entry, outcome }) => {
    const { id, tenant, at, protocol } = outcome
    // What was one too many may be sent again under its id, and has another outcome then.
    const name = outcome.outcome === 'too-many' ? `appeal ${id} ${at}` : `appeal ${id}`
    const notice = { type: 'appeal.ended', name, tenant, at, protocol, data: outcome }
    return noticesTo(hooks, 'appeals', { ...notice, entry })
  })
}

/** What is to be sent of an action whose verdict no longer bears it out, or that is to be changed, and to whom. */
export function reversalDeliveriesOf(hooks: Readonly<Record<string, Hook>>, asked: Review): readonly Delivery[] {
  const { id, tenant, at, protocol } = asked
  return noticesTo(hooks, 'actions', {
    type: asked.why === 'measure' ? 'measure.asked' : 'reversal.asked',
    name: `reversal ${id}`,
    tenant,
    at,
    protocol,
    data: asked,
  })
}

/** A statement of reasons for an action, in the words of each language. */
interface ActionStatement {
  readonly schema: 1
  readonly action: string
  readonly tenant: string
  readonly at: string
  readonly statement: object
  readonly text: Readonly<Record<string, string>>
  readonly dsa: object | null
}

/** What is to be sent of a statement, and to whom. */
export function statementDeliveriesOf(
  hooks: Readonly<Record<string, Hook>>,
  stated: ActionStatement,
  protocol: string | undefined,
): readonly Delivery[] {
  const { action, tenant, at } = stated
  return noticesTo(hooks, 'actions', {
    type: 'action.stated',
    name: `statement ${action}`,
    tenant,
    at,
    protocol,
    data: stated,
  })
}

/** Something that receivers are told beside verdicts, once. */
interface WebhookNotice {
  readonly type: string
  /** Another for each. */
  readonly name: string
  readonly tenant: string
  readonly at: string
  readonly protocol?: string | undefined
  readonly data: object
  /** The outbox entry that it comes of; absent: it comes of none, and no deletion takes it back. */
  readonly entry?: string
}

/** Of no outbox. */
const NO_ENTRY = '0-0'

function noticesTo(
  hooks: Readonly<Record<string, Hook>>,
  asks: 'appeals' | 'actions',
  { type, name, tenant, at, protocol, data, entry }: WebhookNotice,
): readonly Delivery[] {
  const body = `{"type":"${type}","timestamp":${JSON.stringify(at)},"data":${JSON.stringify(data)}}`
  return Object.entries(hooks)
    .filter(([, hook]) => hook[asks] === true && hook.tenant === tenant)
    .filter(([, { protocols }]) => protocol === undefined || protocols?.includes(protocol) !== false)
    .map(([hook]) => ({
      hook,
      verdictId: name,
      from: { entry: entry ?? NO_ENTRY, caseId: name },
      ref: { tenant, postId: name, kind: 'post' },
      protocol: asks,
      revision: 1,
      follows: false,
      retracts: entry === undefined,
      isNotice: true,
      body,
      bare: body,
    }))
}
