import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { LocalKafka } from '../../src/kit/stack/servers/kafka.ts'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import type { Understudy } from '../../src/kit/understudy/server.ts'
import { PERSPECTIVES_WITH_SHELVES } from '../support/pipeline.ts'

/** The chain of models in every drill. */
export const MODELS = ['small', 'spare'] as const

/** How long a model takes for an answer, in ms. */
export const LATENCY_MS = 50

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
  /**
   * Restarts replicas, all or `only` one, with these variables besides those that all have, and with these settings over
   * the shipped ones.
   */
  restartWith(
    variables: Readonly<Record<string, string>>,
    more?: { readonly only?: number; readonly settings?: object },
  ): Promise<void>
  /** Sends these posts' JSON, as their producer would. */
  send(posts: readonly { readonly id: string; readonly value: string }[]): Promise<void>
  /** Sends a batch of posts, and spoils it on the broker's disk before it is read: nobody can decompress it. */
  sendSpoilt(): Promise<void>
  /** The ids of the posts that the platform has sent by itself. */
  sent(): readonly string[]
  /** All records of the verdicts topic. */
  verdicts(): Promise<readonly string[]>
  /** A post that fits into the stream now, of the default tenant if none is named. */
  post(id: string, tenant?: string): string
  /** Joins the service's group as one that is given partitions, sends heartbeats and reads nothing; ends when called. */
  idleMember(): Promise<() => Promise<void>>
}

export interface Drill {
  readonly name: string
  readonly says: string
  /** How long it takes, about, from its fault until its end has been told. */
  readonly minutes: number
  /** The alert that must come, to whom; null if nobody may hear anything. */
  readonly expects: { readonly alert: string; readonly to: 'page' | 'ticket'; readonly reason?: string } | null
  /** The fault goes on for at least so long, in s; where nothing is said, for a while after it was told. */
  readonly lastsS?: number
  /** No verdict may end in it, and each post that was sent until it was healed must be judged afterwards, once. */
  readonly waited?: true
  /** A file without which it can't be staged, and the Debian package that has it. */
  readonly needs?: { readonly file: string; readonly package: string }
  stage(world: World): Promise<void>
  heal(world: World): Promise<void>
}

/** Changes what a process takes for the time. */
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'

const each = async (world: World, act: (replica: number) => Promise<void>) => {
  for (let replica = 0; replica < world.replicas; replica++) await act(replica)
}

async function onRedis<T>({ redis }: World, act: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(redis.url)
  try {
    return await act(client)
  } finally {
    client.disconnect()
  }
}

const configure = (world: World, name: string, value: number) =>
  onRedis(world, async (client) => void (await client.config('SET', name, value)))

async function maxmemory(world: World, choose: (used: number) => number): Promise<void> {
  const info = await onRedis(world, (client) => client.info('memory'))
  const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
  await configure(world, 'maxmemory', Math.round(choose(used)))
}

/** Does something again and again until it is told to stop. */
function repeat(everyMs: number, act: () => Promise<unknown>): () => Promise<void> {
  const timer = setInterval(() => void act().catch(() => undefined), everyMs)
  return async () => clearInterval(timer)
}

/** Every call to a model ends like this. */
function refused(
  name: string,
  kind: 'quota' | 'key' | 'no-model' | 'html',
  reason: string,
  says: string,
  longer: Pick<Drill, 'minutes' | 'lastsS'> = { minutes: 8 },
): Drill {
  return {
    name,
    says,
    ...longer,
    waited: true,
    expects: { alert: 'GavelNoModel', to: 'page', reason },
    async stage({ understudy }) {
      understudy.behave({ faults: { rate: 1, kinds: [kind] } })
    },
    async heal({ understudy }) {
      understudy.behave({ faults: { rate: 0 } })
    },
  }
}

/** How a drill that goes on is ended. */
const ending = new Map<string, () => Promise<void>>()

