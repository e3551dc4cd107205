import type { Settings } from '../../../../config/schema.ts'
import { inputsOf, topicsOf } from '../../../../config/topics.ts'
import type { Clock } from '../../../contracts/ports/clock.ts'
import { stagesOf } from '../../../judging/engine/script.ts'
import { streamTime } from '../../../judging/threads/stream-clock.ts'
import { closable } from '../../../operations/closable.ts'
import type { InspectionParts } from '../../../recovery/inspection/inspection.ts'
import { memoryStores } from '../../../store/memory-stores.ts'
import { bullJobDesk } from '../../../store/queue/job-desk.ts'
import { knownSecretOf } from '../../../store/redis/shared-key.ts'
import { type ReadingControl, topicHistory } from '../../../stream/bounded-reader.ts'
import type { KafkaClient } from '../../../stream/client.ts'
import { groupProgress } from '../../../stream/offsets.ts'
import { partitionForKey } from '../../../stream/own-partition.ts'
import { memoryGatewayStores } from '../../composition/gateway.ts'
import { inputOf } from '../../composition/intake.ts'
import { protocolsOf } from '../../composition/protocols.ts'
import { commandRedis } from '../../composition/redis.ts'

/** The parts of an inspection, which only reads. Throws an `OperatorError` if Redis or Kafka is not reachable. */
export function inspectionParts(
  settings: Settings,
  connectKafka: () => Promise<KafkaClient>,
  { progress, ...waiting }: ReadingControl & { readonly progress: InspectionParts['progress'] },
) {
  return closable(async (keep): Promise<InspectionParts> => {
    const topics = topicsOf(settings)
    const { client, keys, time, threads, cases, marks } = keep(await commandRedis(settings))
    const clock = time.now
    const kafka = await connectKafka()
    const secret = await knownSecretOf(client, keys, settings.fences.key)
    const { protocols, routes, samplingRank } = protocolsOf(settings, secret)
    const desk = keep(bullJobDesk({ connection: client, prefix: keys.queues, stages: stagesOf(protocols), clock }))
    const again = (now: Clock) => {
      const stores = memoryStores(now)
      const { memo } = memoryGatewayStores(settings, now)
      return inputOf(settings, topics, {
        threads: stores.threads,
        cases: stores.cases,
        outbox: stores.outbox,
        queues: null,
        memo,
        protocols,
        routes,
        samplingRank,
        clock: now,
        report: () => {},
      })
    }
    return {
      topics,
      threads,
      again,
      clock,
      partitionOf: partitionForKey,
      progress,
      history: topicHistory(kafka, waiting),
      groupProgress: () => groupProgress(kafka, settings.kafka.group, inputsOf(topics)),
      streamNow: async () => streamTime([...(await marks.read()).values()], clock(), settings.clock),
      ofReplies: new Set(protocols.filter(({ subject }) => subject === 'reply').map(({ name }) => name)),
      cases: {
        cases,
        deadlineSettings: settings.cases,
        protocols: new Map(protocols.map((protocol) => [protocol.name, protocol])),
        waits: desk.waits,
      },
    }
  })
}

/** The parts by which a person looks at open cases and puts them right. Throws an `OperatorError` if Redis is not reachable. */
export function casesParts(settings: Settings) {
  return closable(async (keep) => {
    const { client, keys, time, cases, writes } = keep(await commandRedis(settings))
    const clock = time.now
    const secret = await knownSecretOf(client, keys, settings.fences.key)
    const { protocols } = protocolsOf(settings, secret)
    const desk = keep(bullJobDesk({ connection: client, prefix: keys.queues, stages: stagesOf(protocols), clock }))
    const byName = new Map(protocols.map((protocol) => [protocol.name, protocol]))
    return {
      cases,
      protocols: byName,
      waits: desk.waits,
      desk,
      clock,
      transcriptBytes: settings.cases.transcriptBytes,
      writes,
      deadlineSettings: settings.cases,
    }
  })
}
