import type { DeadLetterReason } from '../../contracts/facts/messages.ts'
import type { IncomingMessage } from '../../contracts/ports/topic.ts'
import type { CuratorCost } from './ask-curator.ts'
import type { FeedbackOutcome } from './feedback.ts'

/** What became of one message. */
export type End =
  | FeedbackOutcome
  | { readonly outcome: 'unreadable'; readonly reason: DeadLetterReason; readonly why: string }

/** How many messages had which outcome; each counts once. */
export interface LearningTally extends CuratorCost {
  readonly read: number
  readonly proposed: number
  readonly alreadyProposed: number
  readonly agreed: number
  /** The same person has said something else since. */
  readonly superseded: number
  readonly refused: number
  /** Can't be read, or names a protocol or label that there is not. */
  readonly invalid: number
  /** No verdict, or no argument. */
  readonly unjudgeable: number
  readonly curatorFailed: number
  /** Not finished, because learning was stopped. */
  readonly left: number
  /** Why some were refused or put aside, the most frequent first. */
  readonly reasons: readonly { readonly why: string; readonly messages: number; readonly first: string }[]
  readonly seconds: number
}

/** Most different reasons that are counted. */
const REASONS_KEPT = 1_000

export type Tally = ReturnType<typeof tallying>

/** Counts messages by outcome, and the reasons of those that were refused or put aside. */
export function tallying() {
  const counts = new Map<End['outcome'], number>()
  const reasons = new Map<string, { why: string; messages: number; first: string }>()
  const of = (outcome: End['outcome']) => counts.get(outcome) ?? 0
  return {
    count({ topic, partition, offset }: Pick<IncomingMessage, 'topic' | 'partition' | 'offset'>, end: End): void {
      counts.set(end.outcome, of(end.outcome) + 1)
      if (!('why' in end)) return
      const known = reasons.get(end.why)
      if (known !== undefined) known.messages++
      else if (reasons.size < REASONS_KEPT)
        reasons.set(end.why, { why: end.why, messages: 1, first: `${topic}/${partition}@${offset}` })
    },
    counts() {
      return {
        read: [...counts.values()].reduce((sum, count) => sum + count, 0),
        proposed: of('proposed'),
        alreadyProposed: of('already-proposed'),
        agreed: of('agreed'),
        superseded: of('superseded'),
        refused: of('refused'),
        invalid: of('invalid') + of('unreadable'),
        unjudgeable: of('unjudgeable'),
        curatorFailed: of('curator-failed'),
        left: of('left'),
        reasons: [...reasons.values()].sort((a, b) => b.messages - a.messages),
      }
    },
  }
}

/** The reason with which a message becomes a dead letter; null if it does not. */
export function deadReason(end: End): { reason: DeadLetterReason; detail: string } | null {
  switch (end.outcome) {
    case 'unreadable':
      return { reason: end.reason, detail: end.why }
    case 'invalid':
    case 'unjudgeable':
      return { reason: end.outcome, detail: end.why }
    case 'curator-failed':
      return { reason: 'unjudgeable', detail: end.why }
    default:
      return null
  }
}
