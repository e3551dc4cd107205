import kafkajs, { type Admin, type Kafka } from 'kafkajs'
import { OperatorError } from '../../domain/errors.ts'
import type { Report } from '../../ports/report.ts'
import { registerCodecs } from './codecs.ts'

const CONNECT_MS = 3_000

/** A client of these brokers. Its complaints go to `report`, at warning and above. */
export function kafkaClient(brokers: readonly string[], clientId: string, report: Report): Kafka {
  registerCodecs()
  return new kafkajs.Kafka({
    clientId,
    brokers: [...brokers],
    connectionTimeout: CONNECT_MS,
    requestTimeout: 30_000,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 4 },
    logLevel: kafkajs.logLevel.ERROR,
    logCreator:
      () =>
      ({ namespace, log }) =>
        report('trouble:met', {
          where: `kafkajs ${namespace}`,
          error: new Error(`${log.message}: ${String(log.error ?? '')}`),
        }),
  })
}

export interface TopicPlan {
  readonly name: string
  readonly partitions: number
  readonly retentionMs: number
}

/** Makes the topics that are absent, with their partitions and retention. Where a broker makes topics only by itself, touches them. */
export async function ensureTopics(
  kafka: Kafka,
  admin: Admin,
  plans: readonly TopicPlan[],
  replication: number,
): Promise<void> {
  const missing = async () => {
    const present = new Set(await admin.listTopics())
    return plans.filter(({ name }) => !present.has(name))
  }
  const absent = await missing()
  if (absent.length === 0) return
  try {
    await admin.createTopics({
      waitForLeaders: true,
      topics: absent.map(({ name, partitions, retentionMs }) => ({
        topic: name,
        numPartitions: partitions,
        replicationFactor: replication,
        configEntries: [
          { name: 'retention.ms', value: String(retentionMs) },
          { name: 'message.timestamp.type', value: 'LogAppendTime' },
        ],
      })),
    })
  } catch (error) {
    await touch(kafka, absent)
    const left = (await missing()).map(({ name }) => name)
    if (left.length > 0)
      throw new OperatorError(`The topics ${left.join(', ')} are absent and could not be made: ${String(error)}`, {
        cause: error,
      })
  }
}

/** Asks for the topics as a subscriber that lets the broker make them; it joins no group. */
async function touch(kafka: Kafka, plans: readonly TopicPlan[]): Promise<void> {
  const toucher = kafka.consumer({ groupId: 'gavel-topic-maker', allowAutoTopicCreation: true })
  await toucher.connect()
  try {
    await toucher.subscribe({ topics: plans.map(({ name }) => name) })
  } finally {
    await toucher.disconnect()
  }
}

/** Throws an error for a person if no broker answers. */
export async function checkBrokers(brokers: readonly string[]): Promise<void> {
  // A client of its own: the service's waits for its brokers much longer than a person does.
  const kafka = new kafkajs.Kafka({
    clientId: 'gavel-check',
    brokers: [...brokers],
    connectionTimeout: CONNECT_MS,
    retry: { initialRetryTime: 100, retries: 2 },
    logLevel: kafkajs.logLevel.NOTHING,
  })
  const admin = kafka.admin()
  try {
    await admin.connect()
    await admin.describeCluster()
  } catch (error) {
    throw new OperatorError(
      `Kafka does not answer at ${brokers.join(', ')}. Set KAFKA_BROKERS to a running cluster, or start a local one with "gavel stack".`,
      { cause: error },
    )
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}
