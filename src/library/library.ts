import { entryOf } from '../domain/entry-of.ts'
import { OperatorError, PermanentError, RetryLaterError } from '../domain/errors.ts'
import type { Found, Neighbour } from '../domain/library.ts'
import {
  type Change,
  contentId,
  type Embedder,
  type Item,
  type Library,
  type LoggedChange,
  type NewProposal,
  type Proposal,
  type Proposer,
  type Room,
  type Search,
  type Shelf,
  type SubjectRef,
} from '../ports/library.ts'
import { changeId, DEFAULT_TENANT, hashOf, ownerOf, type Place, placeName, placeOf, tableName } from './names.ts'
import { partedByTenant } from './part-by-tenant.ts'
import { nearDuplicates, readingOf, sameText, textKey, wholeOf } from './same-text.ts'
import {
  type ChangeRecord,
  type NearRow,
  type Row,
  type ShelfRecord,
  type Storage,
  type Version,
  versionOf,
} from './storage.ts'
import { placeFor, takingBack } from './take-back.ts'

export interface LibraryOptions {
  readonly embedder: Embedder
  /** ms since 1970. */
  readonly now: () => number
  /** How many proposals of one author of a tenant a shelf takes, waiting and approved together. */
  readonly proposalsPerAuthor: number
  /** How many an author, and all authors of a tenant, may propose in any `perMs` ms, whatever became of them. */
  readonly newProposals: { readonly perAuthor: number; readonly perTenant: number; readonly perMs: number }
  /** Shelves of which every tenant is shown what stands there for none in particular; of others only the default tenant is. */
  readonly shared: ReadonlySet<string>
}

/** Texts that are embedded in one call: small enough that a stop is heard soon. */
const EMBEDDED_AT_ONCE = 256
/** A table that was replaced while it was read is read again under its new name. */
const READ_TRIES = 3
/** Rows that are read beyond those asked for, since some may be the case's own; and how many times more where all were. */
const SPARE = 8
const FURTHER = 4

