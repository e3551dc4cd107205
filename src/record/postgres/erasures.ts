import { redactWords } from '../../contracts/facts/redact-words.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { commentKey, commentKeysOf, idsInCommentKey } from '../../contracts/facts/verdict-id.ts'
import type { CommentDeletionEntry, Entry, RulingEntry } from '../../contracts/ports/record.ts'
import { ERASABLE } from '../actions.ts'
import { DELETED_POST, DELETED_POSTS, type DeletedPost, ERASED_AT_ONCE } from '../deleted-posts.ts'
import { shownKeys } from '../shown.ts'
import { inTurnLater, type WaitingTenant } from '../turns.ts'
import { eraseAppeals } from './appeals.ts'
import { eraseDraws, settleLaneDraws } from './draws.ts'
import { keysOf, unsealed } from './seals.ts'
import { indexed, unindexed } from './texts.ts'
import { subjectsOf, touch, type WritingStep } from './writing.ts'
import { forgetComments, forgetWritten } from './written.ts'

/**
 * Erases what was opened or said of a subject until `at`. Of a deleted post's comments, and of the replies that quote it, it is noted
 * that they go, too: thousands in one step would hold up whoever waits for it.
 */
export async function erase(writing: WritingStep, of: ThreadRef, at: number): Promise<void> {
  const { sql, counters, seals, hashes } = writing
  const { s, deletedAt } = (await subjectsOf(writing, [of]))(of)
  // People may have spoken since it was settled last.
  await settleLaneDraws(writing, [[s, null]])
  if (deletedAt < at) {
    const [before] = await sql.rows<{ k: number | null }>('SELECT k FROM subjects WHERE s = ?', s)
    await seals.shred([before?.k ?? null])
    await sql.run(
      'UPDATE subjects SET deleted_at = ?, gone_seq = ?, author = NULL, lang = NULL, same = NULL, k = NULL, sealed = NULL WHERE s = ?',
      at,
      counters.next('arrivals'),
      s,
    )
  }
  const docs = await sql.rows<{ doc: number }>(
    "SELECT doc FROM rulings WHERE s = ? AND opened_at <= ? AND decided_by <> 'deleted'",
    s,
    at,
  )
  await drop(
    writing,
    docs.map(({ doc }) => doc),
  )
  await dropSaid(writing, `s = ? AND at <= ? AND ${ERASABLE}`, s, at)
  const pictures = await sql.rows<{ k: number }>('DELETE FROM pictures WHERE s = ? RETURNING k', s)
  await seals.shred(pictures.map(({ k }) => k))
  const notes = await sql.rows<{ k: number }>('DELETE FROM notes WHERE s = ? RETURNING k', s)
  await seals.shred(notes.map(({ k }) => k))
  await dropTranscripts(
    writing,
    `s = ? AND NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.id = transcripts.id)
     AND NOT EXISTS (SELECT 1 FROM said WHERE said.id = transcripts.id)`,
    s,
  )
  await forgetWritten(sql, [s])
  const unread = await sql.rows<{ k: number }>(
    'DELETE FROM unread WHERE subject = ? AND at <= ? RETURNING k',
    hashes.key(of.postId),
    at,
  )
  counters.add('unread', -unread.length)
  await seals.shred(unread.map(({ k }) => k))
  await eraseDraws(writing, s, at)
  await eraseAppeals(writing, s, at)
  // What was judged since stays in the queue, whichever person has reserved it.
  const queued = await sql.rows<{ protocol: string }>(
    'SELECT protocol FROM queue WHERE s = ? UNION SELECT protocol FROM agreement WHERE s = ? UNION SELECT protocol FROM draws WHERE s = ? UNION SELECT protocol FROM compared WHERE s = ?',
    s,
    s,
    s,
    s,
  )
  for (const { protocol } of queued) touch(writing, s, protocol)
  if (of.kind !== 'post') return
  await unquoteElsewhere(writing, [{ tenant: of.tenant, key: commentKey(of.postId, '') }])
  const [first, last] = commentKeysOf(of.postId)
  await sql.run(
    `WITH deleted AS (SELECT ?::text AS tenant, ?::text AS post, ?::bigint AS at, ?::text AS after, ?::text AS last)
     INSERT INTO deleted_posts SELECT tenant, post, at, after FROM deleted
     WHERE EXISTS (SELECT 1 FROM subjects WHERE subjects.tenant = deleted.tenant AND kind = 'comment' AND id ~>~ after AND id ~<~ last)
     OR EXISTS (SELECT 1 FROM quotes WHERE quotes.tenant = deleted.tenant AND quotes.post = deleted.post)
     ON CONFLICT (tenant, post) DO UPDATE SET at = excluded.at, after = excluded.after WHERE excluded.at > deleted_posts.at`,
    of.tenant,
    of.postId,
    at,
    first,
    last,
  )
}

