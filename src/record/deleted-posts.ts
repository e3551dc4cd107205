import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Entry } from '../contracts/ports/record.ts'
import { workedInTurn } from './turns.ts'

/** A post that was deleted, and the comment after which what stands under it is still to be erased. */
export interface DeletedPost {
  readonly tenant: string
  readonly post: string
  readonly at: number
  readonly after: string
}

/** Comments and replies of deleted posts that are erased in one step. */
export const ERASED_AT_ONCE = 250

export const DELETED_POSTS = workedInTurn({
  table: 'deleted_posts',
  columns: 'tenant, post, at, after',
  order: 'post',
})
export const DELETED_POST = 'SELECT tenant, post, at, after FROM deleted_posts WHERE tenant = ? AND post = ?'

/** The posts that these delete: what stands under them goes in the same step, as far as that may; nobody else's step is held up for it. */
export function postsDeletedBy(entries: readonly Entry[]): ThreadRef[] {
  const deleted = entries.flatMap((entry) => {
    const isDeletion = entry.what === 'deletion' || (entry.what === 'ruling' && entry.decidedBy === 'deleted')
    return isDeletion ? [entry.subject] : []
  })
  return deleted.filter(({ kind }) => kind === 'post')
}
