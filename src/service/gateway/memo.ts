import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask } from '../domain/ask.ts'
import { RetryLaterError } from '../domain/errors.ts'
import type { ThreadRef } from '../domain/thread.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import type { Clock } from '../ports/clock.ts'
import type { Memo, MemoEntry } from '../ports/memo.ts'
import type { Report } from '../ports/report.ts'
import {
  askOf,
  type BatchCall,
  entriesOf,
  type Question,
  type Questions,
  questionsOf,
  type Remembered,
  readEntry,
  settledOf,
} from './batch.ts'
import { type Lease, type LeaseSettings, leases } from './lease.ts'
import type { Paid } from './paid.ts'
import { questionKeys } from './question-key.ts'
import { singleFlight, type Waiter } from './single-flight.ts'
import type { ThinkingSettings } from './thinking.ts'

export interface MemoSettings extends LeaseSettings {
  /** Longest wait in a worker for another asker's answer, in ms; then the ask is deferred. */
  readonly patienceMs: number
}

export interface MemoContext {
  /** The model to ask first, by its name in the settings. */
  readonly model: string
  /** The subject whose content the question quotes; another tenant's answers are never found for it. */
  readonly subject: ThreadRef
  readonly signal: AbortSignal
  /** ms since 1970; waiting ends then. */
  readonly deadline: number
  /** The messages as sent to the model, images as data URLs. */
  messagesOf(ask: Ask): Promise<readonly ChatMessage[]>
  /** Has this model answer. Called once at a time, and never for a question that is known or being asked elsewhere. */
  pay(ask: Ask, messages: readonly ChatMessage[], model: string): Promise<Paid>
  /** The model to try after another failed with this error; null if the error is the ask's own. */
  instead(error: unknown, model: string): string | null
}

/**
 * Never asks a question whose answer is known, or that another process is asking at the moment: of many askers one pays
 * while its lease is alive, and the others get its answer. An answer is stored under the model that gave it: before
 * another model is paid, its stored answers are looked up. Nothing reveals what another tenant has asked.
 * `usage.memoHits` counts questions, or items of a batch, that were answered without a call. Throws `RetryLaterError`,
 * at no attempt's cost, if another asker's answer takes longer than `patienceMs`.
 */
export type AskOnce = (ask: Ask, context: MemoContext) => Promise<Remembered>

export function askOnce(deps: {
  memo: Memo
  settings: MemoSettings
  /** The key of the questions' hashes, so that a hash does not reveal what was asked. */
  secret: string
  thinkingOf?: ThinkingSettings['thinkingOf']
  clock: Clock
  report: Report
}): AskOnce {
  const keysOf = questionKeys(deps.secret, deps.thinkingOf)
  const flights = singleFlight<ThreadRef, MemoEntry>()
  const { lease, watch } = leases(deps)

  return async (ask, context) => {
    const { model, subject, messagesOf } = context
    const asked = await questionsOf(ask, model, messagesOf, (name, ...question) =>
      keysOf(name, subject.tenant, ...question),
    )
    const waiter = flights.waiter(subject)
    const state: State = {
      ...{ ask, context, waiter, lease: lease(subject), model, asking: asked, questions: asked.all },
      ...{ known: new Map(), asked: new Set(), calls: [], waitedMs: 0, alone: false },
    }
    try {
      for (;;) {
        const open = openOf(state)
        if (open.length === 0) break
        const started = waiter.join(
          open.map(({ key }) => key),
          state.alone,
        )
        const lookedFor = open.filter(({ key }) => started.has(key))
        const mine = await look(state, lookedFor, watch)
        // Pay before waiting: otherwise two asks that wait for items of each other's batch would block each other.
        const other = mine.length > 0 ? await pay(state, mine) : null
        if (other === null) await waitForOthers(state, deps)
        else turnTo(state, other)
        waiter.leave()
      }
    } finally {
      waiter.leave()
    }
    return settledOf(ask, state.questions, state.known, state.calls, state.waitedMs)
  }
}

/** The progress of an ask. */
interface State {
  readonly ask: Ask
  readonly context: MemoContext
  readonly waiter: Waiter<ThreadRef, MemoEntry>
  readonly lease: Lease
  /** The model that is being asked. */
  model: string
  readonly asking: Questions
  questions: readonly Question[]
  /** Answers by question. */
  readonly known: Map<string, MemoEntry>
  /** Questions for which a call has been made, whether or not it answered them. */
  readonly asked: Set<string>
  readonly calls: BatchCall[]
  waitedMs: number
  /** It joins no calls of others any more: what they answer may quote deleted words. */
  alone: boolean
}

/** Questions that have neither an answer nor a call. */
function openOf({ questions, known, asked }: State): readonly Question[] {
  return questions.filter(({ key }) => !known.has(key) && !asked.has(key))
}