/** Erases some comments of deleted posts, and replies that quote them, of each tenant its share; the next call goes on after them. */
export async function eraseDependents(writing: WritingStep): Promise<void> {
  const { sql } = writing
  await inTurnLater(
    ERASED_AT_ONCE,
    await sql.rows<WaitingTenant>(DELETED_POSTS.tenants, ERASED_AT_ONCE),
    async (tenant, share) => {
      const erased: string[] = []
      while (erased.length < share) {
        const [of] = await sql.rows<DeletedPost>(DELETED_POSTS.of, tenant, 1)
        if (of === undefined) break
        erased.push(...(await eraseUnder(writing, of, share - erased.length)))
      }
      return erased
    },
  )
}

/** The same of what stands under these posts. */
export async function eraseUnderAll(writing: WritingStep, posts: readonly ThreadRef[]): Promise<void> {
  let left = ERASED_AT_ONCE
  for (const { tenant, postId } of posts) {
    if (left <= 0) return
    const [of] = await writing.sql.rows<DeletedPost>(DELETED_POST, tenant, postId)
    if (of !== undefined) left -= (await eraseUnder(writing, of, left)).length
  }
}

/** Erases at most so many of what stands under one post, and returns which; where there is nothing, the post itself. */
async function eraseUnder(writing: WritingStep, of: DeletedPost, most: number): Promise<string[]> {
  const { sql } = writing
  const { tenant, post, at, after } = of
  const comments = await sql.rows<{ id: string }>(
    "SELECT id FROM subjects WHERE tenant = ? AND kind = 'comment' AND id ~>~ ? AND id ~<~ ? ORDER BY id USING ~<~ LIMIT ?",
    tenant,
    after,
    commentKeysOf(post)[1],
    most,
  )
  for (const { id } of comments) await erase(writing, { tenant, postId: id, kind: 'comment' }, at)
  const replies = await sql.rows<{ reply: string }>(
    `DELETE FROM quotes WHERE (tenant, post, reply) IN (
       SELECT tenant, post, reply FROM quotes WHERE tenant = ? AND post = ? AND at <= ? LIMIT ?) RETURNING reply`,
    tenant,
    post,
    at,
    most - comments.length,
  )
  for (const { reply } of replies) await erase(writing, { tenant, postId: reply, kind: 'reply' }, at)
  const erased = [...comments.map(({ id }) => id), ...replies.map(({ reply }) => reply)]
  if (erased.length < most) await sql.run('DELETE FROM deleted_posts WHERE tenant = ? AND post = ?', tenant, post)
  else
    await sql.run(
      'UPDATE deleted_posts SET after = ? WHERE tenant = ? AND post = ?',
      comments.at(-1)?.id ?? after,
      tenant,
      post,
    )
  return erased.length === 0 ? [post] : erased
}

/** Removes these verdicts with their transcripts. */
export async function drop(writing: WritingStep, docs: readonly number[]): Promise<void> {
  const { sql, counters, seals } = writing
  if (docs.length === 0) return
  await unindexed(writing, docs)
  await sql.run('DELETE FROM marks WHERE doc = ANY (?::bigint[])', docs)
  await dropTranscripts(writing, 'id IN (SELECT id FROM rulings WHERE doc = ANY (?::bigint[]))', docs)
  await sql.run(
    "DELETE FROM reversals WHERE verdict IN (SELECT id FROM rulings WHERE doc = ANY (?::bigint[])) AND done = 'yes'",
    docs,
  )
  const gone = await sql.rows<{ k: number }>('DELETE FROM rulings WHERE doc = ANY (?::bigint[]) RETURNING k', docs)
  counters.add('verdicts', -gone.length)
  await seals.shred(gone.map(({ k }) => k))
}

