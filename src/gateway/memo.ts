import { createHash, createHmac, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask } from '../domain/ask.ts'
import { RetryLaterError } from '../domain/errors.ts'
import type { ThreadRef } from '../domain/thread.ts'
import { addUsage, type ChatMessage, noUsage, type Usage } from '../domain/verdict.ts'
import type { Clock } from '../ports/clock.ts'
import type { Kept, Memo, MemoEntry } from '../ports/memo.ts'
import type { Report } from '../ports/report.ts'

export interface MemoSettings {
  /** How long an answer is known, in ms. */
  readonly keepMs: number
  /** How long nobody else asks after an asker's last sign of life, in ms. */
  readonly leaseMs: number
  /** Longest wait in a worker for somebody else's answer, in ms; then the job is held and comes again. */
  readonly patienceMs: number
  /** Longest entry, in bytes: a longer one is kept without its raw text, else not at all. */
  readonly maxBytes: number
}

/** An ask as a call to a model ended it. */
export interface Paid {
  readonly answer: unknown
  readonly failed?: { readonly code: string; readonly detail: string }
  readonly raw: string | null
  /** The model as it names itself. */
  readonly model: string
  readonly usage: Usage
  readonly ms: number
}

export interface Remembered extends Paid {
  /** No call was made for it. */
  readonly memo: boolean
  /** Set where the pieces of the question were answered by several models: the model of each, empty where one has no answer. */
  readonly models?: readonly string[]
  /** Set where a question in pieces was not sent as it stands: the pieces sent, call by call. */
  readonly sent?: readonly (readonly number[])[]
  /** Tokens that these answers took when they were paid for. */
  readonly saved: { readonly promptTokens: number; readonly completionTokens: number }
}

export interface MemoAsking {
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
  /** The model to turn to after this error of another; null where the error is the asker's. */
  instead(error: unknown, model: string): string | null
}

/**
 * Asks no question whose answer is known, and none that somebody asks at this moment, in whatever process: of many askers
 * one pays as long as its lease lives, and the others get its answer. An answer is known under the name of the model that gave
 * it: who turns to another model first looks for what that one has answered. Nobody learns by it what another tenant has
 * asked. `usage.memoHits` counts questions, or pieces of one,
 * that were answered without being asked. Throws `RetryLaterError`, at no attempt's cost, where somebody else's answer
 * takes longer than `patienceMs`.
 */
export type AskOnce = (ask: Ask, asking: MemoAsking) => Promise<Remembered>