/** A library over any storage: what is found, what a change does, what it takes to take it back. */
export function libraryOver(storage: Storage, options: LibraryOptions): Library {
  const { embedder, now, proposalsPerAuthor, newProposals, shared } = options
  const legacy = partedByTenant(storage)

  async function find(wanted: Search, subject: SubjectRef, signal: AbortSignal): Promise<Found & { tokens: number }> {
    const { text, lang, shelves, k } = wanted
    const weak = embedder.weakFor(text, lang)
    const none = (shelf: string, problem: string) => ({ shelf, neighbours: [], problem })
    if (text.trim() === '')
      return { shelves: shelves.map((shelf) => none(shelf, 'there is no text to look for')), weak: null, tokens: 0 }
    await ready()
    const { tenant } = subject
    const problems = await Promise.all(shelves.map((shelf) => problemFor(shelf, tenant)))
    if (!problems.includes(null))
      return { shelves: shelves.map((shelf, at) => none(shelf, problems[at] ?? '')), weak: null, tokens: 0 }

    const { vectors, tokens } = await embedder.embed([text], signal)
    const vector = vectors[0]
    if (vector === undefined) throw new RetryLaterError('unavailable', 'the embedder gave no vector')
    const heldOut = heldOutFor(wanted, subject)
    const looked = shelves.map(async (shelf, at) => {
      const problem = problems[at] ?? null
      return problem === null ? nearFor(shelf, tenant, vector, k, heldOut) : none(shelf, problem)
    })
    const found = await Promise.all(looked)
    return { shelves: found, weak: weak ?? weakAmong(found), tokens }
  }

  /** Vectors of texts that the embedder does not know are as weak on the shelf as in the question. */
  function weakAmong(found: Found['shelves']): string | null {
    const texts = found.flatMap(({ neighbours }) => neighbours.map(({ text }) => text))
    const weak = texts.flatMap((text) => embedder.weakFor(text) ?? [])
    if (weak.length === 0) return null
    return `${weak.length} of the ${texts.length} items that were found are weak themselves: ${weak[0]}`
  }

  /** Nothing is shown before what earlier versions learnt is parted by tenant. */
  async function ready(): Promise<void> {
    try {
      await legacy.part()
    } catch (cause) {
      if (cause instanceof PermanentError || cause instanceof RetryLaterError) throw cause
      throw new RetryLaterError('library', 'the library could not be read', { cause })
    }
  }

  /** The places of a shelf that this tenant is shown, its own first. */
  function shownTo(tenant: string, shelf: string): Place[] {
    const loaded = tenant === DEFAULT_TENANT || shared.has(shelf) ? [{ shelf, tenant: null }] : []
    return [{ shelf, tenant }, ...loaded]
  }

  /** Why a tenant can be shown nothing of a shelf; null where it can. */
  async function problemFor(shelf: string, tenant: string): Promise<string | null> {
    const records = await Promise.all(shownTo(tenant, shelf).map((place) => shelfNow(placeName(place))))
    const problems = records.flatMap((record) => (record === null ? [] : [problemOf(shelf, record)]))
    if (problems.length > 0) return problems.includes(null) ? null : (problems[0] ?? null)
    return `${problemOf(shelf, null)}${tenant === DEFAULT_TENANT ? '' : ` for the tenant ${tenant}`}`
  }

  /** The nearest of all that a tenant is shown of a shelf; of the same text its own. */
  async function nearFor(shelf: string, tenant: string, vector: Float32Array, k: number, heldOut: HeldOut) {
    const looks = shownTo(tenant, shelf).map((place) => near(place, vector, k, heldOut))
    const found = (await Promise.all(looks)).filter((place) => place !== null)
    const rows = new Map<string, NearRow>()
    for (const row of found.flatMap((place) => place.rows)) if (!rows.has(row.id)) rows.set(row.id, row)
    const nearest = [...rows.values()].sort((one, other) => other.similarity - one.similarity).slice(0, k)
    const sum = (which: 'own' | 'nearDuplicates') => found.reduce((total, { excluded }) => total + excluded[which], 0)
    const excluded = { own: sum('own'), nearDuplicates: sum('nearDuplicates') }
    const passed = excluded.own + excluded.nearDuplicates === 0 ? {} : { excluded }
    if (nearest.length > 0) return { shelf, neighbours: nearest.map(neighbourOf), problem: null, ...passed }
    const [problem = null] = found.flatMap((place) => place.problem ?? [])
    const holds = `holds nothing but the case itself${excluded.nearDuplicates === 0 ? '' : ' and its near-duplicates'}`
    const why = 'excluded' in passed ? holds : 'is empty'
    return { shelf, neighbours: [], problem: problem ?? `the shelf "${shelf}" ${why}`, ...passed }
  }

  /** The nearest of one place; null where there is none. What was learnt is shown at its tenant's place alone. */
  async function near({ shelf, tenant }: Place, vector: Float32Array, k: number, heldOut: HeldOut) {
    const none = { rows: [], excluded: { own: 0, nearDuplicates: 0 } }
    return read(placeName({ shelf, tenant }), async (record) => {
      const problem = problemOf(shelf, record, vector.length)
      return problem === null
        ? { ...(await nearestBut(record, vector, k, heldOut, tenant === null)), problem }
        : { ...none, problem }
    })
  }

  /** The `k` nearest rows that are not held out, and how many nearer ones were. */
  async function nearestBut(
    record: ShelfRecord,
    vector: Float32Array,
    k: number,
    heldOut: HeldOut,
    loadedOnly: boolean,
  ) {
    for (let limit = Math.ceil(k) + SPARE; ; limit *= FURTHER) {
      const near = await storage.nearest(record, vector, limit, loadedOnly)
      const rows: NearRow[] = []
      const excluded = { own: 0, nearDuplicates: 0 }
      for (const row of near) {
        const why = heldOut(row)
        if (why !== null) excluded[why]++
        else if (rows.push(row) >= k) break
      }
      if (rows.length >= k || near.length < limit) return { rows, excluded }
    }
  }

  /** Reads a place, whose table another process may replace meanwhile; null if it is missing. */
  async function read<Result>(name: string, look: (record: ShelfRecord) => Promise<Result>): Promise<Result | null> {
    let cause: unknown
    for (let attempt = 1; attempt <= READ_TRIES; attempt++) {
      const record = await shelfNow(name)
      if (record === null) return null
      try {
        return await look(record)
      } catch (error) {
        if (error instanceof PermanentError || error instanceof OperatorError) throw error
        cause = error
      }
    }
    throw new RetryLaterError('library', `the shelf "${placeOf(name).shelf}" could not be read`, { cause })
  }

  /** A place's record as it stands; null if there is none, or can be none of that name. */
  async function shelfNow(name: string): Promise<ShelfRecord | null> {
    try {
      return NAME.test(placeOf(name).shelf) ? await storage.shelf(name) : null
    } catch (cause) {
      throw new RetryLaterError('library', 'the library could not be read', { cause })
    }
  }

  function problemOf(shelf: string, record: ShelfRecord | null, dimension = embedder.dimension): string | null {
    if (record === null) return `the shelf "${shelf}" is missing`
    if (record.embedder === embedder.name && (dimension ?? record.dimension) === record.dimension) return null
    const present = dimension === null ? embedder.name : `${embedder.name} (${dimension} dimensions)`
    return `the shelf "${shelf}" was made by the embedder ${record.embedder} (${record.dimension} dimensions), not by ${present}`
  }

  function usable(shelf: string, record: ShelfRecord, dimension?: number): ShelfRecord {
    const problem = problemOf(shelf, record, dimension)
    if (problem === null) return record
    throw new OperatorError(`${problem}. Set library.embedder to it, or drop the shelf and import it again.`)
  }

  interface Writing {
    readonly place: Place
    readonly kind: 'add' | 'approve'
    readonly items: readonly Item[]
    readonly by: string
    readonly signal: AbortSignal
    readonly change: string
    /** Looked at when no other writer can come between: which of the items are still to be written. */
    readonly still?: () => Promise<readonly Item[]>
    readonly written?: () => Promise<void>
  }

  async function write({ place, kind, items, by, signal, change, still, written }: Writing): Promise<Change> {
    const shelf = checkedName(place.shelf)
    const name = placeName(place)
    const ids = items.map(({ text }) => contentId(text))
    const known = (await read(name, (record) => storage.rows(usable(shelf, record), ids))) ?? []
    const vectors = new Map<string, Float32Array>()
    await embedMissing(items, new Set(known.map(({ id }) => id)), vectors, signal)
    return storage.exclusive(async () => {
      const wanted = latest(still === undefined ? items : await still())
      const standing = await storage.shelf(name)
      const rows = standing === null ? [] : await storage.rows(standing, [...wanted.items.keys()])
      const before = new Map(rows.map((row) => [row.id, row]))
      // Rarely any: what stood there a moment ago, and was taken away since.
      await embedMissing([...wanted.items.values()], new Set(before.keys()), vectors, signal)

      const fresh: Row[] = []
      const replacing: Row[] = []
      const replaced = new Map<string, Version>()
      let { unchanged, relabelled } = wanted
      for (const [id, item] of wanted.items) {
        const old = before.get(id)
        const vector = old?.vector ?? vectors.get(id)
        if (vector === undefined) throw new RetryLaterError('unavailable', 'the embedder left a text out')
        if (old?.label === item.label) {
          unchanged++
          continue
        }
        const row = { id, text: old?.text ?? item.text, vector, ...versionOfItem(item, change) }
        if (old === undefined) fresh.push(row)
        else {
          replacing.push(row)
          relabelled++
          if (old.change !== change) replaced.set(id, versionOf(old))
        }
      }
      const dimension = fresh[0]?.vector.length
      if (standing !== null) usable(shelf, standing, dimension)
      // What can be taken back is written down before it is done, so that no crash leaves a change that nobody knows.
      const counts = { added: fresh.length, unchanged, relabelled }
      await storage.addStep(
        { id: change, shelf: name, kind, by, at: now() },
        { ...counts, replaced: Object.fromEntries(replaced) },
      )
      const owned = [...fresh, ...replacing].some(({ owner }) => owner !== '')
      if (standing !== null) {
        if (owned && !standing.owned) await storage.putShelf({ ...standing, owned })
        if (fresh.length + replacing.length > 0) await storage.putRows(standing, fresh, replacing)
      } else if (dimension !== undefined) {
        const made = { name, table: tableName(name), embedder: embedder.name, dimension, owned }
        await storage.putRows(made, fresh, replacing)
        await storage.putShelf(made)
      }
      await written?.()
      return { id: change, ...counts }
    })
  }

  async function embedMissing(
    items: readonly Item[],
    known: ReadonlySet<string>,
    vectors: Map<string, Float32Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const texts = new Map(items.map(({ text }) => [contentId(text), text]))
    const missing = [...texts].filter(([id]) => !known.has(id) && !vectors.has(id))
    for (let at = 0; at < missing.length; at += EMBEDDED_AT_ONCE) {
      const slice = missing.slice(at, at + EMBEDDED_AT_ONCE)
      const embedded = await embedder.embed(
        slice.map(([, text]) => text),
        signal,
      )
      for (const [index, [id]] of slice.entries()) {
        const vector = embedded.vectors[index]
        if (vector !== undefined) vectors.set(id, vector)
      }
    }
  }

  /** The places that a change may have written to; what an earlier version approved now stands with its tenants. */
  async function placesOf({ shelf: name, kind }: ChangeRecord): Promise<ShelfRecord[]> {
    const { shelf, tenant } = placeOf(name)
    const all = kind === 'approve' && tenant === null
    return (await storage.shelves()).filter(
      (record) => record.name === name || (all && placeOf(record.name).shelf === shelf),
    )
  }

  async function rollback(id: string): Promise<void> {
    await legacy.part()
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
      // Whatever came later and replaced this change's items replaced, from now on, what this one had replaced.
      const names = new Set([change.shelf, ...places.map(({ name }) => name)])
      for (const later of (await storage.changes()).filter(({ shelf }) => names.has(shelf))) {
        const replaced = replacedWithout(
          later,
          (version) => version.change === id,
          (key) => entryOf(change.replaced, key) ?? null,
        )
        if (replaced !== later.replaced) await storage.putChange({ ...later, replaced })
      }
      for (const held of await storage.proposals())
        if (held.proposal.change === id)
          await storage.putProposal({ ...held, proposal: { ...held.proposal, state: 'waiting', change: null } })
      await storage.putChange({ ...change, replaced: {}, rolledBackAt: now() })
    })
  }

  async function forget(subject: SubjectRef): Promise<number> {
    const owner = ownerOf(subject)
    // Before anything is looked for: who proposes its content meanwhile finds the note after its own work.
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

  /** Takes a subject's versions out of every item's past, as if they had never been; returns how many items showed one. */
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
    await legacy.part()
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
      for (const held of await storage.proposals())
        if (held.proposal.state === 'approved' && isMeant(placeFor(held.proposal)))
          await storage.putProposal({ ...held, proposal: { ...held.proposal, state: 'waiting', change: null } })
      const nothing = { added: 0, unchanged: 0, relabelled: 0, replaced: {} }
      const name = placeName({ shelf, tenant: tenant ?? null })
      await storage.addStep({ id: changeId(now()), shelf: name, kind: 'drop', by, at: now() }, nothing)
    })
  }

  /** What bounds the proposals of an author for a shelf. */
  async function bounds({ shelf, tenant, by }: Proposer): Promise<Room[]> {
    const { perAuthor, perTenant, perMs } = newProposals
    const isTheirs = (of: { tenant: string; by: string }) => of.tenant === tenant && of.by === by
    const standing = (await storage.proposals({ shelf, by })).filter(
      ({ proposal: { state, provenance } }) => state !== 'rejected' && isTheirs(provenance),
    )
    const since = now() - perMs
    const fresh = (await storage.proposed()).filter((one) => one.tenant === tenant && one.proposedAt > since)
    const lately = `within ${Math.round(perMs / 360_000) / 10} h`
    return [
      {
        of: hashOf(shelf, tenant, by),
        left: proposalsPerAuthor - standing.length,
        why: `${by} has as many proposals on the shelf "${shelf}" as one author may have (${proposalsPerAuthor})`,
      },
      {
        of: hashOf(tenant, by),
        left: perAuthor - fresh.filter(isTheirs).length,
        why: `${by} has proposed as often ${lately} as one author may (${perAuthor})`,
      },
      {
        of: hashOf(tenant),
        left: perTenant - fresh.length,
        why: `people of the tenant ${tenant} have proposed as often ${lately} as those of one tenant may (${perTenant})`,
      },
    ]
  }

  async function fullOf(proposer: Proposer): Promise<Room | undefined> {
    return (await bounds(proposer)).find(({ left }) => left <= 0)
  }

  async function propose(proposals: readonly NewProposal[]) {
    for (const { shelf } of proposals) checkedName(shelf)
    return storage.exclusive(async () => {
      const proposed: Proposal[] = []
      const refused: { proposal: NewProposal; why: string }[] = []
      let unchanged = 0
      for (const wanted of proposals) {
        const { caseText, ...proposal } = wanted
        const { tenant, by } = proposal.provenance
        const id = proposalId(wanted)
        const known = await storage.proposal(id)
        const full = known === null ? await fullOf({ shelf: proposal.shelf, tenant, by }) : undefined
        if (known !== null) unchanged++
        else if (full !== undefined) refused.push({ proposal: wanted, why: full.why })
        else {
          const put: Proposal = { ...proposal, id, state: 'waiting', change: null }
          const source = caseText === undefined ? '' : textKey(caseText)
          const record = { proposal: put, source, proposedAt: now() }
          await storage.putProposal(record)
          const { subjectId } = put.provenance
          if (await storage.wasForgotten(ownerOf({ tenant, id: subjectId }))) {
            await storage.removeProposal(record)
            refused.push({ proposal: wanted, why: 'its subject was deleted meanwhile' })
          } else proposed.push(put)
        }
      }
      return { proposed, unchanged, refused }
    })
  }

  async function named(ids: readonly string[]) {
    const held = await Promise.all([...new Set(ids)].map(async (id) => ({ id, record: await storage.proposal(id) })))
    const unknown = held.filter(({ record }) => record === null)
    if (unknown.length > 0) throw new OperatorError(`There is no proposal ${unknown.map(({ id }) => id).join(', ')}.`)
    return held.flatMap(({ record }) => (record === null ? [] : [record]))
  }

  async function approve(ids: readonly string[], by: string, signal: AbortSignal): Promise<LoggedChange[]> {
    await legacy.part()
    const open = (await named(ids)).filter(({ proposal }) => proposal.state !== 'approved')
    const made: LoggedChange[] = []
    for (const [name, wanted] of Map.groupBy(open, ({ proposal }) => placeName(placeFor(proposal)))) {
      const change = changeId(now())
      let standing = wanted
      await write({
        place: placeOf(name),
        kind: 'approve',
        items: wanted.map(({ proposal }) => itemOf(proposal)),
        by,
        signal,
        change,
        still: async () => {
          const now = await Promise.all(wanted.map(({ proposal }) => storage.proposal(proposal.id)))
          standing = now.flatMap((record) => (record === null || record.proposal.state === 'approved' ? [] : [record]))
          return standing.map(({ proposal, source }) => ({ ...itemOf(proposal), source }))
        },
        written: async () => {
          for (const held of standing)
            await storage.putProposal({ ...held, proposal: { ...held.proposal, state: 'approved', change } })
        },
      })
      const logged = await storage.change(change)
      if (logged !== null) made.push(toldOf(logged))
    }
    return made
  }

  async function reject(ids: readonly string[]): Promise<void> {
    await storage.exclusive(async () => {
      const held = await named(ids)
      const approved = held.filter(({ proposal }) => proposal.state === 'approved')
      if (approved.length > 0) {
        const which = approved.map(({ proposal }) => `${proposal.id} (change ${proposal.change})`).join(', ')
        throw new OperatorError(`Approved already: ${which}. Roll that change back first.`)
      }
      for (const record of held)
        await storage.putProposal({ ...record, proposal: { ...record.proposal, state: 'rejected' } })
    })
  }

  return {
    embedder: embedder.name,
    find,
    async add(shelf, items, by, signal, change = changeId(now()), tenant = null) {
      if (items.some(({ text }) => text.trim() === '')) throw new OperatorError('An item of a shelf needs a text.')
      const tenants = new Set(items.map(({ subject }) => subject?.tenant ?? tenant))
      if (tenants.size > 1)
        throw new OperatorError('Items of several tenants go onto a shelf one tenant after the other.')
      const [whose = tenant] = tenants
      return write({ place: { shelf, tenant: whose }, kind: 'add', items, by, signal, change })
    },
    rollback,
    ...takingBack(storage, { now, ready: legacy.part }),
    async history(shelf) {
      return (await storage.changes()).map(toldOf).filter((change) => shelf === undefined || change.shelf === shelf)
    },
    drop,
    async shelves() {
      await legacy.part()
      const told = (await storage.shelves()).map(({ name }) =>
        read(name, async (record): Promise<Shelf> => {
          const { embedder, dimension } = record
          const { shelf, tenant } = placeOf(name)
          return { name: shelf, tenant, items: await storage.count(record), embedder, dimension }
        }),
      )
      const order = ({ name, tenant }: Shelf) => `${name} ${tenant ?? ''}`
      return (await Promise.all(told))
        .filter((shelf) => shelf !== null)
        .sort((one, other) => (order(one) < order(other) ? -1 : 1))
    },
    propose,
    room: bounds,
    async proposals(state) {
      const held = await storage.proposals()
      return held
        .sort((a, b) => a.proposedAt - b.proposedAt || (a.proposal.id < b.proposal.id ? -1 : 1))
        .flatMap(({ proposal }) => (state === undefined || proposal.state === state ? [proposal] : []))
    },
    approve,
    reject,
    forget,
    async close() {
      await storage.close()
      await embedder.close()
    },
  }
}

