import { Redis } from 'ioredis'
import { accessToSentinels, type RedisSettings, sentinelConnections, withCredentials } from './connect.ts'

/** A sentinel that takes longer than this to answer, in ms, has not answered. */
const ANSWER_MS = 1_000

/** When the sentinels last said who the master is. */
export interface SentinelWatch {
  /** Asks all of them; resolves when each has answered or not. Run it a few times a second. */
  poll(): Promise<void>
  /** For how long none has answered, in ms; 0 where there are none. */
  silentMs(): number
  close(): Promise<void>
}

/**
 * Whether the sentinels can be heard, on connections of its own. Who can't hear them does not learn that another master was
 * chosen, and may work on with the old one.
 */
export function sentinelWatch(settings: RedisSettings): SentinelWatch {
  const sentinels = sentinelConnections(settings).map((options) => {
    const client = new Redis({ ...options, commandTimeout: ANSWER_MS, enableOfflineQueue: false })
    client.on('error', () => {})
    withCredentials(client.options, () => accessToSentinels(settings))
    return client
  })
  // The time stands still for nobody: a process that was stopped finds an old answer when it wakes.
  let answeredAt = performance.now()
  return {
    async poll() {
      const asked = sentinels.map(async (one) => {
        const master = await one.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', settings.sentinelMaster)
        if (master !== null) answeredAt = performance.now()
      })
      await Promise.allSettled(asked)
    },
    silentMs: () => (sentinels.length === 0 ? 0 : performance.now() - answeredAt),
    async close() {
      for (const one of sentinels) one.disconnect()
    },
  }
}