export function askOnce(deps: {
  memo: Memo
  settings: MemoSettings
  /** Keys the hashes of questions, so that nobody can tell from a hash what was asked. */
  secret: string
  clock: Clock
  report: Report
}): AskOnce {
  const { memo, settings, clock, report } = deps
  const keyOf = questionKeys(deps.secret)
  const flights = new Map<string, Flight>()

  return async (ask, asking) => {
    let { model } = asking
    let units = await unitsOf(ask, asking, keyOf)
    const asker = randomUUID()
    const known = new Map<string, MemoEntry>()
    const given = new Set<string>()
    const calls: { paid: Paid; pieces: number[] }[] = []
    const joined = new Map<string, Flight>()
    let waitedMs = 0
    try {
      for (;;) {
        const open = units.filter(({ key }) => !known.has(key) && !given.has(key))
        if (open.length === 0) break
        for (const { key } of open) {
          const flight = flights.get(key)
          if (flight !== undefined) join(joined, key, flight)
        }
        const led = open.filter(({ key }) => !joined.has(key))
        for (const { key } of led) join(joined, key, takeOff(key, asking.subject))
        const mine = await look(led)
        // Paid for before anything is waited for: two askers that wait for each other's pieces both get on.
        const other = mine.length > 0 ? await pay(mine) : null
        if (other === null) await wait(open.filter(({ key }) => !known.has(key) && !given.has(key)))
        else turnTo(other)
        leave(joined)
      }
    } finally {
      leave(joined)
    }
    return settled(ask, units, known, calls, waitedMs)

    /** The first of this process looks; returns what is its own to pay for. */
    async function look(led: readonly Unit[]): Promise<Unit[]> {
      if (led.length === 0) return []
      const keys = led.map(({ key }) => key)
      const looks = await memo.look(keys, asker, settings.leaseMs, asking.subject).catch(async (error: unknown) => {
        await giveUp(led)
        throw error
      })
      const mine: Unit[] = []
      for (const [index, unit] of led.entries()) {
        const looked = looks[index]
        const entry = looked?.state === 'known' ? fitting(unit.ask, looked.entry) : null
        if (entry !== null) {
          known.set(unit.key, entry)
          end(unit.key, entry)
        } else if (looked?.state === 'asked') void watch(unit.key, joined.get(unit.key), looked)
        else mine.push(unit)
      }
      return mine
    }

    /** The model to turn to where this one gave no answer, else null. */
    async function pay(mine: readonly Unit[]): Promise<string | null> {
      const stop = stayAlive(mine.map(({ key }) => key))
      try {
        const pieces = mine.map(({ places }) => places[0] ?? 0)
        const whole = ask.pieces === undefined || pieces.length === ask.pieces.count
        const asked = whole || ask.pieces === undefined ? ask : ask.pieces.only(pieces)
        const messages = mine.length === 1 && mine[0] !== undefined ? mine[0].messages : await asking.messagesOf(asked)
        const paid = await asking.pay(asked, messages, model)
        calls.push({ paid, pieces })
        take(mine, entriesOf(ask, paid, mine.length))
        return null
      } catch (error) {
        const other = asking.instead(error, model)
        if (other === null) throw error
        return other
      } finally {
        stop()
        await giveUp(mine)
      }
    }

    /** What has no answer yet is another question from here on. */
    function turnTo(other: string): void {
      model = other
      units = units.map((unit) =>
        known.has(unit.key) || given.has(unit.key)
          ? unit
          : { ...unit, key: keyOf(model, asking.subject.tenant, unit.ask, unit.messages) },
      )
    }

    /** The answers go on at once; whoever asks elsewhere waits for the lease, and finds them kept. */
    function take(mine: readonly Unit[], entries: readonly (MemoEntry | null)[]): void {
      const kept: Kept[] = []
      const tooLong: string[] = []
      for (const [index, { key }] of mine.entries()) {
        given.add(key)
        const entry = entries[index] ?? null
        if (entry === null) continue
        known.set(key, entry)
        const small = bounded(entry, settings.maxBytes)
        if (small === null) tooLong.push(key)
        else kept.push({ key, entry: small })
        end(key, entry)
      }
      // Whatever goes wrong here: answers are paid for, and must not be lost because they can't be kept for others.
      if (kept.length > 0) void memo.keep(kept, asker, settings.keepMs, asking.subject).catch(trouble)
      if (tooLong.length > 0) void memo.giveUp(tooLong, asker).catch(trouble)
    }

    /** Lets the next ask what has no answer yet. */
    async function giveUp(led: readonly Unit[]): Promise<void> {
      const left = led.flatMap(({ key }) => (known.has(key) ? [] : [key]))
      if (left.length === 0) return
      await memo.giveUp(left, asker).catch(trouble)
      for (const key of left) end(key, null)
    }

    function end(key: string, entry: MemoEntry | null): void {
      const flight = joined.get(key)
      if (flight !== undefined) land(key, flight, entry)
    }

    function stayAlive(keys: readonly string[]): () => void {
      const timer = setInterval(() => {
        memo.extend(keys, asker, settings.leaseMs).catch(trouble)
      }, settings.leaseMs / 3)
      return () => clearInterval(timer)
    }

    /** Waits for what others ask. */
    async function wait(others: readonly Unit[]): Promise<void> {
      if (others.length === 0) return
      const began = clock()
      const patience = Math.min(settings.patienceMs - waitedMs, asking.deadline - began)
      const ended = Promise.all(others.map(({ key }) => joined.get(key)?.ended ?? null))
      const entries = await within(ended, patience, asking.signal)
      if (entries === null)
        throw new RetryLaterError('unavailable', 'somebody else is asking the same question', {
          delayMs: Math.round(settings.patienceMs * (1 + Math.random())),
          costsAttempt: false,
        })
      const shared: string[] = []
      for (const [index, { key, ask: alone }] of others.entries()) {
        const entry = entries[index] == null ? null : fitting(alone, entries[index])
        if (entry === null) continue
        known.set(key, entry)
        if (!sameSubject(joined.get(key)?.subject, asking.subject)) shared.push(key)
      }
      if (shared.length > 0) await memo.share(shared, asking.subject)
      waitedMs += clock() - began
    }
  }

  function takeOff(key: string, subject: ThreadRef): Flight {
    const { promise, resolve } = Promise.withResolvers<MemoEntry | null>()
    const flight = { subject, ended: promise, end: resolve, passengers: 0 }
    flights.set(key, flight)
    return flight
  }

  function land(key: string, flight: Flight, entry: MemoEntry | null): void {
    flight.end(entry)
    if (flights.get(key) === flight) flights.delete(key)
  }

  /** Looks again and again for what another process asks, once for all who wait for it here. */
  async function watch(key: string, flight: Flight | undefined, first: { waitMs: number }): Promise<void> {
    if (flight === undefined) return
    const watcher = randomUUID()
    const began = clock()
    let { waitMs } = first
    try {
      while (flight.passengers > 0) {
        await sleep(Math.min(pauseAfter(clock() - began), waitMs + 1))
        const [looked] = await memo.look([key], watcher, settings.leaseMs, flight.subject)
        if (looked === undefined) break
        if (looked.state === 'known') return land(key, flight, looked.entry)
        if (looked.state === 'mine') {
          await memo.giveUp([key], watcher)
          break
        }
        waitMs = looked.waitMs
      }
    } catch (error) {
      trouble(error)
    }
    land(key, flight, null)
  }

  function trouble(error: unknown): void {
    report('trouble:met', { where: 'memo', error })
  }
}

