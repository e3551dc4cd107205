import { hash, randomBytes } from 'node:crypto'
import { zstdCompressSync } from 'node:zlib'
import { hmac } from '../../contracts/facts/hmac.ts'
import { redactWords } from '../../contracts/facts/redact-words.ts'
import {
  type ApplyOutcome,
  type Entry,
  type OpenAppeals,
  type RecordBatch,
  type RecordedTopic,
  RecordFull,
  type Reversal,
  type RulingEntry,
  type TranscriptEntry,
  type UntoldAppeal,
} from '../../contracts/ports/record.ts'
import { outlivesDeletion } from '../actions.ts'
import { ALL_APPEALS, type AppealLimits } from '../appeals.ts'
import { clausesText } from '../compared.ts'
import { postsDeletedBy } from '../deleted-posts.ts'
import { inOrderOfTime } from '../documents.ts'
import type { DrawShares } from '../draws.ts'
import { mayBeDeleted, TENANT_SHARE } from '../held.ts'
import { noteSubject } from '../note-subject.ts'
import { dueReversals, dueStatements, joinWithdrawal, settleReversal, settleStatement } from './actions.ts'
import { AppealTable } from './appeals.ts'
import { ArrivalCounter } from './arrivals.ts'
import { ANY } from './deleted-comments.ts'
import { DrawLedger } from './draws.ts'
import { RecordErasures } from './erasures.ts'
import { freeDoc } from './free-doc.ts'
import { FreeSpace } from './free-space.ts'
import { QueueTable } from './review-queue.ts'
import { RoomMaker } from './room.ts'
import { insertSaid, insertUnread } from './said-rows.ts'
import { writing } from './schema.ts'
import { Sql } from './sql.ts'
import { INDEX_VERSION, TextIndex } from './text-index.ts'
import { Tidying } from './tidying.ts'
import { WrittenTable } from './written.ts'

export interface TableSettings extends DrawShares {
  readonly path: string
  /** How long anything is kept, in ms. */
  readonly keep: number
  readonly maxBytes: number
  /** How many appeals are taken; absent: all. */
  readonly appeals?: AppealLimits
  /** The part of `maxBytes` beyond which a tenant's own makes room first, while another holds something. */
  readonly tenantShare?: number | undefined
  /** How long topics keep messages, in ms: what a deletion leaves behind is needed for as long. */
  readonly sourceKeep: number
  /** Draws by this key in place of one of the file's own: that of the file that it takes the place of. */
  readonly drawKey?: string | undefined
}

/**
 * The record's tables in one SQLite file, over a connection that writes. Synchronous: it works in a thread of its own.
 */
export class RecordTables {
  readonly #sql: Sql
  readonly #texts: TextIndex
  readonly #erasures: RecordErasures
  readonly #arrivals: ArrivalCounter
  readonly #queue: QueueTable
  readonly #tidying: Tidying
  readonly #room: RoomMaker
  readonly #ledger: DrawLedger
  readonly #written: WrittenTable
  readonly #appeals: AppealTable
  #full = false

