import { type ApacheKafka, startApacheKafka } from './apache-kafka.ts'
import { type Say, UnavailableError } from './local-server.ts'
import { type MemoryKafka, startMemoryKafka } from './memory-kafka.ts'

export interface KafkaOptions {
  readonly say: Say
  /** Which kind to try first; the other one serves where it can't be had. */
  readonly prefer: KafkaKind
  /** Where downloads are kept for the next time. Default: .cache in the project. */
  readonly cacheDirectory?: string
}

export type KafkaKind = 'apache' | 'memory'

export type LocalKafka = ApacheKafka | MemoryKafka

/**
 * A private Kafka on 127.0.0.1: of the preferred kind where this machine has what that takes, else of the other kind,
 * and then says why. Fails with UnavailableError, which lists the ways to get one, where neither can be had.
 */
export async function startKafka({ prefer, say, ...options }: KafkaOptions): Promise<LocalKafka> {
  const kinds: readonly KafkaKind[] = prefer === 'apache' ? ['apache', 'memory'] : ['memory', 'apache']
  const reasons: UnavailableError[] = []
  for (const kind of kinds) {
    try {
      const kafka = await start[kind]({ say, ...options })
      if (reasons[0] !== undefined) say(`Not the Kafka that was asked for: ${reasons[0].message}.`)
      return kafka
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
      reasons.push(error)
    }
  }
  throw new UnavailableError(
    [
      `No Kafka here: ${reasons.map((reason) => reason.message).join('; ')}.`,
      'Any of these will do:',
      '- set KAFKA_BROKERS to a Kafka that is running;',
      '- install Java 17 or newer and Maven, so that java and mvn are on the PATH, and let Maven reach its registry;',
      '- run npm ci under Node 24;',
      '- docker compose up -d kafka (see compose.yaml), then set KAFKA_BROKERS.',
    ].join('\n'),
    { cause: new AggregateError(reasons) },
  )
}

const start: Record<KafkaKind, (options: Omit<KafkaOptions, 'prefer'>) => Promise<LocalKafka>> = {
  apache: startApacheKafka,
  memory: startMemoryKafka,
}
