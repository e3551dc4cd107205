import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { memoryUse, pauseShare } from '../../src/store/redis/memory.ts'
import { onServers } from '../support/on-servers.ts'
import { clientOf, environmentOn, eventually, protocolsOn, settingsOf, tell, verdictsOf } from '../support/pipeline.ts'

const MOST_BYTES = 90_000_000
const FLOOD_BYTES = 120_000_000
const it = onServers({ latencyMs: 2_000 })

// Posts that a slow model judges are the most that intake can put into Redis for a byte that it reads: each case has a copy.
it.for<[string, number]>([
  ['short', 100],
  ['long', 9_000],
])(
  'Redis of 90 MB keeps room to judge in, however much of what is %s waits in Kafka',
  {
    timeout: 300_000,
  },
  async ([_, chars], { stack, start }) => {
    const environment = environmentOn(stack, { ...protocolsOn('hate'), GAVEL_INTAKE_PAUSE_AT_MEMORY: '0.9' })
    const settings = settingsOf(environment)
    const redis = connect(settings.redis.url, () => {}, 'retrying')
    await redis.flushall()
    await redis.config('SET', 'maxmemory', MOST_BYTES)
    await makeTopics(clientOf(environment), settings)
    const producer = clientOf(environment).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
    await producer.connect()
    const createdAt = new Date().toISOString()
    const each = chars + 400
    let sent = 0
    while (sent * each < FLOOD_BYTES) {
      const messages = Array.from({ length: Math.ceil(500_000 / each) }, () => {
        const id = `p${sent++}`
        return { key: id, value: JSON.stringify({ id, createdAt, text: `${id} ${'words '.repeat(chars / 6)}` }) }
      })
      await producer.send({ topic: topicsOf(settings).posts, messages })
    }
    await producer.disconnect()

    const service = await start(environment)
    let most = 0
    const until = Date.now() + 60_000
    while (Date.now() < until) {
      most = Math.max(most, (await memoryUse(redis)).share)
      await sleep(10)
    }
    const judged = (await verdictsOf(environment)).length
    const pause = pauseShare(0.9, MOST_BYTES)
    tell(
      `${sent} posts of ${chars} characters: paused at ${pause.toFixed(2)}, at most ${most.toFixed(2)} of 90 MB, ${judged} judged`,
    )
    const logged = (event: string) => service.log.filter((line) => line.includes(`"${event}"`)).length
    expect([logged('intake:paused') > 0, logged('store:full')]).toEqual([true, 0])
    expect(most).toBeLessThan(0.95)
    // It goes on.
    await eventually(async () => (await verdictsOf(environment)).length > judged, 60_000)
    await redis.config('SET', 'maxmemory', 0)
    redis.disconnect()
  },
)
