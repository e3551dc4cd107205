/** What tenants' requests hold, in bytes, by part: a request, or its answer. */
export interface KeptBytes {
  /** The sum, without what has expired by now. */
  sum(tenant: string, now: number): number
  /** `until`: when the part expires, ms; null if it does not by itself. */
  add(tenant: string, part: string, bytes: number, until: number | null): void
  forget(tenant: string, part: string): void
}

// The twin of src/store/redis/include/kept-bytes.lua: test/contracts/asked.ts holds both to the same promises.

export function keptBytes(): KeptBytes {
  const parts = new Map<string, Map<string, { bytes: number; until: number | null }>>()
  return {
    sum(tenant, now) {
      const own = parts.get(tenant) ?? new Map()
      for (const [part, { until }] of own) if (until !== null && until <= now) own.delete(part)
      return [...own.values()].reduce((sum, { bytes }) => sum + bytes, 0)
    },
    add(tenant, part, bytes, until) {
      const own = parts.get(tenant) ?? new Map()
      parts.set(tenant, own.set(part, { bytes: (own.get(part)?.bytes ?? 0) + bytes, until }))
    },
    forget(tenant, part) {
      const own = parts.get(tenant)
      own?.delete(part)
      if (own?.size === 0) parts.delete(tenant)
    },
  }
}
