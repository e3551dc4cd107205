import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../config/schema.ts'
import type { AnyIntake, ReadOk } from '../../consumers/intake.ts'
import { dateOf, deadLetterOf, readMessage } from '../../consumers/read-message.ts'
import { rangesOf, readRanges } from '../adapters/kafka/bounded-reader.ts'
import { groupProgress, positionsOf } from '../adapters/kafka/offsets.ts'
import { incomingOf, jsonOf } from '../adapters/kafka/record.ts'
import { redisCases, redisOutbox } from '../adapters/redis/cases.ts'
import { checkRedis, connect } from '../adapters/redis/connect.ts'
import { keysUnder } from '../adapters/redis/keys.ts'
import { redisLineage } from '../adapters/redis/lineage.ts'
import { redisMemo } from '../adapters/redis/memo.ts'
import { redisRecovery } from '../adapters/redis/recovery.ts'
import { secretOf } from '../adapters/redis/shared-key.ts'
import { redisMarks, redisThreads } from '../adapters/redis/threads.ts'
import { farewellOf, intakesOf, libraryOf, topicsOf } from '../assembly.ts'
import { OperatorError } from '../domain/errors.ts'
import { fences } from '../domain/fence.ts'
import { lots } from '../domain/lot.ts'
import { deadLetter, OUTCOMES, type Outcome } from '../domain/messages.ts'
import { type Post, snapshot, type ThreadRef } from '../domain/thread.ts'
import { transcript, verdict } from '../domain/verdict.ts'
import { snapshotOf, versionSeenBy } from '../engine/open.ts'
import {
  forgottenAt,
  isOver,
  noteMessage,
  nothingNew,
  type PublishedSubject,
  publishedRevisions,
  seenIn,
  subjectKey,
} from '../engine/recover.ts'
import { router } from '../engine/routes.ts'
import type { StreamMark } from '../ports/threads.ts'
import type { Incoming, Range } from '../ports/topic.ts'
import { makeProtocols } from '../protocols/make.ts'
import { advanceMark, UNREAD } from '../threads/stream-clock.ts'
import { counted, type Terminal } from './terminal.ts'
import { readingClient } from './verdicts.ts'

/** What a recovery found and did; of a dry run, what it would do. */
export interface Recovered {
  readonly dryRun: boolean
  /** Subjects with a verdict on the topic, and how many of them had ended and are forgotten by now. */
  readonly subjects: number
  readonly over: number
  /** Revisions that Redis did not know of. */
  readonly revisions: number
  /** Open cases whose revision had been published. */
  readonly givenUp: number
  /** Messages read again, and what became of them; none in a dry run. */
  readonly messages: number
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>
  readonly seconds: number
}

/** Processes that run hear of a hold within this time, and have ended the batch that they were at, in ms. */
const HEARD_AFTER_MS = 3_000
/** Where one has noticed a loss, the others have within this time, in ms. */
const HEARD_BY_ALL_MS = 1_000
/** Subjects looked at side by side. */
const AT_ONCE = 50
const PROGRESS_EVERY = 1_000

/**
 * `gavel recover`: after Redis was emptied or lost its last writes. Revisions come back from the verdicts topic, what was
 * accepted from the input topics, from `since` (ms since 1970) or the beginning of what they keep; what its last verdict has
 * seen is not judged again. Meanwhile no process takes messages in or opens a case. Changes nothing when it is run again.
 */
