import { entryOf } from '../domain/entry-of.ts'
import type { SubjectRef } from '../ports/library.ts'
import { ownerOf, placeOf } from './names.ts'
import { replacedWithout } from './replaced-without.ts'
import type { ChangeRecord, ShelfRecord, Storage, Version } from './storage.ts'

/** Erases what was learnt from a subject: its proposals and its items, also in the history of changes. */
export function forgetting(storage: Storage) {
  /** Resolves to how many proposals and shown items were erased. */
  return async (subject: SubjectRef): Promise<number> => {
    const owner = ownerOf(subject)
    // Noted first: a proposal of the subject's content that is being made at the same time finds the note, and is
    // removed.
    await storage.noteForgotten(owner)
    const concerned = async () => ({
      proposals: await storage.proposals({ owner }),
      shelves: (await storage.shelves()).filter(
        ({ name, owned }) => owned && (placeOf(name).tenant ?? subject.tenant) === subject.tenant,
      ),
    })
    const seen = await concerned()
    if (seen.proposals.length + seen.shelves.length === 0) return 0
    return storage.exclusive(async () => {
      const { proposals, shelves } = await concerned()
      let erased = proposals.length
      for (const shelf of shelves) erased += await forgetOn(storage, shelf, owner)
      for (const proposal of proposals) await storage.removeProposal(proposal)
      return erased
    })
  }
}

/**
 * Removes a subject's versions from every item's history, as if they had never existed; resolves to how many items
 * showed one.
 */
async function forgetOn(storage: Storage, record: ShelfRecord, owner: string): Promise<number> {
  const changes = new Map((await storage.changes(record.name)).map((change) => [change.id, change]))
  const showing = await storage.rowsBy(record, { owner })
  const logged = [...changes.values()].some(({ replaced }) => Object.values(replaced).some((it) => it.owner === owner))
  if (showing.length === 0 && !logged) return 0
  /** The newest version from before a change that is not the subject's content; null if there is none. */
  const beforeThat = (id: string, change: string): Version | null => {
    const before = entryOf(changes.get(change)?.replaced ?? {}, id) ?? null
    return before?.owner === owner ? beforeThat(id, before.change) : before
  }
  await storage.rewrite(record, new Map(showing.map(({ id, change }) => [id, beforeThat(id, change)])))
  const gone = goneVersions(changes.values(), showing, owner)
  for (const change of changes.values()) {
    const all = Object.entries(change.replaced)
    const kept = all.filter(([id]) => !gone.has(versionKey(change.id, id)))
    const replaced = replacedWithout(
      { replaced: kept.length === all.length ? change.replaced : Object.fromEntries(kept) },
      (version) => version.owner === owner,
      (id, version) => beforeThat(id, version.change),
    )
    if (replaced !== change.replaced) await storage.putChange({ ...change, replaced })
  }
  return showing.length
}

/** Keys of all the subject's versions, current or replaced: what each of them replaced is deleted from its change. */
function goneVersions(
  changes: Iterable<ChangeRecord>,
  showing: readonly { id: string; change: string }[],
  owner: string,
): ReadonlySet<string> {
  const gone = new Set(showing.map(({ id, change }) => versionKey(change, id)))
  for (const { replaced } of changes)
    for (const [id, version] of Object.entries(replaced))
      if (version.owner === owner) gone.add(versionKey(version.change, id))
  return gone
}

/** Names a version by the change that made it and its content id, which holds no space. */
function versionKey(change: string, id: string): string {
  return `${change} ${id}`
}