/** Shelves' names become names of files. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/
function checkedName(shelf: string): string {
  if (NAME.test(shelf)) return shelf
  throw new OperatorError(`"${shelf}" is no name for a shelf: small letters, digits, "-" and "_", at most 64.`)
}

function proposalId({ shelf, text, label, provenance }: NewProposal): string {
  const { tenant, subjectId, verdictId, by } = provenance
  return hashOf(shelf, contentId(text), label, tenant, subjectId, verdictId, by).slice(0, 16)
}

function sourceKey(sourceId: string): string {
  return hashOf('item', sourceId).slice(0, 32)
}

/** Why a row is not shown to the case that looks; null where it may be. */
type HeldOut = (row: NearRow) => 'own' | 'nearDuplicates' | null

function heldOutFor({ text, cut, sourceId, holdOutNearDuplicates = false }: Search, subject: SubjectRef): HeldOut {
  const owner = ownerOf(subject)
  // The content id for what was learnt before texts were compared in any other way.
  const sources = new Set([textKey(text), contentId(text), ...(sourceId === undefined ? [] : [sourceKey(sourceId)])])
  // A mark that somebody typed says nothing: it would keep from a case whatever begins as it does.
  const reading = cut === true ? readingOf(text) : wholeOf(text)
  return (row) => {
    if (row.owner === owner || sources.has(row.source)) return 'own'
    const other = readingOf(row.text)
    if (sameText(reading, other)) return 'own'
    return holdOutNearDuplicates && nearDuplicates(reading, other) ? 'nearDuplicates' : null
  }
}

