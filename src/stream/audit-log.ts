import { type AuditEntry, auditEntry } from '../contracts/facts/audit.ts'
import { jsonOf } from '../contracts/facts/json-of.ts'
import { readVerdictId } from '../contracts/facts/verdict-id.ts'
import type { AuditLog, AuditQuery } from '../contracts/ports/audit.ts'
import type { TopicHistory } from '../contracts/ports/topic.ts'
import { newestRanges } from './bounded-reader.ts'
import { partitionForKey } from './own-partition.ts'

/** Most entries that are read for one question, over all partitions: the newest of each. */
const MOST_READ = 100_000
/** Longest reading, in ms. */
const WITHIN_MS = 30_000

/** The audit on its topic. What one person did is in one partition. */
export function auditLog(topic: string, historyUntil: (signal: AbortSignal) => Promise<TopicHistory>): AuditLog {
  return {
    async find(query, signal) {
      const history = await historyUntil(AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]))
      const all = [...(await history.rangesOf(topic, query.since))]
      const own = query.by === undefined ? null : partitionForKey(query.by, all.length)
      const wanted = own === null ? all : all.filter(([partition]) => partition === own)
      const { ranges, isCut } = newestRanges(new Map(wanted), MOST_READ)
      const found: AuditEntry[] = []
      await history.read(topic, ranges, (messages) => {
        for (const { value } of messages) {
          const read = value === null ? null : auditEntry.safeParse(jsonOf({ value: value.toString('utf8') }))
          const fitting = read?.success === true ? fittingPart(read.data, query) : null
          if (fitting !== null) found.push(fitting)
        }
        // In the order of a partition the newest come last.
        if (found.length > 4 * query.most) found.splice(0, found.length, ...newest(found, query.most + 1))
      })
      const entries = newest(found, query.most)
      return { entries, isCut: isCut || found.length > query.most }
    },
  }
}

function newest(entries: readonly AuditEntry[], most: number): AuditEntry[] {
  return entries.toSorted((a, b) => (a.at < b.at ? 1 : -1)).slice(0, most)
}

/** What of an entry fits; null if nothing does. */
function fittingPart(entry: AuditEntry, { by, subject, tenants, since }: AuditQuery): AuditEntry | null {
  if ((by !== undefined && entry.by !== by) || Date.parse(entry.at) < since) return null
  if (subject === undefined && tenants === undefined) return entry
  const verdicts = entry.verdicts.filter((id) => {
    const { tenant = 'default', subjectId = '', postId } = readVerdictId(id) ?? {}
    return (tenants?.includes(tenant) ?? true) && (subject === undefined || [id, subjectId, postId].includes(subject))
  })
  return verdicts.length === 0 ? null : { ...entry, verdicts, more: 0 }
}
