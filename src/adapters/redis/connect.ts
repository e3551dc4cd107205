import { Redis } from 'ioredis'
import type { Report } from '../../ports/report.ts'

/**
 * Opens a connection to Redis. A `patient` one waits for a Redis that is away and then goes on (workers, the publisher);
 * the other fails its commands after a few tries, so that whoever waits for an answer hears of it.
 */
export function connect(url: string, report: Report, kind: 'patient' | 'impatient'): Redis {
  const client = new Redis(url, {
    maxRetriesPerRequest: kind === 'patient' ? null : 3,
    enableOfflineQueue: true,
    // Commands of one turn of the event loop go out in one write: the system calls cost more than the commands.
    enableAutoPipelining: true,
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 2_000),
    connectTimeout: 5_000,
  })
  client.on('error', (error: unknown) => report('trouble:met', { where: 'redis', error }))
  return client
}
