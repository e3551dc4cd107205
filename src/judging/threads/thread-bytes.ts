import { hash } from 'node:crypto'
import { authorOf } from '../../contracts/facts/author.ts'
import { setAside } from '../../contracts/facts/kept-image.ts'
import type { Comment, Post, ThreadRef } from '../../contracts/facts/thread.ts'
import type { Origin } from '../../contracts/ports/threads.ts'
import { STORY_BYTES } from './story.ts'
import type { Thread } from './thread.ts'

// The twin of src/store/redis/include/thread-bytes.lua: a change here is a change there. Random histories compare them (test/judging/threads).

/** The keys of a thread take about so many bytes, and the entries of a comment, however short its text. */
const THREAD_BYTES = 1_000
const COMMENT_BYTES = 200
/** In so many keys, and members of others, stands the thread's id. */
const NAMES = 6
/** What stands in place of a deleted comment. */
export const TOMBSTONE = '{}'

type Measured = Pick<Thread, 'ref' | 'status' | 'post' | 'comments' | 'orphans' | 'judges' | 'story'>

/**
 * How many bytes a thread of the stream holds: its words once, and once more for each protocol that judges it, whose case has a copy
 * of them; its images, and its part of a story, once; where its comments came from, as long as its post is missing. A deleted one holds its tombstone.
 */
export function threadBytes({ ref, status, post, comments, orphans, judges, story }: Measured): number {
  if (status === 'deleted') return deletedBytes(ref)
  if (post === null && comments.size === 0 && orphans.size === 0) return 0
  const { images, words } = postBytes(post)
  const said = sumOf([...comments].map(([id, comment]) => commentBytes(id, comment)))
  const origins = sumOf([...orphans].map(([id, origin]) => originBytes(id, origin)))
  return bareBytes(ref) + (1 + judges) * (words + said) + origins + images + (story === null ? 0 : STORY_BYTES)
}

/** What a thread holds beside its words. */
export function bareBytes({ postId }: ThreadRef): number {
  return THREAD_BYTES + NAMES * bytesIn(postId)
}

/** What stands in place of a deleted subject; its id is in three keys. */
export function deletedBytes({ postId }: ThreadRef): number {
  return 500 + 3 * bytesIn(postId)
}

/** What is known of a post that nobody judges. */
export function passedBytes({ postId }: ThreadRef): number {
  return 250 + bytesIn(postId)
}

/** What the link of a reply or comment takes at what it stands under. */
export function linkBytes(reply: ThreadRef): number {
  return 100 + memberBytes(reply)
}

/** What the first link takes beside it. */
export function firstLinkBytes(above: ThreadRef): number {
  return 250 + 2 * memberBytes(above)
}

function memberBytes({ tenant, kind, postId }: ThreadRef): number {
  return bytesIn(`${tenant}/${kind}:${postId}`)
}

function postBytes(post: Post | null): { readonly words: number; readonly images: number } {
  if (post === null) return { words: 0, images: 0 }
  const { post: words, images } = setAside(post)
  return {
    words: bytesIn(JSON.stringify(words)),
    images: sumOf(images.map((image) => image.hash.length + image.url.length)),
  }
}

/** The bytes of a comment, null for a deleted one, in one copy. */
export function commentBytes(id: string, comment: Comment | null): number {
  return 2 * bytesIn(id) + bytesIn(comment === null ? TOMBSTONE : storedComment(comment).json) + COMMENT_BYTES
}

export function originBytes(id: string, origin: Origin): number {
  return bytesIn(id) + bytesIn(JSON.stringify(origin))
}

/** A comment as its thread keeps it, and the hash of its author, empty if it names none. */
export function storedComment({ id: _, ...kept }: Comment): { json: string; author: string } {
  const name = authorOf(kept)
  const author = name === undefined ? '' : authorHash(name)
  // The scripts expect the hash at the beginning.
  return { json: JSON.stringify({ by: author, ...kept }), author }
}

/** Short, and without the characters that separate the members of the set of authors. */
function authorHash(author: string): string {
  return hash('sha256', author, 'base64url').slice(0, 16)
}

function bytesIn(text: string): number {
  return Buffer.byteLength(text)
}

function sumOf(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0)
}
