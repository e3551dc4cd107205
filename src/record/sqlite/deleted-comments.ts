import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { commentKey } from '../../contracts/facts/verdict-id.ts'
import type { Entry } from '../../contracts/ports/record.ts'
import { shownKeys } from '../shown.ts'
import type { Sql } from './sql.ts'
import type { TextIndex } from './text-index.ts'
import { forgetComments } from './written.ts'

/** In place of a transcript's comments: any of its post's may be in it. */
export const ANY = 'any'

interface Erasing {
  readonly sql: Sql
  readonly texts: TextIndex
  readonly erasures: {
    erase(of: ThreadRef, at: number): void
    /** A verdict without its words, and without its transcript. */
    unquote(id: string): void
    /** The same of verdicts that were shown these comments under other posts. */
    stripElsewhere(tenant: string, keys: readonly string[]): void
  }
}

/**
 * Deleted comments of one post are looked for together: each transcript that may show them is read once. Since the deletion of one is
 * known, nothing that shows it comes in.
 */
export function commentsGone(entries: readonly Entry[], { sql, texts, erasures }: Erasing): void {
  for (const { post, ids } of newlyGone(sql, entries)) {
    const showing = showingOf(sql, post, ids)
    forgetComments(sql, showing, ids)
    erasures.stripElsewhere(
      post.tenant,
      [...ids].map((id) => commentKey(post.postId, id)),
    )
    const stripped = new Set<number>()
    for (const { s, id, comments } of sql.all<{ s: number; id: string; comments: string }>(
      'SELECT s, id, comments FROM transcripts WHERE comments IS NOT NULL AND s IN (SELECT value FROM json_each(?))',
      JSON.stringify(showing),
    )) {
      const held = JSON.parse(comments) as readonly string[] | typeof ANY
      if (held !== ANY && !held.some((one) => ids.has(one))) continue
      erasures.unquote(id)
      stripped.add(s)
    }
    // Those that are found by the words of another's transcript.
    for (const s of stripped)
      for (const { doc } of sql.all<{ doc: number }>(
        'SELECT doc FROM rulings WHERE s = ? AND standing = 1 AND indexed = 1',
        s,
      )) {
        texts.unindex(doc)
        texts.index(doc)
      }
  }
  for (const entry of entries)
    if (entry.what === 'comment-deletion' && isKnown(sql, entry.itself)) erasures.erase(entry.itself, entry.at)
}

/** Notes which comments were deleted, and returns those of which that was not known, by their post. */
function newlyGone(sql: Sql, entries: readonly Entry[]) {
  const byPost = new Map<string, { post: ThreadRef; ids: Set<string> }>()
  for (const entry of entries) {
    if (entry.what !== 'comment-deletion') continue
    const { post, comment, at } = entry
    const which = [post.tenant, post.postId, comment] as const
    const { changes } = sql.run('INSERT OR IGNORE INTO gone_comments VALUES (?, ?, ?, ?)', ...which, at)
    if (changes === 0) {
      sql.run('UPDATE gone_comments SET at = ? WHERE tenant = ? AND post = ? AND comment = ?', at, ...which)
      continue
    }
    const key = `${post.tenant}/${post.postId}`
    const of = byPost.get(key) ?? { post, ids: new Set() }
    byPost.set(key, of)
    of.ids.add(comment)
  }
  return byPost.values()
}

/** The numbers of a post, and of its comments that show one of these with what they answer, or may show any: that is asked once. */
function showingOf(sql: Sql, post: ThreadRef, comments: ReadonlySet<string>): number[] {
  const rows = sql.all<{ s: number }>(
    'DELETE FROM shown WHERE tenant = ? AND key IN (SELECT value FROM json_each(?)) RETURNING s',
    post.tenant,
    JSON.stringify(shownKeys(post, comments)),
  )
  const own = sql.all<{ s: number }>(
    "SELECT s FROM subjects WHERE tenant = ? AND kind = 'post' AND id = ?",
    post.tenant,
    post.postId,
  )
  return [...new Set([...own, ...rows].map(({ s }) => s))]
}

function isKnown(sql: Sql, { tenant, kind, postId }: ThreadRef): boolean {
  return sql.get('SELECT 1 FROM subjects WHERE tenant = ? AND kind = ? AND id = ?', tenant, kind, postId) !== undefined
}
