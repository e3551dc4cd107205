import type { AnswerOrFailure, Ask } from '../../contracts/facts/ask.ts'
import type { UsedSteps } from '../../contracts/facts/steps.ts'
import type { Post, ThreadRef } from '../../contracts/facts/thread.ts'
import type { Ruling, RulingSource, Versions } from '../../contracts/facts/verdict.ts'
import type { CitedClause, VerdictConfidence } from '../../contracts/facts/verdict-fields.ts'
import type { HumanDecision } from '../../contracts/ports/decisions.ts'

type AnswersTo<Asks extends readonly Ask[]> = {
  -readonly [Index in keyof Asks]: Asks[Index] extends Ask<infer Answer> ? AnswerOrFailure<Answer> : never
}

/**
 * What a script returns: the decision, and what the next revision of the same subject may build on, which is kept unless the case
 * was shown what was learnt from other subjects.
 */
export interface Conclusion {
  readonly ruling: Ruling
  readonly carry?: unknown
}

/**
 * A protocol's script: yields rounds of asks, receives their answers, and returns its conclusion. It awaits nothing and
 * uses no clock, queue or client; the engine may run it any number of times over the same answers.
 */
export type Script = SubScript<Conclusion>

/** A sub-script: yields rounds as a script does, and returns its result to the script that runs it with `yield*`. */
export type SubScript<Value> = Generator<readonly Ask[], Value, readonly AnswerOrFailure<unknown>[]>

/** Asks all of `asks` in one round. `const [a, b] = yield* round([askA, askB])` types each answer by its ask. */
export function* round<const Asks extends readonly Ask<never>[] | readonly Ask<unknown>[]>(
  asks: Asks,
): SubScript<AnswersTo<Asks>> {
  // The engine returns one answer for each ask, in order, parsed by the ask's own schema: types can't express this.
  if (asks.length === 0) return [] as unknown as AnswersTo<Asks>
  return (yield asks as readonly Ask[]) as AnswersTo<Asks>
}

/** What is known of a case apart from its subject; pinned in its record, so that a replay asks the same. */
export interface PinnedContext {
  /**
   * Whose subject it is: ids are unique only within a tenant, and a draw for one tenant tells nothing about another's.
   */
  readonly tenant?: string
  /** More is due than can be judged in time. */
  readonly overloaded: boolean
  /** The step of load in which it was opened, where one is known (`stepOf` in overload.ts). */
  readonly step?: number | undefined
  /** The first lane that was closed when it was opened, by its hash. */
  readonly closedLane?: string | undefined
  /** No checkpoint is left: what the subject lacks now, no later revision is sure to bring. Left out where that is not known. */
  readonly final?: boolean
  /** Somebody objects to its ruling: whatever an objection can bear on is asked. */
  readonly appealed?: true
}

/** The policy that posts are judged by, as people cite it. */
export interface CitablePolicy {
  readonly named: NonNullable<Ruling['policy']>
  /** Those that forbid. */
  readonly clauses: readonly { readonly id: string; readonly title: string }[]
  /**
   * What a verdict with this label says of these clauses, or why it may not. Without the post, which may be gone, its words can't be
   * checked, and are left out.
   */
  cite(
    clauses: readonly CitedClause[],
    label: string,
    post: Post | null,
  ): NonNullable<HumanDecision['cited']> | { readonly refused: string }
}

/** A first lane of a protocol: thresholds of a decider that is asked before all others. */
export interface ProtocolLane {
  readonly hash: string
  /** What its closing is kept by (`laneMark`): lanes of one decider on the same labels share it. */
  readonly basis: string
  /** Whose posts alone it settles; null: those of all tenants without one of their own. */
  readonly tenant: string | null
  readonly promise: { readonly risk: number; readonly delta: number }
  /** Whose answers it settles by: the model's name in settings, and that by which its server signs. */
  readonly decider: { readonly asked: string | null; readonly signs: string | null }
  /** Labels in languages that it may settle. */
  readonly groups: number
  /** Why it settles nothing for a tenant, in words; null where it does. */
  isVoid(tenant: string): string | null
}

