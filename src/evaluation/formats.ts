import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { z } from 'zod'
import { OperatorError } from '../domain/errors.ts'
import { produceLine } from '../domain/messages.ts'
import { linesOf } from './lines.ts'

/** Public data sets of single texts, each with a label that people gave it. */
export const LABELLED_FORMATS = [
  'hatecheck',
  'openai-moderation',
  'kodoli',
  'airbench-text',
  'airbench-image',
  'airbench-both',
] as const
export type LabelledFormat = (typeof LABELLED_FORMATS)[number]

const THREAD_FORMATS = ['rumoureval2017', 'covid19-rumor'] as const
type ThreadFormat = (typeof THREAD_FORMATS)[number]

export const FORMATS = ['gavel', ...THREAD_FORMATS, ...LABELLED_FORMATS] as const
export type Format = (typeof FORMATS)[number]

type MessageType = 'post' | 'comment' | 'counterspeech' | 'feedback'

/** One message of a file, ready for its topic; what it says is checked where it is read. */
export interface FileMessage {
  readonly type: MessageType
  /** Kafka's key: the post's id, the reply's, or the subject's that feedback is about. */
  readonly key: string
  /** Its line in the file, from 1. */
  readonly line: number
  /** ms since 1970; null where the line has no readable time. */
  readonly createdAt: number | null
  readonly value: Readonly<Record<string, unknown>>
  /**
   * What a vision model saw in each of the post's images, where the data set says it: to be taken in place of the author's
   * words, by whoever reads the file itself. It is no part of the message, so that nobody can say it on a topic.
   */
  readonly descriptions?: readonly string[]
}

/** One text of a labelled data set. */
export interface LabelledItem {
  /** Its line in the file, from 1. */
  readonly line: number
  /** As which post `fileMessages` has it. */
  readonly id: string
  /** Its words; an image is `[image: DESCRIPTION]`, after them. */
  readonly text: string
  /** In the data set's own words; a vote of 1 or 0 is `harmful` or `unharmful`, no flag of openai-moderation `none`. */
  readonly label: string
}

/** What is wrong with a line, by its number in the file. */
export interface BadLine {
  readonly line: number
  readonly why: string
  /** It was read all the same, `why` says how; else it was left out. */
  readonly read?: true
}

/** What is wrong with a line of a file, and what became of it, for a person. */
export function faultIn(file: string, { line, why, read }: BadLine): string {
  return `${file}:${line} ${why}${read === true ? '' : '; left out'}`
}

/**
 * Messages of a file in order: Gavel's own JSON Lines as they stand, a public data set's threads by time, its single texts
 * as posts a second apart. Lines that are no message are told to `bad` and left out. Throws an `OperatorError` if the file
 * can't be read.
 */
export async function* fileMessages(
  file: string,
  format: Format,
  bad: (line: BadLine) => void,
): AsyncGenerator<FileMessage> {
  if (format === 'gavel') yield* ownMessages(file, bad)
  else if (format === 'rumoureval2017' || format === 'covid19-rumor') yield* threadMessages(file, format, bad)
  else yield* samplePosts(file, format, bad)
}

/**
 * Texts of a labelled data set with their labels, in the file's order. Lines that are none are told to `bad` and left out.
 * Throws an `OperatorError` if the file can't be read.
 */
export async function* labelledItems(
  file: string,
  format: LabelledFormat,
  bad: (line: BadLine) => void,
): AsyncGenerator<LabelledItem> {
  for await (const { line, id, sample } of samples(file, format, bad))
    yield { line, id, text: wordsOf(sample), label: sample.label }
}

/**
 * Which item of which data set something is, whether it was imported or is judged: of a public data set whatever its file is
 * called, else of the file of that name. `item` is an id, or a line's number.
 */
export function sourceIdOf(file: string, format: string, item: string | number): string {
  const dataSet = LABELLED_FORMATS.find((known) => known === format) ?? basename(file)
  return JSON.stringify([dataSet, item])
}

