import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { OperatorError } from '../domain/errors.ts'
import { produceLine } from '../domain/messages.ts'

export const FORMATS = ['gavel', 'rumoureval2017', 'covid19-rumor'] as const
export type Format = (typeof FORMATS)[number]

/** One message of a file, ready for its topic; what it says is checked where it is read. */
export interface FileMessage {
  readonly type: 'post' | 'comment'
  /** Kafka's key: the post's id. */
  readonly key: string
  /** Its line in the file, from 1. */
  readonly line: number
  /** ms since 1970; null where the line has no readable time. */
  readonly createdAt: number | null
  readonly value: Readonly<Record<string, unknown>>
}

/** A line that is no message, by its number in the file. */
export interface BadLine {
  readonly line: number
  readonly why: string
}

/**
 * Messages of a file in order: Gavel's own JSON Lines as they stand, a public data set's threads by time. Lines that are
 * no message are told to `bad` and left out. Throws an `OperatorError` if the file can't be read.
 */
export async function* fileMessages(
  file: string,
  format: Format,
  bad: (line: BadLine) => void,
): AsyncGenerator<FileMessage> {
  if (format === 'gavel') {
    for await (const { line, json } of jsonLines(file, bad)) {
      const message = ownMessage(json, line)
      if (message === null) bad({ line, why: 'needs "type" ("post" or "comment") and the ids that go with it' })
      else yield message
    }
    return
  }
  const read = format === 'rumoureval2017' ? rumourEval : covid19
  const messages: (FileMessage & { createdAt: number })[] = []
  for await (const { line, json } of jsonLines(file, bad)) {
    const thread = read(json, line)
    if (thread === null) bad({ line, why: `is no thread of ${format}` })
    else messages.push(...thread)
  }
  yield* messages.sort((a, b) => a.createdAt - b.createdAt)
}

async function* jsonLines(file: string, bad: (line: BadLine) => void): AsyncGenerator<{ line: number; json: unknown }> {
  const stream = createReadStream(file, 'utf8')
  let line = 0
  try {
    for await (const text of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
      line++
      if (text.trim() === '') continue
      let json: unknown
      try {
        json = JSON.parse(line === 1 ? text.replace(/^\ufeff/, '') : text)
      } catch {
        bad({ line, why: 'is not JSON' })
        continue
      }
      yield { line, json }
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    throw new OperatorError(`${file} cannot be read: ${String(error.code)}`, { cause: error })
  } finally {
    stream.destroy()
  }
}

const ownIds = z.looseObject({ id: z.string().min(1), postId: z.string().min(1).optional(), createdAt: z.unknown() })

function ownMessage(json: unknown, at: number): FileMessage | null {
  const line = produceLine.safeParse(json)
  const ids = ownIds.safeParse(json)
  if (!line.success || !ids.success) return null
  const { type, ...value } = line.data
  const key = type === 'comment' ? ids.data.postId : ids.data.id
  if (key === undefined) return null
  const time = typeof ids.data.createdAt === 'string' ? Date.parse(ids.data.createdAt) : Number.NaN
  return { type, key, line: at, createdAt: Number.isFinite(time) ? time : null, value }
}

const rumourEvalThread = z.object({
  id: z.string(),
  lang: z.string().nullish(),
  created_at: z.number(),
  claim: z.string(),
  comments: z.array(z.object({ id: z.string(), parent: z.string().nullish(), t: z.number(), text: z.string() })),
})

function rumourEval(json: unknown, line: number): (FileMessage & { createdAt: number })[] | null {
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

/** The data set has no time of the post and no ids of comments: the post stands a second before its first comment. */
function covid19(json: unknown, line: number): (FileMessage & { createdAt: number })[] | null {
  const read = covidThread.safeParse(json)
  if (!read.success) return null
  const { id, claim, comments } = read.data
  const times = comments.map(({ t }) => Date.parse(t))
  if (times.some((time) => !Number.isFinite(time))) return null
  const first = times.length === 0 ? Date.UTC(2020, 0, 1) : times.reduce((a, b) => Math.min(a, b))
  return [
    message('post', id, line, first - 1000, { id, text: claim }),
    ...comments.map(({ text }, index) =>
      message('comment', id, line, times[index] ?? first, { id: `${id}-${index + 1}`, postId: id, text }),
    ),
  ]
}

function message(
  type: FileMessage['type'],
  key: string,
  line: number,
  createdAt: number,
  value: Record<string, unknown>,
) {
  return { type, key, line, createdAt, value: { ...value, createdAt: new Date(createdAt).toISOString() } }
}
