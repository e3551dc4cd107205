import { z } from 'zod'
import { type BadLine, type FileMessage, message, UNDATED } from './file-message.ts'
import { recordsOf } from './file-records.ts'
import { type ConversationTree, labelsBeside, readTrees } from './rumor-trees.ts'
import type { FileReading } from './text-lines.ts'

/** Public data sets of threads. */
export const THREAD_FORMATS = ['rumoureval2017', 'covid19-rumor', 'twitter-covid19', 'weibo-covid19'] as const
export type ThreadFormat = (typeof THREAD_FORMATS)[number]

/** Of which language the data sets are that come as trees, a line a post (BCP 47). */
const TREES = { 'twitter-covid19': 'en', 'weibo-covid19': 'zh' } as const
type TreeFormat = keyof typeof TREES

function isTrees(format: ThreadFormat): format is TreeFormat {
  return Object.hasOwn(TREES, format)
}

/** What a thread has, whatever its format. */
const columnsOf = (format: ThreadFormat) => ({ needed: ['id', 'claim'], hint: `See ${format} in docs/data-sets.md.` })

type Timed = FileMessage & { readonly createdAt: number }

/** A data set's posts and comments by time. */
export async function* threadMessages(
  file: string,
  format: ThreadFormat,
  bad: (line: BadLine) => void,
  reading: FileReading = {},
): AsyncGenerator<FileMessage> {
  const messages: Timed[] = []
  if (isTrees(format)) {
    const trees = await readTrees(file, format, bad, reading)
    yield* trees.flatMap((tree, at) => treeMessages(tree, at, TREES[format])).sort((a, b) => a.createdAt - b.createdAt)
    return
  }
  const read = THREADS[format]
  for await (const { line, json } of recordsOf(file, { ...reading, shape: 'json' }, columnsOf(format), bad)) {
    const thread = read(json, line, (why) => bad({ line, why, read: true }))
    if (thread === null) bad({ line, why: `is no thread of ${format}` })
    else messages.push(...thread)
  }
  yield* messages.sort((a, b) => a.createdAt - b.createdAt)
}

/** By format: the messages of one line, null if the line has another format; corrections are reported. */
const THREADS: Record<
  Exclude<ThreadFormat, TreeFormat>,
  (json: unknown, line: number, say: (why: string) => void) => Timed[] | null
> = {
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

/** What people found a thread's claim to be. */
const VERACITIES = ['true', 'false', 'unverified'] as const
export type Veracity = (typeof VERACITIES)[number]

/** What a comment can say of the claim that it stands under. */
const STANCES = ['support', 'deny', 'query', 'comment'] as const
type Stance = (typeof STANCES)[number]
/** How many comments of a thread have which stance, as people labelled them. */
export type StanceCounts = Readonly<Record<Stance, number>>

/** One thread of a data set, as people labelled it. */
export interface LabelledThread {
  /** Its line in the file, from 1. */
  readonly line: number
  /** As which post `fileMessages` has it. */
  readonly id: string
  readonly claim: string
  /** Of data sets that tell rumors from the rest, rumors are `false` and the rest `true`. */
  readonly veracity: Veracity
  /** The breaking event, if the data set names it. */
  readonly event?: string
  readonly lang?: string
  /** The data set's own split, such as `train`. */
  readonly split?: string
  readonly comments: number
  /** Where the data set labels its comments; those without a stance are in no count. */
  readonly stances?: StanceCounts
}

const labelledThread = z.object({
  id: z.string(),
  claim: z.string(),
  veracity: z.enum(VERACITIES),
  event: z.string().nullish(),
  lang: z.string().nullish(),
  split: z.string().nullish(),
  comments: z.array(z.object({ stance: z.enum(STANCES).nullish() })),
})

/**
 * Threads of a data set with their labels, in the file's order. Lines that are none, or have no label, are reported to `bad` and
 * left out. Throws an `OperatorError` if the file can't be read, or its labels where they are a file of their own.
 */
export async function* labelledThreads(
  file: string,
  format: ThreadFormat,
  bad: (line: BadLine) => void,
  reading: FileReading = {},
): AsyncGenerator<LabelledThread> {
  if (isTrees(format)) {
    yield* labelledTrees(file, format, bad, reading)
    return
  }
  for await (const { line, json } of recordsOf(file, { ...reading, shape: 'json' }, columnsOf(format), bad)) {
    const read = labelledThread.safeParse(json)
    if (!read.success || THREADS[format](json, line, () => {}) === null) {
      bad({ line, why: `is no thread of ${format} with a veracity` })
      continue
    }
    const { id, claim, veracity, event, lang, split, comments } = read.data
    yield {
      line,
      id,
      claim,
      veracity,
      comments: comments.length,
      stances: countsOf(comments),
      ...(event ? { event } : {}),
      ...(lang ? { lang } : {}),
      ...(split ? { split } : {}),
    }
  }
}

function countsOf(comments: readonly { readonly stance?: Stance | null | undefined }[]): StanceCounts {
  const counts = { support: 0, deny: 0, query: 0, comment: 0 }
  for (const { stance } of comments) if (stance) counts[stance]++
  return counts
}

async function* labelledTrees(
  file: string,
  format: TreeFormat,
  bad: (line: BadLine) => void,
  reading: FileReading,
): AsyncGenerator<LabelledThread> {
  const labels = await labelsBeside(file)
  const trees = await readTrees(file, format, bad, reading)
  for (const { line, id, claim, comments } of trees) {
    const label = labels.of.get(id)
    if (label === undefined) bad({ line, why: `begins ${id}, which has no label in ${labels.file}` })
    else
      yield {
        line,
        id,
        claim,
        veracity: label === 'rumor' ? 'false' : 'true',
        lang: TREES[format],
        comments: comments.length,
      }
  }
  const known = new Set(trees.map(({ id }) => id))
  const [first, ...others] = [...labels.of.keys()].filter((id) => !known.has(id))
  if (first !== undefined)
    bad({
      line: 1,
      why: `has no thread for ${others.length + 1} of the labels in ${labels.file}, first ${first}`,
      read: true,
    })
}

/** The data sets have delays and no times: their threads begin a second apart. */
function treeMessages({ line, id, claim, comments }: ConversationTree, at: number, lang: string): Timed[] {
  const posted = UNDATED + at * 1000
  return [
    message('post', id, line, posted, { id, text: claim, lang }),
    ...comments.map(({ line: own, index, parent, delay, text }) =>
      message('comment', id, own, posted + delay, {
        id: `${id}-${index}`,
        postId: id,
        parentId: parent === null ? id : `${id}-${parent}`,
        text,
      }),
    ),
  ]
}

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
  const known = given.find((time) => Number.isFinite(time)) ?? UNDATED
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
