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

/** A limit on the characters of questions, not on scripts: one thread may be a hundred times as long as another. */
const MOST_CHARACTERS = 16_000_000

/**
 * Scripts kept in memory while they wait, so that this process need not replay them. This is only a cache: the journal
 * has everything. When it is full, the script that has waited longest is dropped.
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
    /** Keeps a script that waits for `open`; one without progress could not be continued, and is not kept. */
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
    /** The ask has been answered: if its job runs again, it looks into the journal. */
    answered(caseId: string, key: string): void {
      waiting.get(caseId)?.open.delete(key)
    },
  }
}
export type WaitingScripts = ReturnType<typeof waitingScripts>

function lengthOf({ messages }: KeyedAsk['ask']): number {
  return messages.reduce((sum, { content, images = [] }) => sum + content.length + images.join('').length, 0)
}
