import { setTimeout as sleep } from 'node:timers/promises'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import { msSince } from '../contracts/ports/clock.ts'
import type { Memo, MemoEntry } from '../contracts/ports/memo.ts'
import { type AskContext, CallDeferred, type Question, type Settled } from './context.ts'
import type { GatewayState } from './parts.ts'
import { entriesOf, itemsOf, questionsOf, readEntry } from './questions.ts'

// Never asks a question whose answer is known, or that another process is asking at the moment: of many askers one pays
// while its lease is alive, and the others get its answer. An answer is stored under the model that gave it: before
// another model is paid, its stored answers are looked up. Nothing reveals what another tenant has asked.

/** Whether answers to the ask are remembered. One that serves every case is, with the memo off too: else each case had its own. */
export function isRemembered({ settings }: Pick<GatewayState, 'settings'>, { remember, ask }: AskContext): boolean {
  return remember && (settings.memo.enabled || ask.shared === true)
}

/** Writes down the ask's open questions, under the keys of the model whose turn it is. */
export function findQuestions(gateway: GatewayState, context: AskContext): void {
  const { questionKeys, flights, leases } = gateway
  const { ask, model, messages, subject, known, asked } = context
  const { batch } = ask
  if (!isRemembered(gateway, context)) {
    context.questions = questionsOf(
      ask,
      Array.from({ length: batch?.count ?? 1 }, (_, item) => String(item)),
    )
    return
  }
  context.sharing ??= {
    ...{ waiter: flights.waiter(subject), lease: leases.lease(subject) },
    ...{ waitedMs: 0, mine: [], alone: false },
  }
  const frame = batch === undefined ? ask : batch.subset([])
  const found = questionsOf(ask, questionKeys(model, subject.tenant, frame, messages, batch?.texts))
  const byItem = new Map(found.map((question) => [question.items[0], question]))
  const before = context.questions
  context.questions =
    before.length === 0
      ? found
      : before.map((one) => (known.has(one.key) || asked.has(one.key) ? one : (byItem.get(one.items[0]) ?? one)))
}

/** Questions that have neither an answer nor a call. */
export function openQuestions({ questions, known, asked }: AskContext): readonly Question[] {
  return questions.filter(({ key }) => !known.has(key) && !asked.has(key))
}

/** Looks up the open questions. Returns those that nobody has answered or is asking: they are this asker's. */
export async function lookUp({ leases }: GatewayState, context: AskContext): Promise<readonly Question[]> {
  const open = openQuestions(context)
  const { sharing, known } = context
  if (sharing === null) return open
  const { waiter, lease, alone } = sharing
  waiter.leave()
  const started = waiter.join(
    open.map(({ key }) => key),
    alone,
  )
  const wanted = open.filter(({ key }) => started.has(key))
  if (wanted.length === 0) return []
  const looks = await lease.look(wanted.map(({ key }) => key)).catch(async (error: unknown) => {
    await release(context, wanted)
    throw error
  })
  const mine: Question[] = []
  for (const [index, question] of wanted.entries()) {
    const { key } = question
    const looked = looks[index]
    const flight = waiter.flightOf(key)
    const entry = looked?.state === 'known' ? readEntry(question, looked.entry) : null
    if (entry !== null) {
      known.set(key, entry)
      flight?.resolve(entry)
    } else if (looked?.state === 'asked') {
      // One poll for everyone who waits here; it continues if this asker leaves while others still wait.
      if (flight !== undefined)
        void leases
          .watch(key, flight.owner, looked.waitMs, () => flight.waiters > 0)
          .then((entry) => flight.resolve(entry))
    } else mine.push(question)
  }
  return mine
}

/** Keeps what a model answered to these questions, for this ask and all who wait for it. */
export function keep(
  { ask, known, asked, paid, sharing }: AskContext,
  mine: readonly Question[],
  given: Settled,
): void {
  paid.push({ ...given, sent: [itemsOf(mine)] })
  for (const { key } of mine) asked.add(key)
  if (sharing === null) return
  const answers = new Map<string, MemoEntry>()
  for (const [index, entry] of entriesOf(ask, given, mine.length).entries()) {
    const key = mine[index]?.key ?? ''
    if (entry === null) continue
    answers.set(key, entry)
    known.set(key, entry)
    sharing.waiter.flightOf(key)?.resolve(entry)
  }
  sharing.lease.keep(answers)
}

/** Lets the next asker ask what has no answer yet. */
export async function release({ known, sharing }: AskContext, questions: readonly Question[]): Promise<void> {
  const left = questions.flatMap(({ key }) => (known.has(key) ? [] : [key]))
  if (left.length === 0 || sharing === null) return
  await sharing.lease.release(left)
  for (const key of left) sharing.waiter.flightOf(key)?.resolve(null)
}

/**
 * Waits for what others are asking, and uses their answers. Throws `CallDeferred` if that takes longer than the ask is
 * patient.
 */
export async function waitForOthers(gateway: GatewayState, context: AskContext): Promise<void> {
  const { memo, settings, clock } = gateway
  const { sharing, known, subject } = context
  const others = openQuestions(context)
  if (others.length === 0 || sharing === null) return
  const { waiter } = sharing
  const { patience } = settings.memo
  const began = clock()
  const ended = Promise.all(others.map(({ key }) => waiter.flightOf(key)?.ended ?? null))
  const mostMs = Math.min(patience - sharing.waitedMs, context.deadline - began)
  const entries = await withTimeout(ended, mostMs, context.signal)
  if (entries === null)
    throw new CallDeferred('unavailable', 'another worker already has this question in flight', {
      delayMs: Math.round(patience * (1 + Math.random())),
      costsAttempt: false,
    })
  const owners = others.map(({ key }) => waiter.flightOf(key)?.owner ?? subject)
  sharing.waitedMs += msSince(clock, began)
  sharing.alone = await anyErased(memo, others, [subject, ...owners])
  if (sharing.alone) return
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
