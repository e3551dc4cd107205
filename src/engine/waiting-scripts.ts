import type { CaseRecord } from '../domain/case.ts'
import type { TakenCase } from '../ports/cases.ts'
import type { KeyedAsk, Progress } from './replay.ts'

/** A script that waits for the answers of its round. */
interface WaitingScript {
  readonly run: number
  readonly record: CaseRecord
  readonly progress: Progress
  readonly characters: number
  /** The asks of the round that this process has not seen answered, by key. */
  readonly open: Map<string, KeyedAsk>
}

/** A bound in characters of questions, not in scripts: one thread may be a hundred times as long as another. */
const MOST_CHARACTERS = 16_000_000

/**
 * Scripts that wait in memory, so that this process need not replay them: a cache, for the journal has it all. When it is full,
 * the one that has waited longest goes.
 */
export function waitingScripts() {
  const waiting = new Map<string, WaitingScript>()
  let characters = 0

  function forget(caseId: string): void {
    characters -= waiting.get(caseId)?.characters ?? 0
    waiting.delete(caseId)
  }

  return {
    of: (caseId: string): WaitingScript | undefined => waiting.get(caseId),
    forget,
    /** Keeps a script that waits for `open`; one that has no progress can't be gone on with, and is not kept. */
    keep({ record, run }: TakenCase, progress: Progress | null, open: readonly KeyedAsk[]): void {
      forget(record.id)
      if (progress === null) return
      const added = progress.asked.reduce((sum, { ask }) => sum + lengthOf(ask), 0)
      const byKey = new Map(open.map((asked) => [asked.key, asked]))
      waiting.set(record.id, { run, record, progress, characters: added, open: byKey })
      characters += added
      for (const oldest of waiting.keys()) {
        if (characters <= MOST_CHARACTERS) break
        forget(oldest)
      }
    },
    /** The ask has been answered: a job that comes for it again looks into the journal. */
    answered(caseId: string, key: string): void {
      waiting.get(caseId)?.open.delete(key)
    },
  }
}
export type WaitingScripts = ReturnType<typeof waitingScripts>

function lengthOf({ messages }: KeyedAsk['ask']): number {
  return messages.reduce((sum, { content, images = [] }) => sum + content.length + images.join('').length, 0)
}
