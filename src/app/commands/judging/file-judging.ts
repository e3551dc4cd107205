import type { Settings } from '../../../../config/schema.ts'
import { timeInWords } from '../../../cli/time-in-words.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { deadLetter } from '../../../contracts/facts/messages.ts'
import { type Verdict, verdict } from '../../../contracts/facts/verdict.ts'
import type { OutboxEntry } from '../../../contracts/ports/cases.ts'
import type { Library } from '../../../contracts/ports/library.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import type { Report } from '../../../contracts/ports/report.ts'
import { type BadLine, type FileMessage, faultIn } from '../../../data-files/file-message.ts'
import { FILE_TOPICS, feeding, subjectsOf } from '../../../data-files/file-topics.ts'
import { type Format, sourceIdOf } from '../../../data-files/formats.ts'
import { heldOut } from '../../../data-files/held-out.ts'
import { LABELLED_FORMATS } from '../../../data-files/labelled-sets.ts'
import type { LaterImages } from '../../../data-files/own-images.ts'
import { imageLoader } from '../../../models/images/images.ts'
import { endpointOf, modelsOfEndpoints } from '../../../models/openai/models-of-endpoints.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { presetIn } from '../../../protocols/preset.ts'
import { memoryTopics } from '../../../store/memory-topics.ts'
import type { GatewayStores } from '../../composition/gateway.ts'
import { memoryService } from './memory-service.ts'
import { watchedEndpoint } from './watched-endpoint.ts'

/** A thread's comments without a sample. */
const ALL_COMMENTS = { maxComments: Number.POSITIVE_INFINITY, maxPerAuthor: null, maxUnnamed: null } as const

type LibraryShown = Pick<Library, 'find' | 'embedder'>

/** Which of a file's subjects are judged, and how. */
export interface FileJudging {
  readonly protocol: string
  readonly file: string
  readonly format: Format
  /** The file's messages, or those of them to judge; unreadable lines are reported to the callback. */
  readonly messages: (bad: (line: BadLine) => void) => AsyncIterable<FileMessage>
  /** Comments posted longer than this after their post are left out, in ms; infinite: threads are taken whole. */
  readonly finalAge: number
  /**
   * Whether a text may be shown near-duplicates of itself; it is never shown its own item. Left out, only a text of a labelled
   * data set's format may not.
   */
  readonly keepNearDuplicates?: boolean
  /** Used instead of the settings' endpoint. */
  readonly model?: Model
  /** Whether each comment is judged by itself, too, where the protocol judges texts by themselves. */
  readonly comments?: boolean
  /** Images of the file's own folder, which are read when they are shown. */
  readonly images?: LaterImages
  /** In place of the library that the settings name; closed at the end. */
  readonly library?: Library | undefined
  /** In place of those in memory. */
  readonly stores?: Partial<GatewayStores>
  /** In place of the registered protocols. */
  readonly kinds?: readonly ProtocolKind[]
  /** Restricts, or keeps, what cases are shown of the library; applied after what holds their own items out. */
  readonly shown?: (library: LibraryShown) => LibraryShown
  /** Keys fences and samples, in place of the settings' key. */
  readonly secret?: string
}

/** Listeners to what happens to the file's subjects, as it happens. */
export interface FileJudgingIo {
  readonly signal: AbortSignal
  /** `json`: both records as they would be on their topics. */
  judged(verdict: Verdict, json: { readonly verdict: string; readonly transcript: string }): void
  /** A line or a message that is not a subject, in words, with its position. */
  refused(why: string): void
  /** A line that was read in spite of a fault, and how. */
  corrected(why: string): void
  /** This many subjects contain nothing for the protocol to judge. */
  unrouted(count: number): void
  /** An error that did not end the run, in words. */
  failed(why: string): void
  /** So many subjects wait to be judged, or are being judged, each by about so many calls at most; reported now and then. */
  left?(count: number, mostCalls: number): void
}

/**
 * Runs the whole pipeline over a file in this process, on the memory twins of Kafka and Redis: judges every subject's
 * final snapshot. Throws an `OperatorError` if there is no such protocol, or the file can't be read.
 */
