import { z } from 'zod'
import { type BadLine, type FileMessage, message } from './file-message.ts'
import { jsonLines } from './json-lines.ts'

/** Public data sets of threads. */
export const THREAD_FORMATS = ['rumoureval2017', 'covid19-rumor'] as const
export type ThreadFormat = (typeof THREAD_FORMATS)[number]

type Timed = FileMessage & { readonly createdAt: number }

/** A data set's posts and comments by time. */
export async function* threadMessages(
  file: string,
  format: ThreadFormat,
  bad: (line: BadLine) => void,
): AsyncGenerator<FileMessage> {
  const read = THREADS[format]
  const messages: Timed[] = []
  for await (const { line, json } of jsonLines(file, bad)) {
    const thread = read(json, line, (why) => bad({ line, why, read: true }))
    if (thread === null) bad({ line, why: `is no thread of ${format}` })
    else messages.push(...thread)
  }
  yield* messages.sort((a, b) => a.createdAt - b.createdAt)
}

/** By format: the messages of one line, null if the line has another format; corrections are reported. */
const THREADS: Record<ThreadFormat, (json: unknown, line: number, say: (why: string) => void) => Timed[] | null> = {
  rumoureval2017: rumourEval,
  'covid19-rumor': covid19,
}

const rumourEvalThread = z.object({
  id: z.string(),
  lang: z.string().nullish(),
  created_at: z.number(),
  claim: z.string(),
  comments: z.array(z.object({ id: z.string(), parent: z.string().nullish(), t: z.number(), text: z.string() })),
})

function rumourEval(json: unknown, line: number): Timed[] | null {
  const read = rumourEvalThread.safeParse(json)
  if (!read.success) return null
  const { id, lang, created_at, claim, comments } = read.data
  const posted = created_at * 1000
  if (![0, ...comments.map(({ t }) => t)].every((t) => isTime(posted + t * 1000))) return null
  return [
    message('post', id, line, posted, { id, text: claim, ...(lang ? { lang } : {}) }),
    ...comments.map((comment) =>
      message('comment', id, line, posted + comment.t * 1000, {
        id: comment.id,
        postId: id,
        ...(comment.parent ? { parentId: comment.parent } : {}),
        text: comment.text,
      }),
    ),
  ]
}

const covidThread = z.object({
  id: z.string(),
  claim: z.string(),
  comments: z.array(z.object({ t: z.string(), text: z.string() })),
})

/** Milliseconds since 1970 that a date can hold. */
function isTime(ms: number): boolean {
  return Math.abs(ms) <= 8.64e15
}

/**
 * The data set has no time of the post and no ids of comments: the post stands a second before its first comment. Where a time
 * is something else (`0`, a piece of a text), the comment takes that of the one before it in the file.
 */
function covid19(json: unknown, line: number, say: (why: string) => void): Timed[] | null {
  const read = covidThread.safeParse(json)
  if (!read.success) return null
  const { id, claim, comments } = read.data
  const given = comments.map(({ t }) => (TWEETED.test(t) ? Date.parse(t) : Number.NaN))
  const known = given.find((time) => Number.isFinite(time)) ?? Date.UTC(2020, 0, 1)
  const times: number[] = []
  for (const [index, time] of given.entries()) {
    times.push(Number.isFinite(time) ? time : (times.at(-1) ?? known))
    if (!Number.isFinite(time)) say(`comment ${index + 1} has no readable time: it takes that of the one before it`)
  }
  const first = times.reduce((a, b) => Math.min(a, b), known)
  return [
    message('post', id, line, first - 1000, { id, text: claim }),
    ...comments.map(({ text }, index) =>
      message('comment', id, line, times[index] ?? first, { id: `${id}-${index + 1}`, postId: id, text }),
    ),
  ]
}

/** `Fri Mar 13 20:28:53 +0000 2020`. */
const TWEETED = /^[A-Z][a-z]{2} [A-Z][a-z]{2} \d{2} \d{2}:\d{2}:\d{2} [+-]\d{4} \d{4}$/
