import { threadBytes } from '../../judging/threads/thread-bytes.ts'
import type { ThreadTable } from '../thread/memory-table.ts'

/** What tenants hold, in bytes: the threads of the stream, deliveries, and by part what was asked. */
export interface KeptBytes {
  /** The sum, without what has expired by now. */
  sum(tenant: string, now: number): number
  /** All tenants that hold something. */
  tenants(): string[]
  /** `until`: when the part expires, ms; null if it does not by itself. */
  set(tenant: string, part: string, bytes: number, until: number | null): void
  /** Adds to what was asked in this hour, came and is judged by nobody, or was linked, and is known for so long, ms. */
  addTrail(tenant: string, of: { part: HourlyPart; bytes: number; now: number; keep: number }): void
  /** Takes some of it back, and no more than there is. */
  takeTrail(tenant: string, of: { part: HourlyPart; bytes: number; now: number }): void
  forget(tenant: string, part: string): void
}

type HourlyPart = 'trails' | 'passed' | 'links'

const HOUR_MS = 3_600_000

// The twin of src/store/redis/include/kept-bytes.lua: test/contracts/asked.ts and random histories hold both to the same promises.

/** `delivered`: what deliveries to webhooks hold of a tenant. */
export function keptBytes(threads: Pick<ThreadTable, 'all'>, delivered: (tenant: string) => number): KeptBytes {
  const parts = new Map<string, Map<string, { bytes: number; until: number | null }>>()
  /** Requests are among the parts. */
  const streamed = () => threads.all().filter(({ ref }) => ref.kind !== 'asked')
  return {
    sum(tenant, now) {
      const own = parts.get(tenant) ?? new Map()
      for (const [part, { until }] of own) if (until !== null && until <= now) own.delete(part)
      const sizes = [...own.values()].map(({ bytes }) => bytes)
      const words = streamed().flatMap((thread) => (thread.ref.tenant === tenant ? threadBytes(thread) : []))
      return [...sizes, ...words].reduce((sum, bytes) => sum + bytes, delivered(tenant))
    },
    tenants: () => [...new Set([...parts.keys(), ...streamed().map(({ ref }) => ref.tenant)])],
    set(tenant, part, bytes, until) {
      const own = parts.get(tenant) ?? new Map()
      parts.set(tenant, own.set(part, { bytes, until }))
    },
    addTrail(tenant, { part: of, bytes, now, keep }) {
      const own = parts.get(tenant) ?? new Map()
      const part = `${of} ${Math.floor(now / HOUR_MS)}`
      parts.set(tenant, own.set(part, { bytes: (own.get(part)?.bytes ?? 0) + bytes, until: now + keep }))
    },
    takeTrail(tenant, { part: of, bytes, now }) {
      const part = `${of} ${Math.floor(now / HOUR_MS)}`
      const held = parts.get(tenant)?.get(part)
      if (held === undefined) return
      if (held.bytes > bytes) held.bytes -= bytes
      else this.forget(tenant, part)
    },
    forget(tenant, part) {
      const own = parts.get(tenant)
      own?.delete(part)
      if (own?.size === 0) parts.delete(tenant)
    },
  }
}
