import type { Settings } from '../../../config/schema.ts'
import { scratchTopicOf } from '../../../config/topics.ts'
import { type BrokerTrial, tryTopics } from '../../../producers/broker-trial.ts'
import { refusalWatch, TRIED_EVERY_MS } from '../../../producers/refusal-watch.ts'
import type { PublicationGate } from '../../contracts/ports/publication.ts'
import type { Loops } from '../../operations/loop.ts'
import { GATE_MS, publicationGate, QUIET_GATE_MS } from '../../operations/publication-gate.ts'
import type { KafkaClient } from '../../stream/client.ts'
import { withTimeout } from '../../stream/with-timeout.ts'
import type { ServiceParts } from './parts.ts'

/** A trial takes no longer than this, in ms. */
const TRIAL_MS = 20_000
/** A broker that refuses is tried again after waits that double from one to the other, in ms. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [1_000, 15_000]

/** How the brokers of these settings are tried. */
export function trialOf({ kafka }: Settings, like: string): BrokerTrial {
  const { compression, replication } = kafka
  return { scratch: scratchTopicOf({ kafka }), like, compression, replication }
}

/** Notes what a broker refuses to a writer of what comes from outside; it is tried again by itself. */
export function refusalsPart(
  settings: Settings,
  parts: { gate: PublicationGate; kafka: KafkaClient; loops: Loops },
  what: 'door-record' | 'console-record',
) {
  const { gate, kafka, loops } = parts
  const tryWritten = async (of: readonly string[]) =>
    (await withTimeout(TRIAL_MS, tryTopics(kafka, of, trialOf(settings, of[0] ?? '')))).refusal
  const refusals = refusalWatch({ gate, what, tryTopics: tryWritten })
  loops.start(what === 'door-record' ? 'door refusals' : 'console refusals', TRIED_EVERY_MS, refusals.poll)
  return refusals
}

/**
 * Knows whether what is judged can be published, in this process or another. A process that publishes tries the brokers now,
 * before anybody pays for a verdict, and again until they take a record.
 */
export async function gatePart(
  settings: Settings,
  { redis, kafka, topics, loops, clock, report }: GateParts,
  { publishes }: { readonly publishes: boolean },
): Promise<PublicationGate> {
  const gate = publicationGate({ shared: redis.closure, report })
  let [waitMs, next] = [FIRST_WAIT_MS, 0]

  async function tryNow(): Promise<boolean> {
    const of = [topics.verdicts, topics.transcripts]
    const { refusal, unread } = await withTimeout(TRIAL_MS, tryTopics(kafka, of, trialOf(settings, topics.verdicts)))
    if (unread !== null) report('error', { where: 'publisher trial', error: new Error(unread) })
    if (refusal === null) gate.open('trial')
    else gate.close('trial', refusal)
    return refusal === null
  }

  async function tryAgain(): Promise<void> {
    if (next === Number.POSITIVE_INFINITY || clock() < next) return
    next = clock() + waitMs
    waitMs = Math.min(LONGEST_WAIT_MS, 2 * waitMs)
    if (await tryNow()) next = Number.POSITIVE_INFINITY
  }

  if (publishes) {
    const taken = await tryNow().catch((error: unknown) => {
      // Whatever it was, what is published will show it.
      report('error', { where: 'publisher trial', error })
      return true
    })
    if (!taken) loops.start('publisher trial', FIRST_WAIT_MS, tryAgain)
  }
  await gate.poll()
  loops.start('publisher gate', GATE_MS, gate.poll, QUIET_GATE_MS)
  return gate
}

type GateParts = Pick<ServiceParts, 'redis' | 'kafka' | 'topics' | 'loops' | 'clock' | 'report'>