export async function recover(
  settings: Settings,
  options: { since: number | null; dryRun: boolean },
  io: { terminal: Terminal; signal: AbortSignal },
): Promise<Recovered> {
  const { terminal, signal } = io
  const waiting = { signal, say: terminal.say }
  const began = Date.now()
  const clock = Date.now
  const topics = topicsOf(settings)
  // Posts first: comments then find theirs, and a deletion keeps out what comes after it.
  const inputs = [topics.posts, topics.comments, topics.counterspeech]
  const keys = keysUnder(settings.redis.prefix)
  const keep = { keepTombstoneMs: settings.threads.keepTombstone, keepThreadMs: settings.threads.keepAfterFinal }
  const client = connect(settings.redis, () => {}, 'impatient')
  const library = libraryOf(settings, clock)
  const stopIfAsked = () => {
    if (signal.aborted) throw new Stopped()
  }
  try {
    await checkRedis(client, settings.redis)
    const kafka = await readingClient(settings, terminal)
    const lineage = redisLineage(client, keys)
    const threads = redisThreads(client, keys, keep)
    const cases = redisCases(client, keys, clock)
    const outbox = redisOutbox(client, client, keys, {
      keepJournalMs: settings.cases.keepJournal,
      keepThreadMs: keep.keepThreadMs,
      keepRevisionsMs: keep.keepTombstoneMs,
      clock,
    })
    const marks = redisMarks(client, keys)
    const recovery = redisRecovery(client, keys, { ...keep, clock, allAgain: options.since === null })
    const memo = redisMemo(client, keys.under)
    const secret = await secretOf(client, keys, settings.fences.key, (_, event) => {
      if ('advice' in event) terminal.say(event.advice)
    })
    const lot = lots(secret)
    const protocols = makeProtocols(settings.protocols, fences(secret, settings.fences), lot)
    const routes = router(protocols, settings.routes, lot)
    const intakes = intakesOf(topics, {
      settings,
      threads,
      cases,
      queues: null,
      protocols,
      routes,
      library,
      memo,
      lot,
      clock,
    })
    const farewell = farewellOf(protocols, clock)
    const { checkpoints } = settings

    // Before anything is held for it: a wrong prefix must not bring the services to a stand.
    for (const topic of inputs) await rangesOf(kafka, topic, null, waiting)
    if (!options.dryRun) {
      const stoodStill = await lineage.hold()
      const { alone } = await groupProgress(kafka, settings.kafka.group, inputs)
      if (!alone) await sleep(stoodStill ? HEARD_BY_ALL_MS : HEARD_AFTER_MS, undefined, { signal })
    }
    const progress = await groupProgress(kafka, settings.kafka.group, inputs)
    const accepted = new Map<string, Map<number, Range>>()
    for (const topic of inputs) {
      const whole = await rangesOf(kafka, topic, options.since, waiting)
      accepted.set(topic, new Map([...whole].map(([at, { from, to }]) => [at, { from, to: takenUpTo(topic, at, to) }])))
    }
    /** Where the group has come to in a partition. Behind its end, the topic was made anew and the group begins again. */
    function takenUpTo(topic: string, partition: number, end: bigint): bigint {
      const next = progress.committed.get(topic)?.get(partition) ?? 0n
      return next > end ? 0n : next
    }
    const reading = (what: string) => telling(terminal, what)

    const published = await readPublished()
    const { over, live } = await partedByEnd(published)
    const { revisions, givenUp } = await restoreRevisions(live)
    if (!options.dryRun)
      await sideBySide(
        [...over].flatMap(([key, forgotten]) => {
          const subject = published.get(key)
          return subject === undefined ? [] : [{ ...subject, forgotten }]
        }),
        async ({ ref, last, forgotten }) => {
          await recovery.bury(ref, forgotten, last.values())
        },
      )
    const whole = await rangesOf(kafka, topics.verdicts, null, waiting)
    // A topic of which nothing has expired tells of every revision there ever was.
    if (!options.dryRun) await lineage.vouch([...whole.values()].every(({ from }) => from === 0n))
    const { messages, outcomes, touched } = await readAgain(over)
    if (!options.dryRun) {
      await settle(live, touched)
      await lineage.release(positionsOf(progress))
    }
    return {
      dryRun: options.dryRun,
      subjects: published.size,
      over: over.size,
      revisions,
      givenUp,
      messages,
      outcomes,
      seconds: (Date.now() - began) / 1000,
    }

    async function readPublished(): Promise<ReadonlyMap<string, PublishedSubject>> {
      const found = publishedRevisions(protocols)
      const everything = async (topic: string, take: (json: unknown) => void) => {
        const tell = reading(topic)
        await readRanges(kafka, topic, await rangesOf(kafka, topic, null, waiting), waiting, async (_, records) => {
          for (const record of records) take(jsonOf(record))
          tell(records.length)
        })
        stopIfAsked()
      }
      await everything(topics.verdicts, (json) => {
        const read = verdict.safeParse(json)
        if (read.success) found.take(read.data)
      })
      await everything(topics.transcripts, (json) => {
        const read = SEEN_OF_TRANSCRIPT.safeParse(json)
        if (read.success) found.see(read.data)
      })
      return found.subjects
    }

    /** Subjects whose thread would be gone by now even if nothing had been lost, and the others. */
    async function partedByEnd(subjects: ReadonlyMap<string, PublishedSubject>) {
      const now = clock()
      const ended = () => [...subjects].filter(([, subject]) => isOver(subject, keep, now))
      if (ended().length > 0)
        await eachMessage('looked at', async (read) => {
          for (const { message, from } of read) {
            const ref = refOf(from.topic, message)
            const subject = subjects.get(subjectKey(ref))
            if (subject === undefined) continue
            noteMessage(subject, from.topic === topics.comments ? 'comment' : 'post', from.timestamp, keep)
            if (from.topic !== topics.comments && message.deleted !== true)
              subject.owed ||= routes.of(ref, message as unknown as Post).some(({ name }) => !subject.last.has(name))
          }
        })
      const over = new Map(ended().map(([key, subject]) => [key, forgottenAt(subject, keep)]))
      return { over, live: [...subjects].filter(([key]) => !over.has(key)).map(([, subject]) => subject) }
    }

    async function restoreRevisions(subjects: readonly PublishedSubject[]) {
      let [raised, abandoned] = [0, 0]
      await sideBySide(subjects, async ({ ref, last }) => {
        const revisions = [...last.values()]
        if (options.dryRun) {
          const state = await threads.read(ref)
          const behind = revisions.filter(
            ({ protocol, revision, deleted }) => !deleted && (state?.revisions.get(protocol)?.revision ?? 0) < revision,
          )
          raised += behind.length
          return
        }
        const done = await recovery.restore(ref, revisions)
        raised += done.raised
        abandoned += done.givenUp
        if (revisions.some(({ deleted }) => deleted))
          await threads.deletePost(ref, (protocol, revision) => farewell(ref, protocol, revision))
      })
      return { revisions: raised, givenUp: abandoned }
    }

    /**
     * Takes again what was accepted, but for what came to a subject before it was over (`over`: until when, ms); returns where
     * something was taken.
     */
    async function readAgain(over: ReadonlyMap<string, number>) {
      const dead = await deadPlaces()
      const seenMarks = new Map<string, StreamMark>([...(await marks.read())])
      const outcomes = new Map<Outcome, number>()
      const touched = new Map<string, ThreadRef>()
      let messages = 0
      await eachMessage(
        'read again',
        async (read, take) => {
          messages += read.length
          for (const { message, from } of read) {
            const at = `${from.topic}/${from.partition}`
            if (take.clocked) seenMarks.set(at, advanceMark(seenMarks.get(at) ?? UNREAD, message.createdAt))
          }
          if (options.dryRun) return
          const wanted = read.filter(
            ({ message, from }) =>
              from.timestamp > (over.get(subjectKey(refOf(from.topic, message))) ?? Number.NEGATIVE_INFINITY) &&
              !dead.has(placeOf(from, dateOf(from.timestamp))),
          )
          for (const { message, from } of wanted) {
            const ref = refOf(from.topic, message)
            touched.set(subjectKey(ref), ref)
          }
          for (const outcome of wanted.length === 0 ? [] : await take.take(wanted as unknown as ReadOk<never>[]))
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        },
        async (bad) => {
          messages += bad.length
          const missing = bad.filter(({ from }) => !dead.has(placeOf(from, dateOf(from.timestamp))))
          if (options.dryRun || missing.length === 0) return
          await outbox.putDeadLetters(missing.map(({ from, ...why }) => deadLetterOf(from, why)))
          outcomes.set('dead-letter', (outcomes.get('dead-letter') ?? 0) + missing.length)
        },
      )
      if (!options.dryRun) await marks.write(await marksAtEnd(seenMarks))
      const inOrder = OUTCOMES.flatMap((outcome) => {
        const count = outcomes.get(outcome)
        return count === undefined ? [] : [[outcome, count] as const]
      })
      return { messages, outcomes: Object.fromEntries(inOrder), touched }
    }

    /** Every clocked partition has a mark, also one that never had a message, so that the clock goes. */
    async function marksAtEnd(read: ReadonlyMap<string, StreamMark>): Promise<Map<string, StreamMark>> {
      const now = clock()
      const all = new Map(read)
      for (const topic of [topics.posts, topics.comments])
        for (const [partition, { to }] of await rangesOf(kafka, topic, null, waiting)) {
          const at = `${topic}/${partition}`
          const done = takenUpTo(topic, partition, to) >= to
          const before = all.get(at) ?? UNREAD
          all.set(at, {
            ...before,
            endSince: done ? (before.endSince ?? now) : null,
            seenAt: done ? now : before.seenAt,
          })
        }
      return all
    }

    /** Where the dead letters that stand on their topic came from. */
    async function deadPlaces(): Promise<ReadonlySet<string>> {
      const places = new Set<string>()
      const { deadLetters: topic } = topics
      await readRanges(kafka, topic, await rangesOf(kafka, topic, null, waiting), waiting, async (_, records) => {
        for (const record of records) {
          const letter = deadLetter.safeParse(jsonOf(record))
          if (letter.success) places.add(placeOf(letter.data, letter.data.at))
        }
      })
      stopIfAsked()
      return places
    }

    /** What a revision has seen already is not to be judged again. */
    async function settle(live: readonly PublishedSubject[], touched: ReadonlyMap<string, ThreadRef>): Promise<void> {
      const known = new Map(live.map((subject) => [subjectKey(subject.ref), subject]))
      const refs = new Map([...touched, ...live.map(({ ref }) => [subjectKey(ref), ref] as const)])
      await sideBySide([...refs], async ([key, ref]) => {
        const state = await threads.read(ref)
        if (state === null || state.post === null) return
        for (const [name, { revision, openId, final }] of state.revisions) {
          const protocol = protocols.find((one) => one.name === name)
          if (protocol === undefined) continue
          const last = known.get(key)?.last.get(name)
          const record = openId === null ? undefined : (await cases.peek(openId))?.record
          const openSaw = snapshot.safeParse(record?.subject)
          const before =
            record !== undefined && openSaw.success && record.revision === revision
              ? seenIn(openSaw.data)
              : last?.revision === revision
                ? last.seen
                : null
          const now = seenIn(snapshotOf(protocol, state, state.post, { checkpoints }).subject)
          const sealed = protocol.subject === 'thread' && final && !settings.checkpoints.reopen
          if (nothingNew(before, now, sealed))
            await recovery.settle(ref, {
              protocol: name,
              revision,
              version: state.version,
              seen: versionSeenBy(protocol, state),
            })
        }
      })
    }

    async function eachMessage(
      what: string,
      take: (read: readonly Readable[], intake: AnyIntake) => Promise<void>,
      bad: (unreadable: readonly Unreadable[]) => Promise<void> = async () => {},
    ): Promise<void> {
      const limits = { maxBytes: settings.intake.maxMessageBytes, maxAheadMs: settings.intake.maxAhead }
      for (const [topic, ranges] of accepted) {
        const intake = intakes.get(topic)
        if (intake === undefined) continue
        const tell = reading(`${topic}, ${what}`)
        await readRanges(kafka, topic, ranges, waiting, async (partition, records) => {
          stopIfAsked()
          const now = clock()
          const all = records.map((record) =>
            readMessage(incomingOf(topic, partition, record), intake.schema, limits, now),
          )
          await take(
            all.flatMap((one) => (one.ok ? [one as unknown as Readable] : [])),
            intake,
          )
          await bad(all.flatMap((one) => (one.ok ? [] : [one])))
          tell(records.length)
        })
        stopIfAsked()
      }
    }

    async function sideBySide<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
      for (let start = 0; start < items.length; start += AT_ONCE) {
        stopIfAsked()
        await Promise.all(items.slice(start, start + AT_ONCE).map(work))
      }
    }

    function refOf(topic: string, message: AnyMessage): ThreadRef {
      const { tenant, id, postId } = message
      if (topic === topics.counterspeech) return { tenant, postId: id, kind: 'reply' }
      return { tenant, postId: topic === topics.comments && postId !== undefined ? postId : id, kind: 'post' }
    }
  } catch (error) {
    if (!signal.aborted) throw error
    const left = options.dryRun
      ? 'Stopped; nothing was changed.'
      : 'Stopped half-way. Running services take nothing in until "gavel recover" has come to its end: run it again.'
    throw new OperatorError(left, { cause: error })
  } finally {
    client.disconnect()
    await library.close()
  }
}

