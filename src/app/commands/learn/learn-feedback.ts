import type { Settings } from '../../../../config/schema.ts'
import { topicsOf } from '../../../../config/topics.ts'
import { readToEnd } from '../../../../consumers/feedback.ts'
import { readMessage } from '../../../../consumers/read-message.ts'
import { deadLetterOf } from '../../../../producers/dead-letter.ts'
import { kafkaWriter } from '../../../../producers/kafka-writer.ts'
import type { Invocation } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { fences } from '../../../contracts/facts/fence.ts'
import { type FeedbackMessage, feedbackMessage } from '../../../contracts/facts/messages.ts'
import { samplingRanks } from '../../../contracts/facts/sampling-rank.ts'
import type { Library } from '../../../contracts/ports/library.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import type { IncomingMessage } from '../../../contracts/ports/topic.ts'
import { fileMessages } from '../../../data-files/formats.ts'
import { makeTopics } from '../../../operations/make-topics.ts'
import { PROTOCOLS } from '../../../protocols/registry.ts'
import type { FeedbackOutcome, JudgedVerdicts } from '../../../shelves/curator/feedback.ts'
import { learner } from '../../../shelves/curator/learn.ts'
import { deadReason, type End, type LearningTally, type Tally, tallying } from '../../../shelves/curator/tally.ts'
import { gatewayOf, memoryGatewayStores } from '../../composition/gateway.ts'
import { makeCurations, makeProtocols } from '../../composition/make-protocols.ts'
import { watchedModel } from '../judging/watched-endpoint.ts'
import { isFailure, withLibrary } from '../library/with-library.ts'
import { readingClient } from '../reading-client.ts'
import { verdictsInFile, verdictsOnTopics } from '../verdict-sources.ts'
import { withModel } from '../with-model.ts'

type LearnIo = Pick<Invocation, 'terminal' | 'startStandIn' | 'signal'>

export interface LearnOptions {
  /** Learns also from cases that the verdict got right. */
  readonly all: boolean
  /** Returns proposals only in the result, instead of printing them as they are made. */
  readonly json: boolean
}

type FileLearnOptions = LearnOptions & {
  /** A file of `gavel judge --json --transcript`. */
  readonly judged?: string | undefined
}

/** Messages in a batch, and their bytes: to find a batch's verdicts, a topic or file is read from its beginning. */
const BATCH = 10_000
const BATCH_BYTES = 32 * 1024 * 1024

/** `gavel learn FILE`: feedback from a file. */
export async function learnFile(
  settings: Settings,
  file: string,
  options: FileLearnOptions,
  io: LearnIo,
): Promise<LearningTally> {
  return learnBatches(settings, (tally) => feedbackIn(file, tally), options, io)
}

/** Learns from batches of feedback messages; verdicts are looked up in `judged`, or on their topics if that is absent. */
export async function learnBatches(
  settings: Settings,
  batches: (tally: Tally) => AsyncIterable<readonly IncomingMessage[]>,
  options: FileLearnOptions,
  io: LearnIo,
): Promise<LearningTally> {
  const { terminal } = io
  const { judged: judgedIn } = options
  const judged =
    judgedIn === undefined
      ? verdictsOnTopics(await readingClient(settings, terminal), topicsOf(settings), terminal)
      : verdictsInFile(judgedIn, (line) =>
          terminal.say(`${judgedIn}:${line} is not a verdict with its transcript; skipped`),
        )
  return withLearner(settings, options, io, async (learn, { tally, signal }) => {
    for await (const batch of batches(tally)) {
      if (signal.aborted) return
      await learn(batch, judged)
    }
  })
}

/**
 * `gavel learn --topic`: reads the feedback topic from the group's offsets to its end. Unusable messages become dead
 * letters. Offsets are committed last: after an interruption messages are read again, and no proposal is made twice.
 */
export async function learnTopic(settings: Settings, options: LearnOptions, io: LearnIo): Promise<LearningTally> {
  const { terminal } = io
  const kafka = await readingClient(settings, terminal)
  await makeTopics(kafka, settings)
  const topics = topicsOf(settings)
  const judged = verdictsOnTopics(kafka, topics, terminal)
  const writer = await kafkaWriter(kafka, settings.kafka.compression)
  const reading = {
    group: `${settings.kafka.group}-learn`,
    topic: topics.feedback,
    atOnce: BATCH,
    atOnceBytes: BATCH_BYTES,
    sessionTimeout: settings.kafka.sessionTimeout,
    say: terminal.say,
  }
  try {
    return await withLearner(settings, options, io, (learn, { signal }) =>
      readToEnd(kafka, reading, signal, async (messages) => {
        const ended = await learn(messages, judged)
        if (signal.aborted) return false
        const letters = ended.flatMap(({ from, end }) => {
          const why = deadReason(end)
          if (why === null) return []
          const { key, letter } = deadLetterOf(from, why)
          return [{ topic: topics.deadLetters, key, value: letter }]
        })
        await writer.send(letters)
        return true
      }),
    )
  } finally {
    await writer.close()
  }
}

