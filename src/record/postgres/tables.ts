import { randomBytes } from 'node:crypto'
import { hmac } from '../../contracts/facts/hmac.ts'
import { slots } from '../../contracts/facts/slots.ts'
import type {
  ApplyOutcome,
  Entry,
  NoteEntry,
  RecordBatch,
  RecordedTopic,
  RulingEntry,
  TranscriptEntry,
} from '../../contracts/ports/record.ts'
import { notAppealed } from '../appeal-rows.ts'
import { ALL_APPEALS, type AppealLimits } from '../appeals.ts'
import { postsDeletedBy } from '../deleted-posts.ts'
import { docAt, inOrderOfTime } from '../documents.ts'
import type { DrawShares } from '../draws.ts'
import { TENANT_SHARE } from '../held.ts'
import { isFeedback, type PlacedEntry, runsOf } from '../runs.ts'
import { tidyAppeals } from './appeals.ts'
import type { Database, Sql } from './connection.ts'
import {
  commentsGone,
  drop,
  dropSaid,
  dropTranscripts,
  dropUnread,
  erase,
  eraseDependents,
  eraseUnderAll,
} from './erasures.ts'
import type { GramHashes } from './grams-key.ts'
import { countedTogether } from './held.ts'
import { madeRoom } from './make-room.ts'
import { PendingGrams } from './pending-grams.ts'
import { type PreparedBatch, prepareBatch } from './prepared-batch.ts'
import { isFolded, refold } from './refold.ts'
import { settle } from './review-queue.ts'
import { forget } from './room.ts'
import { takeRulings } from './rulings.ts'
import { Days } from './schema.ts'
import { endAppeal, takeAppeal } from './take-appeal.ts'
import { takeSaid } from './take-said.ts'
import { indexed, thinned } from './texts.ts'
import { takeTranscripts } from './transcripts.ts'
import { touch, type WritingStep, writingOf } from './writing.ts'
import { isLookedThrough, lookThrough } from './written.ts'

export interface TableSettings extends DrawShares {
  /** How long anything is kept, in ms. */
  readonly keep: number
  readonly maxBytes: number
  /** How many appeals are taken; absent: all. */
  readonly appeals?: AppealLimits
  /** The part of `maxBytes` beyond which a tenant's own makes room first, while another holds something. */
  readonly tenantShare?: number | undefined
  /** How long topics keep messages, in ms: what a deletion leaves behind is needed for as long. */
  readonly sourceKeep: number
}

/** Steps of this process under way: one is written while the next waits for it in the database. */
export const STEPS = 2
const NEVER = new AbortController().signal
const MINUTE_MS = 60_000
/** Rows of each kind that one step of tidying removes. */
const STEP = 500
const FROM_THE_FIRST = [-1, -1] as const
/** A verdict whose transcript has not come within this time is searched without it, in ms. */
const ALONE_AFTER_MS = 60_000

/** The record's tables, written by any number of processes, one step at a time. */
export class RecordTables {
  readonly #db: Database
  readonly #settings: TableSettings
  readonly #own: Pick<WritingStep, 'hashes' | 'days' | 'draw' | 'shares' | 'appeals'>
  readonly #days = new Days()
  readonly #pending: PendingGrams
  /** A step may wait for long: not for a connection, which is given up soon. */
  readonly #turns = slots(() => STEPS)
  /** Up to which deleted subject it was looked whether anything is left of them. */
  #seenDeleted: readonly [deletedAt: number, s: number] = FROM_THE_FIRST
  /** A step that was not written leaves its keys on their pages all the same; so may one of the process before this. */
  #isAfterFailure = true

