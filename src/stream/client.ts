import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin, type Kafka, type SASLOptions } from 'kafkajs'
import { OperatorError } from '../contracts/facts/errors.ts'
import type { Report } from '../contracts/ports/report.ts'
import { type TlsSettings, tlsOptions, tlsTrouble } from '../platform/tls.ts'
import { registerCodecs } from './codecs.ts'
import { patchKafkaJs } from './kafkajs-patches.ts'

export type KafkaClient = Kafka

/** Where Kafka is and how to authenticate, according to the settings. */
export interface KafkaSettings {
  readonly brokers: readonly string[]
  readonly tls?: TlsSettings
  readonly sasl?: SaslSettings
}

interface SaslSettings {
  readonly mechanism: 'none' | 'plain' | 'scram-sha-256' | 'scram-sha-512'
  readonly username: string
  readonly password: string
}

const CONNECT_MS = 3_000
/** Longest wait until all brokers know newly created topics, in ms: a busy cluster takes minutes to elect leaders of hundreds… */
const KNOWN_WITHIN_MS = 300_000
/** …and how often it is told for which. */
const TOLD_EVERY_MS = 10_000

/**
 * A client of these brokers that reports its errors to `report`. Throws an `OperatorError` if no broker is set or the
 * TLS files can't be used.
 */
export function kafkaClient(at: KafkaSettings, clientId: string, report: Report): Kafka {
  registerCodecs()
  patchKafkaJs()
  return new kafkajs.Kafka({
    clientId,
    ...connectionTo(at),
    requestTimeout: 30_000,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 4 },
    logLevel: kafkajs.logLevel.ERROR,
    logCreator:
      () =>
      ({ namespace, log }) => {
        report('error', {
          where: `kafkajs ${namespace}`,
          error: new Error(`${log.message}: ${String(log.error ?? '')}`),
        })
      },
  })
}

/** What every client of these brokers needs to connect. */
function connectionTo({ brokers, tls, sasl }: KafkaSettings) {
  if (brokers.length === 0)
    throw new OperatorError('Kafka is not set. Set KAFKA_BROKERS, or start local servers with "gavel stack".')
  return {
    brokers: [...brokers],
    connectionTimeout: CONNECT_MS,
    ...(tls?.enabled ? { ssl: tlsOptions(tls, 'kafka.tls') } : {}),
    ...(sasl === undefined || sasl.mechanism === 'none' ? {} : { sasl: asAsked(sasl) }),
  }
}

/** User and password as they are when a connection logs in; kafkajs adds to what it is given. */
function asAsked(sasl: SaslSettings): SASLOptions {
  const { mechanism } = sasl
  const access = {
    mechanism,
    get username() {
      return sasl.username
    },
    get password() {
      return sasl.password
    },
  }
  // kafkajs' type has one member for each mechanism.
  return access as SASLOptions
}

const TIMESTAMP_TYPE = 'message.timestamp.type'

export interface TopicPlan {
  readonly name: string
  readonly partitions: number
  /** -1: without limit. */
  readonly retentionMs: number
  /** Settings beside these. */
  readonly own?: readonly { readonly name: string; readonly value: string }[]
}

/** The settings of a topic when it is created. */
export function configOf({ retentionMs, own = [] }: TopicPlan): { name: string; value: string }[] {
  return [
    { name: 'retention.ms', value: String(retentionMs) },
    // By its size neither, and not by key: of one subject several count.
    ...(retentionMs === -1
      ? [
          { name: 'retention.bytes', value: '-1' },
          { name: 'cleanup.policy', value: 'delete' },
        ]
      : []),
    ...(own.some(({ name }) => name === TIMESTAMP_TYPE) ? [] : [{ name: TIMESTAMP_TYPE, value: 'LogAppendTime' }]),
    ...own,
  ]
}

/** Tells for which topics is waited that are created and can't be used yet. */
export type TellWaiting = (topics: readonly string[]) => void

/**
 * Creates missing topics, with their partitions and retention. If a broker only creates topics automatically, touches
 * them.
 */
export async function ensureTopics(
  kafka: Kafka,
  admin: Admin,
  plans: readonly TopicPlan[],
  replication: number,
  waiting: TellWaiting = () => {},
): Promise<void> {
  const missing = async () => {
    const present = new Set(await admin.listTopics())
    return plans.filter(({ name }) => !present.has(name))
  }
  const absent = await missing()
  if (absent.length === 0) return
  try {
    await admin.createTopics({
      waitForLeaders: false,
      topics: absent.map((plan) => ({
        topic: plan.name,
        numPartitions: plan.partitions,
        replicationFactor: replication,
        configEntries: configOf(plan),
      })),
    })
  } catch (error) {
    await touch(kafka, absent)
    const left = (await missing()).map(({ name }) => name)
    if (left.length > 0)
      throw new OperatorError(`The topics ${left.join(', ')} do not exist and could not be created: ${String(error)}`, {
        cause: error,
      })
  }
  await untilKnown(admin, absent, waiting)
}

