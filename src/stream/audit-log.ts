import { type AuditEntry, auditEntry } from '../contracts/facts/audit.ts'
import { jsonOf } from '../contracts/facts/json-of.ts'
import { readVerdictId } from '../contracts/facts/verdict-id.ts'
import type { AuditFindings, AuditLog, AuditQuery } from '../contracts/ports/audit.ts'
import type { Range, TopicHistory } from '../contracts/ports/topic.ts'
import { newestRanges } from './bounded-reader.ts'
import { partitionForKey } from './own-partition.ts'

/** Most entries that are read for one question, over all partitions: the newest of each. */
const MOST_READ = 100_000
/** Longest reading, in ms. */
const WITHIN_MS = 30_000
/** So much later than its own time a broker may have an entry, in ms. */
const LATE_MS = 60_000

/** The audit on its topic. What one person did is in one partition. */
export function auditLog(topic: string, historyUntil: (signal: AbortSignal) => Promise<TopicHistory>): AuditLog {
  return {
    async find(query, signal) {
      const found = await entriesOf(query, signal)
      if (query.by === undefined || found.entries.length > 0 || found.next !== null) return found
      // Nobody of this name: perhaps somebody whose name is written otherwise, who may be in any partition.
      return entriesOf(query, signal, { anyCase: true })
    },
  }

  async function entriesOf(query: AuditQuery, signal: AbortSignal, { anyCase = false } = {}): Promise<AuditFindings> {
    const history = await historyUntil(AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]))
    const { since, before, most } = query
    const all = [...(await history.rangesOf(topic, since))]
    const later = before === undefined ? null : await history.rangesOf(topic, before + LATE_MS)
    const own = query.by === undefined || anyCase ? null : partitionForKey(query.by, all.length)
    const wanted = own === null ? all : all.filter(([partition]) => partition === own)
    const { ranges } = rangesToRead(new Map(wanted), later)
    /** Where the reading of a partition began, whose beginning was left out. */
    const begun = new Map<number, number>()
    const found: AuditEntry[] = []
    await history.read(topic, ranges, (messages) => {
      for (const { value, partition, timestamp } of messages) {
        if (!begun.has(partition) && ranges.get(partition)?.from !== all.find(([one]) => one === partition)?.[1].from)
          begun.set(partition, timestamp)
        const read = value === null ? null : auditEntry.safeParse(jsonOf({ value: value.toString('utf8') }))
        const fitting = read?.success === true ? fittingPart(read.data, query, anyCase) : null
        if (fitting !== null) found.push(fitting)
      }
      // In the order of a partition the newest come last.
      if (found.length > 4 * most) found.splice(0, found.length, ...newest(found, most + 1))
    })
    // What came before the latest of these beginnings may be known of other partitions alone.
    const whole = begun.size === 0 ? null : Math.max(...begun.values()) + 1
    const fitting = found.filter(({ at }) => whole === null || Date.parse(at) >= whole)
    const entries = newest(fitting, most)
    const last = entries.at(-1)
    return { entries, next: entries.length < fitting.length && last !== undefined ? Date.parse(last.at) : whole }
  }
}

/**
 * What is read of these partitions: the newest entries, or, where not all can be read, those from before the beginnings of `later`. By the
 * broker's time only then: entries that were copied are older than it says.
 */
function rangesToRead(all: ReadonlyMap<number, Range>, later: ReadonlyMap<number, Range> | null) {
  const newestOnes = newestRanges(all, MOST_READ)
  if (later === null || !newestOnes.isCut) return newestOnes
  const before = [...all].flatMap(([partition, { from, to: end }]) => {
    const to = later.get(partition)?.from ?? end
    return to <= from ? [] : [[partition, { from, to }] as const]
  })
  return newestRanges(new Map(before), MOST_READ)
}

/** The newest so many, and what is of the same time as the last of them. */
function newest(entries: readonly AuditEntry[], most: number): AuditEntry[] {
  const inOrder = entries.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
  const last = inOrder[most - 1]?.at ?? ''
  return inOrder.filter(({ at }) => at >= last)
}

/** What of an entry fits; null if nothing does. */
function fittingPart(
  entry: AuditEntry,
  { by, what, pages, subject, tenants, since, before = Number.POSITIVE_INFINITY }: AuditQuery,
  anyCase: boolean,
): AuditEntry | null {
  const at = Date.parse(entry.at)
  const isTheirs = by === undefined || entry.by === by || (anyCase && entry.by.toLowerCase() === by.toLowerCase())
  if (!isTheirs || at < since || at >= before) return null
  if (what?.includes(entry.what) === false || pages?.includes(entry.page) === false) return null
  if (subject === undefined && tenants === undefined) return entry
  const verdicts = entry.verdicts.filter((id) => {
    const { tenant = 'default', subjectId = '', postId } = readVerdictId(id) ?? {}
    return (tenants?.includes(tenant) ?? true) && (subject === undefined || [id, subjectId, postId].includes(subject))
  })
  return verdicts.length === 0 ? null : { ...entry, verdicts, more: 0 }
}
