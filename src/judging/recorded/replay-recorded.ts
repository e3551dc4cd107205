import { type Ask, keptAnswer } from '../../contracts/facts/ask.ts'
import type { Journal, JournalEntry } from '../../contracts/facts/case.ts'
import { addUsage, noUsage, type Ruling, type Turn, type Usage } from '../../contracts/facts/verdict.ts'
import { questionDigests } from '../engine/question-digests.ts'
import { begin, type KeyedAsk, proceed, scriptOf } from '../engine/replay.ts'
import type { Protocol } from '../engine/script.ts'
import type { RecordedAnswers } from './recorded-answers.ts'

/** A question that nobody has answered yet, or a batch of such. */
export interface NewQuestion {
  readonly key: string
  /** As it is asked: of a batch its items without an answer. */
  readonly ask: Ask
  /** As the script has it. */
  readonly whole: Ask
}

/** How a new question was answered, or that it was not. */
export type NewAnswer = Pick<JournalEntry, 'answer' | 'failed' | 'model' | 'usage'>

/** How a case ends under other settings. */
export interface CaseReplay {
  readonly ruling: Ruling
  /** Of all that it asks: what is known as it was paid for, and what is new. */
  readonly usage: Usage
  /** Of what is new alone. */
  readonly newUsage: Usage
  readonly newQuestions: number
  /** All that it asks, and how each was answered. */
  readonly asked: readonly KeyedAsk[]
  readonly journal: Journal
  /** Why new questions have no answer: code and words. */
  readonly failed: readonly string[]
}

/** Who is asked in a role: whether an answer of such a model, as transcripts name it, is one of theirs. */
export type AskedModelCheck = (role: string, asked: string) => boolean

/**
 * Runs the protocol's script over a recorded case: a question that was asked then, of a model that would be asked now, has the answer
 * that it had; any other goes to `anew`. Throws what the script throws.
 */
export async function replayCase(
  protocol: Protocol,
  recorded: RecordedAnswers,
  isOurs: AskedModelCheck,
  anew: (question: NewQuestion) => Promise<NewAnswer>,
): Promise<CaseReplay> {
  const { known, start } = recorded
  const otherModel = [...known.values()].some(
    ({ turn: { role, asked } }) => asked !== undefined && !isOurs(roleIn(role), asked),
  )
  // What other models have scored is not carried on.
  const progress = begin(scriptOf(protocol, otherModel ? { ...start, carry: null } : start))
  const journal = new Map<string, JournalEntry>()
  const settled: SettledAsk[] = []
  for (;;) {
    const state = proceed(progress, journal)
    if (state.at === 'end') return { ...ended(state.conclusion.ruling, settled), asked: state.asked, journal }
    const answers = await Promise.allSettled(state.open.map((keyed) => settle(recorded, isOurs, keyed, anew)))
    for (const [at, { key }] of state.open.entries()) {
      const answer = answers[at]
      if (answer?.status !== 'fulfilled') throw answer?.reason
      settled.push(answer.value)
      journal.set(key, answer.value.entry)
    }
  }
}

/** A turn names a role with the label of its ask behind it. */
function roleIn(named: string): string {
  return named.replace(/ \(.*$/s, '')
}

interface SettledAsk {
  readonly entry: JournalEntry
  readonly asked: NewAnswer | null
}

function ended(ruling: Ruling, settled: readonly SettledAsk[]): Omit<CaseReplay, 'asked' | 'journal'> {
  const anew = settled.flatMap(({ asked }) => (asked === null ? [] : [asked]))
  const newUsage = anew.map(({ usage }) => usage).reduce(addUsage, noUsage())
  return {
    ruling,
    usage: settled.map(({ entry }) => entry.usage).reduce(addUsage, noUsage()),
    newUsage,
    newQuestions: anew.length,
    failed: anew.flatMap(({ failed }) => (failed === undefined ? [] : [`${failed.code} (${failed.detail})`])),
  }
}

async function settle(
  recorded: RecordedAnswers,
  isOurs: AskedModelCheck,
  { key, ask }: KeyedAsk,
  anew: (question: NewQuestion) => Promise<NewAnswer>,
): Promise<SettledAsk> {
  const digests = questionDigests(ask)
  const isKept = ({ asked }: Turn) => asked === undefined || isOurs(ask.role, asked)
  const same = recorded.turns.get(key)
  // Just as it was, a batch without some answers too, and a failure.
  if (same !== undefined && isKept(same) && JSON.stringify(same.questions) === JSON.stringify(digests))
    return { entry: entryFrom(ask, same, same.usage), asked: null }
  const answers = digests.map((digest) => {
    const found = recorded.known.get(digest)
    return found !== undefined && isKept(found.turn) ? found : null
  })
  const [first] = answers
  const { batch } = ask
  if (batch === undefined) {
    if (first !== null && first !== undefined)
      return { entry: entryFrom(ask, first.turn, first.own ? first.turn.usage : noUsage()), asked: null }
    const asked = await anew({ key, ask, whole: ask })
    return { entry: entryFrom(ask, asked, asked.usage), asked }
  }
  const items = answers.flatMap((found, item) => (found === null ? [item] : []))
  const merged = new Map<number, unknown>()
  for (const [item, found] of answers.entries()) {
    // One that its model left out stays left out.
    const part = found === null ? undefined : batch.pick(keptAnswer(ask).parse(found.turn.answer), found.nth)
    if (part !== undefined) merged.set(item, part)
  }
  const model = answers.find((found) => found !== null)?.turn.model ?? ''
  if (items.length === 0)
    return { entry: entryFrom(ask, { answer: batch.merge(merged), model }, noUsage()), asked: null }
  const isWhole = items.length === batch.count
  const asked = await anew({ key, ask: isWhole ? ask : batch.subset(items), whole: ask })
  if (isWhole || asked.failed !== undefined) return { entry: entryFrom(ask, asked, asked.usage), asked }
  for (const [nth, item] of items.entries()) {
    const part = batch.pick(asked.answer, nth)
    if (part !== undefined) merged.set(item, part)
  }
  return { entry: entryFrom(ask, { answer: batch.merge(merged), model: asked.model }, asked.usage), asked }
}

function entryFrom(
  { stage, role }: Ask,
  { answer, failed, model }: Pick<NewAnswer, 'answer' | 'failed' | 'model'>,
  usage: Usage,
): JournalEntry {
  const nothing = { raw: null, calls: [], startedAt: 0, ms: 0, heldMs: 0, memo: false }
  return { stage, role, model, answer, ...(failed === undefined ? {} : { failed }), usage, ...nothing }
}
