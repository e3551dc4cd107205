import { entryOf } from '../domain/entry-of.ts'
import type { Forgotten } from '../ports/library.ts'
import { learntFrom, ownerOf } from './names.ts'
import { replacedWithout } from './replaced-without.ts'
import {
  type ChangeRecord,
  DamagedFiles,
  type RowKey,
  type ShelfRecord,
  type Storage,
  type Version,
} from './storage.ts'

/** Erases what was learnt from subjects: their proposals and their items, also in the history of changes. */
export function forgetting(storage: Storage) {
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

  /** Those of the owners of whose content anything is there. */
  async function owning(owners: ReadonlySet<string>) {
    const owned = new Set<string>()
    for (const { proposal } of await storage.proposals({ owners })) owned.add(ownerOf(learntFrom(proposal.provenance)))
    const damaged = await onShelves(async (record) => {
      for (const { owner } of await storage.rowsBy(record, { owners })) owned.add(owner)
      for (const { replaced } of await storage.changes(record.name))
        for (const { owner } of Object.values(replaced)) if (owners.has(owner)) owned.add(owner)
    })
    return { owned, damaged }
  }

  return async (all: readonly string[]): Promise<Forgotten> => {
    // Noted first: a proposal of their content that is being made at the same time finds the note, and is removed.
    await storage.noteForgotten(all)
    const owners = new Set(all)
    const seen = await owning(owners)
    // A writer that died may have left their content where no record leads to it.
    if (seen.owned.size === 0 && !(await storage.hasLeftovers())) return { erased: 0, ...seen }
    return storage.exclusive(async () => {
      const { owned } = await owning(owners)
      const proposals = await storage.proposals({ owners })
      let erased = proposals.length
      const damaged = await onShelves(async (record) => {
        erased += await forgetOn(storage, record, owners)
      })
      for (const proposal of proposals) await storage.removeProposal(proposal)
      return { erased, owned, damaged }
    })
  }
}

/**
 * Removes subjects' versions from every item's history, as if they had never existed; resolves to how many items
 * showed one.
 */
async function forgetOn(storage: Storage, record: ShelfRecord, owners: ReadonlySet<string>): Promise<number> {
  const changes = new Map((await storage.changes(record.name)).map((change) => [change.id, change]))
  const showing = await storage.rowsBy(record, { owners })
  const isTheirs = ({ owner }: Pick<Version, 'owner'>) => owners.has(owner)
  const logged = [...changes.values()].some(({ replaced }) => Object.values(replaced).some(isTheirs))
  if (showing.length === 0 && !logged) return 0
  /** The newest version from before a change that is not the subjects' content; null if there is none. */
  const beforeThat = (id: string, change: string): Version | null => {
    const before = entryOf(changes.get(change)?.replaced ?? {}, id) ?? null
    return before !== null && isTheirs(before) ? beforeThat(id, before.change) : before
  }
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
