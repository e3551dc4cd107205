import { redactWords } from '../../contracts/facts/redact-words.ts'
import type { SubjectKind, ThreadRef } from '../../contracts/facts/thread.ts'
import { commentKey, commentKeysOf, idsInCommentKey } from '../../contracts/facts/verdict-id.ts'
import type { Entry, NoteEntry, RulingEntry } from '../../contracts/ports/record.ts'
import { ERASABLE } from '../actions.ts'
import { ANSWERS_GONE } from '../appeal-rows.ts'
import { DELETED_POST, DELETED_POSTS, type DeletedPost, ERASED_AT_ONCE } from '../deleted-posts.ts'
import { inTurn, type WaitingTenant } from '../turns.ts'
import type { AppealTable } from './appeals.ts'
import type { ArrivalCounter } from './arrivals.ts'
import { commentsGone } from './deleted-comments.ts'
import type { DrawLedger } from './draws.ts'
import type { FreeSpace } from './free-space.ts'
import type { QueueTable } from './review-queue.ts'
import { RESTORED } from './schema.ts'
import type { Sql } from './sql.ts'
import type { TextIndex } from './text-index.ts'
import { forgetWritten } from './written.ts'

const QUOTED = 'INSERT INTO quotes VALUES (?, ?, ?, ?) ON CONFLICT (tenant, post, reply) DO UPDATE SET at = excluded.at'

/** A verdict, and those by which a withdrawal published it again: they have the same words. Each is looked up, however many its subject has. */
export const WITH_ITS_WORDS = `SELECT doc, id, json FROM rulings WHERE id = ? AND erased = 0
  UNION SELECT doc, id, json FROM rulings WHERE s = ? AND ${RESTORED} = ? AND erased = 0`

/** Subjects, and what of them is erased: from the rows, the index and the log. */
export class RecordErasures {
  readonly #sql: Sql
  readonly #texts: TextIndex
  /** Erased rows are still in the log: since when, ms since 1970. */
  #since: number | null = null
  /** A process that died may have left some there. */
  #mustTruncate = true

  readonly #arrivals: ArrivalCounter
  readonly #queue: QueueTable
  readonly #freeSpace: FreeSpace
  readonly #appeals: AppealTable
  readonly #ledger: DrawLedger

  constructor(
    sql: Sql,
    texts: TextIndex,
    arrivals: ArrivalCounter,
    queue: QueueTable,
    { freeSpace, appeals, ledger }: { freeSpace: FreeSpace; appeals: AppealTable; ledger: DrawLedger },
  ) {
    this.#sql = sql
    this.#texts = texts
    this.#arrivals = arrivals
    this.#queue = queue
    this.#freeSpace = freeSpace
    this.#appeals = appeals
    this.#ledger = ledger
  }

  /** Since when what was erased waits to be gone from the log, ms since 1970; null if nothing waits. */
  get since(): number | null {
    return this.#since
  }

