import { postOfComment } from '../contracts/facts/verdict-id.ts'
import type { GroupProgress, Range } from '../contracts/ports/topic.ts'
import { type AcceptedRanges, eachBatch, takenUpTo } from './input-topics.ts'
import { forgottenAt, isOver, noteMessage, type PublishedSubject, subjectKey } from './published.ts'
import { type RecoveryRun, sideBySide } from './run.ts'

/** A subject that would have expired by now. */
export interface EndedSubject {
  /** When it would have been forgotten, ms since 1970. */
  readonly forgotten: number
  readonly deleted: boolean
}

/** Subjects with a verdict, split by whether their thread would have expired by now even if nothing had been lost. */
export interface SplitSubjects {
  /** Those that would have expired, by subject key. */
  readonly over: ReadonlyMap<string, EndedSubject>
  readonly live: readonly PublishedSubject[]
}

/** Searches accepted messages for those that kept a subject alive after its last verdict. */
export async function splitByEnd(
  run: RecoveryRun,
  subjects: ReadonlyMap<string, PublishedSubject>,
  accepted: AcceptedRanges,
): Promise<SplitSubjects> {
  const { keep } = run.settings
  const now = run.clock()
  const ended = () => [...subjects].filter(([, subject]) => isOver(subject, keep, now))
  if (ended().length > 0)
    await eachBatch(run, accepted, 'looked at', async (...read) => noteAll(run, subjects, ...read))
  const over = new Map(
    ended().map(([key, subject]) => [key, { forgotten: forgottenAt(subject, keep), deleted: isDeleted(subject) }]),
  )
  return { over, live: [...subjects].filter(([key]) => !over.has(key)).map(([, subject]) => subject) }
}

function noteAll(
  { topics, routes, settings }: RecoveryRun,
  subjects: ReadonlyMap<string, PublishedSubject>,
  ...[{ valid }, handler, context]: Parameters<Parameters<typeof eachBatch>[3]>
): void {
  for (const { message, from } of valid) {
    const ref = handler.subjectOf(message)
    const comment = handler.commentOf?.(context, message).ref
    const own = comment === undefined ? undefined : subjects.get(subjectKey(comment))
    if (own !== undefined) noteMessage(own, 'post', from.timestamp, settings.keep)
    const subject = subjects.get(subjectKey(ref))
    if (subject === undefined) continue
    noteMessage(subject, from.topic === topics.comments ? 'comment' : 'post', from.timestamp, settings.keep)
    const post = handler.postOf(context, message)
    if (post !== null) subject.owed ||= routes.of(ref, post).some(({ name }) => !subject.last.has(name))
  }
}

/** Raises the store's revisions to the published ones; a dry run counts those that the store does not know. */
export async function restoreRevisions(
  run: RecoveryRun,
  live: readonly PublishedSubject[],
): Promise<{ revisions: number; givenUp: number }> {
  const { threads, store, retraction, dryRun } = run
  let [revisions, givenUp] = [0, 0]
  await sideBySide(run, live, 'revisions restored', async ({ ref, last }) => {
    const published = [...last.values()]
    if (dryRun) {
      const head = await threads.head(ref)
      revisions += published.filter(
        ({ protocol, revision, deleted }) => !deleted && (head?.revisions.get(protocol)?.revision ?? 0) < revision,
      ).length
      return
    }
    const done = await store.restore(ref, published)
    revisions += done.raised
    givenUp += done.givenUp
    if (published.some(({ deleted }) => deleted)) await threads.deletePost(ref, (...of) => retraction(ref, ...of))
  })
  return { revisions, givenUp }
}

/**
 * Notes deletions from before the recovery's start time, which are not read again: the shelves may not have been erased when the
 * store was lost, also of subjects without a verdict. Those whose tombstone has expired are passed over: their id may since be
 * another's.
 */
export async function noteEarlierDeletions(
  run: RecoveryRun,
  accepted: AcceptedRanges,
  progress: GroupProgress,
): Promise<void> {
  const { history, topics, settings, store, clock } = run
  const oldest = clock() - settings.keep.keepTombstoneMs
  const earlier = new Map<string, Map<number, Range>>()
  for (const topic of [topics.posts, topics.counterspeech]) {
    const ranges = [...(await history.rangesOf(topic, oldest))].flatMap(([at, { from, to }]) => {
      const taken = takenUpTo(progress, topic, at, to)
      const again = accepted.get(topic)?.get(at)?.from ?? from
      const range = { from, to: again }
      if (taken < again) range.to = taken
      return range.from < range.to ? [[at, range] as const] : []
    })
    earlier.set(topic, new Map(ranges))
  }
  await eachBatch(run, earlier, 'looked at for deletions', async ({ valid }, handler, context) => {
    const deleted = valid.filter(
      ({ message, from }) => from.timestamp >= oldest && handler.postOf(context, message) === null,
    )
    await sideBySide(run, deleted, 'deletions noted', async ({ message }) => {
      await store.noteDeleted(handler.subjectOf(message))
    })
  })
}

/** Keeps only the revision numbers of expired subjects, and whether they were deleted. */
export async function endThreads(
  run: RecoveryRun,
  subjects: ReadonlyMap<string, PublishedSubject>,
  over: ReadonlyMap<string, EndedSubject>,
): Promise<void> {
  await sideBySide(run, [...over], 'expired subjects ended', async ([key, { forgotten, deleted }]) => {
    const subject = subjects.get(key)
    if (subject === undefined) return
    await run.store.end(subject.ref, forgotten, subject.last.values())
    // Its deletion is not read again, and the shelves may not have been erased when the store was lost.
    if (deleted) await run.store.noteDeleted(subject.ref)
    // Its message is not read again: a deletion of its post is to retract what was said of it, too.
    else if (subject.ref.kind === 'comment')
      await run.threads.linkReply(postOfComment(subject.ref), subject.ref, {
        most: run.input.context.maxReplies,
        now: run.clock(),
      })
  })
}

function isDeleted({ last }: PublishedSubject): boolean {
  return [...last.values()].some(({ deleted }) => deleted)
}
