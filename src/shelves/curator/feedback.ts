import type { ClosedTurn } from '../../contracts/facts/curation.ts'
import type { FeedbackMessage } from '../../contracts/facts/messages.ts'
import { type Snapshot, snapshot } from '../../contracts/facts/thread.ts'
import type { Transcript } from '../../contracts/facts/verdict.ts'
import type { Proposal } from '../../contracts/ports/library.ts'

/** What became of a person's feedback: each message has exactly one of these outcomes; one that was `left` can come again. */
export type FeedbackOutcome =
  | { readonly outcome: 'proposed'; readonly proposal: Proposal; readonly was: string | null }
  /** The library has the proposal already, in whatever state. */
  | { readonly outcome: 'already-proposed' }
  /** The verdict has the same label. */
  | { readonly outcome: 'agreed' }
  /** The same person has said something else since. */
  | { readonly outcome: 'superseded' }
  | { readonly outcome: 'refused'; readonly why: string }
  /** No protocol or label of that name. */
  | { readonly outcome: 'invalid'; readonly why: string }
  /** There is nothing to learn from: no verdict, or no argument. */
  | { readonly outcome: 'unjudgeable'; readonly why: string }
  | { readonly outcome: 'curator-failed'; readonly why: string }
  /** Learning was stopped before this message's turn. */
  | { readonly outcome: 'left' }

/** The part of a verdict that feedback is compared with. */
export interface FeedbackVerdict {
  readonly id: string
  readonly subjectId: string
  readonly label: string | null
}

/** Looks up verdicts and the arguments that led to them. Once the signal is aborted, both may return fewer than there are. */
export interface JudgedVerdicts {
  /** The newest final verdict on each of these subjects (`subjectKey`), by the same key. */
  verdicts(subjects: ReadonlySet<string>, signal: AbortSignal): Promise<ReadonlyMap<string, FeedbackVerdict>>
  /** By verdict id; null where the transcript holds no post. */
  arguments(of: readonly FeedbackVerdict[], signal: AbortSignal): Promise<ReadonlyMap<string, VerdictArgument | null>>
}

/** Key of a subject under a protocol; unique, since neither a protocol's name nor a tenant's holds a space. */
export function subjectKey({
  protocol,
  tenant,
  subjectId,
}: Pick<FeedbackMessage, 'protocol' | 'tenant' | 'subjectId'>) {
  return `${protocol} ${tenant} ${subjectId}`
}

/** What a transcript holds to learn from, without the prompts, which are most of it. */
export interface VerdictArgument {
  readonly verdictId: string
  readonly subject: Snapshot
  readonly turns: readonly ClosedTurn[]
}

/** Null where the transcript holds no post: it was deleted, was cut out because it is too large, or was on a list, and is kept as hashes. */
export function argumentOf({ verdictId, subject, turns }: Transcript): VerdictArgument | null {
  const read = snapshot.safeParse(subject)
  if (!read.success || (turns.length === 0 && HASH_ALONE.test(read.data.post.text))) return null
  const turnsShown = turns.map(({ stage, role, answer, failed }) => {
    return { stage, role, answer, failed }
  })
  return { verdictId, subject: read.data, turns: turnsShown }
}

/** The words of a post that was on a list, in its transcript. */
const HASH_ALONE = /^sha256:[0-9a-f]{64}$/
