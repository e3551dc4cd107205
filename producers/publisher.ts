import { type Verdict, verdict as verdictSchema } from '../src/domain/verdict.ts'
import type { Outbox, OutboxEntry } from '../src/ports/cases.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Report } from '../src/ports/report.ts'
import type { Outgoing, TopicWriter } from '../src/ports/topic.ts'

export interface PublisherSettings {
  /** This publisher among all. */
  readonly name: string
  readonly topics: { readonly verdicts: string; readonly transcripts: string; readonly deadLetters: string }
}

/** Entries sent in one go. */
const SENT_AT_ONCE = 64
/** Entries sent in the last go before a stop; what is left then is for the next publisher. */
const LAST_SENT_AT_ONCE = 1_000
/** Wait for the first entry, in ms; it bounds how long a stop takes. */
const WAIT_MS = 500
/** An entry whose publisher said nothing for this long is another's, in ms. */
const ABANDONED_MS = 5_000
const STILL_SENDING_MS = 1_500
const ADOPT_EVERY_MS = 2_000
const RETRY_MS = 1_000
/** Of a publisher that holds nothing and has taken nothing for this long nothing is kept, in ms. */
const FORGOTTEN_MS = 600_000
const FORGET_EVERY_MS = 60_000

/**
 * Sends what the outbox holds to Kafka and takes it out once it is acknowledged: at least once, byte-identical, under the
 * same id. What another publisher left behind is adopted.
 */
export function publisher(deps: {
  outbox: Outbox
  writer: TopicWriter
  clock: Clock
  report: Report
  settings: PublisherSettings
}) {
  const { outbox, writer, clock, report, settings } = deps
  const { name, topics } = settings
  let stopping = false
  let running: Promise<void> = Promise.resolve()

  /** The records of an entry, and the verdict among them. What is sent are the outbox's own bytes. */
  function lettersOf(entry: OutboxEntry): { records: Outgoing[]; verdict?: Verdict } {
    if (entry.kind === 'dead-letter')
      return { records: [{ topic: topics.deadLetters, key: entry.key, value: entry.letter }] }
    const verdict = verdictSchema.parse(JSON.parse(entry.verdict))
    const records = [
      { topic: topics.transcripts, key: verdict.subjectId, value: entry.transcript },
      { topic: topics.verdicts, key: verdict.subjectId, value: entry.verdict },
    ]
    return { records, verdict }
  }

  async function publish(entries: readonly OutboxEntry[]): Promise<void> {
    const ids = entries.map(({ id }) => id)
    const letters = entries.map(lettersOf)
    const alive = setInterval(() => {
      outbox.keep(name, ids).catch((error: unknown) => report('trouble:met', { where: 'outbox', error }))
    }, STILL_SENDING_MS)
    try {
      for (;;) {
        try {
          await writer.send(letters.flatMap(({ records }) => records))
          break
        } catch (error) {
          report('trouble:met', { where: 'publisher', error })
          if (stopping) return
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
        }
      }
      await outbox.done(entries)
    } finally {
      clearInterval(alive)
    }
    const published = clock()
    for (const { verdict } of letters) if (verdict !== undefined) tell(verdict, published)
  }

  function tell(verdict: Verdict, published: number): void {
    const sinceDecided = Math.max(0, published - Date.parse(verdict.timing.decidedAt))
    report('verdict:published', {
      verdict,
      latencySeconds: Math.max(0, published - Date.parse(verdict.timing.receivedAt)) / 1000,
      overheadSeconds: (verdict.timing.overheadMs + sinceDecided) / 1000,
    })
  }

  async function run(): Promise<void> {
    let [adopted, forgot] = [0, 0]
    while (!stopping) {
      try {
        if (clock() - adopted > ADOPT_EVERY_MS) {
          adopted = clock()
          const left = await outbox.adopt(name, SENT_AT_ONCE, ABANDONED_MS)
          if (left.length > 0) await publish(left)
        }
        if (clock() - forgot > FORGET_EVERY_MS) {
          forgot = clock()
          await outbox.forget(FORGOTTEN_MS)
        }
        const entries = await outbox.next(name, SENT_AT_ONCE, WAIT_MS)
        if (entries.length > 0) await publish(entries)
      } catch (error) {
        report('trouble:met', { where: 'publisher', error })
        if (!stopping) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  return {
    start() {
      running = run()
    },
    /** Sends once more what has been decided by now, as far as Kafka takes it, and ends. */
    async close() {
      stopping = true
      await running
      const left = await outbox.next(name, LAST_SENT_AT_ONCE, 0)
      if (left.length > 0) await publish(left)
      await outbox.leave(name)
    },
  }
}
