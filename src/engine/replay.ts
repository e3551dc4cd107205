import type { Journal } from '../domain/case.ts'
import { journalEntry } from '../domain/case.ts'
import type { Answered, Ask } from '../domain/ask.ts'
import type { Conclusion, Script } from './script.ts'

/** One ask and its key in the journal, `ROUND.INDEX`. */
export interface KeyedAsk {
  readonly key: string
  readonly round: number
  readonly ask: Ask
}

/** Where a script stands after a replay: in a round that is not all answered, or at its conclusion. */
export type Standing =
  | { readonly at: 'round'; readonly open: readonly KeyedAsk[]; readonly asked: readonly KeyedAsk[] }
  | { readonly at: 'end'; readonly conclusion: Conclusion; readonly asked: readonly KeyedAsk[] }

/**
 * Runs the script over the journal up to the first round that is not wholly answered, or to its end. `asked` lists every
 * ask met on the way, in order. Throws where the journal holds an answer to another question than the script asks.
 */
export function replay(script: Script, journal: Journal): Standing {
  const asked: KeyedAsk[] = []
  let step = script.next()
  for (let round = 0; !step.done; round++) {
    const asks = step.value.map((ask, index) => ({ key: `${round}.${index}`, round, ask }))
    asked.push(...asks)
    const open = asks.filter(({ key }) => !journal.has(key))
    if (open.length > 0) return { at: 'round', open, asked }
    step = script.next(asks.map((keyed) => answered(keyed, journal)))
  }
  return { at: 'end', conclusion: step.value, asked }
}

function answered({ key, ask }: KeyedAsk, journal: Journal): Answered<unknown> {
  const entry = journalEntry.parse(journal.get(key))
  if (entry.stage !== ask.stage || entry.role !== ask.role)
    throw new Error(`the journal has ${entry.stage}/${entry.role} at ${key}, the script asks ${ask.stage}/${ask.role}`)
  if (entry.failed !== undefined) return { ok: false, ...entry.failed }
  return { ok: true, answer: ask.answer.parse(entry.answer) }
}
