import { setTimeout as sleep } from 'node:timers/promises'
import { BrokerRefused } from '../../src/contracts/facts/broker-refusal.ts'
import type { OutboxEntry } from '../../src/contracts/ports/cases.ts'
import { casesNamed, type PublishedKind } from '../../src/contracts/ports/report.ts'
import { caseIdsOf, charactersIn, type PendingEntry, pendingOf } from './records.ts'
import { answerRequests, hookVerdicts, putDeadLetter, type SendingContext, sendEntries } from './send-entries.ts'
import { sendSunk } from './send-sunk.ts'
import { withSinks } from './sunk-records.ts'

/** Most entries sent together… */
const SENT_AT_ONCE = 64
/**
 * …but of dead letters as many as have so few characters together: short ones, of which a careless producer makes thousands a
 * second, must not fill the outbox and so pause the intake of what can be judged.
 */
const LETTERS_AT_ONCE = { entries: 1_000, characters: 500_000 }
/** Most entries still taken for the last sending before a stop; the rest is left to another publisher. */
const LAST_SENT_AT_ONCE = 1_000
/**
 * No more entries are taken from the outbox while this many entries, or characters of them, wait for their topics: a process has
 * some 190 MB for all that it does.
 */
const MOST_IN_HAND = { entries: 5_000, characters: 32_000_000 }
/** Wait before entries whose sending failed are sent again, in ms. */
const RETRY_MS = 1_000
/** What no retry mends is tried with one entry, after waits that double up to this, in ms: whoever mends it sees it go on. */
const LONGEST_RETRY_MS = 15_000
/** So long does an entry wait for a sink that takes nothing, in ms, and with it its subject's next revision. */
const SINK_WAIT_MS = 30_000
/** Longest wait for the first entry, in ms; it bounds how long a stop takes. */
const WAIT_MS = 500
/** An entry is adopted when the publisher that took it has sent no heartbeat for it for this long, in ms. */
const ABANDONED_MS = 5_000
/** How often this publisher sends that heartbeat, in ms. */
const STILL_SENDING_MS = 1_500
const ADOPT_EVERY_MS = 2_000
/** The store forgets a publisher that has no entries and has taken none for this long, in ms. */
const FORGOTTEN_MS = 600_000
const FORGET_EVERY_MS = 60_000
/** An entry that has waited for longer, in ms, is looked at again before it is sent: its subject may have been deleted. */
const FRESH_MS = 2 * WAIT_MS

/** An entry that this publisher has. */
interface InHand extends PendingEntry {
  /** When it was last looked whether it may be sent, ms since 1970. */
  lookedAt: number
  /** It may be on its topic already. */
  isTried: boolean
  /** It waits: its case was shown what has been deleted since, until it is erased, or the store may have lost data. */
  isWithheld: boolean
  /** When it began to wait for sinks alone, ms since 1970. */
  sinksSince?: number
}

/** Entries of one kind that wait to be sent, in order: for their own topics only, or for none, and not for those of other kinds. */
interface Queue {
  readonly what: PublishedKind | 'answer'
  readonly pending: InHand[]
  /** The last sending failed: a topic accepts nothing. */
  isBlocked: boolean
  /** What no retry mends, and how long to wait before it is tried again, in ms; null while topics take all that they are sent. */
  closed: { readonly refusal: BrokerRefused; readonly waitMs: number } | null
  /** Called when there is something to send, or to stop for. */
  wake: () => void
}

/** A publisher at work. */
interface Publishing extends SendingContext {
  /** This publisher's name, unique among all. */
  readonly name: string
  readonly queues: readonly [verdicts: Queue, letters: Queue, answers: Queue, decisions: Queue, sinks: Queue]
  isStopping: boolean
  /** Aborted with that: nobody waits any longer. */
  readonly stopping: AbortController
}

/**
 * Sends outbox entries to Kafka, and removes them once they are acknowledged: at least once, byte-identical, with the
 * same id. Adopts entries that a dead publisher left behind. Verdicts, dead letters and what is said of decisions wait for their
 * topics separately, and what sinks get behind its verdict; verdicts on what was asked apart from the stream wait for none, and go
 * to their answers.
 * A record that a broker permanently refuses is shortened if possible, and otherwise becomes a `refused` dead letter; a
 * topic that accepts nothing is retried without end. What a broker refuses until a setting is changed closes the gate, and is
 * tried again, more and more seldom, until it has been changed.
 */
