import kafkajs, { type Admin } from 'kafkajs'
import type { RefusedSetting } from '../../src/contracts/facts/broker-refusal.ts'
import type { ProduceRequest, RefusingKafka } from './refusing-kafka.ts'

/** A way in which a broker refuses what is sent to a topic, until it is mended. */
export interface RefusedSettingCase {
  readonly setting: RefusedSetting
  /** What doctor, health and log name. */
  readonly names: string
  begin(topic: string): Promise<unknown>
  end(topic: string): Promise<unknown>
}

/**
 * Codec, acks and too few replicas are refused by the proxy, for this topic and that of trials; the rest by Apache Kafka itself.
 * Both are asked for when a case begins.
 */
export function refusedSettings(on: () => { kafka: RefusingKafka; admin: Admin }): RefusedSettingCase[] {
  const alter = (name: string, configName: string, value: string) =>
    on().admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configEntries: [{ name: configName, value }] }],
    })
  const proxied = (code: number, concerns: (request: ProduceRequest) => boolean) => ({
    begin: async (topic: string) => {
      const concerned = [topic, `${topic.slice(0, topic.lastIndexOf('.'))}.scratch`]
      on().kafka.refuse((request) =>
        request.topics.some((one) => concerned.includes(one)) && concerns(request) ? code : 0,
      )
    },
    end: async () => on().kafka.refuse(null),
  })
  const acks = proxied(21, (request) => request.acks === -1)
  const replicas = proxied(19, (request) => request.acks === -1)
  return [
    {
      setting: 'compression',
      names: 'kafka.compression',
      ...proxied(43, ({ codecs }) => codecs.some((one) => one > 1)),
    },
    { setting: 'acks', names: 'acks=all', ...acks },
    {
      setting: 'replicas',
      names: 'min.insync.replicas',
      async begin(topic) {
        // Current versions of Apache Kafka take no more copies to be wanted than there are; earlier ones, and others, refuse.
        await alter(topic, 'min.insync.replicas', '3')
        await replicas.begin(topic)
      },
      async end(topic) {
        await replicas.end()
        await alter(topic, 'min.insync.replicas', '1')
      },
    },
    {
      setting: 'size',
      names: 'max.message.bytes',
      begin: (topic) => alter(topic, 'max.message.bytes', '100'),
      end: (topic) => alter(topic, 'max.message.bytes', '1048588'),
    },
    {
      setting: 'rights',
      names: 'rights',
      begin: (topic) => on().admin.createAcls({ acl: READING.map((operation) => ({ ...allowed(topic), operation })) }),
      end: (topic) =>
        on().admin.deleteAcls({
          filters: [{ ...ofTopic(topic), operation: AclOperationTypes.ANY, permissionType: AclPermissionTypes.ANY }],
        }),
    },
  ]
}

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs
/** Everybody may do this with a topic, and nobody may write to it. */
const READING = [AclOperationTypes.READ, AclOperationTypes.DESCRIBE, AclOperationTypes.DESCRIBE_CONFIGS]
const ofTopic = (resourceName: string) => ({
  resourceType: AclResourceTypes.TOPIC,
  resourcePatternType: ResourcePatternTypes.LITERAL,
  resourceName,
})
const allowed = (topic: string) => ({
  ...ofTopic(topic),
  principal: 'User:*',
  host: '*',
  permissionType: AclPermissionTypes.ALLOW,
})
