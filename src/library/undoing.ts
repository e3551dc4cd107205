import { entryOf } from '../domain/entry-of.ts'
import { OperatorError } from '../domain/errors.ts'
import type { SubjectRef } from '../ports/library.ts'
import { changeId, ownerOf, type Place, placeName, placeOf } from './names.ts'
import type { ChangeRecord, ShelfRecord, Storage, Version } from './storage.ts'
import { placeFor } from './take-back.ts'

/**
 * Takes back whole changes, forgets a subject, drops a shelf. `ready` is called before anything that earlier versions learnt
 * is looked at.
 */
export function undoing(storage: Storage, { now, ready }: { now: () => number; ready: () => Promise<void> }) {
  /** The places that a change may have written to; what an earlier version approved now stands with its tenants. */
  async function placesOf({ shelf: name, kind }: ChangeRecord): Promise<ShelfRecord[]> {
    const { shelf, tenant } = placeOf(name)
    const all = kind === 'approve' && tenant === null
    return (await storage.shelves()).filter(
      (record) => record.name === name || (all && placeOf(record.name).shelf === shelf),
    )
  }

  async function rollback(id: string): Promise<void> {
    await ready()
    await storage.exclusive(async () => {
      const change = await storage.change(id)
      if (change === null) throw new OperatorError(`There is no change ${id}. "gavel library history" lists them.`)
      if (change.rolledBackAt !== null) throw new OperatorError(`The change ${id} was rolled back already.`)
      if (change.kind === 'drop')
        throw new OperatorError(
          change.item === undefined
            ? `The change ${id} dropped a shelf, which is final.`
            : `The change ${id} took one item back, which is final: approve its proposal, or import it again.`,
        )
      const places = await placesOf(change)
      for (const record of places) {
        const mine = await storage.rowsBy(record, { change: id })
        if (mine.length > 0)
          await storage.rewrite(record, new Map(mine.map((row) => [row.id, entryOf(change.replaced, row.id) ?? null])))
      }
      // Later changes that replaced items of this one now count as having replaced what was there before it.
      const names = new Set([change.shelf, ...places.map(({ name }) => name)])
      for (const later of (await storage.changes()).filter(({ shelf }) => names.has(shelf))) {
        const replaced = replacedWithout(
          later,
          (version) => version.change === id,
          (key) => entryOf(change.replaced, key) ?? null,
        )
        if (replaced !== later.replaced) await storage.putChange({ ...later, replaced })
      }
      for (const record of await storage.proposals())
        if (record.proposal.change === id)
          await storage.putProposal({ ...record, proposal: { ...record.proposal, state: 'waiting', change: null } })
      await storage.putChange({ ...change, replaced: {}, rolledBackAt: now() })
    })
  }

  async function forget(subject: SubjectRef): Promise<number> {
    const owner = ownerOf(subject)
    // Noted first: a proposal of the subject's content that is being made meanwhile finds the note, and is removed.
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
      for (const shelf of shelves) erased += await forgetOn(shelf, owner)
      for (const proposal of proposals) await storage.removeProposal(proposal)
      return erased
    })
  }

  /** Removes a subject's versions from every item's history, as if they had never been; resolves to how many items showed one. */
  async function forgetOn(record: ShelfRecord, owner: string): Promise<number> {
    const changes = new Map((await storage.changes(record.name)).map((change) => [change.id, change]))
    const showing = await storage.rowsBy(record, { owner })
    const logged = [...changes.values()].some(({ replaced }) =>
      Object.values(replaced).some((it) => it.owner === owner),
    )
    if (showing.length === 0 && !logged) return 0
    const beforeThat = (id: string, change: string): Version | null => {
      const before = entryOf(changes.get(change)?.replaced ?? {}, id) ?? null
      return before?.owner === owner ? beforeThat(id, before.change) : before
    }
    await storage.rewrite(record, new Map(showing.map(({ id, change }) => [id, beforeThat(id, change)])))
    const gone = new Set(showing.map(({ id, change }) => `${change} ${id}`))
    for (const { replaced } of changes.values())
      for (const [id, version] of Object.entries(replaced))
        if (version.owner === owner) gone.add(`${version.change} ${id}`)
    for (const change of changes.values()) {
      const all = Object.entries(change.replaced)
      const kept = all.filter(([id]) => !gone.has(`${change.id} ${id}`))
      const replaced = replacedWithout(
        { replaced: kept.length === all.length ? change.replaced : Object.fromEntries(kept) },
        (version) => version.owner === owner,
        (id, version) => beforeThat(id, version.change),
      )
      if (replaced !== change.replaced) await storage.putChange({ ...change, replaced })
    }
    return showing.length
  }

  async function drop(shelf: string, by: string, tenant?: string): Promise<void> {
    await ready()
    await storage.exclusive(async () => {
      const isMeant = (place: Place) => place.shelf === shelf && (tenant === undefined || place.tenant === tenant)
      const records = (await storage.shelves()).filter(({ name }) => isMeant(placeOf(name)))
      if (records.length === 0)
        throw new OperatorError(
          `There is no shelf "${shelf}"${tenant === undefined ? '' : ` of the tenant ${tenant}`}.`,
        )
      for (const record of records) await storage.removeShelf(record)
      for (const change of await storage.changes())
        if (change.kind !== 'drop' && isMeant(placeOf(change.shelf))) await storage.removeChange(change.id)
      for (const record of await storage.proposals())
        if (record.proposal.state === 'approved' && isMeant(placeFor(record.proposal)))
          await storage.putProposal({ ...record, proposal: { ...record.proposal, state: 'waiting', change: null } })
      const nothing = { added: 0, unchanged: 0, relabelled: 0, replaced: {} }
      const name = placeName({ shelf, tenant: tenant ?? null })
      await storage.addStep({ id: changeId(now()), shelf: name, kind: 'drop', by, at: now() }, nothing)
    })
  }

  return { rollback, forget, drop }
}

/** What a change replaced, with some versions exchanged for others; the same object if none is. */
function replacedWithout(
  { replaced }: Pick<ChangeRecord, 'replaced'>,
  which: (version: Version) => boolean,
  instead: (id: string, version: Version) => Version | null,
): ChangeRecord['replaced'] {
  if (!Object.values(replaced).some(which)) return replaced
  return Object.fromEntries(
    Object.entries(replaced).flatMap(([id, version]) => {
      const now = which(version) ? instead(id, version) : version
      return now === null ? [] : [[id, now]]
    }),
  )
}
