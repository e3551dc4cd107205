import { type ApacheKafka, startApacheKafka } from './apache-kafka.ts'
import { type SayLine, UnavailableError } from './local-server.ts'
import { type MemoryKafka, startMemoryKafka } from './memory-kafka.ts'

export interface KafkaOptions {
  readonly say: SayLine
  /** Which kind to start. */
  readonly prefer: KafkaKind
  /** Where Apache Kafka's jars are kept for the next time. Default: .cache in the project. */
  readonly cacheDirectory?: string
  /** Default: a free one. */
  readonly port?: number
  /** Where its data go, and stay: then the kind that is preferred is the only one. Default: a temporary folder. */
  readonly directory?: string
}

export type KafkaKind = 'apache' | 'memory'

export type LocalKafka = ApacheKafka | MemoryKafka

const WAYS = 'To have it, install Java 17 and Maven, or set KAFKA_BROKERS to a Kafka that is running'

/**
 * A private Kafka on 127.0.0.1, of the preferred kind; where this machine lacks what Apache Kafka takes the in-memory one
 * serves, and it is said why.
 */
export async function startKafka({ prefer, say, ...options }: KafkaOptions): Promise<LocalKafka> {
  const at = options.port === undefined ? {} : { port: options.port }
  if (prefer === 'memory') return startMemoryKafka({ say, ...at })
  try {
    return await startApacheKafka({ say, ...options })
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    const reason = `${error.message}. ${WAYS}.`
    if (options.directory !== undefined) throw new UnavailableError(reason, { cause: error })
    const kafka = await startMemoryKafka({ say, ...at })
    say(`Not the Kafka that was asked for: ${reason}`)
    return kafka
  }
}
