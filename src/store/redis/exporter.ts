import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Exporter } from '../../contracts/ports/exporter.ts'
import type { Keys } from './keys.ts'
import { script } from './script.ts'

/** The lease expires this long after its holder's last poll, in ms: polls are a second apart, or half of it while nothing happens. */
export const EXPORTER_LEASE_MS = 5_000

const poll = script('redis/poll', { keys: ['holder', 'shared'], args: ['me', 'lease'] })
const leave = script('redis/leave', { keys: ['holder'], args: ['me'] })

/** The exporter's lease in Redis, by its clock. */
export function redisExporter(client: Redis, keys: Keys, leaseMs = EXPORTER_LEASE_MS): Exporter {
  const me = randomUUID()
  const [holder, shared] = [keys.under('exporter'), keys.under('exporter/shared')]
  return {
    poll: async () =>
      z
        .string()
        .nullable()
        .parse(await poll(client, { holder, shared, me, lease: leaseMs })),
    async share(text) {
      await client.set(shared, text, 'PX', 2 * leaseMs)
    },
    async leave() {
      await leave(client, { holder, me })
    },
  }
}