type Values = readonly (string | number | readonly number[])[]

export async function dropTranscripts({ sql, counters, seals }: WritingStep, where: string, ...values: Values) {
  const gone = await sql.rows<{ k: number | null; t: number; at: number; s: number }>(
    `DELETE FROM transcripts WHERE ${where} RETURNING k, t, at, s`,
    ...values,
  )
  if (gone.length === 0) return []
  counters.add('transcripts', -gone.length)
  await unheld(sql, gone)
  await seals.shred(gone.map(({ k }) => k))
  return gone.map(({ s }) => s)
}

/** What these transcripts hold goes, and nothing is read of it any more: the oldest make room. */
export async function emptied({ sql, seals }: WritingStep, transcripts: readonly number[]): Promise<void> {
  const held = await sql.rows<{ t: number; at: number; k: number }>(
    `UPDATE transcripts SET k = NULL FROM (SELECT t, k FROM transcripts WHERE t = ANY (?::bigint[])) AS before
     WHERE transcripts.t = before.t RETURNING transcripts.t, at, before.k`,
    transcripts,
  )
  await unheld(sql, held)
  await seals.forget(held.map(({ k }) => k))
}

async function unheld(sql: WritingStep['sql'], gone: readonly { t: number; at: number }[]): Promise<void> {
  await sql.run(
    'DELETE FROM held USING unnest(?::bigint[], ?::bigint[]) AS gone (at, t) WHERE held.at = gone.at AND held.t = gone.t',
    gone.map(({ at }) => at),
    gone.map(({ t }) => t),
  )
}

export async function dropSaid({ sql, counters, seals }: WritingStep, where: string, ...values: Values) {
  const gone = await sql.rows<{ k: number; s: number; action: string | null }>(
    `DELETE FROM said WHERE ${where} RETURNING k, s, CASE said WHEN 'action' THEN id END AS action`,
    ...values,
  )
  counters.add('said', -gone.length)
  const actions = gone.flatMap(({ action }) => action ?? [])
  if (actions.length > 0) await sql.run('DELETE FROM due_statements WHERE action = ANY (?::text[])', actions)
  await seals.shred(gone.map(({ k }) => k))
  return gone.map(({ s }) => s)
}

/** Its last value: how many at most. Returns how many there were. */
export async function dropUnread({ sql, counters, seals }: WritingStep, where: string, ...values: Values) {
  const gone = await sql.rows<{ k: number }>(
    `DELETE FROM unread WHERE (topic, part, at_offset) IN (SELECT topic, part, at_offset FROM unread WHERE ${where} LIMIT ?) RETURNING k`,
    ...values,
  )
  counters.add('unread', -gone.length)
  await seals.shred(gone.map(({ k }) => k))
  return gone.length
}

/**
 * Deleted comments of one post are looked for together: what rests on its transcripts is read once. Since the deletion of one is known,
 * nothing that shows it comes in.
 */
export async function commentsGone(writing: WritingStep, entries: readonly Entry[]): Promise<void> {
  const { sql } = writing
  const gone = entries.filter((entry): entry is CommentDeletionEntry => entry.what === 'comment-deletion')
  if (gone.length === 0) return
  const last = [...new Map(gone.map((one) => [`${one.post.tenant}\n${one.post.postId}\n${one.comment}`, one])).values()]
  const columns = [
    last.map(({ post }) => post.tenant),
    last.map(({ post }) => post.postId),
    last.map(({ comment }) => comment),
  ] as const
  const fresh = await sql.rows<{ nth: number }>(
    `WITH given AS (SELECT * FROM unnest(?::text[], ?::text[], ?::text[], ?::bigint[]) WITH ORDINALITY AS given (tenant, post, comment, at, nth)),
     known AS (SELECT nth FROM given JOIN gone_comments USING (tenant, post, comment)),
     noted AS (INSERT INTO gone_comments SELECT tenant, post, comment, at FROM given
       ON CONFLICT (tenant, post, comment) DO UPDATE SET at = excluded.at)
     SELECT nth FROM given WHERE nth NOT IN (SELECT nth FROM known) ORDER BY nth`,
    ...columns,
    last.map(({ at }) => at),
  )
  await forgetShown(
    writing,
    fresh.flatMap(({ nth }) => last[nth - 1] ?? []),
  )
  const judged = await sql.rows<{ tenant: string; id: string; at: number }>(
    `SELECT subjects.tenant, subjects.id, gone.at FROM unnest(?::text[], ?::text[], ?::bigint[]) AS gone (tenant, id, at)
     JOIN subjects ON subjects.tenant = gone.tenant AND subjects.kind = 'comment' AND subjects.id = gone.id`,
    last.map(({ itself }) => itself.tenant),
    last.map(({ itself }) => itself.postId),
    last.map(({ at }) => at),
  )
  for (const { tenant, id, at } of judged) await erase(writing, { tenant, postId: id, kind: 'comment' }, at)
}

