import type { AnswerOrFailure } from '../contracts/facts/ask.ts'
import type { Dialect } from '../contracts/facts/dialect.ts'
import type { Fence } from '../contracts/facts/fence.ts'
import { laneLanguage } from '../contracts/facts/lane-mark.ts'
import { type Snapshot, snapshot } from '../contracts/facts/thread.ts'
import { type Ruling, undecided } from '../contracts/facts/verdict.ts'
import { type PinnedContext, type Protocol, round, type Script } from '../judging/engine/script.ts'
import { DECIDE, type DecidedLabel, type DeciderQuestion } from './decider-question.ts'
import { type Lane, settledBy } from './lane-file.ts'
import { shortHash } from './short-hash.ts'
import { leftOutParts, unreadParts } from './truncation.ts'

/** The lanes of a protocol, and what their decider is asked. */
export interface ProtocolLanes {
  readonly list: readonly Lane[]
  /** Who is asked, as settings name it; undefined where nobody has the role. */
  readonly asked: string | undefined
  /** Over which wire, where the settings say; `auto`: over the first that it answers on. */
  readonly over: Dialect['decisions'] | undefined
  readonly question: DeciderQuestion
  readonly harmful: string
  readonly fence: Fence
}

/** Why a lane settles nothing for a tenant, in words; null where it does. */
function voidBecause(
  { decider, policy }: Lane,
  { asked, over = 'auto', question: { promptsHash } }: Pick<ProtocolLanes, 'asked' | 'over' | 'question'>,
  inForce: Ruling['policy'] | null,
): string | null {
  if (!isAsked({ decider }, asked))
    return `it holds for ${deciderOf({ decider }) ?? 'a decider without a name'}, and ${asked ?? 'nobody'} has the role decider`
  if (decider.prompts === null) return 'its answers are of a file: Gavel does not know how that decider was asked'
  if (decider.prompts !== promptsHash)
    return 'the question that its decider was asked is another now: its prompts, the most characters of a text, or how the model is asked (models.dialects)'
  if (over !== 'auto' && over !== decider.wire)
    return `its decider answered over ${decider.wire ?? 'no wire'}, and models.dialects has ${over}`
  if (policy?.hash !== inForce?.hash && policy?.name === inForce?.name && policy?.version === inForce?.version)
    return `it holds for another text of the policy ${policy?.name} ${policy?.version} than is in force`
  if (policy?.hash !== inForce?.hash)
    return `it holds for the policy ${policy?.name ?? '(none)'} ${policy?.version ?? ''}, and ${inForce?.name ?? 'none'} ${inForce?.version ?? ''} is in force`
  return null
}

/** A lane's decider, as settings name it. */
function deciderOf({ decider: { asked, model } }: Pick<Lane, 'decider'>): string | null {
  return asked ?? model
}

function isAsked(lane: Pick<Lane, 'decider'>, asked: string | undefined): boolean {
  return deciderOf(lane) === (asked ?? null)
}

/** The protocol, which asks a decider first, and judges as ever where that does not settle it. */
export function withLanes(protocol: Protocol, lanes: ProtocolLanes): Protocol {
  const { list, question, asked } = lanes
  const policyOf = (tenant: string) => protocol.policyFor?.(tenant)?.named ?? null
  const laneFor = (tenant: string) =>
    list.find((one) => one.tenant === tenant) ?? list.find((one) => one.tenant === undefined)
  const openLane = (tenant: string) => {
    const lane = laneFor(tenant)
    return lane !== undefined && voidBecause(lane, lanes, policyOf(tenant)) === null ? lane : undefined
  }
  return {
    ...protocol,
    stages: [DECIDE, ...protocol.stages],
    ...(protocol.decides === undefined ? {} : { decides: ['lane', ...protocol.decides] }),
    mostCalls: (post, comments) => 1 + protocol.mostCalls(post, comments),
    promptsHash: shortHash([protocol.promptsHash, question.promptsHash]),
    // A lane of another decider asks nobody: its cases have another shape.
    settingsHash: shortHash([protocol.settingsHash, list.map((lane) => [lane.hash, isAsked(lane, asked)])]),
    lanes: list.map((lane) => ({
      hash: lane.hash,
      basis: lane.basis,
      tenant: lane.tenant ?? null,
      promise: { risk: lane.promise.risk, delta: lane.promise.delta },
      decider: { asked: deciderOf(lane), signs: lane.decider.model },
      groups: lane.thresholds.length,
      isVoid: (tenant) => voidBecause(lane, lanes, policyOf(tenant)),
    })),
    laneFor: openLane,
    script(subject, carry, context = { overloaded: false }) {
      const { tenant = '' } = context
      const lane = openLane(tenant)
      const judged = () => protocol.script(subject, carry, context)
      if (lane === undefined) return judged()
      return laneFirst(lane, snapshot.parse(subject), { ...lanes, policy: policyOf(tenant), context, judged })
    },
  }
}

interface LaneParts extends ProtocolLanes {
  readonly policy: Ruling['policy'] | null
  readonly context: PinnedContext
  /** What the protocol does without a lane. */
  judged(): Script
}

/** The decider, and what the protocol does where it settles nothing: its answer is no evidence then. */
function* laneFirst(lane: Lane, subject: Snapshot, { context, judged, ...parts }: LaneParts): Script {
  // The promise is about texts by themselves.
  if (context.appealed || context.closedLane === lane.hash || !isTextAlone(subject)) {
    const closed = context.closedLane === lane.hash ? { lane: `closed-${lane.hash}` } : {}
    const { ruling, ...rest } = yield* judged()
    return { ...rest, ruling: { ...ruling, ...closed } }
  }
  const [reply] = yield* round([parts.question.ask(subject.post)])
  const settled = rulingBy(lane, subject, reply, parts)
  if (settled !== null) return { ruling: settled }
  const { ruling, ...rest } = yield* judged()
  return { ...rest, ruling: { ...ruling, lane: lane.hash } }
}

function isTextAlone({ post, comments, under }: Snapshot): boolean {
  return (
    post.text.trim() !== '' &&
    (post.media ?? []).length + (post.clips ?? []).length + comments.length === 0 &&
    under === undefined
  )
}

function rulingBy(
  lane: Lane,
  { post }: Snapshot,
  reply: AnswerOrFailure<DecidedLabel>,
  { harmful, fence, policy }: Pick<LaneParts, 'harmful' | 'fence' | 'policy'>,
): Ruling | null {
  if (!reply.ok || reply.model !== lane.decider.model) return null
  const { probabilities, wire } = reply.answer
  if (probabilities === undefined || (wire ?? null) !== lane.decider.wire) return null
  const settled = settledBy(lane, new Map(Object.entries(probabilities)), laneLanguage(post.lang))
  if (settled === null) return null
  const { label, confidence } = settled
  const unread = [...unreadParts(post, [{ kind: 'post', text: post.text }], fence), ...leftOutParts(post)]
  // What nobody read may be the harm, and so may be what a filter refused.
  if (label !== harmful && (unread.length > 0 || reply.filtered === true)) return null
  return {
    ...undecided(),
    label,
    rationale: 'settled by the first lane: a decider was sure of the label, and nothing was debated',
    decidedBy: 'lane',
    debated: { held: false, why: 'lane' },
    confidence: { value: confidence, how: 'lane' },
    ...(policy === null ? {} : { policy }),
    degraded: unread,
    lane: lane.hash,
  }
}
