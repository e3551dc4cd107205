import type { IntakeInput } from '../../consumers/intake.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { CaseStore, Outbox } from '../contracts/ports/cases.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionHandler } from '../contracts/ports/decisions.ts'
import type { RecoveryStore, StoreSuspension } from '../contracts/ports/recovery.ts'
import type { Routes } from '../contracts/ports/routes.ts'
import type { StreamMarks, ThreadStore } from '../contracts/ports/threads.ts'
import type { GroupProgress, TopicHistory } from '../contracts/ports/topic.ts'
import type { Protocol } from '../judging/engine/script.ts'
import type { CheckpointSettings } from '../judging/threads/checkpoints.ts'
import type { SubjectKeepTimes } from './published.ts'

/** The parts of a recovery. */
export interface RecoveryParts {
  readonly topics: Readonly<
    Record<'posts' | 'comments' | 'counterspeech' | 'verdicts' | 'transcripts' | 'deadLetters', string>
  > &
    Readonly<Record<'decisions' | 'decisionOutcomes' | 'proposals' | 'reviews' | 'reach', string>>
  readonly history: TopicHistory
  readonly group: string
  /** The group's offsets in the input topics. */
  readonly progress: () => Promise<GroupProgress>
  /** Gives the group these offsets; only for one that has no members. */
  readonly setProgress: (progress: GroupProgress) => Promise<void>
  readonly threads: Pick<ThreadStore, 'read' | 'head' | 'deletePost' | 'raiseReach' | 'linkReply'>
  readonly cases: Pick<CaseStore, 'peek'>
  readonly outbox: Pick<Outbox, 'putDeadLetters'>
  readonly marks: StreamMarks
  readonly store: RecoveryStore
  readonly hold: StoreSuspension
  readonly protocols: readonly Protocol[]
  readonly routes: Routes
  readonly input: IntakeInput
  /** Carries out a decision. */
  readonly decide: DecisionHandler
  /** The retraction of a deleted subject. */
  readonly retraction: (ref: ThreadRef, protocol: string, revision: number, superseded: number) => ReturnType<Retract>
  readonly clock: Clock
  /** What to tell of an error of the store that passes without anything being done to this process; null for any other. */
  readonly outage: (error: unknown) => string | null
  readonly settings: {
    readonly keep: SubjectKeepTimes
    readonly checkpoints: CheckpointSettings & { readonly reopen: boolean }
  }
}
type Retract = Parameters<ThreadStore['deletePost']>[1]

/** One recovery in progress. */
export interface RecoveryRun extends RecoveryParts {
  /** Reads messages from this time on, ms since 1970; null: everything that the topics still have. */
  readonly since: number | null
  /**
   * For a group without offsets: what counts as accepted. Everything that the topics hold, what was sent before this time
   * (ms since 1970), or nothing; null: nobody has said.
   */
  readonly upTo: 'end' | 'nothing' | number | null
  /** Changes nothing. */
  readonly dryRun: boolean
  readonly signal: AbortSignal
  /** Called with how many more messages were read or subjects written, for what purpose, and how many there are in all. */
  readonly told: (what: string, more: number, of: number) => void
  /** Called with what it waits for, and when it begins again. */
  readonly say: (line: string) => void
}

/** Subjects processed in parallel. */
const AT_ONCE = 50

/** Processes the items, some in parallel, and tells of them as `what`; rejects with the signal's reason before the next group. */
export async function sideBySide<Item>(
  { signal, told }: Pick<RecoveryRun, 'signal' | 'told'>,
  items: readonly Item[],
  what: string,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < items.length; start += AT_ONCE) {
    signal.throwIfAborted()
    const some = items.slice(start, start + AT_ONCE)
    await Promise.all(some.map(work))
    told(what, some.length, items.length)
  }
}
