import { setAside } from '../../contracts/facts/kept-image.ts'
import type { Comment, Post, ThreadRef } from '../../contracts/facts/thread.ts'
import type { RememberedThread, ThreadRules } from '../../contracts/ports/threads.ts'
import { takeComments } from './comments.ts'
import { ASKED_AHEAD } from './head-start.ts'
import { takePost } from './post.ts'
import { askedAtOnce, newThread, type Thread } from './thread.ts'

// The twin of src/store/thread/put-asked.lua: a change here is a change there. Random histories compare them (test/judging/threads).

/**
 * The thread of a request: its comments belong to it whatever their age, and are cut, shared out and sampled as a stream's are.
 * With `postOnly` nobody reads them.
 */
export function askedThread(
  ref: ThreadRef,
  { post, comments, postOnly }: { post: Post; comments: readonly Comment[]; postOnly: boolean },
  now: number,
  streamRules: ThreadRules,
): RememberedThread {
  const rules: ThreadRules = { ...streamRules, finalAge: Number.MAX_SAFE_INTEGER, counts: [], reopen: false }
  const arrival = { firstDue: now, now, threaded: !postOnly, atOnce: true }
  const { thread } = takePost(newThread(ref), { post, arrival }, rules)
  const changes = comments.map((comment) => ({ kind: 'said' as const, comment, origin: noOrigin }))
  return { ...takeComments(thread, { changes, now }, rules).thread, post, postOnly }
}

/** The keys of a request take about so many bytes, and those of each of its cases and verdicts, however short its words. */
const KEYS_BYTES = 1_000
/** So much is kept free for the verdict and transcript of each protocol, beside the words. */
const ANSWER_BYTES = 16_384

/**
 * How many bytes are kept free for a request's answer by each protocol, until that is there: its transcript has the words once more.
 */
export function answerBytes(asked: Pick<RememberedThread, 'post' | 'comments'>): number {
  return ANSWER_BYTES + wordsOf(asked).words
}

/**
 * How many bytes a request holds until its last verdict: its words once, and once more in the case of each protocol; its images
 * once.
 */
export function requestBytes(asked: Pick<RememberedThread, 'post' | 'comments'>, protocols: readonly string[]): number {
  const { words, images } = wordsOf(asked)
  return (1 + protocols.length) * (KEYS_BYTES + words) + images
}

/** How long it is known what was asked under the id of a stream's subject, in ms: as long as anything of it may be kept. */
export const KEEP_REQUESTS_MS = 43_200_000
/** Its link to that subject and the numbers of its verdicts, or, of an erased one, that it was, take about so many bytes. */
const TRAIL_BYTES = 700
/** The link of a comment to what it stands under, or answers, takes about so many, and ids. */
const LINK_BYTES = 300

/** How many bytes a request leaves for so long beside its question and answer, also if it was erased. */
export function trailBytes({ post }: Pick<RememberedThread, 'post'>): number {
  return TRAIL_BYTES + Buffer.byteLength(post?.id ?? '') + linkBytes(post)
}

function linkBytes(post: Post | null): number {
  if (post?.around === undefined) return 0
  const { id, parentId = '', around } = post
  // A link has the ids of both its ends.
  const own = LINK_BYTES + Buffer.byteLength(id) + 2 * Buffer.byteLength(around.postId)
  return around.answered === null ? own : 2 * own + Buffer.byteLength(parentId)
}

/** All that a request may come to hold, with its answer. */
export function wholeBytes(asked: Pick<RememberedThread, 'post' | 'comments'>, protocols: readonly string[]): number {
  return requestBytes(asked, protocols) + protocols.length * answerBytes(asked) + trailBytes(asked)
}

function wordsOf({ post, comments }: Pick<RememberedThread, 'post' | 'comments'>) {
  const { post: bare, images } = setAside(post)
  const words = Buffer.byteLength(JSON.stringify([bare, [...comments.values()]]))
  return { words, images: images.reduce((sum, { url }) => sum + url.length, 0) }
}

/** Only comments whose post is missing are asked where they came from. */
function noOrigin(): never {
  throw new Error('a comment of a request came from no topic')
}

/** The thread as its store first has it: due at once. */
export function putAsked({ postOnly, ...asked }: RememberedThread, now: number): Thread {
  const status = postOnly ? 'post-only' : 'threaded'
  const thread = { ...newThread(asked.ref), ...asked, status, reachAhead: ASKED_AHEAD } as const
  return { ...thread, due: askedAtOnce(thread, now), dueSince: now, generation: 1 }
}