type Sourced = Item & { readonly source?: string }

function versionOfItem({ label, metadata, subject, caseText, sourceId, source }: Sourced, change: string): Version {
  const learntFrom = caseText === undefined ? '' : textKey(caseText)
  const from = source ?? (sourceId === undefined ? learntFrom : sourceKey(sourceId))
  return { label, metadata, owner: subject === null ? '' : ownerOf(subject), source: from, change }
}

function itemOf({ text, label, metadata, provenance }: Proposal): Item {
  return { text, label, metadata, subject: { tenant: provenance.tenant, id: provenance.subjectId } }
}

function neighbourOf({ id, text, label, similarity, metadata }: Neighbour): Neighbour {
  return { id, text, label, similarity, metadata: { ...metadata } }
}

function toldOf({ replaced: _, kind, ...logged }: ChangeRecord): LoggedChange {
  return { ...logged, kind: logged.item === undefined ? kind : 'take-back', ...placeOf(logged.shelf) }
}

/** The items by content id; of those that share one the last counts, as if they had been written one after the other. */
function latest(items: readonly Sourced[]) {
  const byId = new Map<string, Sourced>()
  let unchanged = 0
  let relabelled = 0
  for (const item of items) {
    const id = contentId(item.text)
    const earlier = byId.get(id)
    if (earlier !== undefined && earlier.label === item.label) unchanged++
    else {
      if (earlier !== undefined) relabelled++
      byId.set(id, item)
    }
  }
  return { items: byId, unchanged, relabelled }
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
