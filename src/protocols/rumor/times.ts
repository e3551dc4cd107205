import type { Comment, Snapshot } from '../../contracts/facts/thread.ts'

/** When a comment was written, in words, counted from the post; undefined where that is not said. */
export type TimeOf = (comment: Comment) => string | undefined

export const noTimes: TimeOf = () => undefined

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
