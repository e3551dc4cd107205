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
  questionsOf,
  type Remembered,
  readEntry,
  settledOf,
} from './batch.ts'
import { type Lease, type LeaseSettings, leases } from './lease.ts'
import type { Paid } from './paid.ts'
import { type QuestionKey, questionKeys } from './question-key.ts'
import { singleFlight, type Waiter } from './single-flight.ts'

export interface MemoSettings extends LeaseSettings {
  /** Longest wait in a worker for somebody else's answer, in ms; then the ask is deferred and comes again. */
  readonly patienceMs: number
}

export interface MemoContext {
  /** The model that is asked first, under the name by which it is asked. */
  readonly model: string
  /** Whose content the question holds; another tenant's answers are never found for it. */
  readonly subject: ThreadRef
  readonly signal: AbortSignal
  /** ms since 1970; nobody waits beyond it. */
  readonly deadline: number
  /** The messages as the model gets them, images as data URLs. */
  messagesOf(ask: Ask): Promise<readonly ChatMessage[]>
  /** Has this model answer. Called at most once at a time, and never for a question that is known or asked elsewhere. */
  pay(ask: Ask, messages: readonly ChatMessage[], model: string): Promise<Paid>
  /** The model to turn to after this error of another; null where the error is the ask's. */
  instead(error: unknown, model: string): string | null
}

/**
 * Asks no question whose answer is known, and none that somebody asks at this moment, in whatever process: of many askers
 * one pays as long as its lease lives, and the others get its answer. An answer is known under the name of the model that gave
 * it: who turns to another model first looks for what that one has answered. Nobody learns by it what another tenant has
 * asked. `usage.memoHits` counts questions, or items of a batch, that were answered without being asked. Throws
 * `RetryLaterError`, at no attempt's cost, where somebody else's answer takes longer than `patienceMs`.
 */
export type AskOnce = (ask: Ask, context: MemoContext) => Promise<Remembered>

export function askOnce(deps: {
  memo: Memo
  settings: MemoSettings
  /** Keys the hashes of questions, so that nobody can tell from a hash what was asked. */
  secret: string
  clock: Clock
  report: Report
}): AskOnce {
  const keyOf = questionKeys(deps.secret)
  const flights = singleFlight<ThreadRef, MemoEntry>()
  const { lease, watch } = leases(deps)

  return async (ask, context) => {
    const { model, subject, messagesOf } = context
    const keyed = (single: Ask, messages: readonly ChatMessage[]) => keyOf(model, subject.tenant, single, messages)
    const questions = await questionsOf(ask, (single) => messagesOf(single), keyed)
    const waiter = flights.waiter(subject)
    const state: State = {
      ...{ ask, context, waiter, lease: lease(subject), model, questions },
      ...{ known: new Map(), asked: new Set(), calls: [], waitedMs: 0 },
    }
    try {
      for (;;) {
        const open = openOf(state)
        if (open.length === 0) break
        const started = waiter.join(open.map(({ key }) => key))
        const lookedFor = open.filter(({ key }) => started.has(key))
        const mine = await look(state, lookedFor, watch)
        // Paid for before anything is waited for: two that wait for items of each other's batch both get on.
        const other = mine.length > 0 ? await pay(state, mine) : null
        if (other === null) await waitForOthers(state, deps)
        else turnTo(state, other, keyOf)
        waiter.leave()
      }
    } finally {
      waiter.leave()
    }
    return settledOf(ask, state.questions, state.known, state.calls, state.waitedMs)
  }
}

/** How far an ask has come. */
interface State {
  readonly ask: Ask
  readonly context: MemoContext
  readonly waiter: Waiter<ThreadRef, MemoEntry>
  readonly lease: Lease
  /** The model that is asked now. */
  model: string
  questions: readonly Question[]
  /** Answers by question. */
  readonly known: Map<string, MemoEntry>
  /** Questions that a call has been made for, whether or not it answered them. */
  readonly asked: Set<string>
  readonly calls: BatchCall[]
  waitedMs: number
}

/** Questions that have neither an answer nor a call. */
function openOf({ questions, known, asked }: State): readonly Question[] {
  return questions.filter(({ key }) => !known.has(key) && !asked.has(key))
}

/** Looks for the answers to questions whose flight this asker has started. Returns those that are its own to pay for. */
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
    const { key, ask } = question
    const looked = looks[index]
    const flight = waiter.flightOf(key)
    const entry = looked?.state === 'known' ? readEntry(ask, looked.entry) : null
    if (entry !== null) {
      state.known.set(key, entry)
      flight?.resolve(entry)
    } else if (looked?.state === 'asked') {
      // One watch for all who wait here; it goes on when this asker has gone and others still wait.
      if (flight !== undefined)
        void watch(key, flight.owner, looked.waitMs, () => flight.waiters > 0).then(flight.resolve)
    } else mine.push(question)
  }
  return mine
}

/** Pays for these questions, in one call. Returns the model to turn to where this one gave no answer, else null. */
async function pay(state: State, mine: readonly Question[]): Promise<string | null> {
  const { ask, context, lease, waiter, model } = state
  const keys = mine.map(({ key }) => key)
  try {
    return await lease.during(keys, async () => {
      const { asked, items } = askOf(ask, mine)
      const [only] = mine
      const messages = mine.length === 1 && only !== undefined ? only.messages : await context.messagesOf(asked)
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

/** Lets the next ask what has no answer yet. */
async function release({ known, lease, waiter }: State, questions: readonly Question[]): Promise<void> {
  const left = questions.flatMap(({ key }) => (known.has(key) ? [] : [key]))
  if (left.length === 0) return
  await lease.release(left)
  for (const key of left) waiter.flightOf(key)?.resolve(null)
}

/** From here on another model is asked: what has no answer yet is another question. */
function turnTo(state: State, model: string, keyOf: QuestionKey): void {
  const { known, asked, context } = state
  state.model = model
  state.questions = state.questions.map((question) => {
    if (known.has(question.key) || asked.has(question.key)) return question
    return { ...question, key: keyOf(model, context.subject.tenant, question.ask, question.messages) }
  })
}

/** Waits for what others ask, and takes their answers. */
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
  const shared: string[] = []
  for (const [index, { key, ask }] of others.entries()) {
    const given = entries[index] ?? null
    const entry = given === null ? null : readEntry(ask, given)
    if (entry === null) continue
    known.set(key, entry)
    if (!sameSubject(waiter.flightOf(key)?.owner, context.subject)) shared.push(key)
  }
  if (shared.length > 0) await memo.share(shared, context.subject)
  state.waitedMs += clock() - began
}

/** What a promise resolves to, null if it takes longer; rejects with the signal's reason when that is aborted. */
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

function sameSubject(a: ThreadRef | undefined, b: ThreadRef): boolean {
  return a?.tenant === b.tenant && a.postId === b.postId && a.kind === b.kind
}
