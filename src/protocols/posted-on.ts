import type { Post } from '../contracts/facts/thread.ts'

/** Posts before this are of files without times, which count from the beginning. */
const FIRST_POSTS = Date.UTC(2000)
const DAY = 24 * 60 * 60 * 1000

/**
 * The day of a post, and about how old its author's account was then, in words; empty where its time is not known. A day and a
 * few ages are enough, so that most copies of a day are asked the same.
 */
export function postedOn({ createdAt, authorSince }: Post): string {
  if (createdAt < FIRST_POSTS) return ''
  const isKnown = authorSince !== undefined && authorSince <= createdAt
  const by = isKnown ? `, by an account ${ageIn(createdAt - authorSince)} old` : ''
  return `\nIt was posted on ${new Date(createdAt).toISOString().slice(0, 10)} (UTC)${by}.`
}

function ageIn(ms: number): string {
  if (ms < 7 * DAY) return 'less than a week'
  return ms < 365 * DAY ? 'less than a year' : 'a year or more'
}
