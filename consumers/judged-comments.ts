import { isDeepStrictEqual } from 'node:util'
import type { CommentMessage, Outcome } from '../src/contracts/facts/messages.ts'
import { mappedBy, type Post, type ThreadRef } from '../src/contracts/facts/thread.ts'
import { commentKey } from '../src/contracts/facts/verdict-id.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { BackgroundRunner, Heartbeat, IncomingMessage } from '../src/contracts/ports/topic.ts'
import { parentOf } from '../src/judging/engine/surroundings.ts'
import { keptComment } from '../src/judging/threads/kept.ts'
import type { IntakeContext } from './intake.ts'
import { arrivalOf, eraseAllAsked, eraseFrom, handleInSteps, isKept, judgesOf } from './posts.ts'
import { placeOf, type ValidMessage } from './read-message.ts'
import { fullOf, OVER_SHARE, refuseMessages } from './refused-messages.ts'
import { mappingOf } from './source-place.ts'

/**
 * How much further than it has come the stream has to come before a comment is judged whose post is not known, in ms: they are on topics
 * of their own, of which either may be read first.
 */
const POST_WAIT_MS = 5_000
/** How far apart comments on one post come in the order of due work, in ms. */
const PACE_MS = 50
/** From so many posts on, those whose comments have had their turns are forgotten. */
const SWEPT_AT = 10_000

/**
 * By how many ms the next comment on a post counts as younger than it is: so thousands that come at once hold up nobody who comes
 * after them. The order alone goes by that; where nothing else waits, nobody waits for it.
 */
export function commentPace(clock: Clock): IntakeContext['commentPace'] {
  const last = new Map<string, number>()
  return ({ tenant, postId }) => {
    const [post, now] = [`${tenant}:${postId}`, clock()]
    const at = Math.max(now, (last.get(post) ?? 0) + PACE_MS)
    if (last.size >= SWEPT_AT) for (const [one, until] of last) if (until < now) last.delete(one)
    last.set(post, at)
    return at - now
  }
}

/** Comments that are shown with a deleted one, from which it is erased at a time. */
const ERASED_AT_ONCE = 50

/**
 * Makes each comment that a route sends to a protocol a subject of its own, beside its thread and whatever that keeps of it; and
 * erases those that are deleted. `ofThread`: what became of each in its thread. Resolves to what became of each in all.
 */
export async function judgeComments(
  context: IntakeContext,
  read: readonly ValidMessage<CommentMessage>[],
  ofThread: readonly Outcome[],
  heartbeat: Heartbeat,
  runInBackground?: BackgroundRunner,
): Promise<Outcome[]> {
  // Most services judge none, and their comments are many.
  if (!context.routes.takeComments && read.every(({ message }) => message.deleted !== true)) return [...ofThread]
  const isSubject = await Promise.all(
    read.map(
      async (one, at) =>
        ofThread[at] !== 'dead-letter' &&
        !isOver(context, commentSubject(one.message), one.from) &&
        mayBeSubject(context, one),
    ),
  )
  const subjects = read.filter((_, at) => isSubject[at])
  const done = await handleInSteps({
    read: subjects,
    subjectOf: commentSubject,
    context,
    heartbeat,
    handle: (one) => handleComment(context, one, heartbeat, runInBackground),
  })
  const own = new Map(subjects.map((one, at) => [one, done[at]]))
  return read.map((one, at) => {
    const [outcome = 'unrouted', judged = outcome] = [ofThread[at], own.get(one)]
    return outcome === 'unrouted' || judged === 'dead-letter' ? judged : outcome
  })
}

/** Whether a message is read again whose subject was forgotten after it was sent. */
export function isOver({ endOf }: IntakeContext, subject: ThreadRef, { timestamp }: IncomingMessage): boolean {
  return timestamp <= (endOf?.(subject) ?? Number.NEGATIVE_INFINITY)
}

/** Whether a comment is, or was, judged by itself. Where no route takes comments, nothing is asked of the store but for deletions. */
async function mayBeSubject(context: IntakeContext, { message }: ValidMessage<CommentMessage>): Promise<boolean> {
  const { routes, rules, threads } = context
  const ref = commentSubject(message)
  if (message.deleted === true) return routes.takeComments || isKnown(threads, ref)
  if (!routes.takeComments) return false
  return (
    (await judgesOf(context, ref, keptComment(message, rules))).length > 0 || (await threads.statusOf(ref)) !== null
  )
}

/** Whether anything is kept of it: its own thread, what a client asked about it, or what is shown with it. */
async function isKnown(threads: IntakeContext['threads'], ref: ThreadRef): Promise<boolean> {
  const [status, asked, answers] = await Promise.all([
    threads.statusOf(ref),
    threads.askedAbout(ref, 1),
    threads.repliesTo(ref, 1),
  ])
  return status !== null || asked.length + answers.length > 0
}

