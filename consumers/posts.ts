import { type Outcome, type PostMessage, postMessage } from '../src/contracts/facts/messages.ts'
import { mappedBy, type Post, type ThreadRef } from '../src/contracts/facts/thread.ts'
import type { JudgingProtocol } from '../src/contracts/ports/routes.ts'
import type { Arrival, KeepingOutcome, ThreadStore } from '../src/contracts/ports/threads.ts'
import type { BackgroundRunner, Heartbeat } from '../src/contracts/ports/topic.ts'
import { type CheckpointSettings, firstDue } from '../src/judging/threads/checkpoints.ts'
import { aheadByProtocols, aheadByReach } from '../src/judging/threads/head-start.ts'
import { keptPost } from '../src/judging/threads/kept.ts'
import type { IntakeContext, TopicHandler } from './intake.ts'
import { placeOf, type ValidMessage } from './read-message.ts'
import { OVER_SHARE, refuseMessages } from './refused-messages.ts'
import { mappingOf } from './source-place.ts'

/** Messages of different subjects whose effects are made durable in parallel. */
const HANDLED_AT_ONCE = 50
/** Subjects of which nothing is known, deleted in one step of the store: few enough not to block Redis. */
const UNKNOWN_AT_ONCE = 250
/** Routes as if every protocol had judged the post before: sampling leaves none out. */
const EVERYBODY = { has: () => true }

/** A post becomes a thread, with its first due time; a deleted post's thread is erased. */
export const posts: TopicHandler<PostMessage> = {
  schema: postMessage,
  clocked: true,
  subjectOf,
  itselfIn: subjectOf,
  postOf: (context, message) => (message.deleted === true ? null : keptOf(context, message)),
  handle: (context, read, heartbeat, runInBackground) =>
    handleInSteps({
      read,
      subjectOf,
      context,
      heartbeat,
      handle: (one) => handlePost(context, one, heartbeat, runInBackground),
    }),
}

function subjectOf({ tenant, id }: PostMessage): ThreadRef {
  return { tenant, postId: id, kind: 'post' }
}

async function handlePost(
  context: IntakeContext,
  { message, from }: ValidMessage<PostMessage>,
  heartbeat: Heartbeat,
  runInBackground?: BackgroundRunner,
): Promise<Outcome> {
  const { threads, rules, checkpoints, mostHeld, clock, storyOf } = context
  const ref = subjectOf(message)
  if (message.deleted === true) return eraseWithDependents(context, ref, heartbeat, runInBackground)
  const post = mappedBy(mappingOf(from), keptOf(context, message))
  const arrival = arrivalOf(await judgesOf(context, ref, post), post, checkpoints, clock())
  const put = { ...arrival, story: storyOf(ref, post, message.text), place: placeOf(from) }
  const outcome = await threads.putPost(ref, post, put, rules, mostHeld())
  return outcome === 'over-share' ? refuseMessages(context, [from], OVER_SHARE) : outcome
}

/**
 * The protocols that judge a post, or a comment by itself. Those that already judged it keep it after a key change; otherwise its
 * comments would be dropped.
 */
export async function judgesOf(
  { routes, threads }: IntakeContext,
  ref: ThreadRef,
  post: Post,
): Promise<readonly JudgingProtocol[]> {
  const drawn = routes.of(ref, post)
  if (drawn.length === routes.of(ref, post, EVERYBODY).length) return drawn
  const known = await threads.head(ref)
  return known === null ? drawn : routes.of(ref, post, known.revisions)
}

/**
 * Erases a post or reply, and then the replies to it, which quote it, and what was asked under its id: when it is deleted no more
 * can be linked to it. Tens of thousands take seconds, in which no other partition would be read: these are erased later.
 */
export async function eraseWithDependents(
  context: IntakeContext,
  ref: ThreadRef,
  heartbeat: Heartbeat,
  runInBackground?: BackgroundRunner,
): Promise<Outcome> {
  const outcome = await context.erase(ref)
  if (!(await eraseDependents(context, ref, heartbeat))) return outcome
  await heartbeat()
  await context.erasures.replies(
    async (beat) => {
      while (await eraseDependents(context, ref, beat)) await beat()
    },
    heartbeat,
    runInBackground,
  )
  return outcome
}

/** Erases a page of a deleted subject's replies, or of what was asked under its id; false if there was nothing left to erase. */
async function eraseDependents(context: IntakeContext, ref: ThreadRef, heartbeat: Heartbeat): Promise<boolean> {
  const { threads, erase, clock } = context
  const [replies, wereAsked] = await Promise.all([threads.repliesTo(ref, HANDLED_AT_ONCE), eraseAllAsked(context, ref)])
  if (replies.length === 0) return wereAsked
  const unfinished = await Promise.all(
    replies.map(async (reply) => {
      await erase(reply)
      const isShown = reply.kind === 'comment' && (await eraseElsewhere(context, reply, heartbeat))
      return (await eraseAllAsked(context, reply)) || isShown
    }),
  )
  // The process that reads the deletion again after a crash continues with the rest.
  await threads.unlinkReplies(
    ref,
    replies.filter((_, nth) => unfinished[nth] !== true),
    clock(),
  )
  return true
}

