import type { Comment, Post, Snapshot } from '../../contracts/facts/thread.ts'

/** When a comment was written, in words, counted from the post; undefined where that is not said. */
export type TimeOf = (comment: Comment) => string | undefined

export const noTimes: TimeOf = () => undefined

/** Posts before this are of files without times, which count from the beginning. */
const FIRST_POSTS = Date.UTC(2000)

/** The day of the post, in words; empty where its time is not known. A day is enough, so that copies of a day are asked the same. */
export function postedOn({ createdAt }: Post): string {
  return createdAt < FIRST_POSTS ? '' : `\nIt was posted on ${new Date(createdAt).toISOString().slice(0, 10)} (UTC).`
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/**
 * The times of a snapshot's comments, never counted from now, so that a replay gives the same. Undefined for all of them
 * where none is a second after the post: a file without times has put them there.
 */
export function timesIn({ post, comments }: Snapshot): TimeOf {
  const since = ({ createdAt }: Comment) => createdAt - post.createdAt
  return comments.some((comment) => since(comment) >= SECOND) ? (comment) => inWords(since(comment)) : noTimes
}

function inWords(ms: number): string {
  if (ms < 0) return 'before the post'
  const [size, unit] =
    ms < MINUTE ? [SECOND, 's'] : ms < HOUR ? [MINUTE, 'min'] : ms < 2 * DAY ? [HOUR, 'h'] : [DAY, 'd']
  return `${Math.floor(ms / size)} ${unit}`
}