  constructor(db: Database, settings: TableSettings, { draws, hashes }: { draws: string; hashes: GramHashes }) {
    this.#db = db
    this.#pending = new PendingGrams(db)
    this.#settings = settings
    this.#own = {
      hashes,
      days: this.#days,
      draw: hmac(draws),
      shares: settings,
      appeals: settings.appeals ?? ALL_APPEALS,
    }
  }

  async rename(): Promise<string> {
    const name = randomBytes(6).toString('hex')
    await this.#db.run("UPDATE meta SET v = ? WHERE k = 'name'", name)
    return name
  }

  async positions(): Promise<Map<string, number>> {
    const rows = await this.#db.rows<{ topic: string; part: number; next: number }>(
      'SELECT * FROM offsets ORDER BY 1, 2',
    )
    return new Map(rows.map(({ topic, part, next }) => [`${topic}/${part}`, next]))
  }

  async hasDependents(tenant: string): Promise<boolean> {
    return (await this.#db.rows('SELECT 1 FROM deleted_posts WHERE tenant = ? LIMIT 1', tenant)).length > 0
  }

  async restart(topic: RecordedTopic, partition: number): Promise<void> {
    await this.#step(async ({ sql }) => {
      const next = (await nextOf(sql, topic, partition)) ?? 0
      await sql.run('INSERT INTO holes VALUES (?, ?, ?, -1, ?)', topic, partition, next, Date.now())
      await sql.run('UPDATE offsets SET next = 0 WHERE topic = ? AND part = ?', topic, partition)
    })
  }

  async apply(batch: RecordBatch): Promise<ApplyOutcome> {
    // Before it waits for its turn: meanwhile the server does what others have begun.
    const ready = await prepareBatch(batch.entries, this.#own.hashes)
    return await this.#step((writing) => applied(writing, batch, ready))
  }

  /** One transaction, while nobody else writes. */
  async #step<Result>(work: (writing: WritingStep) => Promise<Result>): Promise<Result> {
    await this.#turns.acquire(NEVER)
    try {
      const isAfterFailure = this.#isAfterFailure
      const { result, grams } = await this.#db.transaction(async (sql) => {
        const writing = await writingOf(sql, this.#own)
        const result = await work(writing)
        if (isAfterFailure) await writing.seals.shredDead()
        await thinned(writing)
        await settle(writing)
        await writing.seals.save()
        await writing.counters.save()
        return { result, grams: writing.indexed }
      })
      if (isAfterFailure) this.#isAfterFailure = false
      this.#pending.add(grams)
      return result
    } catch (error) {
      this.#isAfterFailure = true
      this.#days.forget()
      throw error
    } finally {
      this.#turns.release()
    }
  }

  async tidy(now: number, readUntil = now): Promise<void> {
    const { keep, sourceKeep } = this.#settings
    await this.#step(async (writing) => {
      const { sql } = writing
      await eraseDependents(writing)
      await tidyAppeals(writing, { now, keep, readUntil })
      const alone = await sql.rows<{ doc: number }>(
        'SELECT doc FROM rulings WHERE standing = 1 AND indexed = 0 AND erased = 0 AND doc < ? ORDER BY doc LIMIT ?',
        docAt(now - ALONE_AFTER_MS),
        STEP,
      )
      await indexed(
        writing,
        alone.map(({ doc }) => doc),
      )
      const old = await sql.rows<{ doc: number; s: number; protocol: string }>(
        `SELECT doc, s, protocol FROM rulings WHERE doc < ? AND ${notAppealed('rulings')} ORDER BY doc LIMIT ?`,
        docAt(now - keep),
        STEP,
      )
      await drop(
        writing,
        old.map(({ doc }) => doc),
      )
      for (const { s, protocol } of old) touch(writing, s, protocol)
      const left = [
        ...old.map(({ s }) => s),
        ...(await dropTranscripts(
          writing,
          `t IN (SELECT t FROM transcripts WHERE at < ? AND ${notAppealed('transcripts')} ORDER BY at LIMIT ?)`,
          now - keep,
          STEP,
        )),
        ...(await dropSaid(
          writing,
          `n IN (SELECT n FROM said WHERE at < ? AND ${notAppealed('said')} ORDER BY at LIMIT ?)`,
          now - keep,
          STEP,
        )),
      ]
      await dropUnread(writing, 'at < ?', now - keep, STEP)
      await sql.run('DELETE FROM gone_comments WHERE at < ?', now - sourceKeep)
      await sql.run('DELETE FROM quotes WHERE at < ?', now - keep)
      await sql.run('DELETE FROM dropped_notes WHERE at < ?', now - sourceKeep)
      await countedTogether(sql)
      const pictures = await sql.rows<{ k: number }>(
        'DELETE FROM pictures WHERE (s, address) IN (SELECT s, address FROM pictures WHERE until <= ? LIMIT ?) RETURNING k',
        now,
        STEP,
      )
      await writing.seals.forget(pictures.map(({ k }) => k))
      const notes = await sql.rows<{ k: number }>(
        'DELETE FROM notes WHERE n IN (SELECT n FROM notes WHERE at < ? LIMIT ?) RETURNING k',
        now - keep,
        STEP,
      )
      await writing.seals.forget(notes.map(({ k }) => k))
      await sql.run('DELETE FROM compared WHERE at < ?', now - keep)
      await sql.run('DELETE FROM lane_draws WHERE s IS NULL AND drawn_at < ?', now - keep)
      await sql.run('DELETE FROM exposures WHERE minute < ?', Math.floor((now - keep) / MINUTE_MS))
      const deleted = await sql.rows<{ s: number; deleted_at: number }>(
        `SELECT s, deleted_at FROM subjects WHERE deleted_at < ? AND (deleted_at, s) > (?::bigint, ?::bigint)
         ORDER BY deleted_at, s LIMIT ?`,
        now - sourceKeep,
        ...this.#seenDeleted,
        STEP,
      )
      const last = deleted.at(-1)
      this.#seenDeleted = deleted.length < STEP || last === undefined ? FROM_THE_FIRST : [last.deleted_at, last.s]
      await forget(writing, [...left, ...deleted.map(({ s }) => s)], now - sourceKeep)
      // A step has removed at most so many rows: a day goes when none of its rows is left.
      if (old.length < STEP) {
        const [oldest] = await sql.rows<{ doc: number | null; at: number | null }>(
          'SELECT (SELECT min(doc) FROM rulings) AS doc, (SELECT min(at) FROM transcripts) AS at',
        )
        const doc = Math.min(docAt(now - keep), oldest?.doc ?? Number.POSITIVE_INFINITY)
        await this.#days.drop(sql, 'texts', doc)
        await this.#days.drop(sql, 'blocks', doc)
        await this.#days.drop(sql, 'held', Math.min(now - keep, oldest?.at ?? Number.POSITIVE_INFINITY))
      }
    })
    if (!(await isFolded(this.#db))) await this.#step((writing) => refold(writing, STEP, now))
    if (!(await isLookedThrough(this.#db))) await this.#step((writing) => lookThrough(writing, STEP, now))
    await this.#pending.merge()
  }

  /** Makes room where the record, of so many bytes on disk, is larger than it may be. False if there is nothing left to remove. */
  makeRoom(now: number, bytes: number): Promise<boolean> {
    const { maxBytes, tenantShare = TENANT_SHARE } = this.#settings
    return madeRoom({
      db: this.#db,
      step: (work) => this.#step(work),
      dropDay: () => this.#step(({ sql }) => this.#days.drop(sql, 'held', null)),
      maxBytes,
      share: maxBytes * tenantShare,
      bytes,
      now,
    })
  }
}

async function nextOf(sql: Sql, topic: string, partition: number): Promise<number | null> {
  const [row] = await sql.rows<{ next: number }>(
    'SELECT next FROM offsets WHERE topic = ? AND part = ?',
    topic,
    partition,
  )
  return row?.next ?? null
}

async function applied(writing: WritingStep, batch: RecordBatch, ready: PreparedBatch): Promise<ApplyOutcome> {
  const { topic, partition, from, next, entries, pastHole } = batch
  const { sql } = writing
  const known = await nextOf(sql, topic, partition)
  const at = known ?? from ?? 0
  if (next <= at && known !== null) return 'behind'
  if (from !== null && from > at) {
    if (pastHole !== true) return 'gap'
    await sql.run('INSERT INTO holes VALUES (?, ?, ?, ?, ?)', topic, partition, at, from, Date.now())
  }
  const fresh = entries.filter(({ offset }) => offset >= at)
  await commentsGone(
    writing,
    fresh.map(({ entry }) => entry),
  )
  for (const run of runsOf(inOrderOfTime(fresh))) await take(writing, batch, run, ready)
  await eraseUnderAll(writing, postsDeletedBy(fresh.map(({ entry }) => entry)))
  await sql.run(
    'INSERT INTO offsets VALUES (?, ?, ?) ON CONFLICT (topic, part) DO UPDATE SET next = excluded.next',
    topic,
    partition,
    next,
  )
  return 'applied'
}

async function take(
  writing: WritingStep,
  { topic, partition }: RecordBatch,
  run: readonly PlacedEntry[],
  ready: PreparedBatch,
): Promise<void> {
  const of = <Of extends Entry>(what: Of['what']) =>
    run.flatMap(({ entry }) => (entry.what === what ? [entry as Of] : []))
  const rulings = of<RulingEntry>('ruling')
  if (rulings.length > 0) await takeRulings(writing, rulings, ready)
  const transcripts = of<TranscriptEntry>('transcript')
  if (transcripts.length > 0) await takeTranscripts(writing, transcripts, ready)
  if (run.every(isFeedback)) return await takeSaid(writing, of<NoteEntry>('said'))
  for (const { offset, entry } of run)
    switch (entry.what) {
      case 'said':
        await takeSaid(writing, [entry])
        break
      case 'appeal':
        await takeAppeal(writing, entry)
        break
      case 'appeal-end':
        await endAppeal(writing, entry)
        break
      case 'deletion':
        await erase(writing, entry.subject, entry.at)
        break
      case 'quote':
        await takeQuote(writing, entry)
        break
      case 'unread': {
        const { sql, seals, counters, hashes } = writing
        const subject = hashes.key(entry.subjectId)
        const [erased] = await sql.rows(
          'SELECT 1 FROM subjects WHERE id = ? AND deleted_at >= ?',
          entry.subjectId,
          entry.at,
        )
        if (erased !== undefined) break
        const key = seals.seal(entry.raw)
        const added = await sql.run(
          'INSERT INTO unread VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
          topic,
          partition,
          offset,
          subject,
          entry.at,
          key.k,
          key.sealed,
        )
        counters.add('unread', added)
        if (added === 0) await seals.forget([key.k])
        break
      }
      case 'ruling':
      case 'transcript':
      case 'comment-deletion':
        // Taken together, before the others.
        break
      default:
        entry satisfies never
    }
}

async function takeQuote(writing: WritingStep, { post, reply, at }: Extract<Entry, { what: 'quote' }>): Promise<void> {
  const [quoted] = await writing.sql.rows<{ deleted_at: number | null }>(
    "SELECT deleted_at FROM subjects WHERE tenant = ? AND kind = 'post' AND id = ?",
    post.tenant,
    post.postId,
  )
  const deletedAt = quoted?.deleted_at ?? null
  if (deletedAt !== null && deletedAt >= at) await erase(writing, reply, deletedAt)
  else
    await writing.sql.run(
      'INSERT INTO quotes VALUES (?, ?, ?, ?) ON CONFLICT (tenant, post, reply) DO UPDATE SET at = excluded.at',
      post.tenant,
      post.postId,
      reply.postId,
      at,
    )
}
