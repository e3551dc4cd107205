import { type ApacheKafka, startApacheKafka } from './apache-kafka.ts'
import { type Say, UnavailableError } from './local-server.ts'
import { type MemoryKafka, startMemoryKafka } from './memory-kafka.ts'

export interface KafkaOptions {
  readonly say: Say
  /** Which kind to start. */
  readonly prefer: KafkaKind
  /** Where Apache Kafka's jars are kept for the next time. Default: .cache in the project. */
  readonly cacheDirectory?: string
}

export type KafkaKind = 'apache' | 'memory'

export type LocalKafka = ApacheKafka | MemoryKafka

/**
 * A private Kafka on 127.0.0.1, of the preferred kind; where this machine lacks what Apache Kafka takes the in-memory one
 * serves, and it is said why.
 */
export async function startKafka({ prefer, say, ...options }: KafkaOptions): Promise<LocalKafka> {
  if (prefer === 'memory') return startMemoryKafka({ say })
  try {
    return await startApacheKafka({ say, ...options })
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    const kafka = await startMemoryKafka({ say })
    say(`Not the Kafka that was asked for: ${error.message}.`)
    return kafka
  }
}
