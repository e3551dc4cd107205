import type { Settings } from '../../../config/schema.ts'
import { groupsOf } from '../../../config/topics.ts'
import { besideIntake, groupReader } from '../../../consumers/group-reader.ts'
import { type DecodeValue, registryDecoder } from '../../../consumers/registry-values.ts'
import { sourcesConsumer } from '../../../consumers/sources.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { topicMappings } from '../../mapping/mapping.ts'
import { type SinkMapping, sinkMappings } from '../../mapping/sinks.ts'
import { closable } from '../../operations/closable.ts'
import type { KafkaClient } from '../../stream/client.ts'
import { registeredSchema } from '../../stream/schema-registry.ts'
import type { ServiceParts } from './parts.ts'

/** The group that reads the topics of `sources`, and these topics; undefined where there are none. */
export function sourceReading(settings: Settings): { group: string; topics: string[] } | undefined {
  const topics = [...new Set(settings.sources.map(({ topic }) => topic))]
  return topics.length === 0 ? undefined : { group: groupsOf(settings).sources, topics }
}

/** Maps records of the topics of `sources` to messages. Throws an `OperatorError` if one of these topics is not there. */
export function sourcesPart(
  settings: Settings,
  { kafka, topics, clock, report }: Pick<ServiceParts, 'kafka' | 'topics' | 'clock' | 'report'>,
  reading: NonNullable<ReturnType<typeof sourceReading>>,
) {
  return closable(async (keep) => {
    await mustBeThere(kafka, 'sources', reading.topics)
    const mappings = topicMappings(settings.sources)
    const writer = keep(await kafkaWriter(kafka, settings.kafka.compression))
    const own = besideIntake(report, 'sources')
    // Partitions of one topic that are slow to map leave room for the others'.
    const partitions = settings.kafka.partitions * reading.topics.length
    const reader = groupReader({ kafka, settings: { ...settings.kafka, ...reading, partitions }, clock, report: own })
    const consumer = sourcesConsumer({ mappings, topics, writer, decode: registryOf(settings), report, reader })
    await consumer.start()
    keep(consumer)
    return { setPaused: consumer.setPaused, downSince: () => consumer.downSince }
  })
}

/** Decodes values by the schemas of the settings' registry; undefined where no source needs one. */
export function registryOf({ schemaRegistry, sources }: Settings): DecodeValue | undefined {
  if (!sources.some(({ format }) => format === 'registry')) return undefined
  return registryDecoder((id) => registeredSchema(schemaRegistry, id), Date.now)
}

/** What topics of others get of each verdict; undefined where they get nothing. Throws an `OperatorError` if one of them is not there. */
export async function sinksOf({ sinks }: Settings, kafka: KafkaClient): Promise<SinkMapping | undefined> {
  if (sinks.length === 0) return undefined
  await mustBeThere(kafka, 'sinks', [...new Set(sinks.map(({ topic }) => topic))])
  return sinkMappings(sinks)
}

/** A reader would wait for what is called by a wrong name, and say nothing of it for long; a writer would hold back what comes after. */
async function mustBeThere(kafka: KafkaClient, setting: 'sources' | 'sinks', topics: readonly string[]): Promise<void> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    const present = new Set(await admin.listTopics())
    const absent = topics.filter((topic) => !present.has(topic))
    if (absent.length > 0)
      throw new OperatorError(
        `${setting}: Kafka shows no topic ${absent.join(', ')}. Create it, mend its name, or give the user the rights Describe and ${setting === 'sources' ? 'Read' : 'Write'} on it: Gavel makes only its own topics.`,
      )
  } finally {
    await admin.disconnect()
  }
}
