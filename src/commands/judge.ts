import type { Settings } from '../../config/schema.ts'
import { memoryTopics } from '../adapters/memory/topics.ts'
import { type MemoryService, memoryService } from '../composition/memory-service.ts'
import { OperatorError } from '../domain/errors.ts'
import { deadLetter } from '../domain/messages.ts'
import { verdict } from '../domain/verdict.ts'
import {
  type BadLine,
  type FileMessage,
  type Format,
  faultIn,
  fileMessages,
  LABELLED_FORMATS,
  sourceIdOf,
} from '../evaluation/formats.ts'
import { heldOut } from '../evaluation/held-out.ts'
import type { OutboxEntry } from '../ports/cases.ts'
import type { Report } from '../ports/report.ts'
import { PROTOCOLS } from '../protocols/registry.ts'
import { startUnderstudy } from '../stack/understudy/server.ts'
import { otherModels } from './paper-models.ts'
import { printable, printableJson, type Terminal } from './terminal.ts'
import { line } from './verdicts.ts'

export interface Judged {
  readonly verdicts: number
  readonly undecided: number
  readonly refused: number
  /** Subjects in which the protocol finds nothing to judge. */
  readonly unrouted: number
}

export interface JudgeOptions {
  readonly protocol: string
  readonly format: Format
  readonly transcript: boolean
  readonly json: boolean
  /** Comments that came longer after their post than this are left out, in ms; infinite takes threads whole. */
  readonly finalAge: number
  /** Whether a labelled text may be shown near-duplicates of itself; it is shown its own item in no case. */
  readonly keepNearDuplicates?: boolean
}

/** Messages handled at once. */
const BATCH = 500
const TOPICS = { posts: 'posts', comments: 'comments', counterspeech: 'counterspeech' } as const
const TOPIC_OF = { post: TOPICS.posts, comment: TOPICS.comments, counterspeech: TOPICS.counterspeech } as const

/**
 * `gavel judge`: the whole pipeline over a file, in this process, on the memory twins of Kafka and Redis: every subject's
 * final snapshot is judged. Without a model in the settings the understudy answers, and it is said.
 */
export async function judgeFile(
  settings: Settings,
  file: string,
  options: JudgeOptions,
  io: { terminal: Terminal; signal: AbortSignal },
): Promise<Judged> {
  const { terminal } = io
  const counts = { verdicts: 0, undecided: 0, refused: 0, unrouted: 0 }
  const complain: Report = (name, event) => {
    if (name === 'trouble:met' && 'error' in event)
      terminal.say(printable(`${event.where}: ${String(event.error)}`, 300))
    // Comments that a protocol does not read are none of its subjects.
    if (name === 'messages:settled' && 'outcome' in event && 'topic' in event && event.topic !== TOPICS.comments)
      if (event.outcome === 'unrouted') counts.unrouted += event.count
  }
  const understudy = settings.openai.apiKey === '' ? await startUnderstudy() : undefined
  if (understudy !== undefined) terminal.say(`No model is set (OPENAI_BASE_URL, OPENAI_API_KEY): ${understudy.what}.`)
  const endpoint = {
    ...settings.openai,
    ...(understudy && { baseUrl: understudy.settings.OPENAI_BASE_URL, apiKey: understudy.settings.OPENAI_API_KEY }),
  }
  try {
    await judgeWith({ ...settings, openai: endpoint }, file, options, io, { report: complain, counts })
    return counts
  } finally {
    await understudy?.close()
  }
}

async function judgeWith(
  given: Settings,
  file: string,
  options: JudgeOptions,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
  { report, counts }: { report: Report; counts: Counts },
): Promise<void> {
  // A stream ends a thread at an age; a file holds it whole.
  const settings = { ...given, checkpoints: { ...given.checkpoints, finalAge: options.finalAge } }
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const feed = feeding()
  const descriptions = new Map<string, readonly string[]>()
  // The file goes in as the topics would, and every due time has come when it has been read.
  const service = await memoryService(settings, {
    protocol: options.protocol,
    secret: settings.fences.key || 'one run',
    topics: TOPICS,
    reader: feed.reader,
    report,
    retry: { attempts, backoffMs: backoff },
    shown: (library) =>
      heldOut(library, {
        sourceIdOf: (subjectId) => sourceIdOf(file, options.format, subjectId),
        keepNearDuplicates: options.keepNearDuplicates === true || !isLabelled(options.format),
      }),
    descriptions: ({ postId }) => descriptions.get(postId) ?? [],
    streamClock: { idleAfter: 0, atEnd: 'finish' },
  })
  if (service === null)
    throw new OperatorError(
      `No protocol is called ${options.protocol}, or the settings switch it off. See "protocols" in config/gavel.yaml.`,
    )
  const kinds = PROTOCOLS.filter(({ name }) => name === options.protocol)
  for (const line of otherModels(settings, kinds)) terminal.say(line)
  try {
    const skipped: BadLine[] = []
    const messages = fileMessages(file, options.format, (bad) => skipped.push(bad))
    await feed.all(subjectsOf(messages, skipped, descriptions))
    for (const bad of skipped) terminal.say(faultIn(file, bad))
    counts.refused += skipped.filter(({ read }) => read !== true).length
    await collect(service, counts, { ...options, file, lineOf: feed.lineOf }, { terminal, signal })
  } finally {
    await service.close()
  }
}