const KEPT = 'Proposals made so far are kept; run it again to continue.'

interface Ended {
  readonly from: IncomingMessage
  readonly end: End
}
type Learn = (messages: readonly IncomingMessage[], judged: JudgedVerdicts) => Promise<Ended[]>

/**
 * Builds the learner, lets `feed` pass it the messages, and counts their outcomes. Throws an `OperatorError` if the model's
 * endpoint is given up.
 */
async function withLearner(
  settings: Settings,
  options: LearnOptions,
  io: LearnIo,
  feed: (learn: Learn, so: { readonly tally: Tally; readonly signal: AbortSignal }) => Promise<void>,
): Promise<LearningTally> {
  const { terminal } = io
  const started = performance.now()
  const tally = tallying()
  const gone = new AbortController()
  const signal = AbortSignal.any([io.signal, gone.signal])
  return withModel(settings, io, (reachable) =>
    withLibrary(settings, async (library) => {
      const endpoint = watchedModel(reachable, () => gone.abort())
      const curator = learnerOf(reachable, { all: options.all, model: endpoint.model }, library)
      const learn: Learn = async (messages, judged) => {
        const ended = await endsOf(messages, settings, (feedback) =>
          curator.learn(feedback, judged, { signal, progress: (line) => terminal.progress(line) }),
        )
        for (const { from, end } of ended) {
          tally.count(from, end)
          if (!options.json && end.outcome === 'proposed') terminal.out(proposedLine(end))
        }
        return ended
      }
      try {
        await feed(learn, { tally, signal })
      } catch (error) {
        if (endpoint.dead() === null)
          throw isFailure(error)
            ? new OperatorError(`The curator is not available: ${error.message}. ${KEPT}`, { cause: error })
            : error
      }
      const dead = endpoint.dead()
      if (dead !== null && !io.signal.aborted) throw new OperatorError(`${dead.message} ${KEPT}`, { cause: dead })
      return { ...tally.counts(), ...curator.spent(), seconds: (performance.now() - started) / 1000 }
    }),
  )
}

/** Parses the messages and learns from the readable ones; returns one end for each, in order. */
async function endsOf(
  messages: readonly IncomingMessage[],
  settings: Settings,
  learn: (feedback: readonly FeedbackMessage[]) => Promise<FeedbackOutcome[]>,
): Promise<Ended[]> {
  const now = Date.now()
  const read = messages.map((from) => readMessage(from, feedbackMessage, settings.intake, now))
  const learnt = (await learn(read.flatMap((one) => (one.ok ? [one.message] : [])))).values()
  return read.map((one): Ended => {
    const { from } = one
    if (!one.ok) return { from, end: { outcome: 'unreadable', reason: one.reason, why: one.detail } }
    const next = learnt.next()
    if (next.done) throw new Error('a feedback message without an outcome')
    return { from, end: next.value }
  })
}

/** A file's feedback in batches; messages of other types are skipped, and unreadable lines counted. */
async function* feedbackIn(file: string, tally: Tally): AsyncGenerator<IncomingMessage[]> {
  let batch: IncomingMessage[] = []
  let bytes = 0
  const bad = ({ line, why }: { line: number; why: string }) =>
    tally.count({ topic: file, partition: 0, offset: String(line) }, { outcome: 'unreadable', reason: 'not-json', why })
  for await (const { type, key, line, value: message } of fileMessages(file, 'gavel', bad)) {
    if (type !== 'feedback') continue
    const value = Buffer.from(JSON.stringify(message))
    batch.push({ topic: file, partition: 0, offset: String(line), key, value, headers: {}, timestamp: 0 })
    bytes += value.length
    if (batch.length < BATCH && bytes < BATCH_BYTES) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

function proposedLine({ proposal, was }: Extract<End, { outcome: 'proposed' }>): string {
  const { id, label, provenance } = proposal
  const change = `${printable(was ?? 'no label', 30)} → ${printable(label, 30)}`
  return `${id}  ${printable(provenance.verdictId, 80)}  ${change}  by ${printable(provenance.by, 40)}`
}

/** Most questions to the model in parallel. */
const ASKED_AT_ONCE = 8

/** The learner from feedback, which asks `model`; `all`: also from cases that the verdict got right. */
function learnerOf(
  settings: Settings,
  { all, model }: { readonly all: boolean; readonly model: Model },
  library: Library,
) {
  const secret = 'one run'
  const clock = Date.now
  const fence = fences(settings.fences.key || secret, settings.fences)
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const stores = memoryGatewayStores(settings, clock)
  return learner({
    protocols: makeProtocols(settings.protocols, fence, samplingRanks('learn')),
    known: new Set(PROTOCOLS.map(({ name }) => name)),
    library,
    gateway: gatewayOf(settings, { stores, secret, clock, model, report: () => {} }),
    curations: makeCurations(settings.protocols, fence),
    clock,
    settings: {
      all,
      atOnce: ASKED_AT_ONCE,
      deadlineMs: settings.cases.deadline,
      retries: { attempts, backoffMs: backoff },
    },
  })
}
