import type { Settings } from '../../../config/schema.ts'
import type { JsonSchema } from './json-schema.ts'
import { TOPIC_CONTRACTS, type TopicContract } from './messages.ts'

/** The topics in AsyncAPI 3, as Gavel sees them: it receives what others write, and sends what others read. */
export function asyncApi(
  version: string,
  { kafka }: Settings,
  examplesOf: (contract: TopicContract, message: JsonSchema) => readonly unknown[],
): object {
  const keyed = <Value>(value: (contract: TopicContract) => Value) =>
    Object.fromEntries(TOPIC_CONTRACTS.map((contract) => [camel(contract.topic), value(contract)]))
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Gavel',
      version,
      description: 'Judges live social content by structured debate: posts and comments in, verdicts out.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      kafka: {
        host: '{brokers}',
        protocol: 'kafka',
        variables: { brokers: { default: 'localhost:9092', description: 'kafka.brokers in the settings' } },
      },
    },
    channels: keyed(({ topic, description, messages, keptForGood }) => ({
      address: `{prefix}${topic}`,
      description,
      parameters: { prefix: { default: kafka.topicPrefix, description: 'kafka.topicPrefix in the settings' } },
      messages: Object.fromEntries(
        Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
      ),
      bindings: {
        kafka: {
          partitions: kafka.partitions,
          replicas: kafka.replication,
          topicConfiguration: {
            'cleanup.policy': ['delete'],
            'retention.ms': keptForGood === true ? -1 : kafka.retention,
          },
          bindingVersion: '0.5.0',
        },
      },
    })),
    operations: keyed(({ topic, side, description }) => ({
      action: side === 'written' ? 'receive' : 'send',
      channel: { $ref: `#/channels/${camel(topic)}` },
      summary: description,
    })),
    components: {
      messages: Object.fromEntries(
        TOPIC_CONTRACTS.flatMap((contract) =>
          Object.entries(contract.messages).map(([name, schema]) => [
            name,
            {
              name,
              title: schema.title,
              contentType: 'application/json',
              payload: { schemaFormat: 'application/schema+json;version=draft-07', schema },
              ...headersOf(contract),
              bindings: { kafka: { key: { type: 'string', description: contract.key }, bindingVersion: '0.5.0' } },
              ...examplesBy(examplesOf(contract, schema)),
            },
          ]),
        ),
      ),
    },
  }
}

function headersOf({ headers }: TopicContract) {
  const named = Object.entries(headers)
  if (named.length === 0) return {}
  const properties = Object.fromEntries(named.map(([name, description]) => [name, { type: 'string', description }]))
  return { headers: { type: 'object', properties, required: Object.keys(headers) } }
}

function examplesBy(payloads: readonly unknown[]) {
  return payloads.length === 0 ? {} : { examples: payloads.map((payload) => ({ payload })) }
}

function camel(topic: string): string {
  return topic.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
