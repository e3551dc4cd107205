import { entryOf } from '../contracts/facts/entry-of.ts'
import { OperatorError } from '../contracts/facts/errors.ts'
import {
  contentId,
  type Precedent,
  type ShelvedItem,
  type TracedItems,
  type Whereabouts,
} from '../contracts/ports/library.ts'
import { changeId, placeName, placeOf, type ShelfPlace } from './names.ts'
import { type ProposalRecord, type Row, replacedWithout, type ShelfRecord, type Storage, versionOf } from './storage.ts'

/** An item at its place. */
interface FoundRow {
  readonly record: ShelfRecord
  readonly row: Row
}

/** A content id: verdicts name precedents by it. */
const PRECEDENT = /^[0-9a-f]{32}$/

/**
 * Finds items by the id that a verdict, a proposal or the history gives them, and takes single ones back.
 */
export function takingBack(storage: Storage, now: () => number) {
  async function trace(id: string): Promise<TracedItems> {
    const found = await standing(id)
    const proposals = (await storage.proposals()).filter(isMeant(id))
    const change = await storage.change(id)
    if (found.length === 0 && proposals.length === 0 && change === null && !PRECEDENT.test(id))
      throw new OperatorError(
        `There is no precedent, proposal or change ${id}. Verdicts name precedents in evidence.precedents; "gavel learn list" and "gavel library history" list the others.`,
      )
    const precedents = new Map<string, Precedent>()
    const note = (one: Precedent) => precedents.set(JSON.stringify([one.id, one.tenant]), one)
    for (const { record, row } of found) note({ id: row.id, tenant: placeOf(record.name).tenant })
    for (const { proposal } of proposals) note({ id: contentId(proposal.text), tenant: proposal.provenance.tenant })
    // Verdicts name a precedent only by its content id, whichever tenant's it was, even after it was taken back.
    if (PRECEDENT.test(id)) note({ id, tenant: null })
    return {
      precedents: [...precedents.values()],
      standing: found.map((one) => shelvedItemOf(one, proposals)),
      proposals: proposals.map(({ proposal }) => proposal),
    }
  }

  /** The items with this id, at every place that has one. */
  async function standing(id: string): Promise<FoundRow[]> {
    const proposals = (await storage.proposals()).filter(({ proposal }) => proposal.id === id)
    const found: FoundRow[] = []
    for (const record of await storage.shelves()) {
      const own = proposals.filter(({ proposal }) => placeName(placeFor(proposal)) === record.name)
      const ids = PRECEDENT.test(id) ? [id] : own.map(({ proposal }) => contentId(proposal.text))
      if (!PRECEDENT.test(id) && proposals.length === 0)
        ids.push(...(await storage.rowsBy(record, { change: id })).map((row) => row.id))
      if (ids.length === 0) continue
      const rows = await storage.rows(record, ids)
      found.push(...rows.map((row) => ({ record, row })))
    }
    return found
  }

  async function takeBack(id: string, by: string, where: Whereabouts): Promise<readonly ShelvedItem[]> {
    return storage.exclusive(async () => {
      if ((await storage.change(id)) !== null)
        throw new OperatorError(`${id} is a change: "gavel library rollback ${id}" takes back all of it.`)
      const all = await standing(id)
      const wanted = all.filter(({ record }) => isThere(placeOf(record.name), where))
      if (wanted.length === 0)
        throw new OperatorError(
          all.length === 0
            ? `${id} is not on any shelf: it was already taken back, was never approved, or is the id of something else.`
            : `${id} is not there; found on: ${placesIn(all)}.`,
        )
      if (wanted.length > 1 && where.everywhere !== true)
        throw new OperatorError(
          `${id} is on more than one shelf or tenant's part: ${placesIn(wanted)}. Say which with --shelf and --tenant, or --everywhere.`,
        )
      const proposals = await storage.proposals()
      const taken: ShelvedItem[] = []
      for (const one of wanted) {
        const { record, row } = one
        const theirs = proposals.filter(
          ({ proposal }) =>
            proposal.state === 'approved' &&
            placeName(placeFor(proposal)) === record.name &&
            contentId(proposal.text) === row.id,
        )
        await takeRow(one, by)
        for (const approved of theirs)
          await storage.putProposal({
            ...approved,
            proposal: { ...approved.proposal, state: 'rejected', change: null },
          })
        taken.push(shelvedItemOf(one, theirs))
      }
      return taken
    })
  }

  /** Removes one item from its place, and restores what it had replaced there. */
  async function takeRow({ record, row }: FoundRow, by: string): Promise<void> {
    const made = await storage.change(row.change)
    const before = made === null ? null : (entryOf(made.replaced, row.id) ?? null)
    await storage.addStep(
      { id: changeId(now()), shelf: record.name, kind: 'drop', by, at: now(), item: row.id },
      { added: 0, unchanged: 0, relabelled: 0, replaced: {} },
    )
    await storage.rewrite(record, new Map([[row.id, before === null ? null : versionOf(before)]]))
    if (made !== null && before !== null) {
      const kept = Object.entries(made.replaced).filter(([id]) => id !== row.id)
      await storage.putChange({ ...made, replaced: Object.fromEntries(kept) })
    }
  }

  return { trace, takeBack }
}

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
      const isMeant = (place: ShelfPlace) => place.shelf === shelf && (tenant === undefined || place.tenant === tenant)
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

/** What is learnt from a tenant's case belongs to that tenant. */
export function placeFor({ shelf, provenance }: { shelf: string; provenance: { tenant: string } }): ShelfPlace {
  return { shelf, tenant: provenance.tenant }
}

function isMeant(id: string) {
  return ({ proposal }: ProposalRecord) =>
    proposal.id === id || proposal.change === id || (PRECEDENT.test(id) && contentId(proposal.text) === id)
}

function isThere({ shelf, tenant }: ShelfPlace, where: Whereabouts): boolean {
  return (where.shelf ?? shelf) === shelf && (where.tenant ?? tenant) === tenant
}

function placesIn(found: readonly FoundRow[]): string {
  return found
    .map(({ record }) => placeOf(record.name))
    .map(({ shelf, tenant }) => (tenant === null ? shelf : `${shelf} of ${tenant}`))
    .join(', ')
}

function shelvedItemOf({ record, row }: FoundRow, proposals: readonly ProposalRecord[]): ShelvedItem {
  const place = placeOf(record.name)
  const theirs = proposals.filter(
    ({ proposal }) => placeName(placeFor(proposal)) === record.name && contentId(proposal.text) === row.id,
  )
  return {
    ...place,
    id: row.id,
    text: row.text,
    label: row.label,
    change: row.change,
    proposals: theirs.map(({ proposal }) => proposal.id),
    by: [...new Set(theirs.map(({ proposal }) => proposal.provenance.by))],
  }
}
