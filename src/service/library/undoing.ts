import { entryOf } from '../domain/entry-of.ts'
import { OperatorError } from '../domain/errors.ts'
import { changeId, type Place, placeName, placeOf } from './names.ts'
import { replacedWithout } from './replaced-without.ts'
import type { Storage } from './storage.ts'
import { placeFor } from './take-back.ts'

/** Rolls back whole changes and drops shelves. */
export function undoing(storage: Storage, now: () => number) {
  async function rollback(id: string): Promise<void> {
    await storage.exclusive(async () => {
      const change = await storage.change(id)
      if (change === null) throw new OperatorError(`There is no change ${id}. "gavel library history" lists them.`)
      if (change.rolledBackAt !== null) throw new OperatorError(`The change ${id} was rolled back already.`)
      if (change.kind === 'drop')
        throw new OperatorError(
          change.item === undefined
            ? `The change ${id} dropped a shelf and cannot be rolled back.`
            : `The change ${id} removed a single item and cannot be rolled back: approve its proposal, or import it again.`,
        )
      const record = await storage.shelf(change.shelf)
      const mine = record === null ? [] : await storage.rowsBy(record, { change: id })
      if (record !== null && mine.length > 0)
        await storage.rewrite(record, new Map(mine.map((row) => [row.id, entryOf(change.replaced, row.id) ?? null])))
      // Later changes that replaced items of this one now count as having replaced what was there before it.
      for (const later of await storage.changes(change.shelf)) {
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

  async function drop(shelf: string, by: string, tenant?: string): Promise<void> {
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

  return { rollback, drop }
}
