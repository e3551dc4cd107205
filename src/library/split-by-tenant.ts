import { entryOf } from '../domain/entry-of.ts'
import { learntFrom, ownerOf, placeName, placeOf, tableName } from './names.ts'
import { type ChangeRecord, type Row, type ShelfRecord, type Storage, type Version, versionOf } from './storage.ts'

/**
 * Migrates shelves of versions without tenants: what these learnt and put on one shelf for all is moved to the places
 * of the tenants whose content it is, according to their proposals; what it had replaced on the shelf is restored.
 * Items without a proposal stay where they are, and nobody is shown them. Runs once in each process, and again after a
 * failure.
 */
export function splittingByTenant(storage: Storage) {
  let started: Promise<void> | null = null

  async function splitShelves(): Promise<void> {
    const isMixed = ({ name, owned, damaged }: ShelfRecord) =>
      owned && damaged === undefined && placeOf(name).tenant === null
    if (!(await storage.shelves()).some(isMixed)) return
    await storage.exclusive(async () => {
      const proposals = (await storage.proposals()).map(({ proposal }) => proposal.provenance)
      const tenants = new Map(proposals.map((from) => [ownerOf(learntFrom(from)), from.tenant]))
      for (const record of await storage.shelves()) if (isMixed(record)) await splitShelf(record, tenants)
    })
  }

  async function splitShelf(record: ShelfRecord, all: ReadonlyMap<string, string>): Promise<void> {
    const tenants = new Map<string, string>()
    for (const [owner, tenant] of all) if (await takes(tenant, record)) tenants.set(owner, tenant)
    const changes = new Map((await storage.changes(record.name)).map((change) => [change.id, change]))
    const learnt = await storage.rows(record, await storage.ownedRows(record))
    const known = learnt.filter(({ owner }) => tenants.has(owner))
    const become = new Map<string, Version | null>()
    const moved = new Map<string, Row[]>()
    const taken = new Set<string>()
    for (const row of known) {
      const { newest, base, steps } = versionsBelow(row, changes, tenants)
      for (const [tenant, version] of newest) moved.set(tenant, [...(moved.get(tenant) ?? []), { ...row, ...version }])
      for (const change of steps) taken.add(`${change} ${row.id}`)
      become.set(row.id, base)
    }
    // The tenants' places first: after an interruption here everything is repeated.
    for (const [tenant, rows] of moved) await put(placeName({ ...placeOf(record.name), tenant }), record, rows)
    if (become.size > 0) await storage.rewrite(record, become)
    let owned = known.length < learnt.length
    for (const change of changes.values()) {
      const before = Object.entries(change.replaced)
      const kept = before.filter(([id]) => !taken.has(`${change.id} ${id}`))
      owned ||= kept.some(([, { owner }]) => owner !== '')
      if (kept.length < before.length) await storage.putChange({ ...change, replaced: Object.fromEntries(kept) })
    }
    const now = await storage.shelf(record.name)
    if (now !== null && !owned) await storage.putShelf({ ...now, owned })
  }

  /** Whether a tenant's place of a shelf is missing, or has vectors of this kind. */
  async function takes(tenant: string, { name, embedder, dimension }: ShelfRecord): Promise<boolean> {
    const present = await storage.shelf(placeName({ ...placeOf(name), tenant }))
    return present === null || (present.embedder === embedder && present.dimension === dimension)
  }

  /**
   * Adds rows to a place, which is created if missing. An item of the same text that is already there is newer, and
   * stays.
   */
  async function put(name: string, { embedder, dimension }: ShelfRecord, rows: readonly Row[]): Promise<void> {
    const present = await storage.shelf(name)
    const record = present ?? { name, table: tableName(name), embedder, dimension, owned: true }
    const ids = rows.map(({ id }) => id)
    const there = present === null ? [] : await storage.rows(present, ids)
    const fresh = rows.filter(({ id }) => !there.some((row) => row.id === id))
    if (fresh.length > 0) await storage.putRows(record, fresh, [])
    await storage.putShelf({ ...record, owned: true })
  }

  return {
    /** Runs the migration once; callers meanwhile wait for the same run. */
    split(): Promise<void> {
      started ??= splitShelves().catch((error: unknown) => {
        started = null
        throw error
      })
      return started
    },
  }
}

/**
 * The versions of an item, down to the newest that was learnt from no tenant's case: the newest version of each tenant,
 * that one itself, and the changes above it.
 */
function versionsBelow(row: Row, changes: ReadonlyMap<string, ChangeRecord>, tenants: ReadonlyMap<string, string>) {
  const newest = new Map<string, Version>()
  const steps: string[] = []
  let version: Version | null = versionOf(row)
  while (version !== null && version.owner !== '') {
    const tenant = tenants.get(version.owner)
    if (tenant !== undefined && !newest.has(tenant)) newest.set(tenant, version)
    steps.push(version.change)
    version = entryOf(changes.get(version.change)?.replaced ?? {}, row.id) ?? null
  }
  return { newest, base: version, steps }
}
