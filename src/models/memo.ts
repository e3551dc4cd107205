import { setTimeout as sleep } from 'node:timers/promises'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
import { msSince } from '../contracts/ports/clock.ts'
import type { Memo, MemoEntry, MemoLookup } from '../contracts/ports/memo.ts'
import { type AskContext, type AskResult, CallDeferred } from './context.ts'
import type { QuestionLease } from './lease.ts'
import type { GatewayState } from './parts.ts'
import { entriesOf, frameOf, type KnownAnswers, type Question, questionsOf, readEntry } from './questions.ts'
import type { Waiter } from './single-flight.ts'

// Never asks a question whose answer is known, or that another process is asking at the moment: of many asks only the holder of
// the question's lease pays, and the others get its answer. An answer is stored under the model that gave it: before
// another model is paid, its stored answers are looked up. Nothing reveals what another tenant has asked.

/** An ask's share in what others ask at the same time. */
export interface QuestionSharing {
  readonly waiter: Waiter<ThreadRef, MemoEntry>
  readonly lease: QuestionLease
}

/** Answers that are known, and the questions that nobody has answered or is asking: this ask has their leases. */
export interface MemoFindings {
  readonly known: KnownAnswers
  readonly toAsk: readonly Question[]
}

/** The answers of others, and how long they were waited for, in ms. */
export interface OthersAnswers {
  readonly known: KnownAnswers
  readonly waitedMs: number
  /** Their answers may quote deleted words, and are not used: no calls of others are joined from now on. */
  readonly isErased: boolean
}

/**
 * The ask's share in what others ask; null if answers to it are not remembered. Those to one that serves every case are, with the
 * memo off too: else each case had its own.
 */
export function sharingOf(
  { settings, flights, leases }: GatewayState,
  { remember, ask, subject }: AskContext,
): QuestionSharing | null {
  if (!remember || !(settings.memo.enabled || ask.shared === true)) return null
  return { waiter: flights.waiter(subject), lease: leases.lease(subject) }
}

/** The ask's questions, under the keys of this model. `frame`: the messages that they have in common, as sent. */
export function keyedQuestions(
  { questionKeys }: GatewayState,
  { ask, subject }: AskContext,
  sharing: QuestionSharing | null,
  model: string,
  frame: readonly ChatMessage[],
): readonly Question[] {
  const { batch } = ask
  const keys =
    sharing === null
      ? Array.from({ length: batch?.count ?? 1 }, (_, item) => String(item))
      : questionKeys(model, subject.tenant, frameOf(ask), frame, batch?.texts)
  return questionsOf(ask, keys)
}

/**
 * Looks up the open questions; others are asking those that are in neither list. With `anew`, no call is joined that is under way
 * here. Rejects with the store's error, its leases released.
 */
export async function claimQuestions(
  { leases }: GatewayState,
  sharing: QuestionSharing | null,
  open: readonly Question[],
  anew: boolean,
): Promise<MemoFindings> {
  const known = new Map<string, MemoEntry>()
  if (sharing === null) return { known, toAsk: open }
  const { waiter, lease } = sharing
  waiter.leave()
  const started = waiter.join(
    open.map(({ key }) => key),
    anew,
  )
  const wanted = open.filter(({ key }) => started.has(key))
  if (wanted.length === 0) return { known, toAsk: [] }
  const keys = wanted.map(({ key }) => key)
  const looks = await lookUpReadable(lease, wanted).catch(async (error: unknown) => {
    await release(sharing, keys)
    throw error
  })
  const toAsk: Question[] = []
  for (const [index, question] of wanted.entries()) {
    const { key } = question
    const looked = looks[index]
    const flight = waiter.flightOf(key)
    const entry = looked?.state === 'known' ? readEntry(question, looked.entry) : null
    if (entry !== null) {
      known.set(key, entry)
      flight?.resolve(entry)
    } else if (looked?.state === 'leased-by-other') {
      // One poll for all that wait here; it continues if this ask leaves while others still wait.
      if (flight !== undefined)
        void leases
          .watch(key, flight.owner, looked.expiresInMs, () => flight.waiters > 0)
          .then((entry) => flight.resolve(entry))
    } else toAsk.push(question)
  }
  return { known, toAsk }
}

