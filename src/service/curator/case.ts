import type { ClosedTurn } from '../domain/curation.ts'
import { type Snapshot, snapshot } from '../domain/thread.ts'
import type { Transcript } from '../domain/verdict.ts'

/** What a transcript holds to learn from, without the prompts, which are most of it. */
export interface Argument {
  readonly verdictId: string
  readonly subject: Snapshot
  readonly turns: readonly ClosedTurn[]
}

/** Null where the transcript holds no post: it was deleted, or was cut out because it is too large. */
export function argumentOf({ verdictId, subject, turns }: Transcript): Argument | null {
  const read = snapshot.safeParse(subject)
  if (!read.success) return null
  const told = turns.map(({ stage, role, answer, failed }) => {
    return { stage, role, answer, ...(failed === undefined ? {} : { failed }) }
  })
  return { verdictId, subject: read.data, turns: told }
}