  /**
   * Erases what was opened or said of a subject until `at`. Of a deleted post's comments, and of the replies that quote it, it is noted
   * that they go, too: thousands in one transaction would hold up whoever waits for it.
   */
  erase(of: ThreadRef, at: number): void {
    const { s, deleted_at } = this.subject(of)
    // People may have spoken since it was settled last.
    this.#ledger.settleLanes(s)
    if (deleted_at === null || deleted_at < at)
      this.#note(
        this.#sql.run(
          'UPDATE subjects SET deleted_at = ?, gone_seq = ?, author = NULL, lang = NULL, begins = NULL, same = NULL, images = NULL WHERE s = ?',
          at,
          this.#arrivals.next(),
          s,
        ),
      )
    for (const { doc } of this.#sql.all<{ doc: number }>(
      "SELECT doc FROM rulings WHERE s = ? AND opened_at <= ? AND decided_by <> 'deleted'",
      s,
      at,
    ))
      this.drop(doc)
    this.#note(
      this.#sql.run(`DELETE FROM said WHERE s = ? AND at <= ? AND ${ERASABLE}`, s, at),
      this.#sql.run('DELETE FROM pictures WHERE s = ?', s),
      this.#sql.run('DELETE FROM notes WHERE s = ?', s),
      this.#sql.run(
        `DELETE FROM transcripts WHERE s = ? AND id NOT IN (SELECT id FROM rulings WHERE s = ? UNION ALL SELECT id FROM said WHERE s = ? AND ${ERASABLE})`,
        s,
        s,
        s,
      ),
      this.#sql.run('DELETE FROM unread WHERE subject = ? AND at <= ?', of.postId, at),
      forgetWritten(this.#sql, s),
    )
    this.#note(...this.#ledger.erase(s, at))
    this.#appeals.erase(s, at)
    // What was judged since stays in the queue, whichever person has reserved it.
    this.#queue.requeueAll(s)
    if (of.kind !== 'post') return
    this.stripElsewhere(of.tenant, [commentKey(of.postId, '')])
    const [first, last] = commentKeysOf(of.postId)
    this.#sql.run(
      `INSERT INTO deleted_posts SELECT ?1, ?2, ?3, ?4
       WHERE EXISTS (SELECT 1 FROM subjects WHERE tenant = ?1 AND kind = 'comment' AND id > ?4 AND id < ?5)
       OR EXISTS (SELECT 1 FROM quotes WHERE tenant = ?1 AND post = ?2)
       ON CONFLICT (tenant, post) DO UPDATE SET at = excluded.at, after = excluded.after WHERE excluded.at > deleted_posts.at`,
      of.tenant,
      of.postId,
      at,
      first,
      last,
    )
  }

  /** Erases some comments of deleted posts, and replies that quote them, of each tenant its share; the next call goes on after them. */
  eraseDependents(): void {
    const tenants = this.#sql.all<WaitingTenant>(DELETED_POSTS.tenants, ERASED_AT_ONCE)
    inTurn(ERASED_AT_ONCE, tenants, (tenant, share) => {
      const erased: string[] = []
      while (erased.length < share) {
        const post = this.#sql.get<DeletedPost>(DELETED_POSTS.of, tenant, 1)
        if (post === undefined) break
        erased.push(...this.#eraseUnder(post, share - erased.length))
      }
      return erased
    })
  }

  /** The same of what stands under these posts. */
  eraseUnder(posts: readonly ThreadRef[]): void {
    let left = ERASED_AT_ONCE
    for (const { tenant, postId } of posts) {
      const post = left > 0 ? this.#sql.get<DeletedPost>(DELETED_POST, tenant, postId) : undefined
      if (post !== undefined) left -= this.#eraseUnder(post, left).length
    }
  }

  /** Whether something of this tenant still stands that stood under a deleted post, or quotes one. */
  hasDependents(tenant: string): boolean {
    return this.#sql.get('SELECT 1 FROM deleted_posts WHERE tenant = ? LIMIT 1', tenant) !== undefined
  }

  /** Erases at most so many of what stands under one post, and returns which; where there is nothing, the post itself. */
  #eraseUnder(post: DeletedPost, most: number): string[] {
    const { tenant, at } = post
    const comments = this.#sql.all<{ id: string }>(
      "SELECT id FROM subjects WHERE tenant = ? AND kind = 'comment' AND id > ? AND id < ? ORDER BY id LIMIT ?",
      tenant,
      post.after,
      commentKeysOf(post.post)[1],
      most,
    )
    for (const { id } of comments) this.erase({ tenant, postId: id, kind: 'comment' }, at)
    const replies = this.#sql.all<{ reply: string }>(
      'SELECT reply FROM quotes WHERE tenant = ? AND post = ? AND at <= ? LIMIT ?',
      tenant,
      post.post,
      at,
      most - comments.length,
    )
    for (const { reply } of replies) {
      this.erase({ tenant, postId: reply, kind: 'reply' }, at)
      this.#sql.run('DELETE FROM quotes WHERE tenant = ? AND post = ? AND reply = ?', tenant, post.post, reply)
    }
    const which = [tenant, post.post] as const
    const erased = [...comments.map(({ id }) => id), ...replies.map(({ reply }) => reply)]
    if (erased.length < most) this.#sql.run('DELETE FROM deleted_posts WHERE tenant = ? AND post = ?', ...which)
    else
      this.#sql.run(
        'UPDATE deleted_posts SET after = ? WHERE tenant = ? AND post = ?',
        comments.at(-1)?.id ?? post.after,
        ...which,
      )
    return erased.length === 0 ? [post.post] : erased
  }

  commentsGone(entries: readonly Entry[]): void {
    commentsGone(entries, { sql: this.#sql, texts: this.#texts, erasures: this })
  }

  /** Verdicts that were shown these comments under other posts lose their words, and their transcripts. */
  stripElsewhere(tenant: string, keys: readonly string[]): void {
    for (const { id } of this.#sql.all<{ id: string }>(
      `SELECT DISTINCT rulings.id FROM json_each(?) AS shown CROSS JOIN marks ON mark = 'elsewhere' AND marks.value = shown.value
       JOIN rulings USING (doc) WHERE rulings.tenant = ?`,
      JSON.stringify(keys),
      tenant,
    ))
      this.unquote(id)
  }

  /** A verdict without its words, and without its transcript. */
  unquote(id: string): void {
    this.#note(this.#sql.run('UPDATE transcripts SET z = NULL, words = NULL, comments = NULL WHERE id = ?', id))
    this.strip(id)
  }

  /** Whether a comment under another post that a verdict was shown has been deleted since, or that post. */
  isGoneElsewhere({ subject: { tenant }, marks }: RulingEntry): boolean {
    const keys = marks.flatMap(({ mark, value }) => (mark === 'elsewhere' ? [idsInCommentKey(value)] : []))
    if (keys.length > 0 && this.droppedUntil(tenant) !== null) return true
    return keys.some(({ postId, subjectId }) => {
      const gone = 'SELECT 1 FROM gone_comments WHERE tenant = ? AND post = ? AND comment = ?'
      const post = "SELECT 1 FROM subjects WHERE tenant = ? AND kind = 'post' AND id = ? AND deleted_at IS NOT NULL"
      return (
        this.#sql.get(gone, tenant, postId, subjectId) !== undefined ||
        this.#sql.get(post, tenant, postId) !== undefined
      )
    })
  }

  /** Whether one of these comments of a thread has been deleted; null: any. Each is looked up: of one post thousands may have been. */
  hasGone({ tenant, postId, kind }: ThreadRef, comments: readonly string[] | null): boolean {
    if (kind === 'reply') return false
    const post = kind === 'comment' ? idsInCommentKey(postId).postId : postId
    const found =
      comments === null
        ? this.#sql.get('SELECT 1 FROM gone_comments WHERE tenant = ? AND post = ? LIMIT 1', tenant, post)
        : this.#sql.get(
            'SELECT 1 FROM json_each(?) AS shown CROSS JOIN gone_comments AS gone ON gone.tenant = ? AND gone.post = ? AND gone.comment = shown.value LIMIT 1',
            JSON.stringify(comments),
            tenant,
            post,
          )
    return found !== undefined
  }

  /** A reply quotes a post: it goes with it. */
  quote({ post, reply, at }: Extract<Entry, { what: 'quote' }>): void {
    const quoted = this.#sql.get<{ deleted_at: number | null }>(
      "SELECT deleted_at FROM subjects WHERE tenant = ? AND kind = 'post' AND id = ?",
      post.tenant,
      post.postId,
    )
    const deletedAt = quoted?.deleted_at ?? null
    if (deletedAt !== null && deletedAt >= at) this.erase(reply, deletedAt)
    else this.#sql.run(QUOTED, post.tenant, post.postId, reply.postId, at)
  }

  /** The subjects of this id that the protocol has judged. */
  judged({ subject: { tenant, postId }, protocol }: NoteEntry): SubjectKind[] {
    return this.#sql
      .all<{ kind: SubjectKind }>(
        `SELECT kind FROM subjects WHERE tenant = ? AND kind IN ('post', 'reply') AND id = ?
         AND EXISTS (SELECT 1 FROM rulings WHERE rulings.s = subjects.s AND protocol = ?)`,
        tenant,
        postId,
        protocol,
      )
      .map(({ kind }) => kind)
  }

  /** The words of an appeal that was taken back. */
  dropNote(id: string): void {
    this.#note(this.#sql.run('DELETE FROM said WHERE id = ?', id))
  }

  /** Whether a verdict, or a proposal, was stripped of its words. */
  isErased(id: string): boolean {
    const [transcript, ruling] = [
      'SELECT 1 FROM transcripts WHERE id = ? AND comments IS NULL',
      'SELECT 1 FROM rulings WHERE id = ? AND erased = 1',
    ]
    return this.#sql.get(transcript, id) !== undefined || this.#sql.get(ruling, id) !== undefined
  }

  /** A verdict, or a proposal, without its free texts. */
  strip(id: string): void {
    const said = this.#sql.get<{ n: number; json: string }>(
      "SELECT n, json FROM said WHERE id = ? AND said = 'proposal'",
      id,
    )
    const s = this.#sql.get<{ s: number }>(
      'SELECT s FROM transcripts WHERE id = ? UNION ALL SELECT s FROM rulings WHERE id = ?',
      id,
      id,
    )?.s
    for (const { doc, id: own, json } of this.#sql.all<{ doc: number; id: string; json: string }>(
      WITH_ITS_WORDS,
      id,
      s ?? null,
      id,
    )) {
      this.#texts.unindex(doc)
      this.#note(
        this.#sql.run(
          'UPDATE rulings SET erased = 1, indexed = 0, json = ?, seq = ? WHERE doc = ?',
          redactWords(json),
          this.#arrivals.next(),
          doc,
        ),
      )
      if (own !== id) this.strip(own)
    }
    if (said !== undefined)
      this.#note(this.#sql.run('UPDATE said SET json = ? WHERE n = ?', redactWords(said.json), said.n))
  }

  drop(doc: number): void {
    this.#texts.unindex(doc)
    this.#note(
      this.#sql.run('DELETE FROM transcripts WHERE id = (SELECT id FROM rulings WHERE doc = ?)', doc),
      this.#sql.run('DELETE FROM marks WHERE doc = ?', doc),
      this.#sql.run(
        "DELETE FROM reversals WHERE verdict = (SELECT id FROM rulings WHERE doc = ?) AND done = 'yes'",
        doc,
      ),
      this.#sql.run('DELETE FROM rulings WHERE doc = ?', doc),
    )
  }

  /** Notes that deletions of these times, and what quotes, are known no more: of its tenant no words come in that may have been deleted. */
  noteDropped(tenant: string, times: readonly number[]): void {
    if (times.length === 0) return
    this.#sql.run(
      'INSERT INTO dropped_notes VALUES (?, ?) ON CONFLICT (tenant) DO UPDATE SET at = max(at, excluded.at)',
      tenant,
      times.reduce((last, one) => Math.max(last, one)),
    )
  }

  /** Up to when notes of this tenant's deletions were dropped; null if none was, or none of them concerns what still comes. */
  droppedUntil(tenant: string): number | null {
    return this.#sql.get<{ at: number }>('SELECT at FROM dropped_notes WHERE tenant = ?', tenant)?.at ?? null
  }

  /** Forgets when a subject was deleted of which nothing is left, and returns that; null if something is. */
  forgetDeleted(s: number): number | null {
    const deleted = this.#sql.get<{ deleted_at: number }>('SELECT deleted_at FROM subjects WHERE s = ?', s)
    this.forget(s, Number.MAX_SAFE_INTEGER)
    const isLeft = this.#sql.get('SELECT 1 FROM subjects WHERE s = ?', s) !== undefined
    return isLeft || deleted === undefined ? null : deleted.deleted_at
  }

  /** Removes what is left of a subject of which nothing else is, unless it was deleted after this time. Its number is given again. */
  forget(s: number, time: number): void {
    this.#note(
      this.#sql.run(
        `DELETE FROM subjects WHERE s = ? AND coalesce(deleted_at, 0) < ? AND NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.s = subjects.s)
         AND NOT EXISTS (SELECT 1 FROM said WHERE said.s = subjects.s) AND NOT EXISTS (SELECT 1 FROM appeals WHERE appeals.s = subjects.s)
         AND NOT EXISTS (SELECT 1 FROM transcripts WHERE transcripts.s = subjects.s)`,
        s,
        time,
      ),
      this.#sql.run('DELETE FROM pictures WHERE s = ? AND s NOT IN (SELECT s FROM subjects WHERE s = ?)', s, s),
      this.#sql.run('DELETE FROM notes WHERE s = ? AND s NOT IN (SELECT s FROM subjects WHERE s = ?)', s, s),
      this.#sql.run('DELETE FROM written WHERE s = ? AND s NOT IN (SELECT s FROM subjects WHERE s = ?)', s, s),
      this.#sql.run(ANSWERS_GONE, s, s),
    )
  }

  /** Notes that rows were removed whose content is still in the log. */
  #note(...done: readonly { readonly changes: number | bigint }[]): void {
    if (done.some(({ changes }) => Number(changes) > 0)) this.#mustTruncate = true
  }

  /** Empties the log of what was erased. A reader of an older state of the file holds it up: it is tried again. */
  truncate(): void {
    if (!this.#mustTruncate) return
    this.#since ??= Date.now()
    // Nobody who writes waits for one who reads.
    this.#sql.exec('PRAGMA busy_timeout = 0')
    const done = this.#sql.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')
    this.#sql.exec('PRAGMA busy_timeout = 5000')
    if (done?.busy !== 0) return
    this.#mustTruncate = false
    this.#freeSpace.note()
    this.#since = null
  }

  subject({ tenant, kind, postId }: ThreadRef): { s: number; deleted_at: number | null } {
    const select = 'SELECT s, deleted_at FROM subjects WHERE tenant = ? AND kind = ? AND id = ?'
    const known = this.#sql.get<{ s: number; deleted_at: number | null }>(select, tenant, kind, postId)
    if (known !== undefined) return known
    const { lastInsertRowid } = this.#sql.run(
      'INSERT INTO subjects (tenant, kind, id) VALUES (?, ?, ?)',
      tenant,
      kind,
      postId,
    )
    return { s: Number(lastInsertRowid), deleted_at: null }
  }
}
