import kafkajs from 'kafkajs'
import { expect, it } from 'vitest'
import { REFUSED_SETTINGS } from '../../src/contracts/facts/broker-refusal.ts'
import { brokerRefusal, isTooLarge } from '../../src/stream/broker-refusals.ts'

const sending = { topics: ['gavel.verdicts'], compression: 'lz4' } as const
/** The error as kafkajs throws it once it has given up. */
const thrown = (type: string) => {
  const cause = new kafkajs.KafkaJSProtocolError(Object.assign(new Error(type), { type, code: 1, retriable: false }))
  return new kafkajs.KafkaJSNumberOfRetriesExceeded(cause, { retryCount: 0, retryTime: 0 })
}
const refusal = (type: string) => brokerRefusal(thrown(type), sending)

it.each([
  ['UNSUPPORTED_COMPRESSION_TYPE', 'compression', 'kafka.compression lz4'],
  ['UNSUPPORTED_FOR_MESSAGE_FORMAT', 'compression', 'kafka.compression lz4'],
  ['INVALID_REQUIRED_ACKS', 'acks', 'acks=all'],
  ['TOPIC_AUTHORIZATION_FAILED', 'rights', 'gavel.verdicts'],
  ['CLUSTER_AUTHORIZATION_FAILED', 'rights', 'gavel.verdicts'],
  ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'rights', 'gavel.verdicts'],
  ['POLICY_VIOLATION', 'policy', 'cleanup.policy'],
  ['INVALID_RECORD', 'policy', 'cleanup.policy'],
  ['INVALID_TIMESTAMP', 'timestamps', 'message.timestamp.type'],
])('%s is mended by no retry: what is to be set is %s', (type, setting, names) => {
  expect(REFUSED_SETTINGS).toContain(setting)
  expect(refusal(type)).toMatchObject({ setting, topics: sending.topics, message: expect.stringContaining(names) })
  expect(refusal(type)?.message).toContain(type)
})

it.each([
  'NOT_LEADER_FOR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'REQUEST_TIMED_OUT',
  'KAFKA_STORAGE_ERROR',
  'THROTTLING_QUOTA_EXCEEDED',
])('%s passes when it has waited', (type) => {
  expect(refusal(type)).toBeNull()
  expect(isTooLarge(thrown(type))).toBe(false)
})

it.each(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])('%s is the fault of one record', (type) => {
  expect(refusal(type)).toBeNull()
  expect(isTooLarge(thrown(type))).toBe(true)
})