/** Erases a deleted post's comment from some threads of other posts that were shown it; false if there was none. */
async function eraseElsewhere(context: IntakeContext, comment: ThreadRef, heartbeat: Heartbeat): Promise<boolean> {
  const { threads, clock } = context
  // What answers it stands under the same post, and goes with that.
  const shown = (await threads.repliesTo(comment, HANDLED_AT_ONCE)).filter(({ kind }) => kind === 'post')
  for (const one of shown) await eraseFrom(context, one, { ref: comment, id: '' }, heartbeat)
  await threads.unlinkReplies(comment, shown, clock())
  return shown.length > 0
}

/** Erases a comment from what was shown with it: a comment that answers it, or the thread of another post in the same words. */
export async function eraseFrom(
  { erasures }: Pick<IntakeContext, 'erasures'>,
  shown: ThreadRef,
  { ref, id }: { readonly ref: ThreadRef; readonly id: string },
  heartbeat: Heartbeat,
): Promise<void> {
  await erasures.comments(shown, new Set([shown.kind === 'post' ? ref.postId : id]), heartbeat)
}

/** Erases a page of what was asked under this subject's id; false if there was nothing. */
export async function eraseAllAsked({ threads, eraseAsked }: IntakeContext, subject: ThreadRef): Promise<boolean> {
  const requests = await threads.askedAbout(subject, HANDLED_AT_ONCE)
  if (requests.length === 0) return false
  await Promise.all(requests.map(eraseAsked))
  await threads.unlinkAsked(subject, requests)
  return true
}

/**
 * Handles messages of different subjects side by side, a bounded number at a time, and those of one subject in order: a burst of
 * deletions does not wait for each of them, nor a post for the deletions before it. Resolves to the outcomes, in order.
 */
export async function handleInSteps<Message extends { readonly deleted?: boolean | undefined }>(work: {
  read: readonly ValidMessage<Message>[]
  subjectOf: (message: Message) => ThreadRef
  context: DeletingContext
  handle: (one: ValidMessage<Message>) => Promise<Outcome>
  heartbeat: Heartbeat
}): Promise<Outcome[]> {
  const { read, subjectOf, handle, heartbeat } = work
  const { threads, clock, mostHeld } = work.context
  const outcomes: Outcome[] = []
  for (const step of ofDifferentSubjects(read, subjectOf)) {
    const others = new Map(step)
    // Most deletions of a burst are of subjects that nobody has heard of.
    for (const some of pages(step.filter(isDeletion), UNKNOWN_AT_ONCE)) {
      const refs = some.map(([, { message }]) => subjectOf(message))
      const deleted = await threads.deleteUnknown(refs, clock(), mostHeld())
      for (const [nth, [at]] of some.entries()) {
        if (deleted[nth] !== true) continue
        outcomes[at] = 'deleted'
        others.delete(at)
      }
    }
    for (const some of pages([...others], HANDLED_AT_ONCE)) {
      await Promise.all(
        some.map(async ([at, one]) => {
          outcomes[at] = await handle(one)
        }),
      )
      await heartbeat()
    }
  }
  return outcomes
}

interface DeletingContext extends Pick<IntakeContext, 'clock' | 'mostHeld'> {
  readonly threads: Pick<ThreadStore, 'deleteUnknown'>
}

/** A message by its place among those that were read. */
type Placed<Message> = readonly [number, ValidMessage<Message>]

const isDeletion = ([, { message }]: Placed<{ readonly deleted?: boolean | undefined }>) => message.deleted === true

/** The messages in order, in steps that hold no subject twice. */
function* ofDifferentSubjects<Message>(
  read: readonly ValidMessage<Message>[],
  subjectOf: (message: Message) => ThreadRef,
): Generator<readonly Placed<Message>[]> {
  let step = new Map<string, Placed<Message>>()
  for (const [at, one] of read.entries()) {
    const { tenant, postId } = subjectOf(one.message)
    const subject = `${tenant}:${postId}`
    if (step.has(subject)) {
      yield [...step.values()]
      step = new Map()
    }
    step.set(subject, [at, one])
  }
  if (step.size > 0) yield [...step.values()]
}

function* pages<Item>(all: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size)
}

/** Whether something of a subject is kept: what is not needs no link to what it stands under. */
export function isKept(outcome: KeepingOutcome): boolean {
  return outcome === 'judged' || outcome === 'updated' || outcome === 'duplicate'
}

/** What the routes of a post mean for its thread. */
export function arrivalOf(
  routed: readonly JudgingProtocol[],
  { createdAt, reach }: Post,
  checkpoints: CheckpointSettings,
  now: number,
): Arrival {
  return {
    firstDue: firstDue(createdAt, checkpoints),
    now,
    reachAhead: aheadByReach(reach),
    protocolAhead: aheadByProtocols(routed),
    judges: routed.length,
    threaded: routed.some(({ subject }) => subject === 'thread'),
    atOnce: routed.some(({ subject }) => subject !== 'thread'),
  }
}

function keptOf({ rules, descriptions }: IntakeContext, message: PostMessage): Post {
  return keptPost(message, rules, descriptions(subjectOf(message)))
}
