import type { Kafka } from 'kafkajs'
import { z } from 'zod'
import type { topicsOf } from '../../../config/topics.ts'
import type { Terminal } from '../../cli/terminal.ts'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import { transcript, type Verdict, verdict } from '../../contracts/facts/verdict.ts'
import { linesOf, unreadable } from '../../data-files/lines.ts'
import {
  argumentOf,
  type FeedbackVerdict,
  type JudgedVerdicts,
  subjectKey,
  type VerdictArgument,
} from '../../shelves/curator/feedback.ts'
import { readTopic } from '../../stream/bounded-reader.ts'

/**
 * Verdicts and transcripts from their topics: each call reads one topic from its beginning, and keeps what was asked
 * for.
 */
export function verdictsOnTopics(
  kafka: Kafka,
  topics: Pick<ReturnType<typeof topicsOf>, 'verdicts' | 'transcripts'>,
  terminal: Pick<Terminal, 'progress' | 'say'>,
): JudgedVerdicts {
  /** Records with these keys, parsed as JSON; the others are skipped unparsed. */
  async function scan(topic: string, keys: ReadonlySet<string>, signal: AbortSignal, take: (json: unknown) => void) {
    let read = 0
    await readTopic(kafka, topic, { follow: false, signal, say: terminal.say }, ({ message }) => {
      if (++read % 1_000 === 0) terminal.progress(`${read} records of ${topic} read`)
      if (keys.has(message.key?.toString('utf8') ?? '')) take(jsonOf(message))
    })
  }
  return {
    async verdicts(subjects, signal) {
      const found = newestOf(subjects)
      const keys = new Set([...subjects].map((key) => key.split(' ').slice(2).join(' ')))
      await scan(topics.verdicts, keys, signal, (json) => {
        const read = verdict.safeParse(json)
        if (read.success) found.take(read.data)
      })
      return found.all()
    },
    async arguments(of, signal) {
      const found = argumentsOf(of)
      await scan(topics.transcripts, new Set(of.map(({ subjectId }) => subjectId)), signal, found.take)
      return found.all
    },
  }
}

const judgedLine = z.object({ verdict, transcript: z.unknown() })

/**
 * Reads a file of JSON lines. Lines that don't fit are reported to `bad`, empty ones are skipped. Throws an
 * `OperatorError` if the file can't be read.
 */
export async function eachLine<Line>(
  file: string,
  schema: z.ZodType<Line>,
  { signal, take, bad }: { signal: AbortSignal; take: (line: Line) => void; bad: (line: number) => void },
): Promise<void> {
  let line = 0
  try {
    for await (const text of linesOf(file)) {
      line++
      if (signal.aborted) return
      if (text.trim() === '') continue
      const read = schema.safeParse(parsed(text))
      if (read.success) take(read.data)
      else bad(line)
    }
  } catch (error) {
    throw unreadable(file, error)
  }
}

/**
 * Verdicts and transcripts from a file as `gavel judge --json --transcript` writes it; each call reads the file again.
 * Lines that are neither are reported to `bad`. Throws an `OperatorError` if the file can't be read.
 */
export function verdictsInFile(file: string, bad: (line: number) => void): JudgedVerdicts {
  const scan = (signal: AbortSignal, told: (line: number) => void, take: (read: z.infer<typeof judgedLine>) => void) =>
    eachLine(file, judgedLine, { signal, take, bad: told })
  return {
    async verdicts(subjects, signal) {
      const found = newestOf(subjects)
      await scan(signal, bad, (read) => found.take(read.verdict))
      return found.all()
    },
    async arguments(of, signal) {
      const found = argumentsOf(of)
      await scan(
        signal,
        () => {},
        (read) => found.take(read.transcript),
      )
      return found.all
    },
  }
}

/** Keeps the machines' newest final revision of each of these subjects: a person's has no argument that could be learnt from. */
function newestOf(subjects: ReadonlySet<string>) {
  const newest = new Map<string, Verdict>()
  return {
    take(one: Verdict) {
      if (one.decision !== undefined) return
      const key = subjectKey(one)
      const before = newest.get(key)
      if (one.final && subjects.has(key) && (before === undefined || before.revision <= one.revision))
        newest.set(key, one)
    },
    all(): ReadonlyMap<string, FeedbackVerdict> {
      return new Map(
        [...newest].map(([key, { id, subjectId, label, restored }]) => [
          key,
          { id: restored?.from ?? id, subjectId, label },
        ]),
      )
    },
  }
}

/** Keeps the parts of these verdicts' transcripts that can be learnt from. */
function argumentsOf(of: readonly FeedbackVerdict[]) {
  const ids = new Set(of.map(({ id }) => id))
  const all = new Map<string, VerdictArgument | null>()
  return {
    take(json: unknown) {
      const read = transcript.safeParse(json)
      if (read.success && ids.has(read.data.verdictId)) all.set(read.data.verdictId, argumentOf(read.data))
    },
    all,
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
