import type { Settings } from '../../config/schema.ts'
import { readToEnd } from '../../consumers/feedback.ts'
import { readMessage } from '../../consumers/read-message.ts'
import { deadLetterOf } from '../../producers/dead-letter.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { readLimits } from '../composition/intakes.ts'
import { makeTopics } from '../composition/kafka.ts'
import { learnerOf } from '../composition/learning.ts'
import { topicsOf } from '../composition/topics.ts'
import type { Judged, Learnt, Spent } from '../curator/learn.ts'
import { patiently } from '../curator/patiently.ts'
import { OperatorError, PermanentError, RetryLaterError } from '../domain/errors.ts'
import { type DeadLetterReason, type FeedbackMessage, feedbackMessage } from '../domain/messages.ts'
import { fileMessages } from '../evaluation/formats.ts'
import { DEFAULT_TENANT } from '../library/names.ts'
import { contentId, type Library, type Proposal } from '../ports/library.ts'
import type { Incoming } from '../ports/topic.ts'
import { startUnderstudy } from '../stack/understudy/server.ts'
import { judgedFile, judgedTopics } from './judged.ts'
import { operator, withLibrary } from './library.ts'
import { printable, printableJson, type Terminal } from './terminal.ts'
import { readingClient } from './verdicts.ts'

