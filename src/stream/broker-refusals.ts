import { BrokerRefused, type RefusedSetting } from '../contracts/facts/broker-refusal.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Compression } from '../contracts/ports/topic.ts'

/** A record that was refused: where it was to go, and how it was sent. */
export interface RefusedSending {
  readonly topics: readonly string[]
  readonly compression: Compression
}

interface Row {
  readonly setting: RefusedSetting
  readonly says: (sending: RefusedSending) => string
}

const compression: Row = {
  setting: 'compression',
  says: ({ compression }) =>
    `the broker does not take kafka.compression ${compression}. Set kafka.compression to gzip, or to none (Azure Event Hubs: gzip in Premium and Dedicated, none in Standard).`,
}
const rights: Row = {
  setting: 'rights',
  says: ({ topics }) =>
    `the user may not write to ${topics.join(', ')}. Give kafka.sasl.username (or the client certificate) the rights Write and Describe on it.`,
}
const policy: Row = {
  setting: 'policy',
  says: ({ topics }) =>
    `a rule of the broker refuses the records of ${topics.join(', ')}. Set the topic's cleanup.policy to delete, and take schema validation and other policies of records from it.`,
}

/**
 * The broker's errors that no retry mends, by what is to be set. All others pass when it has waited: brokers that elect
 * leaders, too few replicas in sync, a full disk, a topic that is made anew. One record that is too large is that record's own
 * fault, and not in this table.
 */
const REFUSALS: Readonly<Record<string, Row>> = {
  UNSUPPORTED_COMPRESSION_TYPE: compression,
  // The words of brokers that know a codec, and not for this version of records: Azure Event Hubs.
  UNSUPPORTED_FOR_MESSAGE_FORMAT: compression,
  INVALID_REQUIRED_ACKS: {
    setting: 'acks',
    says: () =>
      'the broker does not take acks=all, which Gavel needs: a verdict counts as published once every replica in sync has it. Let the broker, or the proxy before it, take acks=all.',
  },
  TOPIC_AUTHORIZATION_FAILED: rights,
  CLUSTER_AUTHORIZATION_FAILED: rights,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: rights,
  POLICY_VIOLATION: policy,
  INVALID_RECORD: policy,
  INVALID_TIMESTAMP: {
    setting: 'timestamps',
    says: ({ topics }) =>
      `the broker does not take the time of records of ${topics.join(', ')}. Set the topic's message.timestamp.type to LogAppendTime, and check this machine's clock.`,
  },
}

/** The refusal by which a sending failed; null if it may pass by itself, or is the fault of one record. */
export function brokerRefusal(error: unknown, sending: RefusedSending): BrokerRefused | null {
  const type = typeOf(error, (one) => Object.hasOwn(REFUSALS, one))
  const row = type === null ? undefined : entryOf(REFUSALS, type)
  if (type === null || row === undefined) return null
  return new BrokerRefused(row.setting, sending.topics, `${type}: ${row.says(sending)}`, { cause: error })
}

/** The refusal by rights, where the broker has only said which ones there are. */
export function rightsRefusal(topics: readonly string[]): BrokerRefused {
  const says = rights.says({ topics, compression: 'none' })
  return new BrokerRefused('rights', topics, `TOPIC_AUTHORIZATION_FAILED: ${says}`)
}

/** A record of this size is taken by every broker that is set for Gavel, in bytes: the smallest verdict is larger. */
export const LEAST_RECORD_BYTES = 1_024

/** The refusal of even a small record as too large. */
export function sizeRefusal(topic: string, cause?: unknown): BrokerRefused {
  const says = `MESSAGE_TOO_LARGE: the broker takes no record of ${LEAST_RECORD_BYTES} bytes on ${topic}. Set the topic's max.message.bytes (the broker's message.max.bytes) to 1048588, Kafka's default, or more.`
  return new BrokerRefused('size', [topic], says, cause === undefined ? undefined : { cause })
}

const TOO_FEW_REPLICAS = new Set(['NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'])

/** Whether a broker refuses a record because it would have too few copies: enough may come, unless more are wanted than there are. */
export function lacksReplicas(error: unknown): boolean {
  return typeOf(error, (one) => TOO_FEW_REPLICAS.has(one)) !== null
}

/** A topic that wants more copies of a record, in sync, than it has. */
export interface StarvedTopic {
  readonly name: string
  readonly wanted: number
  readonly copies: number
}

/** The refusal of records of which there can't be enough copies. */
export function replicasRefusal(starved: readonly StarvedTopic[], cause: unknown): BrokerRefused {
  const each = starved.map(
    ({ name, wanted, copies }) => `${name} wants ${wanted} copies in sync (min.insync.replicas), and has ${copies}`,
  )
  const says = `NOT_ENOUGH_REPLICAS: ${each.join('; ')}, whichever brokers run. Set the topic's min.insync.replicas to less, or give it more replicas.`
  const topics = starved.map(({ name }) => name)
  return new BrokerRefused('replicas', topics, says, { cause })
}

const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/** Whether a broker refuses a record, or a batch of them, for its size. */
export function isTooLarge(error: unknown): boolean {
  return typeOf(error, (one) => TOO_LARGE.has(one)) !== null
}

/** The first of the broker's names in an error and its causes that is one of these. */
function typeOf(error: unknown, isOne: (type: string) => boolean): string | null {
  for (let one = error; one instanceof Error; one = one.cause)
    if ('type' in one && typeof one.type === 'string' && isOne(one.type)) return one.type
  return null
}