/** Looks up the questions whose flight this asker has started. Returns those that it must pay for itself. */
async function look(
  state: State,
  started: readonly Question[],
  watch: ReturnType<typeof leases>['watch'],
): Promise<readonly Question[]> {
  if (started.length === 0) return []
  const { lease, waiter } = state
  const looks = await lease.look(started.map(({ key }) => key)).catch(async (error: unknown) => {
    await release(state, started)
    throw error
  })
  const mine: Question[] = []
  for (const [index, question] of started.entries()) {
    const { key } = question
    const looked = looks[index]
    const flight = waiter.flightOf(key)
    const entry = looked?.state === 'known' ? readEntry(question, looked.entry) : null
    if (entry !== null) {
      state.known.set(key, entry)
      flight?.resolve(entry)
    } else if (looked?.state === 'asked') {
      // One poll for everyone who waits here; it continues if this asker leaves while others still wait.
      if (flight !== undefined)
        void watch(key, flight.owner, looked.waitMs, () => flight.waiters > 0).then((entry) => flight.resolve(entry))
    } else mine.push(question)
  }
  return mine
}

/** Pays for these questions, in one call. Returns the model to try next if this one gave no answer, else null. */
async function pay(state: State, mine: readonly Question[]): Promise<string | null> {
  const { ask, asking, context, lease, waiter, model } = state
  const keys = mine.map(({ key }) => key)
  try {
    return await lease.during(keys, async () => {
      const { asked, items } = askOf(ask, mine)
      const messages = asking.messages ?? (await context.messagesOf(asked))
      const paid = await context.pay(asked, messages, model)
      state.calls.push({ paid, items })
      const answers = new Map<string, MemoEntry>()
      for (const [index, entry] of entriesOf(ask, paid, mine.length).entries()) {
        const key = keys[index] ?? ''
        state.asked.add(key)
        if (entry !== null) answers.set(key, entry)
      }
      for (const [key, entry] of answers) {
        state.known.set(key, entry)
        waiter.flightOf(key)?.resolve(entry)
      }
      lease.keep(answers)
      return null
    })
  } catch (error) {
    const other = context.instead(error, model)
    if (other === null) throw error
    return other
  } finally {
    await release(state, mine)
  }
}

/** Lets the next asker ask what has no answer yet. */
async function release({ known, lease, waiter }: State, questions: readonly Question[]): Promise<void> {
  const left = questions.flatMap(({ key }) => (known.has(key) ? [] : [key]))
  if (left.length === 0) return
  await lease.release(left)
  for (const key of left) waiter.flightOf(key)?.resolve(null)
}

/** From here on another model is asked, under other keys for what has no answer yet. */
function turnTo(state: State, model: string): void {
  const { known, asked, asking } = state
  const others = new Map(asking.under(model).map((question) => [question.items[0], question]))
  state.model = model
  state.questions = state.questions.map((question) => {
    if (known.has(question.key) || asked.has(question.key)) return question
    return others.get(question.items[0]) ?? question
  })
}

/** Waits for questions that others are asking, and uses their answers. */
async function waitForOthers(
  state: State,
  { memo, settings, clock }: { memo: Memo; settings: MemoSettings; clock: Clock },
): Promise<void> {
  const { known, context, waiter } = state
  const others = openOf(state)
  if (others.length === 0) return
  const began = clock()
  const patienceMs = Math.min(settings.patienceMs - state.waitedMs, context.deadline - began)
  const ended = Promise.all(others.map(({ key }) => waiter.flightOf(key)?.ended ?? null))
  const entries = await withTimeout(ended, patienceMs, context.signal)
  if (entries === null)
    throw new RetryLaterError('unavailable', 'another worker already has this question in flight', {
      delayMs: Math.round(settings.patienceMs * (1 + Math.random())),
      costsAttempt: false,
    })
  const owners = others.map(({ key }) => waiter.flightOf(key)?.owner ?? context.subject)
  state.waitedMs += clock() - began
  state.alone = await anyErased(memo, others, [context.subject, ...owners])
  if (state.alone) return
  for (const [index, question] of others.entries()) {
    const given = entries[index] ?? null
    const entry = given === null ? null : readEntry(question, given)
    if (entry !== null) known.set(question.key, entry)
  }
}

/**
 * Whether words of one of these subjects were deleted lately. A call that was under way then may have asked about them in
 * the same batch, and its answers quote them. Links the answers to the subjects otherwise.
 */
async function anyErased(memo: Memo, questions: readonly Question[], subjects: readonly ThreadRef[]): Promise<boolean> {
  const keys = questions.map(({ key }) => key)
  const each = [...new Map(subjects.map((subject) => [nameOf(subject), subject])).values()]
  return (await Promise.all(each.map((subject) => memo.share(keys, subject)))).includes(false)
}

/** What a promise resolves to, null if it takes too long; rejects with the signal's reason if that is aborted. */
async function withTimeout<Result>(promise: Promise<Result>, ms: number, signal: AbortSignal): Promise<Result | null> {
  const done = new AbortController()
  try {
    return await Promise.race([
      promise,
      sleep(Math.max(0, ms), null, { signal: AbortSignal.any([signal, done.signal]) }),
    ])
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    done.abort()
  }
}

function nameOf({ tenant, kind, postId }: ThreadRef): string {
  return `${tenant}/${kind}:${postId}`
}
