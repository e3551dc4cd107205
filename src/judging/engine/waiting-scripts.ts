import type { CaseRecord, JournalEntry } from '../../contracts/facts/case.ts'
import { charactersIn } from '../../contracts/facts/characters-in.ts'
import { classOf, type ServiceClass } from '../../contracts/facts/service-class.ts'
import type { TakenCase } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { StagedAsk } from '../../contracts/ports/stage-queues.ts'
import { type KeyedAsk, noteReadHere, type ScriptProgress } from './replay.ts'

/** A script that waits for the answers of its round. */
interface WaitingScript {
  readonly run: number
  readonly record: CaseRecord
  readonly serviceClass: ServiceClass
  readonly progress: ScriptProgress
  /** ms since 1970 */
  readonly keptAt: number
  /** The answers that this process knows; others may have journaled more. */
  readonly journal: Map<string, JournalEntry>
  readonly subjectCharacters: number
  characters: number
  /** The asks of the round that this process has not seen answered, by key. */
  readonly open: Map<string, KeyedAsk>
}

/** A limit on the characters of subjects, questions and answers, not on scripts: one thread may be a hundred times as long as another. */
const MOST_CHARACTERS = 16_000_000

/**
 * Scripts kept in memory while they wait, so that this process need not replay them. This is only a cache: the journal
 * has everything. When it is full, the script that has waited longest is dropped.
 */
export function waitingScripts(clock: Clock) {
  const waiting = new Map<string, WaitingScript>()
  let characters = 0

  function forget(caseId: string): void {
    characters -= waiting.get(caseId)?.characters ?? 0
    waiting.delete(caseId)
  }

  return {
    /** How many scripts of each share of a class began their round at `since` or later, ms since 1970. */
    recent(since: number, serviceClass: ServiceClass): Map<string, number> {
      const counts = new Map<string, number>()
      for (const { keptAt, record, serviceClass: own } of waiting.values()) {
        const share = record.share ?? record.id
        if (keptAt >= since && own === serviceClass) counts.set(share, (counts.get(share) ?? 0) + 1)
      }
      return counts
    },
    of: (caseId: string): WaitingScript | undefined => waiting.get(caseId),
    forget,
    /** Keeps a script that waits for `open`; one without progress could not be continued, and is not kept. */
    keep({ record, run, journal }: TakenCase, progress: ScriptProgress | null, open: readonly KeyedAsk[]): void {
      forget(record.id)
      if (progress === null) return
      const subject = charactersIn(record.subject)
      const asked = progress.asked.reduce((sum, { ask }) => sum + lengthOf(ask), subject)
      const added = [...journal.values()].reduce((sum, entry) => sum + answerLength(entry), asked)
      const byKey = new Map(open.map((one) => [one.key, one]))
      waiting.set(record.id, {
        run,
        record,
        serviceClass: classOf(record.id),
        progress,
        keptAt: clock(),
        journal: new Map(journal),
        subjectCharacters: subject,
        characters: added,
        open: byKey,
      })
      characters += added
      for (const oldest of waiting.keys()) {
        if (characters <= MOST_CHARACTERS) break
        forget(oldest)
      }
    },
    /**
     * The ask has been answered: if its job runs again, it looks into the journal. `entry` is what the journal has; null
     * if another process wrote it.
     */
    answered({ caseId, run, key }: Pick<StagedAsk, 'caseId' | 'run' | 'key'>, entry: JournalEntry | null): void {
      const script = waiting.get(caseId)
      if (script?.run !== run) return
      script.open.delete(key)
      if (entry === null) return
      noteReadHere(entry)
      script.journal.set(key, entry)
      script.characters += answerLength(entry)
      characters += answerLength(entry)
    },
  }
}
export type WaitingScripts = ReturnType<typeof waitingScripts>

function lengthOf({ messages }: KeyedAsk['ask']): number {
  return messages.reduce((sum, { content, images = [] }) => sum + content.length + images.join('').length, 0)
}

/** An answer is kept as it was written and as it was read. */
function answerLength({ raw }: JournalEntry): number {
  return 2 * (raw?.length ?? 0) + ENTRY_CHARACTERS
}

/** What an entry holds besides its answer. */
const ENTRY_CHARACTERS = 500