async function handleComment(
  context: IntakeContext,
  { message, from }: ValidMessage<CommentMessage>,
  heartbeat: Heartbeat,
  runInBackground?: BackgroundRunner,
): Promise<Outcome> {
  const { threads, rules, checkpoints, maxReplies, mostHeld, clock, reached = 0 } = context
  const { tenant, postId } = message
  const ref = commentSubject(message)
  if (message.deleted === true) return eraseShown(context, message, heartbeat, runInBackground)
  // Linked first, so that a deletion meanwhile reaches it, too.
  const root: ThreadRef = { tenant, postId, kind: 'post' }
  const now = clock()
  const link = { most: maxReplies, now }
  const linked = await threads.linkReply(root, ref, link)
  if (linked === 'deleted') {
    // After Redis was lost the deletion may be read before the comment, which has a verdict already.
    if ((await threads.statusOf(ref)) !== null) await context.erase(ref)
    return 'deleted'
  }
  if (linked === 'full') return refuseMessages(context, [from], fullOf(maxReplies, 'comments'))
  const { parentId, ...said }: Post = keptComment(message, rules)
  const parent = parentOf(ref, { parentId })
  // What it could not be erased from is not shown with it.
  const toParent = parent === null ? 'full' : await threads.linkReply(parent, ref, link)
  const post = mappedBy(mappingOf(from), toParent !== 'full' ? { ...said, parentId } : said)
  const arrival = arrivalOf(await judgesOf(context, ref, post), post, checkpoints, now)
  const pace = context.commentPace(root)
  const protocolAhead = (arrival.protocolAhead ?? 0) - pace
  // In the same order, a thousand times as close together.
  const waits = (await isAwaited(threads, root))
    ? { notBefore: Math.min(reached, now) + POST_WAIT_MS + pace / 1_000 }
    : {}
  const put = { ...arrival, ...waits, protocolAhead, place: placeOf(from) }
  const before = linked === 'known' && toParent === 'linked' ? await threads.head(ref) : null
  const outcome = await threads.putPost(ref, post, put, rules, mostHeld())
  if (!isKept(outcome)) {
    if (linked === 'linked') await threads.unlinkReplies(root, [ref], clock())
    if (parent !== null && toParent === 'linked') await threads.unlinkReplies(parent, [ref], clock())
  } else if (outcome === 'updated' && before?.post != null) {
    const earlier = parentOf(ref, before.post)
    // Nobody was shown it with what never came: only who was must hear of a deletion. A message that is read again changes nothing.
    if (earlier !== null && !isDeepStrictEqual(earlier, parent) && (await threads.statusOf(earlier)) === null)
      await threads.unlinkReplies(earlier, [ref], clock())
  }
  return outcome === 'over-share' ? refuseMessages(context, [from], OVER_SHARE) : outcome
}

/** Whether a post may still come: nothing is known of it. */
async function isAwaited(threads: IntakeContext['threads'], post: ThreadRef): Promise<boolean> {
  const status = await threads.statusOf(post)
  // Of comments, too, a thread is made.
  return status === null || (status === 'threaded' && (await threads.head(post))?.post == null)
}

/** Erases a deleted comment, what was asked under its id, and then its words from the cases of those that answer it. */
async function eraseShown(
  context: IntakeContext,
  message: CommentMessage,
  heartbeat: Heartbeat,
  runInBackground?: BackgroundRunner,
): Promise<Outcome> {
  const { threads, erase, erasures, clock } = context
  const ref = commentSubject(message)
  const outcome = await erase(ref)
  const eraseSome = async (beat: Heartbeat): Promise<boolean> => {
    const wereAsked = await eraseAllAsked(context, ref)
    const answers = await threads.repliesTo(ref, ERASED_AT_ONCE)
    for (const answer of answers) {
      await eraseFrom(context, answer, { ref, id: message.id }, beat)
      // What was asked about it may be shown with this one.
      while (answer.kind === 'comment' && (await eraseAllAsked(context, answer))) await beat()
    }
    // The process that reads the deletion again after a crash continues with the rest.
    await threads.unlinkReplies(ref, answers, clock())
    return wereAsked || answers.length > 0
  }
  if (!(await eraseSome(heartbeat))) return outcome
  await erasures.replies(
    async (beat) => {
      while (await eraseSome(beat)) await beat()
    },
    heartbeat,
    runInBackground,
  )
  return outcome
}

/** A comment as a subject of its own. */
export function commentSubject({ tenant, postId, id }: CommentMessage): ThreadRef {
  return { tenant, postId: commentKey(postId, id), kind: 'comment' }
}