  constructor(settings: TableSettings) {
    this.#sql = new Sql(settings.path, writing(settings.path, settings.maxBytes))
    for (const drawn of ['name', 'file'])
      this.#sql.run('INSERT OR IGNORE INTO meta VALUES (?, ?)', drawn, randomBytes(6).toString('hex'))
    this.#sql.run("INSERT OR IGNORE INTO meta VALUES ('arrivals', '0'), ('grams', ?)", INDEX_VERSION)
    this.#arrivals = new ArrivalCounter(this.#sql)
    this.#texts = new TextIndex(this.#sql, this.#arrivals)
    const drawn = settings.drawKey ?? randomBytes(16).toString('hex')
    this.#sql.run("INSERT OR IGNORE INTO meta VALUES ('draws', ?)", drawn)
    const draw = hmac(this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'draws'")?.v ?? drawn)
    this.#ledger = new DrawLedger(this.#sql, draw, settings)
    this.#written = new WrittenTable(this.#sql)
    const freeSpace = new FreeSpace(settings.path, this.#sql)
    this.#appeals = new AppealTable(this.#sql, settings.appeals ?? ALL_APPEALS)
    this.#queue = new QueueTable(this.#sql, this.#ledger, this.#appeals)
    this.#erasures = new RecordErasures(this.#sql, this.#texts, this.#arrivals, this.#queue, {
      freeSpace,
      appeals: this.#appeals,
      ledger: this.#ledger,
    })
    const { maxBytes, tenantShare = TENANT_SHARE } = settings
    this.#room = new RoomMaker(maxBytes * tenantShare, { sql: this.#sql, texts: this.#texts, erasures: this.#erasures })
    this.#tidying = new Tidying(settings, {
      sql: this.#sql,
      texts: this.#texts,
      erasures: this.#erasures,
      queue: this.#queue,
      arrivals: this.#arrivals,
      written: this.#written,
      freeSpace,
      appeals: this.#appeals,
      room: this.#room,
    })
    this.#texts.begin()
    if (this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'grams'")?.v !== INDEX_VERSION)
      this.#texts.indexAnew()
    this.#erasures.truncate()
  }

  name(): string {
    return this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'name'")?.v ?? ''
  }

  rename(): string {
    this.#sql.run("UPDATE meta SET v = ? WHERE k = 'name'", randomBytes(6).toString('hex'))
    return this.name()
  }

  positions(): [string, number][] {
    return this.#sql
      .all<{ topic: string; part: number; next: number }>('SELECT * FROM offsets')
      .map(({ topic, part, next }) => [`${topic}/${part}`, next])
  }

  keepClosed(marks: readonly string[]): string[] {
    return this.#ledger.keepClosed(marks)
  }

  hasDependents(tenant: string): boolean {
    return this.#erasures.hasDependents(tenant)
  }

  restart(topic: RecordedTopic, partition: number): void {
    this.#sql.transaction(() => {
      const next = this.#nextOf(topic, partition) ?? 0
      this.#sql.run('INSERT INTO holes VALUES (?, ?, ?, -1, ?)', topic, partition, next, Date.now())
      this.#sql.run('UPDATE offsets SET next = 0 WHERE topic = ? AND part = ?', topic, partition)
    })
  }

  apply(batch: RecordBatch): ApplyOutcome {
    // Each time twice the room of the time before: a large batch is done again a few times, and not for each step.
    for (let steps = 1; ; steps *= 2)
      try {
        const applied = this.#sql.transaction(() => this.#applied(batch))
        this.#full = false
        this.#erasures.truncate()
        return applied
      } catch (error) {
        if (!(error instanceof RecordFull)) throw error
        this.#full = true
        // With room by the rules: the oldest transcripts go, the verdicts stay.
        if (!this.#room.make()) throw error
        for (let made = 1; made < steps && this.#room.make(); made++);
      }
  }

  #applied({ topic, partition, from, next, entries, pastHole }: RecordBatch): ApplyOutcome {
    const known = this.#nextOf(topic, partition)
    const at = known ?? from ?? 0
    if (next <= at && known !== null) return 'behind'
    if (from !== null && from > at) {
      if (pastHole !== true) return 'gap'
      this.#sql.run('INSERT INTO holes VALUES (?, ?, ?, ?, ?)', topic, partition, at, from, Date.now())
    }
    const fresh = entries.filter(({ offset }) => offset >= at)
    this.#erasures.commentsGone(fresh.map(({ entry }) => entry))
    for (const { offset, entry } of inOrderOfTime(fresh)) this.#take(topic, partition, offset, entry)
    this.#erasures.eraseUnder(postsDeletedBy(fresh.map(({ entry }) => entry)))
    this.#queue.settle()
    this.#sql.run(
      'INSERT INTO offsets VALUES (?, ?, ?) ON CONFLICT (topic, part) DO UPDATE SET next = excluded.next',
      topic,
      partition,
      next,
    )
    this.#arrivals.save()
    return 'applied'
  }

  #take(topic: RecordedTopic, partition: number, offset: number, entry: Entry): void {
    switch (entry.what) {
      case 'ruling':
        this.#ruling(entry)
        return
      case 'transcript':
        this.#transcript(entry)
        return
      case 'said': {
        const about = noteSubject(entry, () => this.#erasures.judged(entry))
        const subject = this.#erasures.subject(about)
        const { id, said, protocol, at, json } = entry
        const dropped = this.#erasures.droppedUntil(about.tenant) ?? Number.NEGATIVE_INFINITY
        if (!outlivesDeletion(said) && at <= Math.max(subject.deleted_at ?? Number.NEGATIVE_INFINITY, dropped)) return
        insertSaid(this.#sql, subject.s, entry)
        if (said === 'proposal' && this.#erasures.isErased(id)) this.#erasures.strip(id)
        if (said === 'decision') this.#appeals.takeAnswers(subject.s, id, json, at)
        if (outlivesDeletion(said)) joinWithdrawal(this.#sql, id, this.#queue)
        if (said === 'action' && this.#appeals.joinAction(id, subject, protocol, this.#erasures))
          this.#queue.touch(subject.s, protocol)
        if (said === 'review' || said === 'decision' || said === 'feedback') this.#queue.touch(subject.s, protocol)
        return
      }
      case 'appeal': {
        const appeal = this.#appeals.named(entry)
        const about = this.#erasures.subject(appeal.subject)
        const taken = this.#appeals.take(appeal, about)
        if (taken?.note) this.#take(topic, partition, offset, taken.note)
        if (taken !== null) this.#queue.touch(about.s, appeal.protocol)
        return
      }
      case 'appeal-end': {
        const s = this.#appeals.end(entry, this.#erasures)
        if (s === null) return
        for (const protocol of this.#appeals.protocolsOf(s)) this.#queue.touch(s, protocol)
        return
      }
      case 'deletion':
        this.#erasures.erase(entry.subject, entry.at)
        return
      case 'quote':
        this.#erasures.quote(entry)
        return
      case 'unread':
        insertUnread(this.#sql, { topic, partition }, offset, entry)
        return
      case 'comment-deletion':
        // Taken together, before the others.
        return
      default:
        entry satisfies never
    }
  }

  #ruling(entry: RulingEntry): void {
    const { id, protocol, number, label, decidedBy, degraded, contested, openedAt, decidedAt, json } = entry
    const { tenant } = entry.subject
    const digest = hash('sha256', json, 'base64url').slice(0, 22)
    if (decidedBy === 'deleted') this.#erasures.erase(entry.subject, openedAt)
    const subject = this.#erasures.subject(entry.subject)
    if (decidedBy !== 'deleted' && openedAt <= (subject.deleted_at ?? Number.NEGATIVE_INFINITY)) return
    const before = this.#sql.get<{ doc: number; hash: string }>('SELECT doc, hash FROM rulings WHERE id = ?', id)
    if (before !== undefined) {
      if (before.hash !== digest) this.#sql.run('UPDATE rulings SET conflicting = 1 WHERE doc = ?', before.doc)
      return
    }
    const newest = this.#sql.get<{ doc: number; number: number }>(
      'SELECT doc, number FROM rulings WHERE s = ? AND protocol = ? ORDER BY number DESC LIMIT 1',
      subject.s,
      protocol,
    )
    const standing = newest === undefined || newest.number < number
    if (standing && newest !== undefined) {
      this.#texts.unindex(newest.doc)
      this.#sql.run('UPDATE rulings SET standing = 0, indexed = 0, seq = NULL WHERE doc = ?', newest.doc)
    }
    const shown = this.#sql.get<{ comments: string | null }>('SELECT comments FROM transcripts WHERE id = ?', id)
    const wasShown = this.#erasures.isGoneElsewhere(entry)
    const erased =
      wasShown ||
      mayBeDeleted(entry.subject, openedAt, this.#erasures.droppedUntil(tenant)) ||
      this.#erasures.isErased(id) ||
      (entry.restores !== null && this.#erasures.isErased(entry.restores))
    const doc = freeDoc(this.#sql, decidedAt)
    const sampled = this.#ledger.take(entry, subject.s)
    this.#sql.run(
      `INSERT INTO rulings (doc, s, id, tenant, protocol, number, label, decided_by, degraded, contested, confidence, accepted, sampled, opened_at, decided_at,
         standing, erased, hash, json, clauses, decision)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      doc,
      subject.s,
      id,
      tenant,
      protocol,
      number,
      label,
      decidedBy,
      Number(degraded),
      Number(contested),
      entry.confidence,
      entry.accepted,
      Number(sampled),
      openedAt,
      decidedAt,
      Number(standing),
      Number(erased),
      digest,
      erased ? redactWords(json) : json,
      clausesText(entry.clauses ?? []),
      entry.decision ?? null,
    )
    const marks = contested ? [...entry.marks, { mark: 'contested', value: '' }] : entry.marks
    for (const { mark, value } of marks) this.#sql.run('INSERT OR IGNORE INTO marks VALUES (?, ?, ?)', mark, value, doc)
    if (wasShown) this.#erasures.unquote(id)
    this.#queue.touch(subject.s, protocol)
    if (standing && !erased && shown !== undefined) this.#texts.index(doc)
  }

  #transcript({ subject: of, verdictId, comments, words, shown, written, askedAt, at, json }: TranscriptEntry): void {
    const subject = this.#erasures.subject(of)
    const ruling = this.#sql.get<{ doc: number; standing: number; indexed: number }>(
      'SELECT doc, standing, indexed FROM rulings WHERE id = ?',
      verdictId,
    )
    // Its verdict was erased, or is of the subject's next life and still to come.
    if (ruling === undefined && subject.deleted_at !== null && (askedAt === null || askedAt <= subject.deleted_at))
      return
    const dropped = this.#erasures.droppedUntil(of.tenant)
    const erased =
      mayBeDeleted(of, askedAt, dropped) ||
      (dropped !== null && comments?.length !== 0) ||
      this.#erasures.hasGone(of, comments) ||
      this.#erasures.isErased(verdictId)
    const z = erased ? null : zstdCompressSync(Buffer.from(json))
    const added = this.#sql.run(
      'INSERT OR IGNORE INTO transcripts (id, s, at, bare, comments, words, z) VALUES (?, ?, ?, ?, ?, ?, ?)',
      verdictId,
      subject.s,
      at,
      Number(words === null),
      erased ? null : JSON.stringify(comments ?? ANY),
      erased ? null : words,
      z,
    )
    if (added.changes === 0) return
    if (shown !== null) {
      this.#sql.run('UPDATE compared SET lang = ? WHERE s = ?', shown.lang, subject.s)
      this.#sql.run(
        'UPDATE subjects SET author = ?, lang = ?, begins = ?, same = ?, images = ? WHERE s = ?',
        shown.author,
        shown.lang,
        shown.begins,
        shown.same,
        shown.pictures,
        subject.s,
      )
    }
    if (!erased) this.#written.add(of.tenant, subject.s, written)
    if (erased) this.#erasures.strip(verdictId)
    else if (ruling?.standing === 1 && ruling.indexed === 0) this.#texts.index(ruling.doc)
  }

  untoldAppeals(now: number, most: number, readUntil = Number.MAX_SAFE_INTEGER): UntoldAppeal[] {
    return this.#sql.transaction(() => this.#appeals.untold(now, most, readUntil))
  }

  openAppeals(dueSince: number): OpenAppeals {
    return this.#appeals.open(dueSince)
  }

  reversals(most: number): Reversal[] {
    return dueReversals(this.#sql, most)
  }

  settleReversal(one: Reversal): void {
    settleReversal(this.#sql, one)
  }

  unstated(now: number, most: number): string[] {
    return dueStatements(this.#sql, now, most)
  }

  settleStatement(action: string, again: number | null): void {
    settleStatement(this.#sql, action, again)
  }

  tidy(now: number, readUntil = now): void {
    this.#tidying.tidy(now, readUntil)
  }

  state(): { full: boolean; overShare: boolean; erasingSince: number | null } {
    return { full: this.#full, overShare: this.#room.overShare() !== null, erasingSince: this.#erasures.since }
  }

  close(): void {
    this.#erasures.truncate()
    this.#sql.close()
  }

  #nextOf(topic: string, partition: number): number | null {
    return (
      this.#sql.get<{ next: number }>('SELECT next FROM offsets WHERE topic = ? AND part = ?', topic, partition)
        ?.next ?? null
    )
  }
}
