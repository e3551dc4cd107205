import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { EXPORTER_LEASE_MS, type Exporter } from '../../ports/exporter.ts'
import type { Keys } from './keys.ts'
import { script } from './script.ts'

const look = script('exporter/look', { keys: ['holder', 'shared'], args: ['me', 'lease'] })
const leave = script('exporter/leave', { keys: ['holder'], args: ['me'] })

/** The exporter's lease in Redis, by its clock. */
export function redisExporter(client: Redis, keys: Keys, leaseMs = EXPORTER_LEASE_MS): Exporter {
  const me = randomUUID()
  const [holder, shared] = [keys.under('exporter'), keys.under('exporter/shared')]
  return {
    look: async () =>
      z
        .string()
        .nullable()
        .parse(await look(client, { holder, shared, me, lease: leaseMs })),
    async share(text) {
      await client.set(shared, text, 'PX', 2 * leaseMs)
    },
    async leave() {
      await leave(client, { holder, me })
    },
  }
}
