import { extname, join } from 'node:path'
import { describesCluster } from './kafka-probe.ts'
import { type LocalServer, type SayLine, spawnServer } from './local-server.ts'

export interface MemoryKafkaOptions {
  readonly say: SayLine
  /** Default: a free one. */
  readonly port?: number
}

export interface MemoryKafka extends LocalServer {
  readonly kind: 'memory'
}

/**
 * A broker that speaks the Kafka protocol and keeps everything in memory, on 127.0.0.1, in a process of its own. Fit for a
 * demo, with these limits: topics appear on first use, with 4 partitions, and can't be made by an admin client; each partition
 * keeps its last 16 MiB, read or not; no transactions, no idempotent producers, no message size limit; timestamps are the
 * producer's, and a search by time finds the batch, not the record.
 */
export async function startMemoryKafka({ say, port = 0 }: MemoryKafkaOptions): Promise<MemoryKafka> {
  let address: string | undefined
  const server = await spawnServer({
    name: 'The in-memory Kafka broker',
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', BROKER, String(port)],
    ready: async (output) => {
      address ??= /listens on (127\.0\.0\.1:\d+)/.exec(output)?.[1]
      return address !== undefined && (await describesCluster(address))
    },
    readyWithinMs: 30_000,
    stopWithinMs: 2000,
    say,
  })
  if (address === undefined) throw new Error('The in-memory Kafka broker is ready but named no address')
  return {
    kind: 'memory',
    what: `an in-memory stand-in for Kafka on ${address}: nothing is kept when it stops`,
    settings: { KAFKA_BROKERS: address },
    get pid() {
      return server.pid
    },
    close: server.close,
  }
}

// The same ending as this file's: .ts in the sources, .js once built.
const BROKER = join(import.meta.dirname, `memory-kafka-broker${extname(import.meta.filename)}`)