interface Io {
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

export interface LearnOptions {
  /** Also cases that the verdict got right. */
  readonly all: boolean
  readonly json: boolean
}

/** How many messages came to what; each counts once. */
export interface Learning extends Spent {
  readonly read: number
  readonly proposed: number
  readonly alreadyProposed: number
  readonly agreed: number
  /** The same person has said something else since. */
  readonly superseded: number
  readonly refused: number
  /** Can't be read, or names a protocol or label that there is not. */
  readonly invalid: number
  /** No verdict, or no argument. */
  readonly unjudgeable: number
  readonly curatorFailed: number
  /** Not looked at to the end, because it was told to stop. */
  readonly left: number
  /** Why some were refused or put aside, the most frequent first. */
  readonly reasons: readonly { readonly why: string; readonly messages: number; readonly first: string }[]
  readonly seconds: number
}

/** Messages, and bytes of them, that are held at once: each look for their verdicts reads a topic or a file from its beginning. */
const PART = 10_000
const PART_BYTES = 32 * 1024 * 1024
/** Reasons that are told, and kept apart. */
const REASONS_TOLD = 10
const REASONS_KEPT = 1_000

/** `gavel learn FILE`: feedback of a file; verdicts are looked up in `judged`, or where it is not given on their topics. */
export async function learnFile(
  settings: Settings,
  file: string,
  options: LearnOptions & { readonly judged?: string },
  io: Io,
): Promise<Learning> {
  const { terminal, signal } = io
  const { judged: judgedIn } = options
  const judged =
    judgedIn === undefined
      ? judgedTopics(await readingClient(settings, terminal), topicsOf(settings), terminal)
      : judgedFile(judgedIn, (line) =>
          terminal.say(`${judgedIn}:${line} is no verdict with its transcript; passed over`),
        )
  return learning(settings, options, io, async (learn, tally) => {
    for await (const part of feedbackIn(file, tally)) {
      if (signal.aborted) return
      await learn(part, judged)
    }
  })
}

/**
 * `gavel learn --topic`: the feedback topic, from where the group stands to its end. What could not be used goes to the dead
 * letters, and offsets are committed last: what is cut off comes again, and a proposal that stands is not made twice.
 */
export async function learnTopic(settings: Settings, options: LearnOptions, io: Io): Promise<Learning> {
  const { terminal, signal } = io
  const kafka = await readingClient(settings, terminal)
  await makeTopics(kafka, settings)
  const topics = topicsOf(settings)
  const judged = judgedTopics(kafka, topics, terminal)
  const writer = await kafkaWriter(kafka, settings.kafka.compression)
  const reading = {
    group: `${settings.kafka.group}-learn`,
    topic: topics.feedback,
    atOnce: PART,
    atOnceBytes: PART_BYTES,
    sessionTimeoutMs: settings.kafka.sessionTimeout,
    say: terminal.say,
  }
  try {
    return await learning(settings, options, io, (learn) =>
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

/** What became of one message. */
type End = Learnt | { readonly outcome: 'unreadable'; readonly reason: DeadLetterReason; readonly why: string }
interface Ended {
  readonly from: Incoming
  readonly end: End
}
type Learn = (messages: readonly Incoming[], judged: Judged) => Promise<Ended[]>

/** Everything that learning takes, put together; `feed` hands it the messages. */
async function learning(
  settings: Settings,
  options: LearnOptions,
  io: Io,
  feed: (learn: Learn, tally: Tally) => Promise<void>,
): Promise<Learning> {
  const { terminal, signal } = io
  const started = performance.now()
  const tally = tallying()
  const understudy = settings.openai.apiKey === '' ? await startUnderstudy() : undefined
  if (understudy !== undefined) terminal.say(`No model is set (OPENAI_BASE_URL, OPENAI_API_KEY): ${understudy.what}.`)
  const endpoint = {
    ...settings.openai,
    ...(understudy && { baseUrl: understudy.settings.OPENAI_BASE_URL, apiKey: understudy.settings.OPENAI_API_KEY }),
  }
  try {
    return await withLibrary(settings, async (library) => {
      const curator = learnerOf({ ...settings, openai: endpoint }, options, library)
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
        await feed(learn, tally)
      } catch (error) {
        if (!isOutage(error)) throw error
        throw new OperatorError(
          `The curator can't be asked: ${error.message}. What was proposed is kept; run it again to go on.`,
          { cause: error },
        )
      }
      return { ...tally.counts(), ...curator.spent(), seconds: (performance.now() - started) / 1000 }
    })
  } finally {
    await understudy?.close()
  }
}

function isOutage(error: unknown): error is PermanentError | RetryLaterError {
  return error instanceof PermanentError || error instanceof RetryLaterError
}

/** Reads the messages and has the readable ones learnt from; one end for each, in order. */
async function endsOf(
  messages: readonly Incoming[],
  settings: Settings,
  learn: (feedback: readonly FeedbackMessage[]) => Promise<Learnt[]>,
): Promise<Ended[]> {
  const limits = readLimits(settings)
  const now = Date.now()
  const read = messages.map((from) => readMessage(from, feedbackMessage, limits, now))
  const learnt = (await learn(read.flatMap((one) => (one.ok ? [one.message] : [])))).values()
  return read.map((one): Ended => {
    const { from } = one
    if (!one.ok) return { from, end: { outcome: 'unreadable', reason: one.reason, why: one.detail } }
    const next = learnt.next()
    if (next.done) throw new Error('feedback came to no end')
    return { from, end: next.value }
  })
}

/** Under which reason a message goes to the dead letters; null if it does not. */
function deadReason(end: End): { reason: DeadLetterReason; detail: string } | null {
  switch (end.outcome) {
    case 'unreadable':
      return { reason: end.reason, detail: end.why }
    case 'invalid':
    case 'unjudgeable':
      return { reason: end.outcome, detail: end.why }
    case 'curator-failed':
      return { reason: 'unjudgeable', detail: end.why }
    default:
      return null
  }
}

/** A file's feedback in parts; messages of other types are passed over, and lines that are none are counted. */
async function* feedbackIn(file: string, tally: Tally): AsyncGenerator<Incoming[]> {
  let part: Incoming[] = []
  let bytes = 0
  const bad = ({ line, why }: { line: number; why: string }) =>
    tally.count({ topic: file, partition: 0, offset: String(line) }, { outcome: 'unreadable', reason: 'not-json', why })
  for await (const { type, key, line, value: message } of fileMessages(file, 'gavel', bad)) {
    if (type !== 'feedback') continue
    const value = Buffer.from(JSON.stringify(message))
    part.push({ topic: file, partition: 0, offset: String(line), key, value, headers: {}, timestamp: 0 })
    bytes += value.length
    if (part.length < PART && bytes < PART_BYTES) continue
    yield part
    part = []
    bytes = 0
  }
  if (part.length > 0) yield part
}

type Tally = ReturnType<typeof tallying>

function tallying() {
  const counts = new Map<End['outcome'], number>()
  const reasons = new Map<string, { why: string; messages: number; first: string }>()
  const of = (outcome: End['outcome']) => counts.get(outcome) ?? 0
  return {
    count({ topic, partition, offset }: Pick<Incoming, 'topic' | 'partition' | 'offset'>, end: End): void {
      counts.set(end.outcome, of(end.outcome) + 1)
      if (!('why' in end)) return
      const known = reasons.get(end.why)
      if (known !== undefined) known.messages++
      else if (reasons.size < REASONS_KEPT)
        reasons.set(end.why, { why: end.why, messages: 1, first: `${topic}/${partition}@${offset}` })
    },
    counts() {
      return {
        read: [...counts.values()].reduce((sum, count) => sum + count, 0),
        proposed: of('proposed'),
        alreadyProposed: of('already-proposed'),
        agreed: of('agreed'),
        superseded: of('superseded'),
        refused: of('refused'),
        invalid: of('invalid') + of('unreadable'),
        unjudgeable: of('unjudgeable'),
        curatorFailed: of('curator-failed'),
        left: of('left'),
        reasons: [...reasons.values()].sort((a, b) => b.messages - a.messages),
      }
    },
  }
}

/** Tells what was learnt. */
export function tellLearning(done: Learning, options: { json: boolean }, { terminal, signal }: Io): void {
  const { read, proposed, alreadyProposed, agreed, superseded, refused, invalid, unjudgeable, curatorFailed } = done
  if (options.json) terminal.out(printableJson(JSON.stringify(done)))
  else {
    const parts = [
      `${proposed} proposed`,
      `${alreadyProposed} proposed before`,
      `${agreed} agreed with the verdict`,
      `${superseded} superseded`,
      `${refused} refused`,
      `${invalid} invalid`,
      `${unjudgeable} unjudgeable`,
      `${curatorFailed} failed by the curator`,
    ]
    const spent = `${done.calls} calls, $${done.costUsd.toFixed(4)}`
    terminal.out(`${read} read: ${parts.join(', ')} (${spent}, ${done.seconds.toFixed(1)} s)`)
  }
  for (const { why, messages, first } of done.reasons.slice(0, REASONS_TOLD))
    terminal.say(`${messages} ×  ${printable(why, 160)}  (first: ${printable(first, 120)})`)
  if (done.reasons.length > REASONS_TOLD) terminal.say(`… and ${done.reasons.length - REASONS_TOLD} reasons more.`)
  if (done.left > 0 || signal.aborted) terminal.say('Stopped before the end. Run it again to go on.')
  if (proposed > 0) terminal.say('Proposals wait until somebody approves them: "gavel learn list --state waiting".')
}

function proposedLine({ proposal, was }: Extract<End, { outcome: 'proposed' }>): string {
  const { id, label, provenance } = proposal
  const change = `${printable(was ?? 'no label', 30)} → ${printable(label, 30)}`
  return `${id}  ${printable(provenance.verdictId, 80)}  ${change}  by ${printable(provenance.by, 40)}`
}

type State = Proposal['state']
export const PROPOSAL_STATES = ['waiting', 'approved', 'rejected'] as const satisfies readonly State[]

/** `gavel learn list`: proposals, the oldest first, each with those that it contradicts. */
export async function listProposals(
  settings: Settings,
  options: { state?: State; json: boolean },
  { terminal }: Io,
): Promise<void> {
  const all = await withLibrary(settings, (library) => library.proposals())
  const rivals = rivalsIn(all)
  const shown = all.filter(({ state }) => options.state === undefined || state === options.state)
  for (const proposal of shown) {
    const contradicts = rivals(proposal)
    terminal.out(
      options.json ? printableJson(JSON.stringify({ ...proposal, contradicts })) : proposalLine(proposal, contradicts),
    )
  }
  if (shown.length === 0)
    terminal.say(options.state === undefined ? 'There are no proposals.' : `None is ${options.state}.`)
}

/**
 * `gavel learn show`: everything that is known of one proposal, or of those that made the precedent that a verdict names by
 * this id. Throws an `OperatorError` if there is none.
 */
export async function showProposal(
  settings: Settings,
  id: string,
  options: { json: boolean },
  { terminal }: Io,
): Promise<void> {
  const all = await withLibrary(settings, (library) => library.proposals())
  const shown = all.filter((one) => one.id === id || contentId(one.text) === id)
  if (shown.length === 0) throw new OperatorError(`There is no proposal ${printable(id, 40)}.`)
  const rivals = rivalsIn(all)
  for (const [index, proposal] of shown.entries()) {
    const contradicts = rivals(proposal)
    if (options.json) {
      terminal.out(printableJson(JSON.stringify({ ...proposal, contradicts })))
      continue
    }
    const { shelf, state, change, label, text, metadata, provenance } = proposal
    const known = { shelf, state, ...(change === null ? {} : { change }), label, ...metadata, ...provenance, text }
    if (index > 0) terminal.out('')
    // Which of several it is; where it was asked for by its own id, everybody knows.
    const fields = proposal.id === id ? known : { id: proposal.id, ...known }
    for (const [name, value] of Object.entries(fields))
      terminal.out(`${printable(name, 20)}: ${printable(value, 20_000)}`)
    if (contradicts.length > 0) terminal.out(`contradicts: ${contradicts.join(', ')}`)
  }
}

/**
 * `gavel learn approve`: puts proposals on their shelves, where the next case finds them. All that wait, if no ids are given,
 * but those that contradict one another: between them a person chooses.
 */
export async function approveProposals(
  settings: Settings,
  ids: readonly string[] | 'all',
  options: { by?: string; json: boolean },
  { terminal, signal }: Io,
): Promise<void> {
  await withLibrary(settings, async (library) => {
    const { chosen, contested } = ids === 'all' ? await uncontested(library) : { chosen: ids, contested: [] }
    const by = options.by ?? operator()
    const changes = await patiently(() => library.approve(chosen, by, signal), PATIENCE, {
      signal,
      waiting: (why, ms) => terminal.progress(`${why}; trying again in ${Math.ceil(ms / 1000)} s`),
    })
    for (const change of changes) {
      const { id, shelf, tenant, added, unchanged, relabelled } = change
      const counts = `${added} added, ${unchanged} unchanged, ${relabelled} relabelled`
      terminal.out(
        options.json
          ? printableJson(JSON.stringify(change))
          : `${shelf}${whose(tenant)}: ${counts} (change ${id}; "gavel learn rollback ${id}" takes it back)`,
      )
    }
    if (changes.length === 0) terminal.say('Nothing was waiting to be approved.')
    if (contested.length > 0)
      terminal.say(
        `${contested.length} contradict one another and were left: ${contested.join(', ')}. Approve one by its id.`,
      )
  })
}

/** The default tenant goes without saying. */
function whose(tenant: string | null): string {
  return tenant === null || tenant === DEFAULT_TENANT ? '' : ` of ${tenant}`
}

/** An embedder that is busy is asked again. */
const PATIENCE = { attempts: 5, backoffMs: 1_000 }

async function uncontested(library: Library): Promise<{ chosen: string[]; contested: string[] }> {
  const all = await library.proposals()
  const rivals = rivalsIn(all)
  const waiting = all.filter(({ state }) => state === 'waiting')
  const [chosen, contested] = [
    waiting.filter((one) => rivals(one).length === 0),
    waiting.filter((one) => rivals(one).length > 0),
  ]
  return { chosen: chosen.map(({ id }) => id), contested: contested.map(({ id }) => id) }
}

/** `gavel learn reject`: proposals that nobody shall find. The same feedback does not propose them again. */
export async function rejectProposals(
  settings: Settings,
  ids: readonly string[],
  options: { by?: string; json: boolean },
  { terminal }: Io,
): Promise<void> {
  await withLibrary(settings, (library) => library.reject(ids, options.by ?? operator()))
  for (const id of ids) terminal.out(options.json ? JSON.stringify({ id, state: 'rejected' }) : `${id} was rejected.`)
}

/** Which others of the same tenant say that the same text on the same shelf has another label. */
function rivalsIn(all: readonly Proposal[]): (of: Proposal) => string[] {
  const keyOf = ({ shelf, text, provenance }: Proposal) => `${shelf} ${provenance.tenant} ${contentId(text)}`
  const live = Map.groupBy(
    all.filter(({ state }) => state !== 'rejected'),
    keyOf,
  )
  return (of) => {
    if (of.state === 'rejected') return []
    return (live.get(keyOf(of)) ?? []).filter(({ label }) => label !== of.label).map(({ id }) => id)
  }
}

function proposalLine({ id, state, shelf, label, text, provenance }: Proposal, contradicts: readonly string[]): string {
  const { tenant, verdictId, by, at } = provenance
  const rivals = contradicts.length === 0 ? '' : `  [contradicts ${contradicts.join(', ')}]`
  return `${id}  ${state}  ${shelf}${whose(tenant)}  ${printable(label, 30)}  ${printable(verdictId, 60)}  by ${printable(by, 40)}  ${printable(at, 30)}${rivals}  ${printable(text, 100)}`
}
