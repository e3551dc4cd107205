import type { Embedder, Library } from '../contracts/ports/library.ts'
import { type LibraryOptions, libraryOver } from './library.ts'
import { learntFrom, ownerOf, tableName } from './names.ts'
import {
  type ChangeRecord,
  type ProposalRecord,
  proposedOf,
  type Row,
  type ShelfRecord,
  type Storage,
} from './storage.ts'

interface MemoryLibraryOptions extends Partial<Omit<LibraryOptions, 'embedder'>> {
  /** Shared by several libraries that simulate processes on one folder. */
  readonly storage?: Storage
}

/** A library in memory, which ends with its process. */
export function memoryLibrary(
  embedder: Embedder,
  {
    storage = memoryStorage(),
    now = Date.now,
    proposalsPerAuthor = 100,
    newProposals = { perAuthor: 1_000, perTenant: 10_000, per: 86_400_000 },
    shared = new Set(),
    deletedAmong = async () => new Set(),
  }: MemoryLibraryOptions = {},
): Library {
  return libraryOver(storage, { embedder, now, proposalsPerAuthor, newProposals, shared, deletedAmong })
}

export function memoryStorage(): Storage {
  const shelves = new Map<string, ShelfRecord>()
  const tables = new Map<string, Map<string, Row>>()
  const changes = new Map<string, ChangeRecord>()
  const proposals = new Map<string, ProposalRecord>()
  const forgotten = new Set<string>()
  let turn: Promise<unknown> = Promise.resolve()

  const rowsOf = ({ table }: ShelfRecord): Map<string, Row> => {
    const rows = tables.get(table)
    if (rows === undefined) throw new Error(`the table ${table} is gone`)
    return rows
  }

  return {
    exclusive(work) {
      const mine = turn.then(work)
      turn = mine.catch(() => {})
      return mine
    },

    hasLeftovers: async () => false,
    holdsAnything: async () => shelves.size + proposals.size > 0,
    shelf: async (name) => shelves.get(name) ?? null,
    shelves: async () => [...shelves.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    async putShelf(record) {
      shelves.set(record.name, record)
    },
    async removeShelf({ name, table }) {
      shelves.delete(name)
      tables.delete(table)
    },

    count: async (record) => rowsOf(record).size,
    countRead: async (record) => rowsOf(record).size,
    async rows(record, ids) {
      const rows = rowsOf(record)
      return [...new Set(ids)].flatMap((id) => rows.get(id) ?? [])
    },
    async rowsBy(record, by) {
      const rows = [...rowsOf(record).values()]
      return rows.filter((row) => ('change' in by ? row.change === by.change : by.owners.has(row.owner)))
    },
    async nearest(record, vector, limit) {
      return [...rowsOf(record).values()]
        .map(({ vector: other, ...row }) => ({ ...row, similarity: cosine(vector, other) }))
        .sort((a, b) => b.similarity - a.similarity)
        .slice(0, limit)
    },
    async putRows({ table }, fresh, replacing) {
      const rows = tables.get(table) ?? new Map<string, Row>()
      tables.set(table, rows)
      for (const row of [...fresh, ...replacing]) rows.set(row.id, row)
    },
    async rewrite(record, become) {
      const table = tableName(record.name)
      const kept = [...rowsOf(record)].flatMap(([id, row]): [string, Row][] => {
        const version = become.get(id)
        return version === null ? [] : [[id, { ...row, ...version }]]
      })
      tables.set(table, new Map(kept))
      shelves.set(record.name, { ...record, table })
      tables.delete(record.table)
    },

    change: async (id) => changes.get(id) ?? null,
    async changes(shelf) {
      const all = [...changes.values()].sort((a, b) => (a.id < b.id ? 1 : -1))
      return all.filter((change) => shelf === undefined || change.shelf === shelf)
    },
    async addStep(head, step) {
      const { added, unchanged, relabelled, replaced } = changes.get(head.id) ?? NOTHING
      changes.set(head.id, {
        rolledBackAt: null,
        ...(changes.get(head.id) ?? head),
        added: added + step.added,
        unchanged: unchanged + step.unchanged,
        relabelled: relabelled + step.relabelled,
        replaced: { ...replaced, ...step.replaced },
      })
    },
    async putChange(change) {
      changes.set(change.id, change)
    },
    async removeChange(id) {
      changes.delete(id)
    },

    proposal: async (id) => proposals.get(id) ?? null,
    async proposals(of) {
      return [...proposals.values()].filter(({ proposal: { shelf, provenance } }) => {
        return of === undefined || (shelf === of.shelf && provenance.by === of.by)
      })
    },
    async proposed() {
      return [...proposals.values()].map(proposedOf)
    },
    async putProposal(record) {
      proposals.set(record.proposal.id, record)
    },
    async removeProposal(record) {
      proposals.delete(record.proposal.id)
    },
    async proposalsOf(owners) {
      const theirs = [...proposals.values()].map(ownerIn).filter((owner) => owners.has(owner))
      return new Map([...Map.groupBy(theirs, (owner) => owner)].map(([owner, some]) => [owner, some.length]))
    },
    async removeProposalsOf(owners) {
      for (const record of proposals.values()) if (owners.has(ownerIn(record))) proposals.delete(record.proposal.id)
    },

    async noteForgotten(owners) {
      for (const owner of owners) forgotten.add(owner)
    },
    wasForgotten: async (owner) => forgotten.has(owner),

    async close() {},
  }
}

function ownerIn({ proposal: { provenance } }: ProposalRecord): string {
  return ownerOf(learntFrom(provenance))
}

const NOTHING = { added: 0, unchanged: 0, relabelled: 0, replaced: {} }

function cosine(a: Float32Array, b: Float32Array): number {
  let product = 0
  let lengths = [0, 0]
  for (const [index, value] of a.entries()) {
    const other = b[index] ?? 0
    product += value * other
    lengths = [(lengths[0] ?? 0) + value * value, (lengths[1] ?? 0) + other * other]
  }
  const [one = 0, two = 0] = lengths
  return one === 0 || two === 0 ? 0 : product / Math.sqrt(one * two)
}
