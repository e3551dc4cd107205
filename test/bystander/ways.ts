import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { loadSettings } from '../../config/load.ts'
import { readMessage } from '../../consumers/read-message.ts'
import { cut } from '../../src/contracts/facts/cut.ts'
import { entryOf } from '../../src/contracts/facts/entry-of.ts'
import { describeError } from '../../src/contracts/facts/error-line.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { commentMessage, postMessage } from '../../src/contracts/facts/messages.ts'
import { neutralized } from '../../src/contracts/facts/neutralized.ts'
import { printable } from '../../src/contracts/facts/printable.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import type { Comment } from '../../src/contracts/facts/thread.ts'
import { fitted } from '../../src/contracts/facts/transcript.ts'
import { contentId } from '../../src/contracts/ports/library.ts'
import { imageLoader } from '../../src/models/images/images.ts'
import { readUsage } from '../../src/models/openai/usage.ts'
import { readAnswer } from '../../src/models/read-answer.ts'
import { misspeltAlike, sameWords } from '../../src/protocols/rumor/near-identical.ts'
import { nearDuplicates, readingOf, textKey } from '../../src/shelves/same-text.ts'
import { ANSWERS, HOSTS, IMAGES, MESSAGES, ORDINARY, SETTINGS, TEXTS, USAGES, type WorstCase } from './registry.ts'

const saidBy = (texts: readonly string[]): Comment[] => texts.map((text, at) => ({ id: `c${at}`, text, createdAt: at }))
const answer = z.object({ reasoning: z.string(), answer: z.enum(['Real', 'Fake']) })
const FOLDER = mkdtempSync(join(tmpdir(), 'gavel-bystander-'))
const limits = { maxMessageBytes: 2 ** 22, maxAhead: 1 }

/** Every way on which a stranger's text is read, and the most work for a character of it. */
export const WAYS: readonly { name: string; most: number; read: (text: string) => unknown }[] = [
  { name: 'neutralized', most: 140, read: neutralized },
  { name: 'fenced', most: 140, read: (text) => fences('key', 12_000)('comment', text) },
  { name: 'folded before scoring', most: 40, read: (text) => sameWords(saidBy([text, `${text}!`])) },
  { name: 'folded after scoring', most: 60, read: (text) => misspeltAlike(sameWords(saidBy([text, `x ${text}`]))) },
  { name: 'cut', most: 10, read: (text) => cut(text, 1_000, 0.5) },
  {
    name: 'shortened in a transcript',
    most: 1,
    read: (text) => fitted({ schema: 1, verdictId: 'v', subject: { text, again: text }, turns: [], cut: [] }, 1_000),
  },
  { name: 'compared with a shelf', most: 120, read: (text) => [readingOf(text), textKey(text), contentId(text)] },
  { name: 'held out', most: 160, read: (text) => nearDuplicates(readingOf(text), readingOf(`${text} x`)) },
  { name: 'printed', most: 10, read: (text) => printable(text, 80) },
  { name: 'told as an error', most: 10, read: (text) => describeError(new Error(text)) },
  { name: 'read as an answer', most: 60, read: (text) => readAnswer(text, answer) },
  {
    name: 'read as a message',
    most: 10,
    read: (text) => {
      const value = Buffer.from(JSON.stringify({ id: 'c', postId: 'p', createdAt: '2026-01-01T00:00:00Z', text }))
      return readMessage(
        { topic: 'comments', partition: 0, offset: '0', key: null, headers: {}, value, timestamp: 0 },
        commentMessage,
        limits,
        0,
      )
    },
  },
]

export const ALL: readonly WorstCase[] = [...ORDINARY, ...TEXTS, ...ANSWERS]

const loader = imageLoader({
  maxBytes: 2 ** 20,
  maxPixels: 2 ** 24,
  timeout: 1,
  maxRedirects: 0,
  lookup: async () => [],
})
const load = (url: string) => void loader(url, AbortSignal.abort()).catch(() => undefined)
const told = (name: string) =>
  JSON.stringify({ id: 'i', postId: 'p', createdAt: '2026-01-01T00:00:00Z', text: 't', author: name })
const taken = <Message extends Parameters<typeof readMessage>[1]>(json: string, schema: Message) =>
  readMessage(
    { topic: 'any', partition: 0, offset: '0', key: null, headers: {}, value: Buffer.from(json), timestamp: 0 },
    schema,
    limits,
    0,
  )

/** Ways that other things than texts go, with theirs. */
export const OTHER_WAYS: readonly {
  name: string
  most: number
  cases: readonly WorstCase[]
  read: (text: string) => unknown
  /**
   * What it may take in ms, where that is another bound than a message's: at a start nobody is served yet, so that nobody waits
   * but whoever wrote the file.
   */
  atStart?: number
}[] = [
  { name: 'an address of an image', most: 5, cases: HOSTS, read: load },
  { name: 'an image in its message', most: 2, cases: IMAGES, read: load },
  { name: 'a post', most: 40, cases: MESSAGES, read: (json) => taken(json, postMessage) },
  { name: 'a comment', most: 40, cases: MESSAGES, read: (json) => taken(json, commentMessage) },
  {
    name: 'a usage',
    most: 40,
    cases: USAGES,
    read(json) {
      const said: unknown = JSON.parse(json)
      const read = readUsage({ usage: said, ...(said as object) })
      if (read.unreported !== true) throw new Error('what is no usage was booked as one')
    },
  },
  // It is read as it looks: without what is invisible, and in one form of its accents.
  { name: 'an author', most: 7, cases: [...ORDINARY, ...TEXTS], read: (name) => taken(told(name), commentMessage) },
  {
    name: 'an id',
    most: 3,
    cases: [...ORDINARY, ...TEXTS],
    read: (id) => [printable(id, 80), samplingRanks('key')('p', id), entryOf({}, id)],
  },
  {
    name: 'a file of settings',
    most: 20,
    cases: SETTINGS,
    atStart: 500,
    read(yaml) {
      const file = join(FOLDER, 'settings.yaml')
      writeFileSync(file, yaml)
      try {
        return loadSettings({}, file)
      } catch (error) {
        return describeError(error)
      }
    },
  },
]