type Counts = { -readonly [Name in keyof Judged]: Judged[Name] }

function isLabelled(format: Format): boolean {
  return LABELLED_FORMATS.some((known) => known === format)
}

/**
 * The messages that are subjects, or parts of one; the others are told to `skipped`, and what a vision model saw, which is no
 * part of a message, to `described`, by the post's id.
 */
async function* subjectsOf(
  messages: AsyncIterable<FileMessage>,
  skipped: BadLine[],
  described: Map<string, readonly string[]>,
) {
  for await (const { type, descriptions, ...message } of messages) {
    if (descriptions !== undefined) described.set(message.key, descriptions)
    if (type === 'feedback') skipped.push({ line: message.line, why: 'is feedback, for "gavel learn"' })
    else yield { ...message, topic: TOPIC_OF[type] }
  }
}

/** Prints what comes out until nothing is open or due any more. */
async function collect(
  { taking, opener, threads, cases, outbox }: MemoryService,
  counts: Counts,
  options: {
    file: string
    lineOf: ReturnType<typeof feeding>['lineOf']
    transcript: boolean
    json: boolean
  },
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  const left = async () => (await cases.countOpen()) + (await threads.countDue(Number.POSITIVE_INFINITY))
  const tell = (entry: OutboxEntry) => {
    if (entry.kind === 'dead-letter') {
      const { topic, offset, reason, detail } = deadLetter.parse(JSON.parse(entry.letter))
      counts.refused++
      terminal.say(`${options.file}:${options.lineOf(topic, offset)} ${reason}: ${printable(detail, 200)}; left out`)
      return
    }
    if (entry.kind !== 'verdict') throw new Error('there is an entry that nobody here wrote')
    const decided = verdict.parse(JSON.parse(entry.verdict))
    counts.verdicts++
    if (decided.decidedBy === 'none') counts.undecided++
    if (options.json)
      terminal.out(
        options.transcript
          ? printableJson(JSON.stringify({ verdict: decided, transcript: JSON.parse(entry.transcript) as unknown }))
          : printableJson(entry.verdict),
      )
    else {
      terminal.out(line(decided))
      if (options.transcript) terminal.out(printableJson(JSON.stringify(JSON.parse(entry.transcript), null, 2)))
    }
  }
  while (!signal.aborted) {
    await taking.watch()
    await opener.openDue()
    const entries = await outbox.next('judge', 100, 20)
    for (const entry of entries) tell(entry)
    await outbox.done(entries)
    terminal.progress(`${counts.verdicts} judged`)
    if (entries.length === 0 && (await left()) + (await outbox.size()) === 0) break
  }
}

/** Topics that are fed from a file, and the lines from which their records came. */
function feeding() {
  const topics = memoryTopics()
  const lines = new Map<string, number>()
  return {
    reader: topics.reader,
    /** The line of the file, from 1, that a record was made of. */
    lineOf: (topic: string, offset: string) => lines.get(`${topic}/${offset}`),
    /** Posts before comments in each part of the file, as a stream has them mostly. */
    async all(messages: AsyncIterable<Omit<FileMessage, 'type'> & { topic: string }>): Promise<void> {
      let pending: (Omit<FileMessage, 'type'> & { topic: string })[] = []
      const flush = async () => {
        const byTopic = Map.groupBy(pending, ({ topic }) => topic)
        pending = []
        for (const topic of Object.values(TOPICS)) {
          const part = byTopic.get(topic) ?? []
          if (part.length === 0) continue
          const records = part.map(({ key, value }) => ({ key, value: Buffer.from(JSON.stringify(value)) }))
          const offsets = await topics.send(topic, records)
          for (const [at, { line }] of part.entries()) lines.set(`${topic}/${offsets[at]}`, line)
        }
      }
      for await (const message of messages) {
        pending.push(message)
        if (pending.length >= BATCH) await flush()
      }
      await flush()
    },
  }
}
