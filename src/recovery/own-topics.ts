import { dateOf } from '../../producers/dead-letter.ts'
import { proposal } from '../contracts/facts/decision-messages.ts'
import { jsonOf } from '../contracts/facts/json-of.ts'
import { deadLetter } from '../contracts/facts/messages.ts'
import { transcript, verdict } from '../contracts/facts/verdict.ts'
import type { IncomingMessage } from '../contracts/ports/topic.ts'
import { recordsIn } from './input-topics.ts'
import { type PublishedDecision, type PublishedSubject, publishedRevisions } from './published.ts'
import type { RecoveryRun } from './run.ts'

// What Gavel itself has published: verdicts, their transcripts, and dead letters.

/**
 * The last revisions of every subject on the verdicts topic, each with what it saw, if its transcript states that; and what a
 * verdict has cost on average.
 */
export async function readPublished(run: RecoveryRun): Promise<PublishedState> {
  const found = await readVerdicts(run)
  const proposals = await run.history.rangesOf(run.topics.proposals, null)
  await everyRecord(run, run.topics.proposals, (json) => {
    const read = proposal.safeParse(json)
    if (read.success) found.propose(read.data)
  })
  await everyRecord(run, run.topics.transcripts, (json) => {
    const read = SEEN_OF_TRANSCRIPT.safeParse(json)
    if (read.success) found.see(read.data)
  })
  return { ...found, holdsProposals: [...proposals.values()].every(({ from }) => from === 0n) }
}

/** The same without what they saw, which their transcripts tell: most of the reading. */
export async function readVerdicts(run: OwnTopicsContext) {
  const found = publishedRevisions(run.protocols)
  const ranges = await run.history.rangesOf(run.topics.verdicts, null)
  const cut = new Map([...ranges].filter(([, { from }]) => from > 0n).map(([at]) => [at, Number.POSITIVE_INFINITY]))
  let unreadable = 0
  const missing = await everyRecord(run, run.topics.verdicts, (json, record) => {
    const { partition, timestamp } = record
    if (cut.has(partition)) cut.set(partition, Math.min(timestamp, cut.get(partition) ?? timestamp))
    const read = verdict.safeParse(json)
    const taken = read.success && found.take(read.data, record.value?.toString('utf8') ?? '')
    if (!taken) unreadable++
  })
  const wholeSince =
    missing + unreadable > 0 ? Number.POSITIVE_INFINITY : Math.max(Number.NEGATIVE_INFINITY, ...cut.values())
  return { ...found, missing, unreadable, wholeSince }
}

/** What it takes to read what was published. */
type OwnTopicsContext = Pick<RecoveryRun, 'history' | 'signal' | 'protocols' | 'told'> & {
  readonly topics: Pick<RecoveryRun['topics'], 'verdicts'>
}

export interface PublishedState {
  readonly subjects: ReadonlyMap<string, PublishedSubject>
  /** What a verdict of a protocol has cost on average, in US dollars. */
  meanCost(protocol: string): number
  /** Verdicts that people brought about, by the decision's PARTITION@OFFSET. */
  readonly decided: ReadonlyMap<string, PublishedDecision>
  /** From when on the topic has all verdicts, ms since 1970; infinite where that can't be known. */
  readonly wholeSince: number
  /** The proposals topic has all that was ever on it. */
  readonly holdsProposals: boolean
  /** How many records of the verdicts topic are gone from between its first and its last. */
  readonly missing: number
  /** How many of its records are no verdicts that this version can read. */
  readonly unreadable: number
}

/** Whether a verdict was ever published, those included whose records have expired. */
export async function hasPublished({ history, topics }: RecoveryRun): Promise<boolean> {
  return [...(await history.rangesOf(topics.verdicts, null)).values()].some(({ to }) => to > 0n)
}

/** The parts of a transcript that a recovery reads: without its turns, which are most of it. */
const SEEN_OF_TRANSCRIPT = transcript.pick({ verdictId: true, subject: true, cut: true })

/** Tells whether the dead-letter topic has a dead letter for a message. */
export async function readDeadLetters(run: RecoveryRun): Promise<(from: IncomingMessage) => boolean> {
  const places = new Set<string>()
  await everyRecord(run, run.topics.deadLetters, (json) => {
    const letter = deadLetter.safeParse(json)
    if (letter.success) places.add(placeOf(letter.data, letter.data.at))
  })
  return (from) => places.has(placeOf(from, dateOf(from.timestamp)))
}

/** Whether the verdicts topic still has every revision that was ever published, none of them expired or compacted. */
export async function holdsAllVerdicts(
  { history, topics }: RecoveryRun,
  { missing, unreadable }: Pick<PublishedState, 'missing' | 'unreadable'>,
): Promise<boolean> {
  const whole = await history.rangesOf(topics.verdicts, null)
  return missing + unreadable === 0 && [...whole.values()].every(({ from }) => from === 0n)
}

/** Resolves to how many offsets from the first to the last had no record. */
export async function everyRecord(
  { history, signal, told }: Pick<RecoveryRun, 'history' | 'signal' | 'told'>,
  topic: string,
  take: (json: unknown, record: IncomingMessage) => void,
): Promise<number> {
  const ranges = await history.rangesOf(topic, null)
  const whole = recordsIn(ranges)
  let read = 0
  await history.read(topic, ranges, (records) => {
    for (const record of records) take(jsonOf(record), record)
    read += records.length
    told(topic, records.length, whole)
  })
  signal.throwIfAborted()
  return whole - read
}

/** Identifies one message, even if another had its offset before its topic was recreated. */
function placeOf(
  { topic, partition, offset }: Pick<IncomingMessage, 'topic' | 'partition' | 'offset'>,
  at: string,
): string {
  return `${topic}/${partition}@${offset} of ${at}`
}