/** The result in words. */
export function tellRecovered(done: Recovered, options: { json: boolean }, io: { terminal: Terminal }): void {
  const { terminal } = io
  if (options.json) {
    terminal.out(JSON.stringify(done))
    return
  }
  const would = done.dryRun ? 'would be ' : ''
  terminal.out(
    `${counted(done.subjects, 'subject')} with verdicts, ${done.over} of them over; ${counted(done.revisions, 'revision')} ${would}restored`,
  )
  if (done.givenUp > 0)
    terminal.out(`${counted(done.givenUp, 'open case')} given up: their revision had been published`)
  const outcomes = Object.entries(done.outcomes).map(([outcome, count]) => `${count} ${outcome}`)
  terminal.out(
    `${counted(done.messages, 'message')} ${would}read again${outcomes.length === 0 ? '' : `: ${outcomes.join(', ')}`}`,
  )
  terminal.say(
    done.dryRun
      ? 'Nothing was changed.'
      : `Recovered in ${done.seconds.toFixed(1)} s. Running services go on by themselves.`,
  )
}

class Stopped extends Error {}

/** What every input message has, and some have. */
interface AnyMessage {
  readonly createdAt: number
  readonly tenant: string
  readonly id: string
  readonly postId?: string
  readonly deleted?: true
}
type Readable = ReadOk<AnyMessage>
type Unreadable = Extract<ReturnType<typeof readMessage>, { ok: false }>

/** Of a transcript what a recovery looks at: not its turns, which are most of it. */
const SEEN_OF_TRANSCRIPT = transcript.pick({ verdictId: true, subject: true, cut: true })

/** Names one message, also where another stood at its offset before its topic was made anew. */
function placeOf({ topic, partition, offset }: Pick<Incoming, 'topic' | 'partition' | 'offset'>, at: string): string {
  return `${topic}/${partition}@${offset} of ${at}`
}

function telling(terminal: Terminal, what: string): (more: number) => void {
  let count = 0
  return (more) => {
    const before = Math.floor(count / PROGRESS_EVERY)
    count += more
    if (Math.floor(count / PROGRESS_EVERY) > before) terminal.progress(`${what}: ${count}`)
  }
}
