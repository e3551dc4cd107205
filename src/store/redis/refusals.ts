import type { Redis } from 'ioredis'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { RedisFault } from '../../contracts/ports/report.ts'

/** Why Redis refuses commands although it answers, and what to do about it. */
export interface RedisRefusal {
  readonly fault: RedisFault
  readonly says: string
}

const GOES_ON = 'the service then continues by itself'

/** By the word that Redis's reply begins with. */
const REFUSALS: Readonly<Record<string, RedisRefusal>> = {
  OOM: {
    fault: 'out-of-memory',
    says: `Redis is at its maxmemory and refuses writes: raise it (CONFIG SET maxmemory); ${GOES_ON}`,
  },
  MISCONF: {
    fault: 'disk',
    says: `Redis can't write to its disk and refuses writes (MISCONF): free space on it, or see Redis's own log; ${GOES_ON}`,
  },
  NOREPLICAS: {
    fault: 'no-replicas',
    says: `Redis has fewer replicas in touch than min-replicas-to-write and refuses writes (NOREPLICAS): start the replicas, or mend their connection to the master; ${GOES_ON}`,
  },
  READONLY: {
    fault: 'read-only',
    says: `Redis is a replica and refuses writes (READONLY): set REDIS_URL to the master, or set redis.sentinels; after a failover ${GOES_ON}`,
  },
  LOADING: {
    fault: 'loading',
    says: `Redis has been started and is loading its data (LOADING): wait; ${GOES_ON}`,
  },
  MASTERDOWN: {
    fault: 'master-down',
    says: `Redis is a replica that has lost its master (MASTERDOWN): start the master, or promote a replica; ${GOES_ON}`,
  },
  CLUSTERDOWN: {
    fault: 'cluster-down',
    says: `The Redis cluster is down (CLUSTERDOWN): start the masters that are missing, or their replicas ("redis-cli cluster nodes"); ${GOES_ON}`,
  },
  NOAUTH: { fault: 'access', says: 'Redis now requires a password (NOAUTH): restart the service with it' },
  WRONGPASS: {
    fault: 'access',
    says: 'Redis rejects the user and password (WRONGPASS): restart the service with the new ones',
  },
  NOPERM: {
    fault: 'rights',
    says: `Redis denies its user a command that Gavel needs (NOPERM): "gavel doctor" names it; ${GOES_ON}`,
  },
}

/** Redis 6 puts words about a script's error before the reply's own word. */
const WORD = /^(?:ERR Error running script .*?: -?)?([A-Z]+) /

/** How a script's command is refused to its user: without the word, by Redis 7 and before it. */
const SCRIPT_RIGHTS = /ACL failure in script|The user executing the script can't/

/** The refusal that an error is; null if it is none. */
export function refusalOf(error: unknown): RedisRefusal | null {
  if (!(error instanceof Error)) return null
  const word = SCRIPT_RIGHTS.test(error.message) ? 'NOPERM' : WORD.exec(error.message)?.[1]
  return entryOf(REFUSALS, word ?? '') ?? null
}

const TRY_MS = 1_000

/**
 * Why a server keeps its clients waiting: ioredis sends no command to one that is not ready, so a connection of its own is
 * asked. Null if it does not say.
 */
export async function whyItWaits(client: Redis): Promise<RedisRefusal | null> {
  const asking = client.duplicate({
    enableReadyCheck: false,
    lazyConnect: true,
    connectTimeout: TRY_MS,
    commandTimeout: TRY_MS,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
    maxRetriesPerRequest: 0,
  })
  asking.on('error', () => {})
  try {
    await asking.connect()
    await asking.ping()
    return null
  } catch (error) {
    return refusalOf(error)
  } finally {
    asking.disconnect()
  }
}
