import { setImmediate } from 'node:timers/promises'
import { type AuditEntry, auditEntry } from '../contracts/facts/audit.ts'
import { jsonOf } from '../contracts/facts/json-of.ts'
import { readVerdictId } from '../contracts/facts/verdict-id.ts'
import type { AuditFindings, AuditLog, AuditPoint, AuditQuery } from '../contracts/ports/audit.ts'
import type { Range, TopicHistory } from '../contracts/ports/topic.ts'
import { newestRanges } from './bounded-reader.ts'
import { partitionForKey } from './own-partition.ts'

/** Most entries that are read together, over all partitions. */
const MOST_READ = 100_000
/** Longest reading, in ms. */
const WITHIN_MS = 30_000
/** So long entries are looked at before other work has its turn, in ms. */
const AT_A_TIME_MS = 10
/** So much later than its own time a broker may have an entry, in ms. */
const LATE_MS = 60_000

/** An entry where it stands. */
interface PlacedEntry {
  readonly entry: AuditEntry
  readonly at: number
  readonly place: NonNullable<AuditPoint['place']>
}

/**
 * The audit on its topic. What one person did is in one partition. `mostRead`: entries read together, over all partitions: the newest of
 * each. Where these lead no further back than the question, more are read.
 */
export function auditLog(
  topic: string,
  historyUntil: (signal: AbortSignal) => Promise<TopicHistory>,
  mostRead = MOST_READ,
): AuditLog {
  return {
    async find(query, signal) {
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)])
      const found = await entriesOf(query, inTime)
      if (query.by === undefined || found.entries.length > 0 || found.next !== null) return found
      // Nobody of this name: perhaps somebody whose name is written otherwise, who may be in any partition.
      return entriesOf(query, inTime, { anyCase: true })
    },
  }

  async function entriesOf(query: AuditQuery, signal: AbortSignal, { anyCase = false } = {}): Promise<AuditFindings> {
    const history = await historyUntil(signal)
    const { since, before = NEWEST, most, by } = query
    const all = [...(await history.rangesOf(topic, since))]
    const own = by === undefined || anyCase ? null : partitionForKey(by, all.length)
    const wanted = new Map(own === null ? all : all.filter(([partition]) => partition === own))
    const later = before === NEWEST ? null : await history.rangesOf(topic, before.at + LATE_MS)
    let unread = rangesToRead(wanted, later, mostRead)
    let found: PlacedEntry[] = []
    for (;;) {
      const { ranges } = newestRanges(unread, mostRead)
      /** Where the reading of a partition began, whose beginning was left out. */
      const begun = new Map<number, number>()
      const pause = pauses()
      await history.read(topic, ranges, async (messages) => {
        for (const { value, partition, offset, timestamp } of messages) {
          const paused = pause()
          if (paused !== undefined) {
            await paused
            signal.throwIfAborted()
          }
          if (!begun.has(partition) && ranges.get(partition)?.from !== wanted.get(partition)?.from)
            begun.set(partition, timestamp)
          if (value === null || !mayFit(value, query, anyCase)) continue
          const read = auditEntry.safeParse(jsonOf({ value: value.toString('utf8') }))
          const entry = read.success ? fittingPart(read.data, query, anyCase) : null
          if (entry === null) continue
          const one = { entry, at: Date.parse(entry.at), place: { partition, offset: BigInt(offset) } }
          if (isBehind(one, before)) found.push(one)
        }
        // In the order of a partition the newest come last.
        if (found.length > 4 * most) found = newest(found, most + 1)
      })
      // What came before the latest of these beginnings may be known of other partitions alone.
      const whole = begun.size === 0 ? null : Math.max(...begun.values()) + 1
      const fitting = newest(found, most + 1).filter(({ at }) => whole === null || at >= whole)
      const [last] = fitting.slice(most - 1)
      const entries = fitting.slice(0, most).map(({ entry }) => entry)
      if (fitting.length > most && last !== undefined) return { entries, next: { at: last.at, place: last.place } }
      if (whole === null) return { entries, next: null }
      if (entries.length > 0 || isBehind({ at: whole }, before)) return { entries, next: { at: whole } }
      unread = new Map(
        [...ranges].map(([partition, { from: to }]) => [partition, { from: wanted.get(partition)?.from ?? to, to }]),
      )
    }
  }
}

/** Resolves at once, or after other work has had its turn. */
function pauses(): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < AT_A_TIME_MS) return undefined
    return setImmediate().then(() => {
      since = performance.now()
    })
  }
}

/** What stands in JSON, and in ids of verdicts, as it is. */
const PLAIN = /^[\w.-]+$/

/** Whether an entry can fit by its bytes: to parse it takes a hundred times as long. */
function mayFit(value: Buffer, { by, subject }: AuditQuery, anyCase: boolean): boolean {
  const named = [anyCase ? undefined : by, subject]
  return named.every((one) => one === undefined || !PLAIN.test(one) || value.includes(one))
}

const NEWEST: AuditPoint = { at: Number.POSITIVE_INFINITY }

/** Negative where the first comes before the other: newer, or of the same time at an earlier place; a time by itself is behind its entries. */
function inOrder(one: AuditPoint, other: AuditPoint): number {
  if (one.at !== other.at) return one.at > other.at ? -1 : 1
  if (one.place === undefined || other.place === undefined)
    return Number(one.place === undefined) - Number(other.place === undefined)
  if (one.place.partition !== other.place.partition) return one.place.partition - other.place.partition
  return Number(other.place.offset - one.place.offset)
}

const isBehind = (one: AuditPoint, other: AuditPoint) => inOrder(one, other) > 0

/**
 * What may be read of these partitions: everything, or, where not all can be read together, what is from before the beginnings of `later`.
 * By the broker's time only then: entries that were copied are older than it says.
 */
function rangesToRead(
  all: ReadonlyMap<number, Range>,
  later: ReadonlyMap<number, Range> | null,
  mostRead: number,
): ReadonlyMap<number, Range> {
  if (later === null || !newestRanges(all, mostRead).isCut) return all
  const before = [...all].flatMap(([partition, { from, to: end }]) => {
    const to = later.get(partition)?.from ?? end
    return to <= from ? [] : [[partition, { from, to }] as const]
  })
  return new Map(before)
}

function newest(entries: readonly PlacedEntry[], most: number): PlacedEntry[] {
  return entries.toSorted(inOrder).slice(0, most)
}

/** What of an entry fits; null if nothing does. */
function fittingPart(
  entry: AuditEntry,
  { by, what, pages, subject, tenants, since }: AuditQuery,
  anyCase: boolean,
): AuditEntry | null {
  const isTheirs = by === undefined || entry.by === by || (anyCase && entry.by.toLowerCase() === by.toLowerCase())
  if (!isTheirs || Date.parse(entry.at) < since) return null
  if (what?.includes(entry.what) === false || pages?.includes(entry.page) === false) return null
  if (subject === undefined && tenants === undefined) return entry
  const theirs = entry.verdicts.filter((id) => tenants?.includes(readVerdictId(id)?.tenant ?? 'default') ?? true)
  const isOf = (id: string) => {
    const { subjectId = '', postId } = readVerdictId(id) ?? {}
    return subject === undefined || [id, subjectId, postId].includes(subject)
  }
  // What one form decided beside it is part of what was done.
  const verdicts = [...theirs.filter(isOf), ...theirs.filter((id) => !isOf(id))]
  const [first] = verdicts
  if (first === undefined || !isOf(first)) return null
  return { ...entry, verdicts, more: tenants === undefined ? entry.more : 0 }
}