async function* jsonLines(file: string, bad: (line: BadLine) => void): AsyncGenerator<{ line: number; json: unknown }> {
  let line = 0
  try {
    for await (const text of linesOf(file)) {
      line++
      if (text.trim() === '') continue
      let json: unknown
      try {
        json = JSON.parse(text)
      } catch {
        bad({ line, why: 'is not JSON' })
        continue
      }
      yield { line, json }
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    throw new OperatorError(`${file} cannot be read: ${String(error.code)}`, { cause: error })
  }
}

async function* ownMessages(file: string, bad: (line: BadLine) => void): AsyncGenerator<FileMessage> {
  for await (const { line, json } of jsonLines(file, bad)) {
    const read = produceLine.safeParse(json)
    if (!read.success) bad({ line, why: NO_MESSAGE })
    else yield ownMessage(read.data, line)
  }
}

const NO_MESSAGE =
  'needs "type" and the ids that go with it: "post" id, "comment" id and postId, "counterspeech" id, "feedback" subjectId'

function ownMessage({ type, ...value }: z.infer<typeof produceLine>, line: number): FileMessage {
  const key = value[KEYS[type]]
  const at = value[TIMES[type]]
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return { type, key: String(key), line, createdAt: Number.isFinite(time) ? time : null, value }
}

/** What keeps messages of one subject on one partition. */
const KEYS = { post: 'id', comment: 'postId', counterspeech: 'id', feedback: 'subjectId' } as const
const TIMES = { post: 'createdAt', comment: 'createdAt', counterspeech: 'createdAt', feedback: 'at' } as const

type Timed = FileMessage & { readonly createdAt: number }

async function* threadMessages(
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

/** By format: the messages of one line, null if it is none of that format; what was mended on the way is said. */
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

/** One text of a labelled data set, as its reader finds it. */
interface Sample {
  /** Where the data set's own ids are unique. */
  readonly id?: string
  readonly text: string
  /** What an image is said to show: the data sets have captions and no pixels. */
  readonly image?: string
  /** BCP 47, where the data set is in one language. */
  readonly lang?: string
  readonly label: string
}

const risk = z.enum(['0', '1']).transform((voted) => (voted === '1' ? 'harmful' : 'unharmful'))
const flag = z.union([z.literal(0), z.literal(1)]).nullish()
const flags = z.object({ S: flag, H: flag, V: flag, HR: flag, SH: flag, S3: flag, H2: flag, V2: flag })

/** By format: how a line is read. */
const SAMPLES: Record<LabelledFormat, z.ZodType<Sample>> = {
  hatecheck: z
    .object({ case_id: z.string().min(1), test_case: z.string(), label_gold: z.enum(['hateful', 'non-hateful']) })
    .transform((row) => ({ id: row.case_id, text: row.test_case, lang: 'en', label: row.label_gold })),
  'openai-moderation': flags.extend({ prompt: z.string() }).transform(({ prompt, ...given }) => {
    const raised = flags.keyof().options.filter((name) => given[name] === 1)
    return { text: prompt, label: raised.join(',') || 'none' }
  }),
  kodoli: z
    .object({ text: z.string(), label: z.enum(['NOT', 'LIKELY', 'OFFEN']) })
    .transform((row) => ({ ...row, lang: 'ko' })),
  'airbench-text': z
    .object({ input: z.string(), label: z.enum(['harmful', 'unharmful']) })
    .transform(({ input, label }) => ({ text: input, label })),
  // What stands beside the image is left out: only the image was voted on.
  'airbench-image': z
    .object({ description: z.string(), voted_img_risk: risk })
    .transform((row) => ({ text: '', image: row.description, label: row.voted_img_risk })),
  'airbench-both': z
    .object({ text: z.string(), description: z.string(), voted_risk: risk })
    .transform((row) => ({ text: row.text, image: row.description, label: row.voted_risk })),
}

async function* samples(
  file: string,
  format: LabelledFormat,
  bad: (line: BadLine) => void,
): AsyncGenerator<{ line: number; id: string; sample: Sample }> {
  const met = new Map<string, number>()
  for await (const { line, json } of jsonLines(file, bad)) {
    const read = SAMPLES[format].safeParse(json)
    if (!read.success) bad({ line, why: `is no sample of ${format}` })
    else if (wordsOf(read.data).trim() === '') bad({ line, why: 'is empty' })
    else yield { line, id: read.data.id ?? idByContent(format, read.data, met), sample: read.data }
  }
}

function wordsOf({ text, image }: Sample): string {
  const seen = image === undefined || image.trim() === '' ? [] : [`[image: ${image}]`]
  return [...(text === '' ? [] : [text]), ...seen].join('\n')
}

/** The data sets say nothing of time: their posts stand a second apart from here on. */
const FIRST_POST = Date.UTC(2024, 0, 1)

async function* samplePosts(
  file: string,
  format: LabelledFormat,
  bad: (line: BadLine) => void,
): AsyncGenerator<FileMessage> {
  for await (const { line, id, sample } of samples(file, format, bad)) {
    const { text, image, lang } = sample
    const post = message('post', id, line, FIRST_POST + line * 1000, {
      id,
      ...(text === '' ? {} : { text }),
      ...(lang === undefined ? {} : { lang }),
      ...(image === undefined ? {} : { media: [{ kind: 'image', alt: image }] }),
    })
    yield image === undefined ? post : { ...post, descriptions: [image] }
  }
}

/** The same in every run. A text that stands in the file again is a post of its own, and numbered. */
function idByContent(format: LabelledFormat, sample: Sample, met: Map<string, number>): string {
  const hash = createHash('sha256').update(wordsOf(sample)).digest('hex').slice(0, 16)
  const times = (met.get(hash) ?? 0) + 1
  met.set(hash, times)
  return times === 1 ? `${format}-${hash}` : `${format}-${hash}-${times}`
}

function message(type: MessageType, key: string, line: number, createdAt: number, value: Record<string, unknown>) {
  return { type, key, line, createdAt, value: { ...value, createdAt: new Date(createdAt).toISOString() } }
}