export function publisher(given: SendingContext & { readonly name: string }) {
  const queues = [
    queueOf('verdict'),
    queueOf('dead-letter'),
    queueOf('answer'),
    queueOf('decision'),
    queueOf('sink'),
  ] as const
  const publishing: Publishing = { ...given, queues, isStopping: false, stopping: new AbortController() }
  let running: Promise<unknown> = Promise.resolve()
  return {
    start() {
      running = Promise.all([
        readOutbox(publishing),
        ...publishing.queues.map((queue) => sendQueued(publishing, queue)),
      ])
    },
    /** Tries once more to send what has been decided so far, then ends; failures are reported. */
    async close() {
      publishing.isStopping = true
      publishing.stopping.abort()
      for (const { wake } of publishing.queues) wake()
      await running
      await sendLast(publishing)
    },
  }
}

function queueOf(what: Queue['what']): Queue {
  return { what, pending: [], isBlocked: false, closed: null, wake: () => {} }
}

/** Takes entries from the outbox until it is asked to stop, while there is room for them. */
async function readOutbox(publishing: Publishing): Promise<void> {
  const { outbox, name, clock, report } = publishing
  let [adopted, forgot, beaten] = [0, 0, clock()]
  report('loop:succeeded', { loop: 'publisher' })
  while (!publishing.isStopping) {
    try {
      if (clock() - beaten > STILL_SENDING_MS) {
        beaten = clock()
        await outbox.heartbeat(
          name,
          inHand(publishing).map(({ entry }) => entry.id),
        )
      }
      if (!hasRoom(publishing)) {
        await sleep(WAIT_MS)
        report('loop:succeeded', { loop: 'publisher' })
        continue
      }
      if (clock() - adopted > ADOPT_EVERY_MS) {
        adopted = clock()
        for (const entry of await outbox.adopt(name, SENT_AT_ONCE, ABANDONED_MS))
          await take(publishing, entry, { lookedAt: 0, isTried: true })
      }
      if (clock() - forgot > FORGET_EVERY_MS) {
        forgot = clock()
        await outbox.forget(FORGOTTEN_MS)
      }
      const lookedAt = clock()
      const withLetters = hasRoomForLetters(publishing)
      for (const entry of await outbox.next(name, SENT_AT_ONCE, WAIT_MS, { withLetters }))
        await take(publishing, entry, { lookedAt, isTried: false })
      report('loop:succeeded', { loop: 'publisher' })
    } catch (error) {
      report('error', { where: 'publisher', error })
      if (!publishing.isStopping) await sleep(RETRY_MS)
    }
  }
}

/** Puts an entry into its queue; one that this version can't read becomes a dead letter. */
async function take(
  publishing: Publishing,
  entry: OutboxEntry,
  state: Pick<InHand, 'lookedAt' | 'isTried'>,
): Promise<void> {
  // A publisher may re-adopt its own entries after missing heartbeats.
  if (inHand(publishing).some(({ entry: known }) => known.id === entry.id)) return
  const { topics, outbox, traceparentOf, sinks, judgesReplies = () => false } = publishing
  const own = pendingOf(entry, topics, traceparentOf)
  if (own === null) {
    const json =
      entry.kind === 'verdict'
        ? entry.verdict
        : entry.kind === 'proposal'
          ? entry.proposal
          : entry.kind === 'unknown'
            ? entry.json
            : ''
    const record = { topic: topics.verdicts, key: entry.id, value: json }
    await putDeadLetter(publishing, record, 'this version of Gavel can’t read it', entry)
    return outbox.done([entry])
  }
  const pending = sinks === undefined ? own : await withSinks(own, sinks, topics, judgesReplies)
  const [verdicts, letters, answers, decisions] = publishing.queues
  const isOfPeople = entry.kind === 'review' || entry.kind === 'outcome' || entry.kind === 'appeal'
  const ruled = pending.answer === undefined ? verdicts : answers
  const queue = entry.kind === 'dead-letter' ? letters : isOfPeople ? decisions : ruled
  queue.pending.push({ ...pending, ...state, isWithheld: false })
  queue.wake()
}

/** Sends what is queued until it is asked to stop. */
async function sendQueued(publishing: Publishing, queue: Queue): Promise<void> {
  while (!publishing.isStopping) {
    if (queue.pending.length === 0 && queue.closed !== null) await tryWithoutEntry(publishing, queue)
    else if (queue.pending.length === 0)
      await new Promise<void>((resolve) => {
        queue.wake = resolve
      })
    else
      try {
        const asUsual = queue.what === 'dead-letter' ? lettersAtOnce(queue) : SENT_AT_ONCE
        const most = queue.closed === null ? asUsual : 1
        const sent = await (queue.what === 'sink' ? sendSinks(publishing) : sendFirst(publishing, queue, most))
        if (sent === 0 && queue.pending[0]?.isWithheld && !publishing.isStopping) await sleep(WAIT_MS)
      } catch (error) {
        const late = casesNamed(caseIdsOf(queue.pending.slice(0, SENT_AT_ONCE)))
        if (queue.closed === null) publishing.report('error', { where: 'publisher', error, ...late })
        if (!publishing.isStopping) await pause(publishing, queue.closed?.waitMs ?? RETRY_MS)
      }
  }
}