/** Looks questions up. A stored answer that no longer fits its schema gives its place to a lease, so that only one asks anew. */
async function lookUpReadable(lease: QuestionLease, wanted: readonly Question[]): Promise<readonly MemoLookup[]> {
  const looks = await lease.lookUp(wanted.map(({ key }) => key))
  const isUnfit = (one: MemoLookup | undefined, question: Question) =>
    one?.state === 'known' && readEntry(question, one.entry) === null
  const unfit = wanted.filter((question, at) => isUnfit(looks[at], question)).map(({ key }) => key)
  if (unfit.length === 0) return looks
  const anew = await lease.lookUp(unfit, { overwrite: true })
  const byKey = new Map(unfit.map((key, at) => [key, anew[at]]))
  return looks.map((one, at) => byKey.get(wanted[at]?.key ?? '') ?? one)
}

/** Keeps what a model answered to these questions, for all who wait for it. Returns their answers; none where nothing is shared. */
export function keep(
  { ask }: AskContext,
  sharing: QuestionSharing | null,
  mine: readonly Question[],
  given: AskResult,
): KnownAnswers {
  const answers = new Map<string, MemoEntry>()
  if (sharing === null) return answers
  for (const [index, entry] of entriesOf(ask, given, mine.length).entries()) {
    const key = mine[index]?.key ?? ''
    if (entry === null) continue
    answers.set(key, entry)
    sharing.waiter.flightOf(key)?.resolve(entry)
  }
  sharing.lease.keep(answers)
  return answers
}

/** Ends the leases of these keys' questions, so that others may ask them. */
export async function release(sharing: QuestionSharing | null, keys: readonly string[]): Promise<void> {
  if (keys.length === 0 || sharing === null) return
  await sharing.lease.release(keys)
  for (const key of keys) sharing.waiter.flightOf(key)?.resolve(null)
}

/**
 * Waits for what others are asking. Throws `CallDeferred` if that takes longer than the ask is patient or its deadline allows; it has
 * waited so long already, in ms. Rejects with the signal's reason, or the store's error.
 */
export async function waitForOthers(
  { memo, settings, clock }: GatewayState,
  { subject, deadline, signal }: AskContext,
  { waiter }: QuestionSharing,
  others: readonly Question[],
  waitedMs: number,
): Promise<OthersAnswers> {
  const { patience } = settings.memo
  const began = clock()
  const ended = Promise.all(others.map(({ key }) => waiter.flightOf(key)?.ended ?? null))
  const entries = await withTimeout(ended, Math.min(patience - waitedMs, deadline - began), signal)
  if (entries === null)
    throw new CallDeferred('unavailable', 'another worker already has this question in flight', {
      delayMs: Math.round(patience * (1 + Math.random())),
      costsAttempt: false,
    })
  const owners = others.map(({ key }) => waiter.flightOf(key)?.owner ?? subject)
  const tookMs = msSince(clock, began)
  const known = new Map<string, MemoEntry>()
  if (await linkUnlessErased(memo, others, [subject, ...owners])) return { known, waitedMs: tookMs, isErased: true }
  for (const [index, question] of others.entries()) {
    const given = entries[index] ?? null
    const entry = given === null ? null : readEntry(question, given)
    if (entry !== null) known.set(question.key, entry)
  }
  return { known, waitedMs: tookMs, isErased: false }
}

/**
 * Whether words of one of these subjects were deleted lately. A call that was under way then may have asked about them in
 * the same batch, and its answers quote them. Links the answers to the subjects otherwise.
 */
async function linkUnlessErased(
  memo: Memo,
  questions: readonly Question[],
  subjects: readonly ThreadRef[],
): Promise<boolean> {
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
