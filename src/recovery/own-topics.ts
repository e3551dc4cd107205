import { dateOf } from '../../producers/dead-letter.ts'
import { jsonOf } from '../domain/json-of.ts'
import { deadLetter } from '../domain/messages.ts'
import { transcript, verdict } from '../domain/verdict.ts'
import type { Incoming } from '../ports/topic.ts'
import { type PublishedSubject, publishedRevisions } from './published.ts'
import type { Run } from './run.ts'

// What Gavel itself has published: verdicts, their transcripts, and dead letters.

/**
 * The last revisions of every subject on the verdicts topic, each with what it saw, if its transcript says so; and what a
 * verdict has cost on average.
 */
export async function readPublished(run: Run): Promise<Published> {
  const found = await readVerdicts(run)
  await everyRecord(run, run.topics.transcripts, (json) => {
    const read = SEEN_OF_TRANSCRIPT.safeParse(json)
    if (read.success) found.see(read.data)
  })
  return found
}

/** The same without what they saw, which their transcripts tell: most of the reading. */
export async function readVerdicts(run: Reading) {
  const found = publishedRevisions(run.protocols)
  await everyRecord(run, run.topics.verdicts, (json, record) => {
    const read = verdict.safeParse(json)
    if (read.success) found.take(read.data, record.value?.toString('utf8') ?? '')
  })
  return found
}

/** What it takes to read what was published. */
type Reading = Pick<Run, 'history' | 'signal' | 'protocols' | 'told'> & {
  readonly topics: Pick<Run['topics'], 'verdicts'>
}

export interface Published {
  readonly subjects: ReadonlyMap<string, PublishedSubject>
  /** What a verdict of a protocol has cost on average, in US dollars. */
  meanCost(protocol: string): number
}

/** Whether a verdict was ever published, those included whose records have expired. */
export async function hasPublished({ history, topics }: Run): Promise<boolean> {
  return [...(await history.rangesOf(topics.verdicts, null)).values()].some(({ to }) => to > 0n)
}

/** The parts of a transcript that a recovery reads: without its turns, which are most of it. */
const SEEN_OF_TRANSCRIPT = transcript.pick({ verdictId: true, subject: true, cut: true })

/** Tells whether the dead-letter topic has a dead letter for a message. */
export async function readDeadLetters(run: Run): Promise<(from: Incoming) => boolean> {
  const places = new Set<string>()
  await eachRecord(run, run.topics.deadLetters, (records) => {
    for (const record of records) {
      const letter = deadLetter.safeParse(jsonOf(record))
      if (letter.success) places.add(placeOf(letter.data, letter.data.at))
    }
  })
  return (from) => places.has(placeOf(from, dateOf(from.timestamp)))
}

/** Whether the verdicts topic still has every revision that was ever published, none of them expired. */
export async function holdsAllVerdicts({ history, topics }: Run): Promise<boolean> {
  const whole = await history.rangesOf(topics.verdicts, null)
  return [...whole.values()].every(({ from }) => from === 0n)
}

function everyRecord(
  run: Pick<Run, 'history' | 'signal' | 'told'>,
  topic: string,
  take: (json: unknown, record: Incoming) => void,
): Promise<void> {
  return eachRecord(run, topic, (records) => {
    for (const record of records) take(jsonOf(record), record)
    run.told(topic, records.length)
  })
}

async function eachRecord(
  { history, signal }: Pick<Run, 'history' | 'signal'>,
  topic: string,
  take: (records: readonly Incoming[]) => void,
): Promise<void> {
  await history.read(topic, await history.rangesOf(topic, null), take)
  signal.throwIfAborted()
}

/** Identifies one message, even if another had its offset before its topic was recreated. */
function placeOf({ topic, partition, offset }: Pick<Incoming, 'topic' | 'partition' | 'offset'>, at: string): string {
  return `${topic}/${partition}@${offset} of ${at}`
}