/** Erases what shows these comments. */
async function forgetShown(writing: WritingStep, gone: readonly CommentDeletionEntry[]): Promise<void> {
  const { sql } = writing
  if (gone.length === 0) return
  const keys = gone.flatMap(({ post, comment }) =>
    shownKeys(post, [comment]).map((key) => ({ tenant: post.tenant, key, comment })),
  )
  // The thread, and comments that were judged by themselves and shown with what they answer.
  const showing = await sql.rows<{ s: number; comment: string }>(
    `WITH of AS (SELECT * FROM unnest(?::text[], ?::text[], ?::text[]) AS of (tenant, key, comment)),
     shown_by AS (DELETE FROM shown USING (SELECT DISTINCT tenant, key FROM of) AS one
       WHERE shown.tenant = one.tenant AND shown.key = one.key RETURNING shown.tenant, shown.key, s)
     SELECT s, comment FROM shown_by JOIN of USING (tenant, key)
     UNION SELECT s, comment FROM unnest(?::text[], ?::text[], ?::text[]) AS gone (tenant, id, comment)
       JOIN subjects USING (tenant, id) WHERE kind = 'post'`,
    keys.map(({ tenant }) => tenant),
    keys.map(({ key }) => key),
    keys.map(({ comment }) => comment),
    gone.map(({ post }) => post.tenant),
    gone.map(({ post }) => post.postId),
    gone.map(({ comment }) => comment),
  )
  await forgetComments(sql, showing)
  await unquoteElsewhere(
    writing,
    gone.map(({ post, comment }) => ({ tenant: post.tenant, key: commentKey(post.postId, comment) })),
  )
  const held = await sql.rows<Held>(
    `SELECT DISTINCT t.t, t.id, t.s, t.k, t.at FROM unnest(?::bigint[], ?::text[]) AS of (s, comment)
     JOIN transcripts t ON t.s = of.s AND t.comments IS NOT NULL AND (t.cut = 1 OR t.comments @> ARRAY[of.comment])
     ORDER BY t.t`,
    showing.map(({ s }) => s),
    showing.map(({ comment }) => comment),
  )
  if (held.length > 0) await unquote(writing, held)
}

/** Verdicts that were shown comments under other posts, by their keys, lose their words, and their transcripts. */
async function unquoteElsewhere(
  writing: WritingStep,
  gone: readonly { readonly tenant: string; readonly key: string }[],
): Promise<void> {
  const { sql, hashes } = writing
  const shown = await sql.rows<{ id: string }>(
    `SELECT DISTINCT rulings.id FROM unnest(?::text[], ?::text[]) AS gone (tenant, value)
     JOIN marks ON mark = 'elsewhere' AND marks.value = gone.value
     JOIN rulings ON rulings.doc = marks.doc AND rulings.tenant = gone.tenant`,
    gone.map(({ tenant }) => tenant),
    gone.map(({ key }) => hashes.mark('elsewhere', key)),
  )
  await unquoteAll(
    writing,
    shown.map(({ id }) => id),
  )
}

/** Verdicts without their words, and without their transcripts. */
export async function unquoteAll(writing: WritingStep, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const held = await writing.sql.rows<Held>('SELECT t, id, s, k, at FROM transcripts WHERE id = ANY (?::text[])', ids)
  if (held.length > 0) await unquote(writing, held)
  for (const id of ids) await strip(writing, id)
}

