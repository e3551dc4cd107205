import { modelsInUse } from '../../../config/models.ts'
import type { Settings } from '../../../config/schema.ts'
import { inputsOf, topicsOf } from '../../../config/topics.ts'
import { partitionLag } from '../../../consumers/partition-lag.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { stagesOf } from '../../judging/engine/script.ts'
import { streamTime } from '../../judging/threads/stream-clock.ts'
import { boundSettings, usedCapacity } from '../../operations/capacity.ts'
import { closable } from '../../operations/closable.ts'
import { openedOnce, type Places, serviceStatus } from '../../operations/status/state.ts'
import { bullJobDesk } from '../../store/queue/job-desk.ts'
import { redisAddresses } from '../../store/redis/connect.ts'
import type { KafkaClient } from '../../stream/client.ts'
import { boundedAsKept } from './fresh-budget.ts'
import { protocolsOf } from './protocols.ts'
import { commandRedis, redisGatewayStores } from './redis.ts'

/** How the service stands, for commands and the console. Throws an `OperatorError` if Redis or Kafka is not set. */
export function statusPart(
  settings: Settings,
  connectKafka: () => Promise<KafkaClient>,
  places: Places,
  now = () => settings,
) {
  return closable(async (keep) => {
    let clock: Clock = Date.now
    const { protocols } = protocolsOf(settings, '')
    const redis = openedOnce(async () => {
      const redis = keep(await commandRedis(settings))
      const { client, keys, time } = redis
      clock = time.now
      const desk = keep(bullJobDesk({ connection: client, prefix: keys.queues, stages: stagesOf(protocols), clock }))
      const bounded = await boundedAsKept(client, keys, now)
      const used = usedCapacity({
        ...redisGatewayStores(settings, { working: client, keys }, bounded),
        models: modelsInUse(settings),
        settings: boundSettings(settings, bounded),
      })
      return { ...redis, backlog: desk.backlog, used }
    })
    const topics = inputsOf(topicsOf(settings))
    const lag = openedOnce(async () =>
      keep(partitionLag({ kafka: await connectKafka(), group: settings.kafka.group, topics, clock: () => clock() })),
    )
    // What is not set will never answer.
    if (redisAddresses(settings.redis).length === 0) await redis()
    if (settings.kafka.brokers.length === 0) await lag()
    const readStatus = serviceStatus({
      redis,
      lag,
      places,
      clock: () => clock(),
      get token() {
        return settings.http.token
      },
      streamNow: (marks, at) => streamTime(marks, at, settings.clock),
    })
    return { readStatus }
  })
}