async function pause({ stopping }: Publishing, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})
}

/** What was refused is gone, perhaps erased: whether the next would be is seen by a record of nobody's. */
async function tryWithoutEntry(publishing: Publishing, queue: Queue): Promise<void> {
  const { tryTopic = async () => null, report } = publishing
  const [topic = ''] = queue.closed?.refusal.topics ?? []
  await pause(publishing, queue.closed?.waitMs ?? 0)
  if (publishing.isStopping || queue.pending.length > 0) return
  try {
    const refusal = await tryTopic(topic)
    if (refusal === null) noteOpen(publishing, queue)
    else noteClosed(publishing, queue, refusal)
  } catch (error) {
    report('error', { where: 'publisher', error })
  }
}

function noteClosed({ gate }: Publishing, queue: Queue, refusal: BrokerRefused): void {
  const before = queue.closed?.waitMs
  queue.closed = { refusal, waitMs: before === undefined ? RETRY_MS : Math.min(LONGEST_RETRY_MS, 2 * before) }
  if (queue.what !== 'answer') gate?.close(queue.what, refusal)
}

function noteOpen({ gate }: Publishing, queue: Queue): void {
  queue.closed = null
  if (queue.what !== 'answer') gate?.open(queue.what)
}

/** Sends the first `most` entries of a queue, and removes them from the outbox; resolves to how many it were. */
async function sendFirst(publishing: Publishing, queue: Queue, most: number): Promise<number> {
  const { outbox, clock } = publishing
  const sinks = publishing.queues[4]
  const first = await firstToSend(publishing, queue, most)
  if (first.length === 0) return 0
  try {
    if (queue.what === 'answer') await answerRequests(publishing, first)
    else await sendEntries(publishing, first, { atOnce: !queue.isBlocked })
    if (queue.what !== 'answer') await hookVerdicts(publishing, first)
  } catch (error) {
    if (error instanceof BrokerRefused) noteClosed(publishing, queue, error)
    noteBlocked(publishing, queue, error instanceof Error ? error.message : String(error), first)
    throw error
  }
  const { topics: refused = [] } = queue.closed?.refusal ?? {}
  // What goes elsewhere shows nothing.
  if (first.some(({ records }) => records.some(({ topic }) => refused.includes(topic)))) noteOpen(publishing, queue)
  noteBlocked(publishing, queue, null, first)
  const published = clock()
  const sunk = first.filter((one) => one.sunk.length > 0)
  await outbox.done(first.filter((one) => one.sunk.length === 0).map(({ entry }) => entry))
  remove(queue, first)
  for (const one of sunk) sinks.pending.push(Object.assign(one, { sinksSince: published }))
  if (sunk.length > 0) sinks.wake()
  for (const one of first) {
    tellPublished(publishing, one, published)
    tellUnmapped(publishing, one)
  }
  return first.length
}

function remove(queue: Queue, sent: readonly InHand[]): void {
  const gone = new Set(sent)
  queue.pending.splice(0, queue.pending.length, ...queue.pending.filter((one) => !gone.has(one)))
}

/**
 * Sends sinks what waits for them; resolves to how many entries are done with. Rejects if one takes nothing: its entries wait for it,
 * but neither for long nor more than memory has room for beside all else.
 */
async function sendSinks(publishing: Publishing): Promise<number> {
  const { outbox, clock, queues } = publishing
  const queue = queues[4]
  const first = await firstToSend(publishing, queue, queue.pending.length)
  const isFull = !isWithin(queue.pending, 1 / 4)
  const overdue = first.filter(({ sinksSince = 0 }) => isFull || clock() - sinksSince > SINK_WAIT_MS)
  const why = await sendSunk(publishing, first, new Set(overdue))
  if (first.length > 0) noteBlocked(publishing, queue, why, first)
  const sent = first.filter((one) => one.sunk.every((record) => one.sent.has(record)))
  await outbox.done(sent.map(({ entry }) => entry))
  remove(queue, sent)
  if (why !== null) throw new Error(why)
  return sent.length
}

/**
 * The first `most` entries of a queue, about to be sent. Those that have waited and are erased, or held back, by now leave it: while
 * a topic accepts nothing, that takes hours. Those that are withheld, and may be on their topic, let all others go before.
 */
