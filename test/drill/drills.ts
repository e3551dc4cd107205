import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { LocalKafka } from '../../src/tools/stack/servers/kafka.ts'
import type { RestartableServer } from '../../src/tools/stack/servers/local-server.ts'
import type { Understudy } from '../../src/tools/understudy/server.ts'

/** What a drill can break. */
export interface World {
  readonly redis: RestartableServer & { readonly url: string }
  readonly kafka: Extract<LocalKafka, { kind: 'apache' }>
  readonly understudy: Understudy
  readonly replicas: number
  /** Ends a replica and starts it again on its port: with SIGTERM as a deployment does, with SIGKILL as a crash. */
  restart(replica: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  end(replica: number): Promise<void>
  start(replica: number): Promise<void>
}

export interface Drill {
  readonly name: string
  readonly says: string
  /** The alert that must come, to whom; null if nobody may hear anything. */
  readonly expects: { readonly alert: string; readonly to: 'page' | 'ticket' } | null
  stage(world: World): Promise<void>
  heal(world: World): Promise<void>
}

const each = async (world: World, act: (replica: number) => Promise<void>) => {
  for (let replica = 0; replica < world.replicas; replica++) await act(replica)
}

async function maxmemory({ redis }: World, choose: (used: number) => number): Promise<void> {
  const client = new Redis(redis.url)
  try {
    const used = Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1])
    await client.config('SET', 'maxmemory', Math.round(choose(used)))
  } finally {
    client.disconnect()
  }
}

export const DRILLS: readonly Drill[] = [
  {
    name: 'broker-dead',
    says: 'the only broker of Kafka is killed',
    expects: { alert: 'GavelKafkaUnreachable', to: 'page' },
    stage: ({ kafka }) => kafka.kill(),
    heal: ({ kafka }) => kafka.restart(),
  },
  {
    name: 'redis-dead',
    says: 'Redis is killed',
    expects: { alert: 'GavelRedisUnreachable', to: 'page' },
    stage: ({ redis }) => redis.kill(),
    heal: ({ redis }) => redis.restart(),
  },
  {
    name: 'redis-full',
    says: 'Redis comes to 93 % of its maxmemory',
    expects: { alert: 'GavelRedisFull', to: 'page' },
    stage: (world) => maxmemory(world, (used) => used / 0.93),
    heal: (world) => maxmemory(world, () => 0),
  },
  {
    name: 'no-model',
    says: 'every call to a model fails',
    expects: { alert: 'GavelNoModel', to: 'page' },
    async stage({ understudy }) {
      understudy.behave({ faults: { rate: 1, kinds: ['503'] } })
    },
    async heal({ understudy }) {
      understudy.behave({ faults: { rate: 0 } })
    },
  },
  {
    name: 'service-down',
    says: 'every replica ends',
    expects: { alert: 'GavelDown', to: 'page' },
    stage: (world) => each(world, world.end),
    heal: (world) => each(world, world.start),
  },
  {
    name: 'crash-loop',
    says: 'a replica dies after each start, four times in a minute and a half',
    expects: { alert: 'GavelCrashLoop', to: 'page' },
    async stage(world) {
      for (let crash = 0; crash < 4; crash++) {
        await sleep(20_000)
        await world.restart(0, 'SIGKILL')
      }
    },
    heal: async () => {},
  },
  {
    name: 'rolling-deployment',
    says: 'the replicas are restarted one after the other',
    expects: null,
    stage: (world) =>
      each(world, async (replica) => {
        await world.restart(replica, 'SIGTERM')
        await sleep(20_000)
      }),
    heal: async () => {},
  },
]