/** A question with the same words in it is one question, however many pieces of an ask it is. */
interface Unit {
  readonly key: string
  readonly ask: Ask
  readonly messages: readonly ChatMessage[]
  /** The pieces that are this question; [0] for an ask that has no pieces. */
  readonly places: number[]
}

/** A question that somebody in this process asks or watches, and all who wait for its end here; null is no answer. */
interface Flight {
  readonly subject: ThreadRef
  readonly ended: Promise<MemoEntry | null>
  end(entry: MemoEntry | null): void
  passengers: number
}

function join(joined: Map<string, Flight>, key: string, flight: Flight): void {
  flight.passengers++
  joined.set(key, flight)
}

function leave(joined: Map<string, Flight>): void {
  for (const flight of joined.values()) flight.passengers--
  joined.clear()
}

/** Pauses between looks, in ms: a fifth of the time waited, so that looks are few and an answer is soon seen. */
function pauseAfter(waitedMs: number): number {
  return Math.min(500, Math.max(20, waitedMs / 5))
}

async function unitsOf(ask: Ask, asking: MemoAsking, keyOf: QuestionKey): Promise<readonly Unit[]> {
  const { pieces } = ask
  const alone = pieces === undefined ? [ask] : Array.from({ length: pieces.count }, (_, index) => pieces.only([index]))
  const units = new Map<string, Unit>()
  const messages = await Promise.all(alone.map((single) => asking.messagesOf(single)))
  for (const [index, single] of alone.entries()) {
    const sent = messages[index] ?? []
    const key = keyOf(asking.model, asking.subject.tenant, single, sent)
    const unit = units.get(key)
    if (unit === undefined) units.set(key, { key, ask: single, messages: sent, places: [index] })
    else unit.places.push(index)
  }
  return [...units.values()]
}

type QuestionKey = (model: string, tenant: string, ask: Ask, messages: readonly ChatMessage[]) => string

/** Raised when what is kept of an answer changes, or for whom: version 1 told every tenant what any had asked. */
const FORM = 2

/**
 * The name of a question: a keyed hash of the model, the tenant whose content it is about, the messages as sent (their last lines hold the schema), and the
 * parameters. Images count by their data.
 */
