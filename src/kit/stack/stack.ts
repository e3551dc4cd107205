import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { startUnderstudy, type Understudy, type UnderstudyOptions } from '../understudy/server.ts'
import { type LocalKafka, startKafka } from './servers/kafka.ts'
import type { SayLine } from './servers/local-server.ts'
import { startRedis } from './servers/redis.ts'

/** Running local servers, and the settings that point to them. */
export interface Stack {
  readonly settings: Readonly<Record<string, string>>
  readonly kafka: LocalKafka | undefined
  readonly understudy: Understudy | undefined
  /** Stops what was started here, the last first. */
  close(): Promise<void>
}

/**
 * What a fresh machine lacks: Redis, Kafka and a model, each only where `given` (environment variables) does not name one.
 * `say` hears what each is. Throws, with nothing left running, where one can't be had.
 */
export async function startStack(
  given: Readonly<Record<string, string | undefined>>,
  options: {
    kafka: 'apache' | 'memory'
    say: SayLine
    understudy?: UnderstudyOptions
    /** What Redis may take, as redis.conf has it. Default: no limit. */
    maxmemory?: string
    /** Redis listens here, Kafka and the model on the next two. Default: free ones. */
    port?: number
    /** A folder in which Redis and Kafka keep their data for the next start. Default: temporary ones. */
    keep?: string
  },
): Promise<Stack> {
  const { say, port, keep, maxmemory } = options
  const at = (nth: number) => (port === undefined ? {} : { port: port + nth })
  const into = async (name: string) => {
    if (keep === undefined) return {}
    const directory = join(keep, name)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    return { directory }
  }
  const started: { what: string; settings: Readonly<Record<string, string>>; close(): Promise<void> }[] = []
  const close = async () => {
    for (const server of started.reverse()) await server.close()
    started.length = 0
  }
  const up = <Server extends (typeof started)[number]>(name: string, server: Server): Server => {
    started.push(server)
    say(`${name}: ${server.what}`)
    return server
  }
  const memory = maxmemory === undefined ? {} : { args: ['--maxmemory', maxmemory] }
  try {
    const redis = given.REDIS_URL
      ? undefined
      : up('Redis', await startRedis({ say, ...at(0), ...(await into('redis')), ...memory }))
    const kafka = given.KAFKA_BROKERS
      ? undefined
      : up('Kafka', await startKafka({ prefer: options.kafka, say, ...at(1), ...(await into('kafka')) }))
    const understudy = namesModel(given)
      ? undefined
      : up('Model', await startUnderstudy({ ...at(2), ...options.understudy }))
    const settings = Object.assign({}, redis?.settings, kafka?.settings, understudy?.settings)
    return { settings, kafka, understudy, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Whether these environment variables name a model: then no understudy is started. */
export function namesModel(given: Readonly<Record<string, string | undefined>>): boolean {
  return Boolean(given.OPENAI_BASE_URL || given.OPENAI_API_KEY)
}