/** A protocol as the engine sees it. The engine never asks which one it is. */
export interface Protocol {
  readonly name: string
  /** Raised whenever the script's rounds or asks change shape. */
  readonly version: number
  /** Stage names, in the order in which a case passes them. Each gets a queue, limits and metrics of its own. */
  readonly stages: readonly string[]
  /**
   * What is judged, and when. `thread`: a post with its comments, at each checkpoint; `post`: a post by itself, when it
   * arrives and when it is edited; `reply`: counterspeech, when it arrives.
   */
  readonly subject: 'thread' | 'post' | 'reply'
  /** What a late or wrong verdict costs beside those of other protocols, from 1 on: due work is in this order. Absent: 1. */
  readonly lateCost?: number
  /** Whether it contains something to judge. */
  accepts(post: Post): boolean
  /**
   * Most calls of models that its script asks for, over a post and at most so many comments, whatever is answered. A call that is
   * retried, or made to another model instead, is one.
   */
  mostCalls(post: Post, comments: number): number
  /**
   * What its paper spends on one subject, for comparison in the bench: model calls, and how many must wait for another.
   */
  readonly paper: { readonly calls: number; readonly depth: number; readonly of: string }
  readonly labels: readonly string[]
  /** The label of what is harmful: any other says that nothing is wrong, and needs all to have been seen. Absent where none does. */
  readonly harmful?: string
  /** What people may decide, where that is not `labels`. */
  readonly peopleLabels?: readonly string[]
  /** The policy for a tenant's posts; null where it judges these by none, left out by a protocol that has no policies. */
  policyFor?(tenant: string): CitablePolicy | null
  /** Ways in which it reaches a verdict by its settings, besides having none and a deletion; absent: any. */
  readonly decides?: readonly RulingSource[]
  /** How sure a ruling is of its label; left out by a protocol that never says. */
  confidence?(ruling: Ruling): VerdictConfidence
  /** By words that its models answer with, in small letters, the labels that these mean: for people who read a debate. */
  readonly meanings?: Readonly<Record<string, string>>
  /** By aspect the lowest and the highest score, of a protocol that gives scores instead of labels. */
  readonly scales?: Readonly<Record<string, readonly [lowest: number, highest: number]>>
  /** By aspect the evaluation steps that it scores by, if it reads such from files. */
  readonly steps?: Readonly<Record<string, UsedSteps>>
  /** Its first lanes; absent where it has none. */
  readonly lanes?: readonly ProtocolLane[]
  /** The one that is asked about a tenant's posts, unless it is closed. */
  laneFor?(tenant: string): Pick<ProtocolLane, 'hash' | 'basis'> | undefined
  /** Every question reaches a model, as in its paper: nothing is answered from the memo. */
  readonly faithful?: boolean
  /** The library's shelves that its lookups search. */
  readonly shelves?: readonly string[]
  /** By shelf the labels that it knows, in small letters, searched now or not; of one that is not named any label will do. */
  readonly shelfLabels?: Readonly<Record<string, readonly string[]>>
  /** The shelf for precedents that are learnt from feedback on its verdicts, if it learns. */
  readonly learns?: string
  /** The stages whose questions can show what those say who object to a ruling; absent where an objection has no place in it. */
  readonly hears?: readonly string[]
  /** It is shown comments under other posts in the same words. */
  readonly elsewhere?: true
  /** What may be kept of a `carry` when comments of the thread have been deleted; if missing, nothing. */
  withoutComments?(carry: unknown, deleted: ReadonlySet<string>): unknown
  /** Hashes for the verdict's `versions`. */
  readonly promptsHash: string
  readonly settingsHash: string
  /** Other settings of it that judge a part of its subjects: the same in shape, each with a name in `variant`. */
  readonly variants?: readonly Protocol[]
  /** The one of them that judges this subject; undefined where it is judged as most are. */
  variantFor?(ref: ThreadRef): Protocol | undefined
  /** Of a variant: its name. */
  readonly variant?: string
  /** As it was with these versions, where its prompts or settings have been replaced since and are still known. */
  earlier?(versions: Versions): Protocol | undefined
  /**
   * Reads the texts of a subject into caches that its script uses: a script can't be interrupted, and thousands of long
   * texts take long. Yields after each text how many characters it had. For a protocol that reads threads.
   */
  prepare?(subject: unknown): Iterable<number>
  /** The script over one subject, a `Snapshot`. Throws if `subject` or `carry` are not this protocol's own. */
  script(subject: unknown, carry: unknown, context?: PinnedContext): Script
}

/** The stages of these protocols; each has a queue. */
export function stagesOf(protocols: readonly Protocol[]) {
  return protocols.flatMap(({ name, stages }) => stages.map((stage) => ({ protocol: name, stage })))
}

/** The names of those that judge replies. */
export function ofReplies(protocols: readonly Protocol[]): ReadonlySet<string> {
  return new Set(protocols.filter(({ subject }) => subject === 'reply').map(({ name }) => name))
}

/** What people may decide in place of the protocol. */
export function labelsForPeople({ labels, peopleLabels = labels }: Protocol): readonly string[] {
  return peopleLabels
}
