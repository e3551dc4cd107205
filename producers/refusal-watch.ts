import { BrokerRefused } from '../src/contracts/facts/broker-refusal.ts'
import type { PublicationGate } from '../src/contracts/ports/publication.ts'
import type { RefusedKind } from '../src/contracts/ports/report.ts'
import { type PlacingWriter, RefusedRecord, type TopicWriter } from '../src/contracts/ports/topic.ts'

/** How often it is tried whether a broker takes again what it refused, in ms. */
export const TRIED_EVERY_MS = 5_000

/**
 * Tells the gate what a broker refuses to writers of records that come from outside, and when it takes them again. Nothing here
 * sends such a record anew, so `poll` has a record of nobody's tried in its place.
 */
export function refusalWatch(watched: {
  readonly gate: Pick<PublicationGate, 'close' | 'open'>
  readonly what: RefusedKind
  /** The refusal that a record of these topics would meet; null if they take it. */
  readonly tryTopics: (topics: readonly string[]) => Promise<BrokerRefused | null>
}) {
  const { gate, what, tryTopics } = watched
  let refused: BrokerRefused | null = null
  /** Topics that have refused a large record: perhaps they take no small one either. */
  let suspected: readonly string[] = []

  function note(refusal: BrokerRefused | null): void {
    if (refusal !== null) gate.close(what, refusal)
    else if (refused !== null) gate.open(what)
    refused = refusal
  }

  async function noting<Result>(topics: readonly string[], sent: Promise<Result>): Promise<Result> {
    try {
      const result = await sent
      // What other topics take shows nothing.
      if (refused?.topics.every((topic) => topics.includes(topic))) note(null)
      return result
    } catch (error) {
      if (error instanceof BrokerRefused) note(error)
      if (error instanceof RefusedRecord) suspected = topics
      throw error
    }
  }

  return {
    writer({ send, place, close }: TopicWriter & PlacingWriter): TopicWriter & PlacingWriter {
      return {
        send(records) {
          return noting(
            records.map(({ topic }) => topic),
            send(records),
          )
        },
        place: (record) => noting([record.topic], place(record)),
        close,
      }
    },
    async poll(): Promise<void> {
      const tried = refused?.topics ?? suspected
      suspected = []
      if (tried.length > 0) note(await tryTopics(tried))
    },
  }
}
