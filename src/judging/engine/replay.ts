import { type AnswerOrFailure, type Ask, keptAnswer } from '../../contracts/facts/ask.ts'
import type { CaseRecord, Journal, JournalEntry } from '../../contracts/facts/case.ts'
import type { Conclusion, Protocol, Script } from './script.ts'

/** Entries whose answers this process has read from a model itself, by the schemas of their asks. */
const readHere = new WeakSet<JournalEntry>()

/** The entry's answer need not be read again, as one from the store must. */
export function noteReadHere(entry: JournalEntry): void {
  readHere.add(entry)
}

/** One ask and its key in the journal, `ROUND.INDEX`. */
export interface KeyedAsk {
  readonly key: string
  readonly round: number
  readonly ask: Ask
}

/** The state of a script after a replay: in a round with open asks, or at its conclusion. */
export type ReplayState =
  | { readonly at: 'round'; readonly open: readonly KeyedAsk[]; readonly asked: readonly KeyedAsk[] }
  | { readonly at: 'end'; readonly conclusion: Conclusion; readonly asked: readonly KeyedAsk[] }

/** A script in progress: what it has asked so far, and the round that it waits for. */
export interface ScriptProgress {
  readonly script: Script
  readonly asked: KeyedAsk[]
  step: ReturnType<Script['next']>
  round: number
}

/** What of a case its script is started with. */
export type ScriptStart = Pick<
  CaseRecord,
  'subject' | 'carry' | 'overloaded' | 'step' | 'tenant' | 'final' | 'closedLane'
>

/** A case's script, as every process starts it. */
export function scriptOf(protocol: Protocol, { subject, carry, ...context }: ScriptStart): Script {
  const { overloaded, step, tenant, final, closedLane } = context
  return protocol.script(subject, carry, { overloaded, step, tenant, final, closedLane })
}

/** Starts a script; it waits before its first round. */
export function begin(script: Script): ScriptProgress {
  return { script, asked: [], step: script.next(), round: 0 }
}

/**
 * Feeds the journal's answers to the script, up to the first round with an open ask, or to its end. `asked` lists every
 * ask on the way, in order. Throws if the journal has the answer to another question than the script asks. A script
 * that was restarted is replayed; one that waited in memory continues from its round.
 */
export function proceed(progress: ScriptProgress, journal: Journal): ReplayState {
  for (;;) {
    const { step, round, asked } = progress
    if (step.done) return { at: 'end', conclusion: step.value, asked }
    if (asked.at(-1)?.round !== round)
      asked.push(...step.value.map((ask, index) => ({ key: `${round}.${index}`, round, ask })))
    const asks = asked.slice(asked.length - step.value.length)
    const open = asks.filter(({ key }) => !journal.has(key))
    if (open.length > 0) return { at: 'round', open, asked }
    progress.step = progress.script.next(asks.map((keyed) => answered(keyed, journal)))
    progress.round++
  }
}

/** Runs the script over the journal from its beginning. */
export function replay(script: Script, journal: Journal): ReplayState {
  return proceed(begin(script), journal)
}

function answered({ key, ask }: KeyedAsk, journal: Journal): AnswerOrFailure<unknown> {
  const entry = journal.get(key)
  if (entry?.stage !== ask.stage || entry.role !== ask.role)
    throw new Error(
      `the journal has ${entry?.stage}/${entry?.role} at ${key}, the script asks ${ask.stage}/${ask.role}`,
    )
  if (entry.failed !== undefined) return { ok: false, ...entry.failed }
  const { model, models } = entry
  const answer = ask.lookup === undefined && readHere.has(entry) ? entry.answer : keptAnswer(ask).parse(entry.answer)
  const wasFiltered = entry.calls.some(({ filtered }) => filtered !== undefined)
  return {
    ok: true,
    answer,
    model,
    models,
    ...(wasFiltered ? { filtered: true } : {}),
  }
}
