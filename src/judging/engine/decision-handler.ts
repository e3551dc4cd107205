import { type DecisionMessage, subjectOf } from '../../contracts/facts/decision-messages.ts'
import type { DeadLetterReason } from '../../contracts/facts/messages.ts'
import type { Post, ThreadRef } from '../../contracts/facts/thread.ts'
import type { VerdictForm } from '../../contracts/facts/verdict-fields.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { DecisionHandler, DecisionResult, DecisionStore, HumanDecision } from '../../contracts/ports/decisions.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import { decidedVerdict, decisionOf, overrules, scopeOfSubject } from './decision-verdict.ts'
import type { Router } from './routes.ts'
import { labelsForPeople, type Protocol } from './script.ts'

/** What decisions are carried out with. */
export interface DecisionContext {
  readonly decisions: Pick<DecisionStore, 'decide'>
  readonly threads: Pick<ThreadStore, 'head'>
  readonly protocols: readonly Protocol[]
  readonly routes: Pick<Router, 'of'>
  readonly clock: Clock
  readonly report: Report
  readonly writes: VerdictForm
}

/** Carries out people's decisions. */
export function decisionHandler(context: DecisionContext): DecisionHandler {
  return async (message, place) => {
    const found = await decidable(context, message, place)
    if ('outcome' in found) return found
    const { protocol, decision, lang } = found
    let overruled = false
    const scope = scopeOfSubject(decision, protocol)
    const decided = await context.decisions.decide(decision, scope, context.clock(), (on) => {
      overruled = overrules(decision, on)
      return decidedVerdict(decision, protocol, { ...on, lang }, context.writes)
    })
    const { outcome } = decided
    if (outcome !== 'waiting')
      context.report('decision:handled', {
        protocol: protocol.name,
        outcome,
        overrules: overruled && outcome === 'stands',
      })
    return decided
  }
}

/** The decision with its protocol and the post's language, or why it is none. */
async function decidable(
  { protocols, threads, routes }: DecisionContext,
  message: DecisionMessage,
  place: HumanDecision['place'],
): Promise<
  { readonly protocol: Protocol; readonly decision: HumanDecision; readonly lang?: string | undefined } | DecisionResult
> {
  const refused = (reason: DeadLetterReason, why: string): DecisionResult => ({ outcome: 'refused', reason, why })
  const protocol = protocols.find(({ name }) => name === message.protocol)
  if (protocol === undefined) return refused('invalid', 'protocol: no protocol of this name is on')
  const ref = subjectFor(message, protocol)
  if (ref === null) return refused('invalid', `kind: ${protocol.name} judges no such subjects`)
  const labels = labelsForPeople(protocol)
  if (message.label !== undefined && !labels.includes(message.label))
    return refused('invalid', `label: none of ${protocol.name}'s: ${labels.join(', ')}`)
  const decision = decisionOf(message, place, ref)
  const state = await threads.head(decision.ref)
  const isJudged =
    state === null ||
    state.post === null ||
    state.revisions.has(protocol.name) ||
    routes.of(decision.ref, state.post, state.revisions).includes(protocol)
  if (!isJudged) return refused('unjudgeable', `${protocol.name} does not judge this subject`)
  const cited = citedIn(message, protocol.variantFor?.(decision.ref) ?? protocol, state?.post ?? null)
  if (cited !== undefined && 'refused' in cited) return refused('invalid', `clauses: ${cited.refused}`)
  return { protocol, decision: { ...decision, cited }, lang: state?.post?.lang }
}

/** What a decision cites, checked against the policy that its subject is judged by now; nothing where it cites nothing. */
function citedIn({ clauses, label = '', tenant }: DecisionMessage, protocol: Protocol, post: Post | null) {
  if (clauses === undefined) return undefined
  const policy = protocol.policyFor?.(tenant) ?? null
  return policy?.cite(clauses, label, post) ?? { refused: `${protocol.name} judges by no policy here` }
}

/** What a decision is about; null if its protocol judges nothing of the kind that it names. */
function subjectFor(message: DecisionMessage, { subject }: Protocol): ThreadRef | null {
  const own = subject === 'reply' ? 'reply' : 'post'
  const ref = subjectOf(message, own)
  return ref?.kind === own || subject === 'post' ? ref : null
}