/** Those of these verdicts that were shown a comment under another post that has been deleted since, or whose post has. */
export async function goneElsewhere({ sql }: WritingStep, entries: readonly RulingEntry[]): Promise<readonly string[]> {
  const shown = entries.flatMap(({ id, subject: { tenant }, marks }) =>
    marks.flatMap(({ mark, value }) => (mark === 'elsewhere' ? [{ id, tenant, ...idsInCommentKey(value) }] : [])),
  )
  if (shown.length === 0) return []
  const gone = await sql.rows<{ id: string }>(
    `SELECT DISTINCT of.id FROM unnest(?::text[], ?::text[], ?::text[], ?::text[]) AS of (id, tenant, post, comment)
     WHERE EXISTS (SELECT 1 FROM gone_comments g WHERE g.tenant = of.tenant AND g.post = of.post AND g.comment = of.comment)
     OR EXISTS (SELECT 1 FROM subjects s WHERE s.tenant = of.tenant AND s.kind = 'post' AND s.id = of.post AND s.deleted_at IS NOT NULL)
     OR EXISTS (SELECT 1 FROM dropped_notes d WHERE d.tenant = of.tenant)`,
    shown.map(({ id }) => id),
    shown.map(({ tenant }) => tenant),
    shown.map(({ postId }) => postId),
    shown.map(({ subjectId }) => subjectId),
  )
  return gone.map(({ id }) => id)
}

interface Held {
  readonly t: number
  readonly id: string
  readonly s: number
  readonly k: number | null
  readonly at: number
}

/** Erases transcripts that hold deleted comments, and what rests on them. */
async function unquote(writing: WritingStep, held: readonly Held[]): Promise<void> {
  const { sql, seals } = writing
  await sql.run(
    'UPDATE transcripts SET comments = NULL, k = NULL WHERE t = ANY (?::bigint[])',
    held.map(({ t }) => t),
  )
  await unheld(sql, held)
  await seals.shred(held.map(({ k }) => k))
  for (const { id } of held) await strip(writing, id)
  // Those that are found by the words of another's transcript.
  const docs = await sql.rows<{ doc: number }>(
    'SELECT doc FROM rulings WHERE s = ANY (?::bigint[]) AND standing = 1 AND indexed = 1',
    [...new Set(held.map(({ s }) => s))],
  )
  const others = docs.map(({ doc }) => doc)
  await unindexed(writing, others)
  await indexed(writing, others)
}

/** A verdict, or a proposal, without its free texts. */
export async function strip(writing: WritingStep, id: string): Promise<void> {
  const { sql, counters, seals } = writing
  await seals.save()
  const without = async (table: 'rulings' | 'said', own: string, condition = 'true') => {
    const [row] = await sql.rows<{ k: number; sealed: Buffer }>(
      `SELECT k, sealed FROM ${table} WHERE id = ? AND ${condition}`,
      own,
    )
    const key = row === undefined ? undefined : (await keysOf(sql, [row.k])).get(row.k)
    if (row === undefined || key === undefined) return
    const fresh = seals.seal(redactWords(unsealed(key, row.sealed).toString('utf8')))
    await sql.run(`UPDATE ${table} SET k = ?, sealed = ? WHERE id = ?`, fresh.k, fresh.sealed, own)
    await seals.shred([row.k])
  }
  const [of] = await sql.rows<{ s: number }>(
    'SELECT s FROM transcripts WHERE id = ? UNION ALL SELECT s FROM rulings WHERE id = ?',
    id,
    id,
  )
  // A verdict that a withdrawal published again has the same words.
  const rulings = await sql.rows<{ doc: number; id: string }>(
    `SELECT doc, id FROM rulings WHERE id = ? AND erased = 0
     UNION SELECT doc, id FROM rulings WHERE s = ? AND restores = ? AND erased = 0`,
    id,
    of?.s ?? null,
    id,
  )
  for (const ruling of rulings) {
    await unindexed(writing, [ruling.doc])
    await without('rulings', ruling.id)
    await sql.run(
      'UPDATE rulings SET erased = 1, indexed = 0, seq = ? WHERE doc = ?',
      counters.next('arrivals'),
      ruling.doc,
    )
    if (ruling.id !== id) await strip(writing, ruling.id)
  }
  await without('said', id, "said = 'proposal'")
}
