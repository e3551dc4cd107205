import { setTimeout as sleep } from 'node:timers/promises'
import type { ThreadRef } from '../src/contracts/facts/thread.ts'
import type { BackgroundRunner, Heartbeat } from '../src/contracts/ports/topic.ts'

/** Erases deleted comments from everything that was derived from the post's thread, or that was shown with a comment. Repeatable. */
export type EraseComments = (thread: ThreadRef, deleted: ReadonlySet<string>) => Promise<unknown>

/** Threads of one tenant whose erasures are not waited for, at a time: what was read of their messages is read again after a crash. */
const MOST = 16
/** Deleted posts whose replies are erased later, at a time. */
const MOST_WITH_REPLIES = 4
/** While an erasure is waited for, a heartbeat is due this often, in ms. */
const BEAT_MS = 500

export type BackgroundErasures = ReturnType<typeof backgroundErasures>

/**
 * Erases comments and replies without anybody waiting for it: it can take seconds, in which this process would fetch nothing, of
 * no partition.
 */
export function backgroundErasures(erase: EraseComments) {
  /** Of so many deleted posts replies are being erased later. */
  let withReplies = 0

  /** By thread: the erasure that runs, and the one that follows it. */
  const running = new Map<string, Promise<void>>()
  const next = new Map<string, { readonly ids: Set<string>; readonly done: Promise<void> }>()

  /** Those of its tenant, each until it has ended, however that is. */
  function runningOf({ tenant }: ThreadRef): Promise<void>[] {
    const own = [...running].filter(([thread]) => thread.startsWith(`${tenant}/`))
    return own.map(([, ended]) => ended.catch(() => {}))
  }

  function begin(ref: ThreadRef, deleted: ReadonlySet<string>): Promise<void> {
    const thread = `${ref.tenant}/${ref.kind}:${ref.postId}`
    const following = next.get(thread)
    if (following !== undefined) {
      for (const id of deleted) following.ids.add(id)
      return following.done
    }
    const ids = new Set(deleted)
    const before = running.get(thread)
    const done = (before ?? Promise.resolve())
      // The caller that waits for it gets its failure.
      .catch(() => {})
      .then(async () => {
        next.delete(thread)
        running.set(thread, done)
        await erase(ref, ids)
      })
      .finally(() => {
        if (running.get(thread) === done) running.delete(thread)
      })
    if (before === undefined) running.set(thread, done)
    else next.set(thread, { ids, done })
    return done
  }

  return {
    /**
     * Resolves when the comments are erased or, if that may be done later, when it will be. One erasure of a thread runs at a
     * time; what is deleted meanwhile goes with the next one. Beyond {@link MOST} threads of its tenant at a time the caller waits
     * until another one of these is erased, and sends heartbeats.
     */
    async comments(
      ref: ThreadRef,
      deleted: ReadonlySet<string>,
      heartbeat: Heartbeat,
      runInBackground?: BackgroundRunner,
    ): Promise<void> {
      const work = () => begin(ref, deleted)
      if (runInBackground === undefined) return await withHeartbeats(work(), heartbeat)
      for (let own = runningOf(ref); own.length >= MOST; own = runningOf(ref))
        await withHeartbeats(Promise.race(own), heartbeat)
      runInBackground(work)
    },
    /** Has a deleted post's replies erased later; the caller waits if that may not be, or is so of many posts already. */
    async replies(
      work: (heartbeat: Heartbeat) => Promise<void>,
      heartbeat: Heartbeat,
      runInBackground?: BackgroundRunner,
    ): Promise<void> {
      if (runInBackground === undefined || withReplies >= MOST_WITH_REPLIES) await work(heartbeat)
      else
        runInBackground(() => {
          withReplies++
          return work(async () => {}).finally(() => withReplies--)
        })
    },
  }
}

async function withHeartbeats(work: Promise<void>, heartbeat: Heartbeat): Promise<void> {
  let going = true
  const ended = work.finally(() => {
    going = false
  })
  // Its rejection is met below.
  ended.catch(() => {})
  const over = new AbortController()
  while (going) {
    const wait = sleep(BEAT_MS, undefined, { signal: over.signal, ref: false }).catch(() => {})
    await Promise.race([ended, wait]).catch(() => {})
    if (going) await heartbeat()
  }
  over.abort()
  await ended
}