export function questionKeys(secret: string): QuestionKey {
  return (model, tenant, { stage, temperature, maxTokens }, messages) => {
    const said = messages.map(({ role, content, images = [] }) => [role, content, ...images.map(digest)])
    const question = JSON.stringify([FORM, model, tenant, stage, temperature, maxTokens, said])
    return createHmac('sha256', secret).update(question).digest('base64url')
  }
}

function digest(data: string): string {
  return createHash('sha256').update(data).digest('base64url')
}

/** One entry for each question that was asked together with others; null where the answer left it out. */
function entriesOf({ pieces }: Ask, paid: Paid, count: number): (MemoEntry | null)[] {
  const { model, usage } = paid
  const share = (tokens: number) => Math.round(tokens / count)
  return Array.from({ length: count }, (_, nth) => {
    if (paid.failed !== undefined) return null
    const answer = pieces === undefined ? paid.answer : pieces.take(paid.answer, nth)
    if (answer === undefined) return null
    const raw = count === 1 ? paid.raw : null
    return {
      answer,
      raw,
      model,
      promptTokens: share(usage.promptTokens),
      completionTokens: share(usage.completionTokens),
    }
  })
}

/** What was kept, if it is still an answer to the question as it is read today. */
function fitting(ask: Ask, entry: MemoEntry): MemoEntry | null {
  const read = ask.answer.safeParse(entry.answer)
  return read.success ? { ...entry, answer: read.data } : null
}

function bounded(entry: MemoEntry, maxBytes: number): MemoEntry | null {
  const fits = (some: MemoEntry) => Buffer.byteLength(JSON.stringify(some)) <= maxBytes
  return [entry, { ...entry, raw: null }].find(fits) ?? null
}

function settled(
  ask: Ask,
  units: readonly Unit[],
  known: ReadonlyMap<string, MemoEntry>,
  calls: readonly { readonly paid: Paid; readonly pieces: readonly number[] }[],
  waitedMs: number,
): Remembered {
  const last = calls.at(-1)?.paid
  const asked = new Set(calls.flatMap(({ pieces }) => pieces))
  const answers = new Map<number, MemoEntry>()
  for (const { key, places } of units) {
    const entry = known.get(key)
    if (entry !== undefined) for (const place of places) answers.set(place, entry)
  }
  const remembered = [...answers].flatMap(([place, entry]) => (asked.has(place) ? [] : [entry]))
  const sum = (of: (entry: MemoEntry) => number) => remembered.reduce((total, entry) => total + of(entry), 0)
  const paid = calls.map(({ paid }) => paid.usage).reduce(addUsage, noUsage())
  const around = {
    usage: { ...paid, memoHits: paid.memoHits + remembered.length },
    ms: calls.reduce((total, { paid }) => total + paid.ms, waitedMs),
    memo: calls.length === 0,
    saved: {
      promptTokens: sum(({ promptTokens }) => promptTokens),
      completionTokens: sum(({ completionTokens }) => completionTokens),
    },
    ...(ask.pieces === undefined || (calls.length === 1 && asked.size === ask.pieces.count)
      ? {}
      : { sent: calls.map(({ pieces }) => pieces) }),
  }
  const [one] = answers.values()
  if (one === undefined) {
    if (last === undefined) throw new Error('an ask settled without an answer or a call')
    return { ...last, ...around }
  }
  const { model } = last ?? one
  if (ask.pieces === undefined)
    return { answer: one.answer, raw: last === undefined ? one.raw : last.raw, model, ...around }
  const answer = ask.pieces.join(new Map([...answers].map(([place, entry]) => [place, entry.answer])))
  const models = Array.from({ length: ask.pieces.count }, (_, place) => answers.get(place)?.model ?? '')
  const several = models.some((one) => one !== '' && one !== model)
  return { answer, raw: last?.raw ?? null, model, ...(several ? { models } : {}), ...around }
}

/** What a promise resolves to, null if it takes longer; rejects with the signal's reason when that is aborted. */
async function within<Result>(promise: Promise<Result>, ms: number, signal: AbortSignal): Promise<Result | null> {
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
