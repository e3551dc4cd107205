import { randomBytes } from 'node:crypto'
import type { Admin, Kafka } from 'kafkajs'
import kafkajs from 'kafkajs'
import { BrokerRefused } from '../src/contracts/facts/broker-refusal.ts'
import { OperatorError } from '../src/contracts/facts/errors.ts'
import { type Compression, RefusedRecord } from '../src/contracts/ports/topic.ts'
import { LEAST_RECORD_BYTES, lacksReplicas, rightsRefusal, sizeRefusal } from '../src/stream/broker-refusals.ts'
import { ensureTopics } from '../src/stream/client.ts'
import { authorisedOperations, recordAt } from '../src/stream/own-requests.ts'
import { kafkaWriter, REQUEST_BYTES } from './kafka-writer.ts'

/** How a broker is tried. */
export interface BrokerTrial {
  /** Takes the records of trials: nobody reads it. */
  readonly scratch: string
  /** The topic whose settings it is given. */
  readonly like: string
  readonly compression: Compression
  readonly replication: number
}

/** What became of a trial's record. */
export interface TrialOutcome {
  readonly refusal: BrokerRefused | null
  /** Why nothing could be tried; null if it was. */
  readonly untried: string | null
  /** What was written was not read back as it was: why not. */
  readonly unread: string | null
  /** Whether the largest request that Gavel sends is taken; undefined where that was not tried. */
  readonly takesLargest?: boolean
}

const NOTHING_WRONG: TrialOutcome = { refusal: null, untried: null, unread: null }
/** Records of a trial are kept so long, in ms. */
const KEPT_MS = 3_600_000
/** What a largest record has beside its value, in bytes. */
const BESIDE = 1_000

/**
 * Writes a small record to a topic with the settings of another one, as what is published is written, and reads it back;
 * with `largest` one as large as a whole request too.
 */
export async function tryBroker(
  kafka: Kafka,
  trial: BrokerTrial,
  { largest = false }: { readonly largest?: boolean } = {},
): Promise<TrialOutcome> {
  const { scratch: topic, compression } = trial
  const untried = await scratchMissing(kafka, trial)
  if (untried !== null) return { ...NOTHING_WRONG, untried }
  const writer = await kafkaWriter(kafka, compression)
  try {
    // Random bytes, which no codec makes smaller.
    const value = randomBytes(LEAST_RECORD_BYTES)
    const { partition, offset } = await writer.place({ topic, key: 'trial', value })
    const read = await recordAt(kafka, { topic, partition, offset }).then(
      (found) => (found?.equals(value) === true ? null : 'it was not there as it had been written'),
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    if (!largest) return { ...NOTHING_WRONG, unread: read }
    const takesLargest = await writer.send([{ topic, key: 'trial', value: randomBytes(REQUEST_BYTES - BESIDE) }]).then(
      () => true,
      (error: unknown) => {
        if (error instanceof RefusedRecord) return false
        throw error
      },
    )
    return { ...NOTHING_WRONG, unread: read, takesLargest }
  } catch (error) {
    if (error instanceof RefusedRecord) return { ...NOTHING_WRONG, refusal: sizeRefusal(topic, error) }
    // A right that is lacking on this topic says nothing of the others, which are asked for theirs.
    if (error instanceof BrokerRefused)
      return error.setting === 'rights'
        ? { ...NOTHING_WRONG, untried: error.message }
        : { ...NOTHING_WRONG, refusal: error }
    // Nor do too few copies in sync, which may pass.
    if (lacksReplicas(error))
      return { ...NOTHING_WRONG, untried: `too few copies of ${topic} are in sync (NOT_ENOUGH_REPLICAS)` }
    throw error
  } finally {
    await writer.close()
  }
}

/**
 * What would become of a record of these topics, as far as can be known without writing to them: by their limit of size, the
 * user's rights, and a trial.
 */
export async function tryTopics(kafka: Kafka, topics: readonly string[], trial: BrokerTrial): Promise<TrialOutcome> {
  const admin = kafka.admin({ retry: { retries: 1 } })
  await admin.connect()
  try {
    for (const topic of topics) {
      const most = Number((await configOf(admin, topic))?.get('max.message.bytes')?.value ?? Number.NaN)
      if (most < LEAST_RECORD_BYTES) return { ...NOTHING_WRONG, refusal: sizeRefusal(topic) }
    }
  } finally {
    await admin.disconnect()
  }
  const rights = await authorisedOperations(kafka, topics)
  const barred = topics.filter((topic) => rights?.get(topic)?.has('write') === false)
  if (barred.length > 0) return { ...NOTHING_WRONG, refusal: rightsRefusal(barred) }
  return tryBroker(kafka, trial)
}

/** The settings of a topic that decide what it takes. */
const DECIDING = [
  'max.message.bytes',
  'compression.type',
  'min.insync.replicas',
  'message.timestamp.type',
  'message.timestamp.before.max.ms',
  'message.timestamp.after.max.ms',
]
/** Where a setting of a topic comes from: this topic. Earlier versions say only whether it is the default. */
const OF_TOPIC = 1

type Config = ReadonlyMap<string, { readonly value: string; readonly isOwn: boolean }>

/** Those settings of a topic; null where they are not told. */
async function configOf(admin: Admin, name: string): Promise<Config | null> {
  const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: DECIDING }
  return admin.describeConfigs({ resources: [resource], includeSynonyms: false }).then(
    ({ resources: [found] }) =>
      new Map(
        found?.configEntries.map(({ configName, configValue, configSource, isDefault }) => [
          configName,
          { value: configValue, isOwn: configSource === undefined ? !isDefault : configSource === OF_TOPIC },
        ]),
      ),
    () => null,
  )
}

/** Makes the scratch topic, or gives it its settings; resolves to why that can't be done, and to null if it is there. */
async function scratchMissing(kafka: Kafka, { scratch, like, replication }: BrokerTrial): Promise<string | null> {
  const admin = kafka.admin({ retry: { retries: 1 } })
  await admin.connect()
  try {
    const [wanted, has] = [await configOf(admin, like), await configOf(admin, scratch)]
    const own = [...(wanted ?? [])].flatMap(([name, { value, isOwn }]) => (isOwn ? [{ name, value }] : []))
    await ensureTopics(kafka, admin, [{ name: scratch, partitions: 1, retentionMs: KEPT_MS, own }], replication)
    const differs = [...(wanted ?? [])].some(([name, { value }]) => (has?.get(name)?.value ?? value) !== value)
    if (differs)
      await admin
        .alterConfigs({
          validateOnly: false,
          resources: [
            {
              type: kafkajs.ConfigResourceTypes.TOPIC,
              name: scratch,
              configEntries: [{ name: 'retention.ms', value: String(KEPT_MS) }, ...own],
            },
          ],
        })
        // Without the right to that it is tried as it is.
        .catch(() => undefined)
    return null
  } catch (error) {
    if (error instanceof OperatorError) return error.message
    throw error
  } finally {
    await admin.disconnect()
  }
}
