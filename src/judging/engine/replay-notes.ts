import type { CaseRecord, JournalEntry } from '../../contracts/facts/case.ts'
import type { Transcript, Turn } from '../../contracts/facts/verdict.ts'
import { questionDigests } from './question-digests.ts'
import type { KeyedAsk } from './replay.ts'

/** How a process asks, as far as a replay must know it. */
export interface ReplayNotes {
  /** Which key texts are fenced and draws are made with (`samplingKeyVersion`). */
  readonly key: string
  /** Who is asked first in a role, and how a model is to think; each by its name in the settings. */
  readonly firstModel: (protocol: string, role: string) => string
  readonly withThinking: (model: string) => string
}

/** Which questions a turn had, and who answered them. A remembered answer is that of the model which is asked first. */
export function notedOf(
  notes: ReplayNotes | undefined,
  protocol: string,
  { ask }: KeyedAsk,
  { calls, role }: JournalEntry,
): Pick<Turn, 'questions' | 'asked'> {
  if (notes === undefined) return {}
  const questions = questionDigests(ask)
  if (ask.lookup !== undefined) return { questions }
  return { questions, asked: notes.withThinking(calls.at(-1)?.model ?? notes.firstModel(protocol, role)) }
}

/** What a replay of the case needs beside its subject and its turns. */
export function replayBasisOf(
  notes: ReplayNotes | undefined,
  { overloaded, step, carry, closedLane }: CaseRecord,
): Pick<Transcript, 'replay'> {
  if (notes === undefined) return {}
  const beside = {
    ...(step === undefined ? {} : { step }),
    ...(carry === null ? {} : { carry }),
    ...(closedLane === undefined ? {} : { closedLane }),
  }
  return { replay: { key: notes.key, overloaded, ...beside } }
}
