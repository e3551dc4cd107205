import { isBlank } from '../contracts/facts/blank.ts'
import { OperatorError } from '../contracts/facts/errors.ts'
import type { DeletedOwners } from '../contracts/ports/erasures.ts'
import type { Embedder, Library, Shelf } from '../contracts/ports/library.ts'
import { libraryErasure } from './library-erasure.ts'
import { changeId, placeOf } from './names.ts'
import { type ProposalBounds, quarantine } from './quarantine.ts'
import { searching } from './searching.ts'
import { shelfReading } from './shelf-reading.ts'
import { DamagedFiles, loggedChangeOf, type Storage } from './storage.ts'
import { takingBack, undoing } from './take-back.ts'
import { writing } from './writing.ts'

export interface LibraryOptions extends ProposalBounds, Partial<DeletedOwners> {
  readonly embedder: Embedder
  /** ms since 1970. */
  readonly now: () => number
  /** Shelves whose items without a tenant are shown to every tenant; those of other shelves only to the default tenant. */
  readonly shared: ReadonlySet<string>
}

/** A library over any storage of rows: search, changes and their rollback, proposals. */
export function libraryOver(storage: Storage, options: LibraryOptions): Library {
  const { embedder, now, shared, deletedAmong = async () => new Set() } = options
  const reading = shelfReading(storage, embedder)
  const written = writing(storage, reading, { embedder, now })

  return {
    embedder: embedder.name,
    weakFor: (text, lang) => embedder.weakFor(text, lang),
    ...searching(storage, reading, { embedder, shared, deletedAmong }),
    async prepare(shelves) {
      if (shelves.length === 0) return
      // What fails here fails again in the first search, which reports it.
      const records = await storage.shelves().catch(() => [])
      const there = records.filter((record) => {
        const { shelf } = placeOf(record.name)
        return shelves.includes(shelf) && reading.problemOf(shelf, record) === null
      })
      if (there.length === 0) return
      embedder.prepare()
      for (const record of there) void storage.count(record).catch(() => 0)
    },
    async add(shelf, items, by, signal, change = changeId(now()), tenant = null) {
      if (items.some(({ text }) => isBlank(text))) throw new OperatorError('An item of a shelf needs a text.')
      const tenants = new Set(items.map(({ subject }) => subject?.tenant ?? tenant))
      if (tenants.size > 1) throw new OperatorError('Items of several tenants: import one tenant at a time.')
      const [whose = tenant] = tenants
      return written.write({ place: { shelf, tenant: whose }, kind: 'add', items, by, signal, change })
    },
    ...undoing(storage, now),
    holdsAnything: storage.holdsAnything,
    forget: libraryErasure(storage),
    ...takingBack(storage, now),
    async history(shelf) {
      return (await storage.changes())
        .map(loggedChangeOf)
        .filter((change) => shelf === undefined || change.shelf === shelf)
    },
    async shelves() {
      const told = (await storage.shelves()).map(async ({ name, embedder, dimension }): Promise<Shelf | null> => {
        const { shelf, tenant } = placeOf(name)
        try {
          return await reading.read(name, async (record) => {
            const items = await storage.countRead(record)
            return { name: shelf, tenant, items, embedder: record.embedder, dimension: record.dimension }
          })
        } catch (error) {
          if (!(error instanceof DamagedFiles)) throw error
          return { name: shelf, tenant, items: 0, embedder, dimension, damaged: error.message }
        }
      })
      const order = ({ name, tenant }: Shelf) => `${name} ${tenant ?? ''}`
      return (await Promise.all(told))
        .filter((shelf) => shelf !== null)
        .sort((one, other) => (order(one) < order(other) ? -1 : 1))
    },
    ...quarantine(storage, written, { ...options, deletedAmong }),
    async close() {
      await storage.close()
      await embedder.close()
    },
  }
}
