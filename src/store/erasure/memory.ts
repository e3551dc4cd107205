import type { CaseRecord } from '../../contracts/facts/case.ts'
import type { ShownItem } from '../../contracts/facts/library.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Erasures, ExposedCase, WaitingErasures } from '../../contracts/ports/erasures.ts'
import { ownerOf } from '../../shelves/names.ts'
import { type CaseTable, type KeptCase, threadOf } from '../case/memory-table.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/erasure.ts holds both to the same promises.

/** What waits to be erased, for the other memory stores of this Gavel too. */
export interface MemoryErasures extends Erasures {
  /** Notes that the subject was deleted, within the step that deletes it. */
  noteNow(subject: ThreadRef): void
  /** Notes that a case was shown these. */
  noteShown(record: CaseRecord, shown: readonly ShownItem[]): void
  /** Whether one of them is a deleted owner's. */
  areDeleted(shown: readonly ShownItem[]): boolean
  isWithheld(kept: KeptCase): boolean
}

export function memoryErasures(cases: CaseTable, clock: Clock): MemoryErasures {
  /** Deleted owners, and since when they wait to be erased, ms. */
  const [owners, shelves, inCases] = [1, 2, 3].map(() => new Map<string, number>()) as [Queue, Queue, Queue]
  const shown = new Map<string, Map<string, ExposedCase>>()
  const leaders = new Map<string, { readonly name: string; readonly until: number }>()
  let hasLibrary = false

  function noteNow({ tenant, postId, kind }: ThreadRef): void {
    const owner = ownerOf({ tenant, id: postId, kind })
    if (!owners.has(owner)) owners.set(owner, clock())
    if (!shelves.has(owner)) shelves.set(owner, clock())
    if (shown.has(owner) && !inCases.has(owner)) inCases.set(owner, clock())
  }
  const areDeleted = (items: readonly ShownItem[]) => items.some(({ owner }) => owners.has(owner))

  return {
    noteNow,
    areDeleted,
    noteShown(record, items) {
      const one = { ref: threadOf(record), protocol: record.protocol, caseId: record.id }
      for (const { owner } of items) shown.set(owner, new Map(shown.get(owner)).set(record.id, one))
    },
    isWithheld: ({ withheld, withheldUntil, journal }) =>
      withheld || withheldUntil > clock() || [...journal.values()].some((entry) => areDeleted(entry.shown ?? [])),

    async *deletedOwners() {
      yield [...owners.keys()]
    },
    deletedAmong: async (some) => new Set(some.filter((owner) => owners.has(owner))),
    async note(subject) {
      noteNow(subject)
    },
    async lead(what, name, leaseMs) {
      const leader = leaders.get(what)
      if (leader !== undefined && leader.name !== name && leader.until > clock()) return false
      leaders.set(what, { name, until: clock() + leaseMs })
      return true
    },
    async knowsShelves(holds) {
      hasLibrary ||= holds
      return holds || !hasLibrary
    },
    onShelves: async (limit, skip = 0) => [...shelves.keys()].slice(skip, skip + limit),
    async shelvesErased(some, owned) {
      for (const owner of some) {
        const isNew = shelves.get(owner) === owners.get(owner)
        shelves.delete(owner)
        if (owned.has(owner)) owners.set(owner, clock())
        else if (isNew && !inCases.has(owner)) owners.delete(owner)
      }
    },
    inCases: async (limit) => [...inCases.keys()].slice(0, limit),
    shownTo: async (owner, limit) => [...(shown.get(owner)?.values() ?? [])].slice(0, limit),
    async casesCleaned(owner, cleaned) {
      const left = new Map(shown.get(owner))
      for (const { caseId } of cleaned) left.delete(caseId)
      shown.set(owner, left)
      if (left.size > 0) return left.size
      shown.delete(owner)
      inCases.delete(owner)
      if (owners.has(owner)) owners.set(owner, clock())
      return 0
    },
    async release(limit) {
      const waiting = [...cases].filter(([, { withheld }]) => withheld).slice(0, limit)
      for (const [id, kept] of waiting) cases.set(id, { ...kept, withheld: false })
      return waiting.map(([id]) => id)
    },
    async expire(keepMs) {
      for (const [owner, at] of owners)
        if (at <= clock() - keepMs && !shelves.has(owner) && !inCases.has(owner)) owners.delete(owner)
    },
    waiting: async () => ({ shelves: waitingIn(shelves), cases: waitingIn(inCases) }),
  }
}

type Queue = Map<string, number>

function waitingIn(queue: Queue): WaitingErasures {
  return { count: queue.size, oldest: queue.size === 0 ? null : Math.min(...queue.values()) }
}
