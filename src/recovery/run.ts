import type { TopicIntake } from '../../consumers/intake.ts'
import type { ReadLimits } from '../../consumers/read-message.ts'
import type { ThreadRef } from '../domain/thread.ts'
import type { Protocol } from '../engine/script.ts'
import type { CaseStore, Outbox } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { RecoveryStore, StoreHold } from '../ports/recovery.ts'
import type { Routes } from '../ports/routes.ts'
import type { StreamMarks, ThreadStore } from '../ports/threads.ts'
import type { GroupProgress, TopicHistory } from '../ports/topic.ts'
import type { CheckpointSettings } from '../threads/checkpoints.ts'
import type { KeepTimes } from './published.ts'

/** What a recovery works with. */
export interface RecoveryParts {
  readonly topics: Readonly<
    Record<'posts' | 'comments' | 'counterspeech' | 'verdicts' | 'transcripts' | 'deadLetters', string>
  >
  readonly history: TopicHistory
  /** How far the service's group has come in the input topics. */
  readonly progress: () => Promise<GroupProgress>
  readonly threads: Pick<ThreadStore, 'read' | 'deletePost'>
  readonly cases: Pick<CaseStore, 'peek'>
  readonly outbox: Pick<Outbox, 'putDeadLetters'>
  readonly marks: StreamMarks
  readonly store: RecoveryStore
  readonly hold: StoreHold
  readonly protocols: readonly Protocol[]
  readonly routes: Routes
  /** By topic name. */
  readonly intakes: ReadonlyMap<string, TopicIntake>
  /** The last revision of a deleted subject. */
  readonly retraction: (ref: ThreadRef, protocol: string, revision: number) => ReturnType<Retract>
  readonly clock: Clock
  readonly settings: {
    readonly limits: ReadLimits
    readonly keep: KeepTimes
    readonly checkpoints: CheckpointSettings & { readonly reopen: boolean }
  }
}
type Retract = Parameters<ThreadStore['deletePost']>[1]

/** One recovery on its way. */
export interface Run extends RecoveryParts {
  /** Takes messages again from here, ms since 1970; null: from the beginning of what the topics keep. */
  readonly since: number | null
  /** Changes nothing. */
  readonly dryRun: boolean
  readonly signal: AbortSignal
  /** Told of so many messages more, and of what is done with them. */
  readonly told: (what: string, messages: number) => void
}

/** Subjects looked at side by side. */
const AT_ONCE = 50

/** Works on the items some at a time; rejects with the signal's reason between two of these. */
export async function sideBySide<Item>(
  { signal }: Pick<Run, 'signal'>,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < items.length; start += AT_ONCE) {
    signal.throwIfAborted()
    await Promise.all(items.slice(start, start + AT_ONCE).map(work))
  }
}
