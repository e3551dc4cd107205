import type { Comment } from '../../contracts/facts/thread.ts'

/** Returns the comment that a comment answers; undefined where it has none. */
export type ParentOf = (comment: Comment) => Comment | undefined

export const noParents: ParentOf = () => undefined

/** The comments' ids, in order, then those of their parents that are not among them yet. */
export function withParents(comments: readonly Comment[], parentOf: ParentOf): string[] {
  const ids = comments.map(({ id }) => id)
  return [...new Set([...ids, ...comments.flatMap((comment) => parentOf(comment)?.id ?? [])])]
}

/**
 * The parents within one snapshot. A comment has none where its parent is the post, is missing or left out, and where
 * following parents leads back to the comment itself.
 */
export function parentsIn(comments: readonly Comment[]): ParentOf {
  const byId = new Map(comments.map((comment) => [comment.id, comment]))
  const settled = new Set<string>()
  const cyclic = new Set<string>()
  for (const { id: start } of comments) {
    const path = new Map<string, number>()
    let id: string | undefined = start
    while (id !== undefined && byId.has(id) && !settled.has(id) && !path.has(id)) {
      path.set(id, path.size)
      id = byId.get(id)?.parentId
    }
    const from = id === undefined ? undefined : path.get(id)
    for (const [passed, at] of path) {
      settled.add(passed)
      if (from !== undefined && at >= from) cyclic.add(passed)
    }
  }
  return ({ id, parentId }) => (parentId === undefined || cyclic.has(id) ? undefined : byId.get(parentId))
}
