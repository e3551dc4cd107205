import { type ErrorPlace, type Events, sourceOf } from '../contracts/ports/report.ts'

/** A line of the log that stands for an outage, or for its end. */
export interface OutageLine {
  readonly level: 'error' | 'warn'
  readonly event: `${OutagePart}:${'away' | 'answers'}`
  readonly [field: string]: unknown
}

/** An error as the log describes it. */
export interface DescribedError {
  readonly where: ErrorPlace
  readonly error: string
  readonly code?: string
  readonly message: string
}

const PARTS = ['record', 'redis', 'kafka'] as const
type OutagePart = (typeof PARTS)[number]

const CONNECTION =
  /ECONN(?:REFUSED|RESET|ABORTED)|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH|Connection is closed|isn't writeable|[Cc]onnection (?:error|timeout|closed)|Closed connection/
/** Redis's own errors: it answers, and refuses. The same, whichever script or worker reports it. */
export const REFUSED = /^(?:OOM|MISCONF|NOREPLICAS|READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|WRONGPASS|NOAUTH|NOPERM) /
/** What follows from an outage of Redis, also for a moment after it: locks lapsed, and batches outlived their session. */
const FOLLOWS = /[Ll]ock|not aware of this member|[Rr]ebalanc|re-joining|member .* fenced/

interface Kind {
  /** The error shows that it does not answer. */
  isSign(error: DescribedError): boolean
  /** The error follows from its being away: `answers` once it does again. */
  follows(error: DescribedError, answers: boolean): boolean
  /** The event shows that it answers. */
  isAnswer(name: keyof Events, event: object): boolean
  readonly advice: string
}

const KINDS: Readonly<Record<OutagePart, Kind>> = {
  record: {
    // A reader of topics wraps what its handler throws.
    isSign: ({ error, message }) => error === 'RecordAway' || message.includes("the record's database does not answer"),
    follows: ({ where }) => sourceOf(where) === 'record',
    // The loops that ask it: the writer's, and the console's, which hears of no other.
    isAnswer: (name, event) =>
      name === 'loop:succeeded' && 'loop' in event && ['record lag', 'console pictures'].includes(String(event.loop)),
    advice:
      'Check that PostgreSQL runs, and that record.postgres.url is its address, with a user and a password that hold. Nothing is lost: the record goes on in the topics where it was. docs/runbooks/GavelRecordBehind.md',
  },
  redis: {
    isSign: ({ where, error, code = '', message }) =>
      error === 'NoAnswer' ||
      /\bNoAnswer\b|^Socket timeout\. Expecting data/.test(message) ||
      (['redis', 'bullmq', 'worker'].includes(sourceOf(where)) && CONNECTION.test(`${code} ${message}`)),
    // Everything here needs it. It loads its data when it has started, and refuses until then.
    follows: ({ message }, answers) =>
      answers ? FOLLOWS.test(message) : !REFUSED.test(message) || message.startsWith('LOADING '),
    isAnswer: (name, event) => name === 'loop:succeeded' && 'loop' in event && event.loop === 'store watch',
    advice:
      'Check that Redis runs, and that REDIS_URL is its address. Nothing is lost, and work resumes by itself: docs/runbooks/GavelRedisUnreachable.md',
  },
  kafka: {
    isSign: ({ where, error, message }) =>
      /^KafkaJS(?:Connection|NumberOfRetriesExceeded|RequestTimeout|Broker)/.test(error) ||
      (['kafka', 'kafkajs'].includes(sourceOf(where)) && CONNECTION.test(message)),
    follows: ({ where, error }) => error.startsWith('KafkaJS') || ['kafka', 'kafkajs'].includes(sourceOf(where)),
    isAnswer: (name, event) => name === 'consumer:watched' && 'downSeconds' in event && event.downSeconds === 0,
    advice:
      'Check that the brokers run, and that KAFKA_BROKERS has their addresses. Nothing is lost, and work resumes by itself: docs/runbooks/GavelKafkaUnreachable.md',
  },
}

/** While an outage lasts it is said once in this time, in ms. */
const SAY_AGAIN_MS = 60_000

/** An outage has ended when there was no sign of it, and an answer, for this long, in ms. */
const CALM_MS: Readonly<Record<OutagePart, number>> = { record: 5_000, redis: 5_000, kafka: 10_000 }

interface Outage {
  readonly since: number
  last: number
  saidAt: number
  answersSince: number | null
  /** Errors that were left out. */
  errors: number
  /** What was said when it began. */
  readonly line: OutageLine
}

function between(since: number, until: number): { since: string; until: string } {
  return { since: new Date(since).toISOString(), until: new Date(until).toISOString() }
}

/**
 * Puts the errors of an outage of Redis, Kafka or the record's database, which every part of a process meets, into few lines: one when it begins,
 * with what to do, the same once a minute with how many there were, and one when it has ended, with when and how long it lasted.
 */
export function outageLines(now: () => number) {
  const outages = new Map<OutagePart, Outage>()

  function begin(part: OutagePart, why: string, where: string): OutageLine[] {
    const at = now()
    const line: OutageLine = { level: 'error', event: `${part}:away`, why, where, advice: KINDS[part].advice }
    outages.set(part, { since: at, last: at, saidAt: at, answersSince: null, errors: 0, line })
    return [line]
  }

  return {
    /** The lines to write where nothing was heard of it for so long, though it is asked ever again. */
    silent(part: OutagePart, ms: number): OutageLine[] {
      return outages.has(part) ? [] : begin(part, `no answer for ${ms / 1000} s`, part)
    },

    /** The lines to write in the error's place; null if it belongs to no outage. */
    ofError(error: DescribedError): OutageLine[] | null {
      const part =
        PARTS.find((one) => KINDS[one].isSign(error)) ??
        PARTS.find((one) => {
          const outage = outages.get(one)
          return outage !== undefined && KINDS[one].follows(error, outage.answersSince !== null)
        })
      if (part === undefined) return null
      const at = now()
      const outage = outages.get(part)
      if (outage === undefined) {
        const { where, code, message } = error
        return begin(part, code === undefined ? message : `${code}: ${message}`, where)
      }
      outage.errors++
      if (KINDS[part].isSign(error)) {
        outage.last = at
        outage.answersSince = null
      }
      return []
    },

    /** The lines that follow from any other event. */
    ofEvent(name: keyof Events, event: object): OutageLine[] {
      return [...outages].flatMap(([part, outage]): OutageLine[] => {
        const at = now()
        if (!KINDS[part].isAnswer(name, event)) {
          if (outage.answersSince !== null || at - outage.saidAt < SAY_AGAIN_MS) return []
          outage.saidAt = at
          const forSeconds = Math.round((at - outage.since) / 1000)
          return [{ ...outage.line, forSeconds, errorsLeftOut: outage.errors }]
        }
        outage.answersSince ??= at
        if (at - Math.max(outage.last, outage.answersSince) < CALM_MS[part]) return []
        outages.delete(part)
        const { since, answersSince: until, errors: errorsLeftOut } = outage
        const afterSeconds = Math.round((until - since) / 1000)
        // The line comes when it has been calm for a while: so it names both ends.
        return [{ level: 'warn', event: `${part}:answers`, ...between(since, until), afterSeconds, errorsLeftOut }]
      })
    },
  }
}