async function firstToSend({ outbox, clock }: Publishing, queue: Queue, most: number): Promise<readonly InHand[]> {
  const now = clock()
  const waited = queue.pending.slice(0, most).filter(({ lookedAt }) => now - lookedAt > FRESH_MS)
  if (waited.length > 0) {
    const tried = new Set(waited.flatMap(({ entry, isTried }) => (isTried ? [entry.id] : [])))
    const entries = waited.map(({ entry }) => entry)
    const { sendable, withheld } = await outbox.stillToSend(entries, tried)
    const mayGo = new Set(sendable.map(({ id }) => id))
    const waits = new Set(withheld.map(({ id }) => id))
    for (const one of waited) {
      one.lookedAt = now
      one.isWithheld = waits.has(one.entry.id)
      if (mayGo.has(one.entry.id)) continue
      queue.pending.splice(queue.pending.indexOf(one), 1)
      if (one.isWithheld) queue.pending.push(one)
    }
  }
  const first = queue.pending.slice(0, most)
  const known = first.findIndex(({ lookedAt }) => now - lookedAt > FRESH_MS)
  const sendable = (known < 0 ? first : first.slice(0, known)).filter(({ isWithheld }) => !isWithheld)
  for (const one of sendable) one.isTried = true
  return sendable
}

/** Tries once to send what is queued and what the outbox still has, and leaves the publishers. */
async function sendLast(publishing: Publishing): Promise<void> {
  const { outbox, name, queues, clock, report } = publishing
  const attempt = (step: () => Promise<unknown>) =>
    step().catch((error: unknown) =>
      report('error', { where: 'publisher', error, ...casesNamed(caseIdsOf(inHand(publishing))) }),
    )
  await attempt(async () => {
    const lookedAt = clock()
    for (const entry of await outbox.next(name, LAST_SENT_AT_ONCE, 0))
      await take(publishing, entry, { lookedAt, isTried: false })
  })
  await Promise.all(
    queues.map((queue) =>
      attempt(async () => {
        if (queue.what !== 'sink' && queue.pending.length > 0) await sendFirst(publishing, queue, queue.pending.length)
      }),
    ),
  )
  await attempt(() => sendSinks(publishing))
  await attempt(() => outbox.leave(name))
}

/** Notes whether the queue is blocked, and reports a change. `why`: what the failed sending threw; null if it succeeded. */
function noteBlocked({ report }: Publishing, queue: Queue, why: string | null, first: readonly PendingEntry[]): void {
  const { what, isBlocked } = queue
  const held = why !== null
  queue.isBlocked = held
  if (held !== isBlocked && what !== 'answer')
    report('publication:held', { what, held, why: why ?? '', ...casesNamed(caseIdsOf(first)) })
}

function tellPublished({ report }: Publishing, { entry, verdict, proposal }: PendingEntry, published: number): void {
  if (proposal !== undefined) report('proposal:published', { protocol: proposal.protocol, differs: proposal.differs })
  if (entry.kind === 'review') report('review:published', { protocol: entry.review.protocol, why: entry.review.why })
  if (verdict === undefined) return
  const sinceDecided = Math.max(0, published - Date.parse(verdict.timing.decidedAt))
  report('verdict:published', {
    verdict,
    latencySeconds: Math.max(0, published - Date.parse(verdict.timing.receivedAt)) / 1000,
    overheadSeconds: (verdict.timing.overheadMs + sinceDecided) / 1000,
  })
}

/** Tells of sinks that get a letter of this entry. */
function tellUnmapped({ report }: Publishing, { entry, unmapped = [] }: PendingEntry): void {
  const ids = 'caseId' in entry ? { caseId: entry.caseId } : {}
  for (const { topic, detail } of unmapped)
    report('message:dead', { topic, partition: -1, offset: '-1', reason: 'unmapped', detail, ...ids })
}

function inHand({ queues }: Publishing): InHand[] {
  return queues.flatMap(({ pending }) => pending)
}

function hasRoom(publishing: Publishing): boolean {
  return isWithin(inHand(publishing), 1)
}

/** Letters that their topic does not accept leave room for all else. */
function hasRoomForLetters({ queues: [, letters] }: Publishing): boolean {
  return isWithin(letters.pending, 1 / 2)
}

/** Whether so much is less than this part of what may be in hand. */
function isWithin(pending: readonly InHand[], part: number): boolean {
  const characters = pending.reduce((sum, one) => sum + charactersIn(one), 0)
  return pending.length < part * MOST_IN_HAND.entries && characters < part * MOST_IN_HAND.characters
}

function lettersAtOnce({ pending }: Queue): number {
  let [most, characters] = [0, 0]
  for (const one of pending.slice(0, LETTERS_AT_ONCE.entries)) {
    characters += charactersIn(one)
    if (characters > LETTERS_AT_ONCE.characters) break
    most++
  }
  return Math.max(SENT_AT_ONCE, most)
}