export async function judgeFileSubjects(given: Settings, judging: FileJudging, io: FileJudgingIo): Promise<void> {
  const { protocol, file, format } = judging
  const endpoint = watchedEndpoint(
    judging.model ?? modelsOfEndpoints(given),
    (name) => endpointOf(given, name),
    Date.now,
    {
      load: {
        ms: LOAD_SHARE * given.cases.deadline,
        waiting: (why, check) =>
          io.failed(
            `The model does not answer yet: ${why}. A server that is loading it may answer so: it is asked again, for at most ${timeInWords(LOAD_SHARE * given.cases.deadline)}. If it loads none, stop this (Ctrl-C). ${check}`,
          ),
      },
    },
  )
  const stopped = () => io.signal.aborted || endpoint.dead() !== null
  // In a stream a thread ends at a set age; a file holds the whole thread. The papers judge every comment of it.
  const isPaper = presetIn(entryOf(given.protocols, protocol)) === 'paper'
  const settings = {
    ...given,
    checkpoints: { ...given.checkpoints, finalAge: judging.finalAge },
    threads: {
      ...given.threads,
      ...(isPaper ? ALL_COMMENTS : {}),
      ...(judging.comments === true ? { maxReplies: Number.MAX_SAFE_INTEGER } : {}),
    },
    // What is opened and does not begin would only come nearer to its deadline.
    cases: { ...given.cases, maxOpen: Math.min(given.cases.maxOpen, given.models.slots) },
  }
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const topics = memoryTopics()
  const feed = feeding(topics.send)
  const descriptions = new Map<string, readonly string[]>()
  // The file is read like the topics; when it has been read, every due time has passed.
  const service = await memoryService(settings, {
    protocol,
    secret: judging.secret ?? (settings.fences.key || 'one run'),
    topics: FILE_TOPICS,
    reader: topics.reader,
    report: reportingTo(io),
    retry: { attempts, backoffMs: backoff },
    shown: (library) => {
      const others = heldOut(library, {
        sourceIdOf: (subjectId) => sourceIdOf(file, format, subjectId),
        keepNearDuplicates: judging.keepNearDuplicates ?? !isLabelled(format),
      })
      return judging.shown === undefined ? others : judging.shown(others)
    },
    descriptions: ({ postId }) => descriptions.get(postId) ?? [],
    streamClock: { idleAfter: 0, atEnd: 'finish' },
    model: endpoint.model,
    ...(judging.images === undefined ? {} : { loadImage: judging.images.loading(imageLoader(settings.images)) }),
    subjects: judging.comments === true ? ['post', 'comment'] : ['post'],
    library: judging.library,
    kinds: judging.kinds,
    stores: judging.stores,
  })
  if (service === null)
    throw new OperatorError(
      `No protocol is called ${protocol}, or the settings switch it off. See "protocols" in config/gavel.yaml.`,
    )
  const { taking, opener, threads, cases, outbox } = service
  const take = (entry: OutboxEntry) => {
    if (entry.kind === 'dead-letter') {
      const { topic, offset, reason, detail } = deadLetter.parse(JSON.parse(entry.letter))
      io.refused(`${file}:${feed.lineOf(topic, offset)} ${reason}: ${detail}; left out`)
    } else if (entry.kind === 'verdict') {
      const judged = verdict.parse(JSON.parse(entry.verdict))
      // A subject that lost its answers to a dead endpoint is none that was judged.
      if (endpoint.dead() === null || judged.decidedBy !== 'none') io.judged(judged, entry)
      // Nobody waits for a file whom its verdicts ask to look at them.
    } else if (entry.kind !== 'review') throw new Error('unexpected outbox entry kind')
  }
  try {
    const skipped: BadLine[] = []
    const fed = { subjects: 0, comments: 0 }
    await feed.all(
      counting(
        fed,
        subjectsOf(
          judging.messages((bad) => skipped.push(bad)),
          skipped,
          descriptions,
        ),
      ),
    )
    const mostCalls = service.mostCalls(Math.ceil(fed.comments / Math.max(1, fed.subjects)))
    for (const bad of skipped) (bad.read === true ? io.corrected : io.refused)(faultIn(file, bad))
    const left = async () => (await cases.countOpen()) + (await threads.countDue(Number.POSITIVE_INFINITY))
    let reportedAt = Number.NEGATIVE_INFINITY
    while (!stopped()) {
      await taking.noteEnds()
      await opener.openDue()
      if (io.left !== undefined && performance.now() - reportedAt >= REPORT_EVERY_MS) {
        reportedAt = performance.now()
        io.left(await left(), mostCalls)
      }
      const entries = await outbox.next('judge', 100, 20)
      for (const entry of entries) take(entry)
      await outbox.done(entries)
      if (entries.length === 0 && (await left()) + (await outbox.size()) === 0) break
    }
  } finally {
    await service.close()
  }
  const dead = endpoint.dead()
  if (dead !== null && !io.signal.aborted) throw dead
}

/** The same messages; counts those that are comments, and the others. */
async function* counting<Message extends { readonly topic: string }>(
  fed: { subjects: number; comments: number },
  messages: AsyncIterable<Message>,
) {
  for await (const message of messages) {
    fed[message.topic === FILE_TOPICS.comments ? 'comments' : 'subjects']++
    yield message
  }
}

/** For this part of a case's time a server that never answered may be loading its model: an ask has other tries behind it. */
const LOAD_SHARE = 0.9

/** How often the remaining work is reported, in ms. */
const REPORT_EVERY_MS = 500

function reportingTo(io: FileJudgingIo): Report {
  return (name, event) => {
    if (name === 'error' && 'error' in event) io.failed(`${event.where}: ${String(event.error)}`)
    if (name === 'call:refused' && 'said' in event && 'why' in event)
      io.failed(`${event.model}: ${event.why}: the server says "${event.said}"`)
    // A comment that the protocol does not read is not a subject, and so not unrouted.
    if (name === 'messages:settled' && 'outcome' in event && 'topic' in event && event.topic !== FILE_TOPICS.comments)
      if (event.outcome === 'unrouted') io.unrouted(event.count)
  }
}

function isLabelled(format: Format): boolean {
  return LABELLED_FORMATS.some((known) => known === format)
}
