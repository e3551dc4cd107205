import { authorOf } from '../../contracts/facts/author.ts'
import type { Comment, Snapshot } from '../../contracts/facts/thread.ts'

/**
 * When a comment was written, in words, counted from the post, and whether the post's author wrote it; undefined where the time
 * is not known.
 */
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
  const by = ({ author }: Comment) =>
    author !== undefined && authorOf({ author }) === authorOf(post) ? ', by the author of the post' : ''
  if (!comments.some((comment) => since(comment) >= SECOND)) return noTimes
  return (comment) => inWords(since(comment)) + by(comment)
}

function inWords(ms: number): string {
  if (ms < 0) return 'before the post'
  const [size, unit] =
    ms < MINUTE ? [SECOND, 's'] : ms < HOUR ? [MINUTE, 'min'] : ms < 2 * DAY ? [HOUR, 'h'] : [DAY, 'd']
  return `${Math.floor(ms / size)} ${unit}`
}
