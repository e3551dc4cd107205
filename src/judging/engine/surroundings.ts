import { cut, type TextCut } from '../../contracts/facts/cut.ts'
import { type Comment, type Post, type Snapshot, shownIn, type ThreadRef } from '../../contracts/facts/thread.ts'
import { commentKey, idsInCommentKey } from '../../contracts/facts/verdict-id.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'

/**
 * What a comment is shown with: the post that it stands under, and the comment that it answers, as far as they are known; or what a
 * thread is shown of others in the same words.
 */
export type Surroundings = Pick<Snapshot, 'comments' | 'under' | 'elsewhere'>

/** The comment that this one answers, as a subject of its own; null where it names none. */
export function parentOf({ tenant, postId: key }: ThreadRef, { parentId }: Pick<Post, 'parentId'>): ThreadRef | null {
  const { postId, subjectId } = idsInCommentKey(key)
  // Some platforms name the post there, and a comment that names itself answers nothing.
  if (parentId === undefined || parentId === postId || parentId === subjectId) return null
  return { tenant, postId: commentKey(postId, parentId), kind: 'comment' }
}

/** Reads what a comment is shown with, or takes what a client gave with it; undefined of what is no comment. */
export async function surroundingsOf(
  threads: Pick<ThreadStore, 'head'>,
  ref: ThreadRef,
  comment: Post,
): Promise<Surroundings | undefined> {
  const { around } = comment
  if (around !== undefined) return { under: around.under, comments: around.answered === null ? [] : [around.answered] }
  if (ref.kind !== 'comment') return undefined
  const { postId } = idsInCommentKey(ref.postId)
  const parent = parentOf(ref, comment)
  const [above, answered] = await Promise.all([
    threads.head({ tenant: ref.tenant, postId, kind: 'post' }),
    parent === null ? null : threads.head(parent),
  ])
  const [post, said] = [above?.post ?? null, answered?.post ?? null]
  return { comments: said === null ? [] : [asComment(said)], under: post === null ? null : wordsIn(post) }
}

/** What a comment is shown with that a client asks about. */
export function givenAround(postId: string, post: Post | null, answered: Comment | null): NonNullable<Post['around']> {
  return {
    postId,
    under: post === null ? null : wordsIn(post),
    answered: answered === null ? null : asComment(answered),
  }
}

/** Most characters of a text that are kept around a comment: a question shows fewer, and each of its comments keeps them. */
const MOST_AROUND = 1_000

/** Its words and no more: nobody is judged by who is around them. */
export function asComment({ id, text, cut: left, createdAt }: Post | Comment): Comment {
  return { id, ...cutWords(text, left), createdAt }
}

function wordsIn({ text, cut: left, media = [] }: Post): NonNullable<Snapshot['under']> {
  return cutWords([text, ...media.flatMap((medium) => shownIn(medium) ?? [])].join('\n'), left)
}

function cutWords(whole: string, before: TextCut | undefined): { readonly text: string; readonly cut?: TextCut } {
  const { text, left } = cut(whole, MOST_AROUND)
  if (left === 0) return { text, ...(before === undefined ? {} : { cut: before }) }
  return { text, cut: { left: left + (before?.left ?? 0), of: before?.of ?? whole.length } }
}
