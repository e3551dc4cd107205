import { entryOf } from '../contracts/facts/entry-of.ts'
import type { ErasedItems } from '../contracts/ports/library.ts'
import {
  type ChangeRecord,
  DamagedFiles,
  type RowKey,
  replacedWithout,
  type ShelfRecord,
  type Storage,
  type Version,
} from './storage.ts'

/** Erases what was learnt from subjects: their proposals and their items, also in the history of changes. */
export function libraryErasure(storage: Storage) {
  /** Does the work on each shelf that has ever held a subject's content; resolves to what is wrong with the damaged ones. */
  async function onShelves(work: (record: ShelfRecord) => Promise<void>): Promise<DamagedFiles[]> {
    const damaged: DamagedFiles[] = []
    for (const record of await storage.shelves()) {
      if (!record.owned) continue
      try {
        await work(record)
      } catch (error) {
        if (!(error instanceof DamagedFiles)) throw error
        damaged.push(error)
      }
    }
    return damaged
  }

  /**
   * Those of the owners of whose content anything is there, and how many proposals. Changes are read before and after the
   * shelves: a writer at work moves a version from one to the other.
   */
  async function owning(owners: ReadonlySet<string>) {
    const proposals = await storage.proposalsOf(owners)
    const owned = new Set(proposals.keys())
    const before = await storage.changes()
    const damaged = await onShelves(async (record) => {
      for (const { owner } of await storage.rowsBy(record, { owners })) owned.add(owner)
    })
    const changes = await storage.changes()
    for (const { replaced } of [...before, ...changes])
      for (const { owner } of Object.values(replaced)) if (owners.has(owner)) owned.add(owner)
    const unread = changes.filter((change) => change.damaged)
    return {
      owned,
      changes,
      proposals: [...proposals.values()].reduce((sum, count) => sum + count, 0),
      damaged: [...damaged, ...unread.map(({ id }) => DamagedFiles.ofChange(id, undefined))],
    }
  }

  return async (all: readonly string[], again?: 'again'): Promise<ErasedItems> => {
    // Noted first: a proposal of their content that is being made at the same time finds the note, and is removed.
    if (again === undefined) await storage.noteForgotten(all)
    const owners = new Set(all)
    const { owned, changes, damaged } = await owning(owners)
    // A writer that died may have left their content where no record leads to it.
    if (owned.size === 0 && !changes.some(({ torn }) => torn) && !(await storage.hasLeftovers()))
      return { erased: 0, owned, damaged }
    return storage.exclusive(async () => {
      const seen = await owning(owners)
      const logged = Map.groupBy(seen.changes, ({ shelf }) => shelf)
      let erased = seen.proposals
      await onShelves(async (record) => {
        erased += await forgetOn(storage, record, logged.get(record.name) ?? [], owners)
      })
      // Of a shelf whose dropping was cut off only the changes are left.
      const there = new Set((await storage.shelves()).map(({ name }) => name))
      for (const [shelf, changes] of logged) if (!there.has(shelf)) await forgetOn(storage, null, changes, owners)
      for (const change of await storage.changes()) if (change.torn) await storage.putChange(change)
      await storage.removeProposalsOf(owners)
      return { erased, owned: seen.owned, damaged: seen.damaged }
    })
  }
}

/**
 * Removes subjects' versions from every item's history, as if they had never existed; resolves to how many items
 * showed one. `logged` are the changes of the shelf, which is null if it is there no more.
 */
async function forgetOn(
  storage: Storage,
  record: ShelfRecord | null,
  logged: readonly ChangeRecord[],
  owners: ReadonlySet<string>,
): Promise<number> {
  const changes = new Map(logged.map((change) => [change.id, change]))
  const showing = record === null ? [] : await storage.rowsBy(record, { owners })
  const isTheirs = ({ owner }: Pick<Version, 'owner'>) => owners.has(owner)
  const isLogged = logged.some(({ replaced }) => Object.values(replaced).some(isTheirs))
  if (showing.length === 0 && !isLogged) return 0
  /** The newest version from before a change that is not the subjects' content; null if there is none. */
  const beforeThat = (id: string, change: string): Version | null => {
    const before = entryOf(changes.get(change)?.replaced ?? {}, id) ?? null
    return before !== null && isTheirs(before) ? beforeThat(id, before.change) : before
  }
  // Also where no row shows one now: the table's files still hold what was replaced.
  if (record !== null)
    await storage.rewrite(record, new Map(showing.map(({ id, change }) => [id, beforeThat(id, change)])))
  const gone = goneVersions(changes.values(), showing, isTheirs)
  for (const change of changes.values()) {
    const before = Object.entries(change.replaced)
    const kept = before.filter(([id]) => !gone.has(versionKey(change.id, id)))
    const replaced = replacedWithout(
      { replaced: kept.length === before.length ? change.replaced : Object.fromEntries(kept) },
      isTheirs,
      (id, version) => beforeThat(id, version.change),
    )
    if (replaced !== change.replaced) await storage.putChange({ ...change, replaced })
  }
  return showing.length
}

/** Keys of all the subjects' versions, current or replaced: what each of them replaced is deleted from its change. */
function goneVersions(
  changes: Iterable<ChangeRecord>,
  showing: readonly RowKey[],
  isTheirs: (version: Version) => boolean,
): ReadonlySet<string> {
  const gone = new Set(showing.map(({ id, change }) => versionKey(change, id)))
  for (const { replaced } of changes)
    for (const [id, version] of Object.entries(replaced))
      if (isTheirs(version)) gone.add(versionKey(version.change, id))
  return gone
}

/** Names a version by the change that made it and its content id, which holds no space. */
function versionKey(change: string, id: string): string {
  return `${change} ${id}`
}
