import { basename } from 'node:path'
import type { z } from 'zod'
import { produceLine } from '../contracts/facts/messages.ts'
import type { BadLine, FileMessage } from './file-message.ts'
import { LABELLED_FORMATS, samplePosts } from './labelled-sets.ts'
import { imageAddress, type LaterImages, type OwnImage } from './own-images.ts'
import { OWN_FORMATS, type OwnFormat, type OwnReading, ownRows } from './own-rows.ts'
import { THREAD_FORMATS, type ThreadFormat, threadMessages } from './thread-sets.ts'

export const FORMATS = [...OWN_FORMATS, ...THREAD_FORMATS, ...LABELLED_FORMATS] as const
export type Format = (typeof FORMATS)[number]

/**
 * Messages of a file in order: Gavel's own as they stand, a public data set's threads by time, its single texts
 * as posts a second apart. Lines that are no message are reported to `bad` and left out. Throws an `OperatorError` if the file
 * can't be read. Images of posts that are not to be shown are not read; with `later`, none is before it is shown.
 */
export async function* fileMessages(
  file: string,
  format: Format,
  bad: (line: BadLine) => void,
  reading: OwnReading = {},
  { isShown = () => true, later }: ImageReading = {},
): AsyncGenerator<FileMessage> {
  const addressOf = (image: string) => later?.addressOf(file, image) ?? imageAddress(file, image)
  if (isOwn(format)) yield* ownMessages(file, format, bad, reading, { isShown, addressOf })
  else if (isThreads(format)) yield* threadMessages(file, format, bad, reading)
  else yield* samplePosts(file, format, bad, reading)
}

/** How images of somebody's own file are read. */
interface ImageReading {
  /** Whether the post of this key is shown, by default each. */
  readonly isShown?: (key: string) => boolean
  readonly later?: LaterImages
}

function isOwn(format: Format): format is OwnFormat {
  return OWN_FORMATS.some((known) => known === format)
}

function isThreads(format: Format): format is ThreadFormat {
  return THREAD_FORMATS.some((known) => known === format)
}

/**
 * Which item of which data set something is, whether it was imported or is judged: of a public data set whatever its file is
 * called, else of the file of that name. `item` is an id, or a line's number.
 */
export function sourceIdOf(file: string, format: string, item: string | number): string {
  const dataSet = LABELLED_FORMATS.find((known) => known === format) ?? basename(file)
  return JSON.stringify([dataSet, item])
}

async function* ownMessages(
  file: string,
  format: OwnFormat,
  bad: (line: BadLine) => void,
  reading: OwnReading,
  { isShown, addressOf }: { isShown: (key: string) => boolean; addressOf: (image: string) => Promise<string> },
): AsyncGenerator<FileMessage> {
  for await (const { line, json, isRow, image } of ownRows(file, format, reading, bad)) {
    const read = produceLine.safeParse(json)
    if (!read.success) {
      bad({ line, why: isRow === true && json.type === undefined ? 'has no text' : NO_MESSAGE })
      continue
    }
    const message = ownMessage(read.data, line)
    try {
      yield image === undefined || !isShown(message.key) ? message : await withImage(message, image, addressOf)
    } catch (error) {
      bad({ line, why: error instanceof Error ? error.message : String(error) })
    }
  }
}

/** A post with its picture's address in place of its path, and beside it what people say that it shows. */
async function withImage(
  message: FileMessage,
  { image, description }: OwnImage,
  addressOf: (image: string) => Promise<string>,
): Promise<FileMessage> {
  const alt = description === undefined ? {} : { alt: description }
  const url = image === undefined ? {} : { url: await addressOf(image) }
  return {
    ...message,
    value: { ...message.value, media: [{ kind: 'image', ...url, ...alt }] },
    ...(description === undefined ? {} : { descriptions: [description] }),
  }
}

const NO_MESSAGE =
  'needs "type" and the ids that go with it: "post" id, "comment" id and postId, "counterspeech" id, "feedback" subjectId; or no "type", and a "text" (with postId a comment, with hateSpeech a reply, else a post)'

function ownMessage({ type, ...value }: z.infer<typeof produceLine>, line: number): FileMessage {
  const key = value[KEYS[type]]
  const at = value[TIMES[type]]
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return { type, key: String(key), line, createdAt: Number.isFinite(time) ? time : null, value }
}

/** What keeps messages of one subject on one partition. */
const KEYS = { post: 'id', comment: 'postId', counterspeech: 'id', feedback: 'subjectId' } as const
const TIMES = { post: 'createdAt', comment: 'createdAt', counterspeech: 'createdAt', feedback: 'at' } as const