/**
 * Waits until the brokers that we ask know the topics: a broker's new topic is known to the others, and to itself, only
 * a moment later. kafkajs' own wait for leaders treats that moment as a failure.
 */
async function untilKnown(admin: Admin, plans: readonly TopicPlan[], waiting: TellWaiting): Promise<void> {
  const begun = Date.now()
  let [toldAt, left] = [begun, plans.map(({ name }) => name)]
  let why: unknown
  for (;;) {
    // Answered by each partition's leader once it is one: a batch that arrives earlier must be sent again as a whole.
    const answers = await Promise.allSettled(left.map((topic) => admin.fetchTopicOffsets(topic)))
    left = left.filter((_, nth) => answers[nth]?.status === 'rejected')
    if (left.length === 0) return
    why = answers.find((one) => one.status === 'rejected')?.reason
    if (Date.now() - begun > KNOWN_WITHIN_MS)
      throw new OperatorError(
        `The topics ${left.join(', ')} were created, but after ${KNOWN_WITHIN_MS / 1000} s not all of their partitions have a leader (${String(why)}). Start again when Kafka is less busy.`,
        { cause: why },
      )
    if (Date.now() - toldAt >= TOLD_EVERY_MS) {
      waiting(left)
      toldAt = Date.now()
    }
    await sleep(100)
  }
}

/** Requests the topics as a subscriber, which makes the broker create them; joins no group. */
async function touch(kafka: Kafka, plans: readonly TopicPlan[]): Promise<void> {
  const toucher = kafka.consumer({ groupId: 'gavel-topic-maker', allowAutoTopicCreation: true })
  await toucher.connect()
  try {
    await toucher.subscribe({ topics: plans.map(({ name }) => name) })
  } finally {
    await toucher.disconnect()
  }
}

/** Throws an error for a person, with what to set and without secrets, if no broker answers or accepts us. */
export async function checkBrokers(at: KafkaSettings): Promise<void> {
  // A separate client: the service's own waits for its brokers much longer than a person would.
  const kafka = new kafkajs.Kafka({
    clientId: 'gavel-check',
    ...connectionTo(at),
    retry: { initialRetryTime: 100, retries: 2 },
    logLevel: kafkajs.logLevel.NOTHING,
  })
  const admin = kafka.admin()
  try {
    await admin.connect()
    await admin.describeCluster()
  } catch (error) {
    const what = refusal(String(error), at) ?? (await tlsRefusal(at)) ?? silence(String(error), at)
    throw new OperatorError(`Kafka does not answer at ${at.brokers.join(', ')}. ${what}`, { cause: error })
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

/** A broker's reply about user and password, in words with what to set. */
function refusal(said: string, { sasl }: KafkaSettings): string | null {
  if (/mechanism is not supported|not support the requested SASL mechanism/.test(said))
    return `The SASL mechanism ${sasl?.mechanism} is not enabled there: set kafka.sasl.mechanism to one that is.`
  if (/not valid given the current SASL state/.test(said))
    return 'This port does not use SASL: set kafka.sasl.mechanism to none, or use its SASL port.'
  if (/SASL.*failed|SASLAuthentication/.test(said))
    return 'It rejected the user and password: set kafka.sasl.username and kafka.sasl.password (GAVEL_KAFKA_SASL_PASSWORD).'
  return null
}

async function tlsRefusal({ brokers, tls }: KafkaSettings): Promise<string | null> {
  const options = tls?.enabled ? tlsOptions(tls, 'kafka.tls') : undefined
  for (const broker of brokers) {
    const [host, port] = [broker.slice(0, broker.lastIndexOf(':')), broker.slice(broker.lastIndexOf(':') + 1)]
    const trouble = await tlsTrouble({ host, port: Number(port) }, options, 'kafka.tls')
    if (trouble !== null) return trouble
  }
  return null
}

/** A broker that requires SASL closes the connection of a client without it. */
function silence(said: string, { sasl }: KafkaSettings): string {
  if (/Closed connection/.test(said) && (sasl === undefined || sasl.mechanism === 'none'))
    return 'It closed the connection; it probably requires SASL: set kafka.sasl.mechanism, username and password.'
  return 'Set KAFKA_BROKERS to a running cluster, or start a local one with "gavel stack".'
}