export const DRILLS: readonly Drill[] = [
  {
    name: 'broker-dead',
    says: 'the only broker of Kafka is killed',
    minutes: 6,
    expects: { alert: 'GavelKafkaUnreachable', to: 'page' },
    stage: ({ kafka }) => kafka.kill(),
    heal: ({ kafka }) => kafka.restart(),
  },
  {
    name: 'redis-dead',
    says: 'Redis is killed',
    minutes: 6,
    expects: { alert: 'GavelRedisUnreachable', to: 'page' },
    stage: ({ redis }) => redis.kill(),
    heal: ({ redis }) => redis.restart(),
  },
  {
    name: 'redis-full',
    says: 'Redis comes to 93 % of its maxmemory',
    minutes: 6,
    expects: { alert: 'GavelRedisFull', to: 'page' },
    stage: (world) => maxmemory(world, (used) => used / 0.93),
    heal: (world) => maxmemory(world, () => 0),
  },
  {
    name: 'redis-refuses',
    says: 'Redis answers, but takes no writes: fewer replicas are in touch than it has to have',
    minutes: 6,
    waited: true,
    expects: { alert: 'GavelRedisFault', to: 'page', reason: 'no-replicas' },
    stage: (world) => configure(world, 'min-replicas-to-write', 1),
    heal: (world) => configure(world, 'min-replicas-to-write', 0),
  },
  {
    name: 'no-model',
    says: 'every call to a model fails',
    minutes: 7,
    expects: { alert: 'GavelNoModel', to: 'page' },
    async stage({ understudy }) {
      understudy.behave({ faults: { rate: 1, kinds: ['503'] } })
    },
    async heal({ understudy }) {
      understudy.behave({ faults: { rate: 0 } })
    },
  },
  refused('quota-gone', 'quota', 'quota', 'the account has no quota for ten minutes', { minutes: 17, lastsS: 600 }),
  refused('key-revoked', 'key', 'key', 'the key is not accepted any more'),
  refused('model-gone', 'no-model', 'model', 'the endpoint does not know the models any more'),
  refused('endpoint-html', 'html', 'unreachable', 'the endpoint answers with a web page'),
  {
    name: 'partition-stuck',
    says: 'a member of the consumer group is given partitions, and reads none of them',
    minutes: 7,
    expects: { alert: 'GavelPartitionStuck', to: 'page' },
    async stage({ idleMember }) {
      ending.set('partition-stuck', await idleMember())
    },
    heal: async () => ending.get('partition-stuck')?.(),
  },
  {
    name: 'model-down',
    says: 'the first model of a chain fails, and the next answers',
    minutes: 12,
    expects: { alert: 'GavelModelKeptAway', to: 'ticket' },
    async stage({ understudy }) {
      understudy.behave({ faults: { rate: 1, kinds: ['503'], models: [MODELS[0]] } })
    },
    async heal({ understudy }) {
      understudy.behave({ faults: { rate: 0 } })
    },
  },
  {
    name: 'slow-model',
    says: 'the first model of a chain takes 3 s for an answer, sixty times as long as before; the next takes 0.3 s',
    minutes: 12,
    expects: { alert: 'GavelModelKeptAway', to: 'ticket' },
    async stage({ understudy }) {
      understudy.behave({ latencyMs: 300, faults: { rate: 1, kinds: ['slow'], models: [MODELS[0]] } })
    },
    async heal({ understudy }) {
      understudy.behave({ latencyMs: LATENCY_MS, faults: { rate: 0 } })
    },
  },
  {
    name: 'poison-message',
    says: 'a batch of twenty posts is spoilt on the broker’s disk',
    minutes: 13,
    expects: { alert: 'GavelMessageLost', to: 'ticket' },
    stage: ({ sendSpoilt }) => sendSpoilt(),
    heal: async () => {},
  },
  {
    name: 'dead-letters',
    says: 'a producer sends a message every second that can not be read',
    minutes: 19,
    expects: { alert: 'GavelDeadLetters', to: 'ticket' },
    async stage({ send }) {
      let count = 0
      const broken = () => send([{ id: `broken-${count++}`, value: '{"id":' }])
      ending.set('dead-letters', repeat(1_000, broken))
    },
    heal: async () => ending.get('dead-letters')?.(),
  },
  {
    name: 'clock-off',
    says: 'the clock of one replica is nine minutes behind',
    minutes: 7,
    expects: { alert: 'GavelClockOff', to: 'ticket' },
    needs: { file: FAKETIME, package: 'libfaketime' },
    stage: ({ restartWith }) =>
      restartWith({ LD_PRELOAD: FAKETIME, FAKETIME: '-9m', FAKETIME_DONT_FAKE_MONOTONIC: '1' }, { only: 0 }),
    heal: ({ restartWith }) => restartWith({}, { only: 0 }),
  },
  {
    name: 'shelf-empty',
    says: 'hate is judged too, by perspectives with examples, and none of their shelves is there',
    minutes: 19,
    expects: { alert: 'GavelShelfEmpty', to: 'ticket' },
    stage: ({ restartWith }) => restartWith({ GAVEL_PROTOCOLS_HATE_ENABLED: 'true', ...PERSPECTIVES_WITH_SHELVES }),
    heal: ({ restartWith }) => restartWith({}),
  },
  {
    name: 'budget-spent',
    says: 'a small tenant has spent its tokens of the hour',
    minutes: 14,
    expects: { alert: 'GavelBudgetSpent', to: 'ticket' },
    async stage({ restartWith, send, post }) {
      await restartWith({}, { settings: { budgets: { tenants: { small: { tokens: 3_000, usd: null } } } } })
      let count = 0
      const posts = () => [{ id: `small-${count}`, value: post(`small-${count++}`, 'small') }]
      ending.set(
        'budget-spent',
        repeat(5_000, () => send(posts())),
      )
    },
    async heal({ restartWith }) {
      await ending.get('budget-spent')?.()
      await restartWith({})
    },
  },
  {
    name: 'tenant-flood',
    says: 'a tenant sends more than its limit lets through, and has most of what is open',
    minutes: 10,
    expects: { alert: 'GavelTenantFlood', to: 'ticket' },
    async stage({ restartWith, send, post }) {
      await restartWith({}, { settings: { limits: { tenants: { flood: { callsPerMinute: 10 } } } } })
      await send(Array.from({ length: 115 }, (_, at) => ({ id: `flood-${at}`, value: post(`flood-${at}`, 'flood') })))
    },
    heal: ({ restartWith }) => restartWith({}),
  },
  {
    name: 'service-down',
    says: 'every replica ends',
    minutes: 6,
    expects: { alert: 'GavelDown', to: 'page' },
    stage: (world) => each(world, world.end),
    heal: (world) => each(world, world.start),
  },
  {
    name: 'crash-loop',
    says: 'a replica dies after each start, four times in a minute and a half',
    minutes: 10,
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
    minutes: 5,
    expects: null,
    stage: (world) =>
      each(world, async (replica) => {
        await world.restart(replica, 'SIGTERM')
        await sleep(20_000)
      }),
    heal: async () => {},
  },
  {
    name: 'scale-in',
    says: 'one of the replicas ends, and stays away',
    minutes: 4,
    expects: null,
    stage: (world) => world.end(world.replicas - 1),
    heal: (world) => world.start(world.replicas - 1),
  },
  {
    name: 'burst',
    says: '500 posts come at once',
    minutes: 4,
    expects: null,
    stage: ({ send, post }) =>
      send(Array.from({ length: 500 }, (_, at) => ({ id: `burst-${at}`, value: post(`burst-${at}`) }))),
    heal: async () => {},
  },
]
