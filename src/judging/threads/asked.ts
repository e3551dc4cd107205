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

/**
 * How many bytes a request holds until its last verdict: its words once, and once more in the case of each protocol; its images
 * once.
 */
export function requestBytes(
  { post, comments }: Pick<RememberedThread, 'post' | 'comments'>,
  protocols: readonly string[],
): number {
  const { post: words, images } = setAside(post)
  const copies = 1 + protocols.length
  const own = copies * Buffer.byteLength(JSON.stringify([words, [...comments.values()]]))
  return images.reduce((sum, { url }) => sum + url.length, own)
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
