import { redactWords } from '../../src/contracts/facts/redact-words.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { Delivery, Receiver } from '../../src/contracts/ports/webhooks.ts'

/** A receiver, and which verdicts it is sent, with all that take their place; without a list all of them. */
export interface Hook extends Receiver {
  readonly tenant: string
  readonly protocols?: readonly string[] | undefined
  readonly labels?: readonly string[] | undefined
  /** Final verdicts alone. */
  readonly final?: boolean | undefined
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
      .map(([hook, { labels }]) => {
        const { id: verdictId, protocol, revision, timing } = verdict
        const retracts = isRetraction(verdict)
        const type = retracts ? 'verdict.retracted' : 'verdict.published'
        // The verdict's own bytes, as they are on the topic.
        const bodyOf = (data: string) =>
          `{"type":"${type}","timestamp":${JSON.stringify(timing.decidedAt)},"data":${data}}`
        const body = bodyOf(json)
        // A person's reason is theirs, and a retraction has no words.
        const quotes = !retracts && verdict.decidedBy !== 'human'
        return {
          hook,
          verdictId,
          from,
          ref,
          protocol,
          revision,
          follows: !retracts && !isNamed(labels, verdict.label),
          retracts,
          body,
          bare: quotes ? bodyOf(redactWords(json)) : body,
        }
      }),
  )
}

/** Whatever its label: who was sent an older one hears of it. A retraction goes to all who may have been sent what it retracts. */
function concerns({ tenant, protocols, final }: Hook, verdict: Verdict): boolean {
  if (verdict.tenant !== tenant) return false
  if (protocols !== undefined && !protocols.includes(verdict.protocol)) return false
  return isRetraction(verdict) || final !== true || verdict.final
}

function isNamed(labels: readonly string[] | undefined, label: string | null): boolean {
  return labels === undefined || (label !== null && labels.includes(label))
}

function isRetraction({ decidedBy }: Verdict): boolean {
  return decidedBy === 'deleted'
}
