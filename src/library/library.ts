import { createHash, randomBytes } from 'node:crypto'
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
  type Search,
  type Shelf,
  type SubjectRef,
} from '../ports/library.ts'
import { nearDuplicates, readingOf, sameText, textKey, wholeOf } from './same-text.ts'
import type { ChangeRecord, NearRow, Row, ShelfRecord, Storage, Version } from './storage.ts'

export interface LibraryOptions {
  readonly embedder: Embedder
  /** ms since 1970. */
  readonly now: () => number
  /** How many proposals of one author a shelf takes, waiting and approved together. */
  readonly proposalsPerAuthor: number
}

/** Texts that are embedded in one call: small enough that a stop is heard soon. */
const EMBEDDED_AT_ONCE = 256
/** A table that was replaced while it was read is read again under its new name. */
const READ_TRIES = 3
/** Rows that are read beyond those asked for, since some may be the case's own; and how many times more where all were. */
const SPARE = 8
const FURTHER = 4

/** A library over any storage: what is found, what a change does, what it takes to take it back. */
export function libraryOver(storage: Storage, { embedder, now, proposalsPerAuthor }: LibraryOptions): Library {
  async function find(wanted: Search, subject: SubjectRef, signal: AbortSignal): Promise<Found & { tokens: number }> {
    const { text, lang, shelves, k } = wanted
    const weak = embedder.weakFor(text, lang)
    const none = (shelf: string, problem: string) => ({ shelf, neighbours: [], problem })
    if (text.trim() === '')
      return { shelves: shelves.map((shelf) => none(shelf, 'there is no text to look for')), weak: null, tokens: 0 }
    const problems = await Promise.all(shelves.map(async (shelf) => problemOf(shelf, await shelfNow(shelf))))
    if (!problems.includes(null))
      return { shelves: shelves.map((shelf, at) => none(shelf, problems[at] ?? '')), weak: null, tokens: 0 }

    const { vectors, tokens } = await embedder.embed([text], signal)
    const vector = vectors[0]
    if (vector === undefined) throw new RetryLaterError('unavailable', 'the embedder gave no vector')
    const heldOut = heldOutFor(wanted, subject)
    const looked = shelves.map(async (shelf, at) => {
      const problem = problems[at] ?? null
      return problem === null ? near(shelf, vector, k, heldOut) : none(shelf, problem)
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

  async function near(shelf: string, vector: Float32Array, k: number, heldOut: HeldOut) {
    const found = await read(shelf, async (record): Promise<Found['shelves'][number]> => {
      const problem = problemOf(shelf, record, vector.length)
      if (problem !== null) return { shelf, neighbours: [], problem }
      const { rows, excluded } = await nearestBut(record, vector, k, heldOut)
      const passed = excluded.own + excluded.nearDuplicates === 0 ? {} : { excluded }
      if (rows.length > 0) return { shelf, neighbours: rows.map(neighbourOf), problem: null, ...passed }
      const holds = `holds nothing but the case itself${excluded.nearDuplicates === 0 ? '' : ' and its near-duplicates'}`
      const why = (await storage.count(record)) === 0 ? 'is empty' : holds
      return { shelf, neighbours: [], problem: `the shelf "${shelf}" ${why}`, ...passed }
    })
    return found ?? { shelf, neighbours: [], problem: problemOf(shelf, null) }
  }

  /** The `k` nearest rows that are not held out, and how many nearer ones were. */
  async function nearestBut(record: ShelfRecord, vector: Float32Array, k: number, heldOut: HeldOut) {
    for (let limit = Math.ceil(k) + SPARE; ; limit *= FURTHER) {
      const near = await storage.nearest(record, vector, limit)
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

  /** Reads a shelf, whose table another process may replace meanwhile; null if the shelf is missing. */
  async function read<Result>(shelf: string, look: (record: ShelfRecord) => Promise<Result>): Promise<Result | null> {
    let cause: unknown
    for (let attempt = 1; attempt <= READ_TRIES; attempt++) {
      const record = await shelfNow(shelf)
      if (record === null) return null
      try {
        return await look(record)
      } catch (error) {
        if (error instanceof PermanentError || error instanceof OperatorError) throw error
        cause = error
      }
    }
    throw new RetryLaterError('library', `the shelf "${shelf}" could not be read`, { cause })
  }

  /** A shelf's record as it stands; null if there is none, or can be none of that name. */
  async function shelfNow(shelf: string): Promise<ShelfRecord | null> {
    try {
      return NAME.test(shelf) ? await storage.shelf(shelf) : null
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
    readonly shelf: string
    readonly kind: 'add' | 'approve'
    readonly items: readonly Item[]
    readonly by: string
    readonly signal: AbortSignal
    readonly change: string
    /** Looked at when no other writer can come between: which of the items are still to be written. */
    readonly still?: () => Promise<readonly Item[]>
    readonly written?: () => Promise<void>
  }

  async function write({ shelf, kind, items, by, signal, change, still, written }: Writing): Promise<Change> {
    const ids = items.map(({ text }) => contentId(text))
    const known = (await read(checkedName(shelf), (record) => storage.rows(usable(shelf, record), ids))) ?? []
    const vectors = new Map<string, Float32Array>()
    await embedMissing(items, new Set(known.map(({ id }) => id)), vectors, signal)
    return storage.exclusive(async () => {
      const wanted = latest(still === undefined ? items : await still())
      const standing = await storage.shelf(shelf)
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
        const row = { id, text: old?.text ?? item.text, vector, ...versionOf(item, change) }
        if (old === undefined) fresh.push(row)
        else {
          replacing.push(row)
          relabelled++
          if (old.change !== change) replaced.set(id, versionFrom(old))
        }
      }
      const dimension = fresh[0]?.vector.length
      if (standing !== null) usable(shelf, standing, dimension)
      // What can be taken back is written down before it is done, so that no crash leaves a change that nobody knows.
      const counts = { added: fresh.length, unchanged, relabelled }
      await storage.addStep(
        { id: change, shelf, kind, by, at: now() },
        { ...counts, replaced: Object.fromEntries(replaced) },
      )
      const owned = [...fresh, ...replacing].some(({ owner }) => owner !== '')
      if (standing !== null) {
        if (owned && !standing.owned) await storage.putShelf({ ...standing, owned })
        if (fresh.length + replacing.length > 0) await storage.putRows(standing, fresh, replacing)
      } else if (dimension !== undefined) {
        const made = { name: shelf, table: tableName(shelf), embedder: embedder.name, dimension, owned }
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

  async function rollback(id: string): Promise<void> {
    await storage.exclusive(async () => {
      const change = await storage.change(id)
      if (change === null) throw new OperatorError(`There is no change ${id}. "gavel library history" lists them.`)
      if (change.rolledBackAt !== null) throw new OperatorError(`The change ${id} was rolled back already.`)
      if (change.kind === 'drop') throw new OperatorError(`The change ${id} dropped a shelf, which is final.`)
      const record = await storage.shelf(change.shelf)
      if (record !== null) {
        const mine = await storage.rowsBy(record, { change: id })
        if (mine.length > 0)
          await storage.rewrite(record, new Map(mine.map((row) => [row.id, entryOf(change.replaced, row.id) ?? null])))
      }
      // Whatever came later and replaced this change's items replaced, from now on, what this one had replaced.
      for (const later of await storage.changes(change.shelf)) {
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
      shelves: (await storage.shelves()).filter(({ owned }) => owned),
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

  async function drop(shelf: string, by: string): Promise<void> {
    await storage.exclusive(async () => {
      const record = await shelfNow(shelf)
      if (record === null) throw new OperatorError(`There is no shelf "${shelf}".`)
      await storage.removeShelf(record)
      for (const { id, kind } of await storage.changes(shelf)) if (kind !== 'drop') await storage.removeChange(id)
      for (const held of await storage.proposals())
        if (held.proposal.shelf === shelf && held.proposal.state === 'approved')
          await storage.putProposal({ ...held, proposal: { ...held.proposal, state: 'waiting', change: null } })
      const nothing = { added: 0, unchanged: 0, relabelled: 0, replaced: {} }
      await storage.addStep({ id: changeId(now()), shelf, kind: 'drop', by, at: now() }, nothing)
    })
  }

  async function taken(shelf: string, by: string): Promise<number> {
    const held = await storage.proposals({ shelf, by })
    return held.filter(({ proposal }) => proposal.state !== 'rejected').length
  }

  async function propose(proposals: readonly NewProposal[]) {
    for (const { shelf } of proposals) checkedName(shelf)
    return storage.exclusive(async () => {
      const proposed: Proposal[] = []
      const refused: { proposal: NewProposal; why: string }[] = []
      let unchanged = 0
      for (const wanted of proposals) {
        const { caseText, ...proposal } = wanted
        const { by } = proposal.provenance
        const id = proposalId(wanted)
        if ((await storage.proposal(id)) !== null) unchanged++
        else if ((await taken(proposal.shelf, by)) >= proposalsPerAuthor)
          refused.push({
            proposal: wanted,
            why: `its author has ${proposalsPerAuthor} on the shelf "${proposal.shelf}" already`,
          })
        else {
          const put: Proposal = { ...proposal, id, state: 'waiting', change: null }
          const source = caseText === undefined ? '' : textKey(caseText)
          const record = { proposal: put, source, proposedAt: now() }
          await storage.putProposal(record)
          const { tenant, subjectId } = put.provenance
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
    const open = (await named(ids)).filter(({ proposal }) => proposal.state !== 'approved')
    const made: LoggedChange[] = []
    for (const shelf of new Set(open.map(({ proposal }) => proposal.shelf))) {
      const wanted = open.filter(({ proposal }) => proposal.shelf === shelf)
      const change = changeId(now())
      let standing = wanted
      await write({
        shelf,
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
    async add(shelf, items, by, signal, change = changeId(now())) {
      if (items.some(({ text }) => text.trim() === '')) throw new OperatorError('An item of a shelf needs a text.')
      return write({ shelf, kind: 'add', items, by, signal, change })
    },
    rollback,
    async history(shelf) {
      return (await storage.changes(shelf)).map(toldOf)
    },
    drop,
    async shelves() {
      const told = (await storage.shelves()).map(({ name }) =>
        read(name, async (record): Promise<Shelf> => {
          const { embedder, dimension } = record
          return { name, items: await storage.count(record), embedder, dimension }
        }),
      )
      return (await Promise.all(told)).filter((shelf) => shelf !== null)
    },
    propose,
    async room(shelf, by) {
      return Math.max(0, proposalsPerAuthor - (await taken(shelf, by)))
    },
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

/** A name that no table has had: a reader of the old one must not take the new one for it. */
export function tableName(shelf: string): string {
  return `${shelf}.${randomBytes(6).toString('hex')}`
}

/** Ids sort by time and can be typed. */
function changeId(now: number): string {
  const at = new Date(now).toISOString().replace(/[-:.Z]/g, '')
  return `${at}-${randomBytes(3).toString('hex')}`
}

function hashOf(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** A subject as a hash: safe in file names and filters, whatever its id is made of. */
export function ownerOf({ tenant, id }: SubjectRef): string {
  return hashOf(tenant, id).slice(0, 32)
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

function versionOf({ label, metadata, subject, caseText, sourceId, source }: Sourced, change: string): Version {
  const learntFrom = caseText === undefined ? '' : textKey(caseText)
  const from = source ?? (sourceId === undefined ? learntFrom : sourceKey(sourceId))
  return { label, metadata, owner: subject === null ? '' : ownerOf(subject), source: from, change }
}

function versionFrom({ label, metadata, owner, source, change }: Version): Version {
  return { label, metadata, owner, source, change }
}

function itemOf({ text, label, metadata, provenance }: Proposal): Item {
  return { text, label, metadata, subject: { tenant: provenance.tenant, id: provenance.subjectId } }
}

function neighbourOf({ id, text, label, similarity, metadata }: Neighbour): Neighbour {
  return { id, text, label, similarity, metadata: { ...metadata } }
}

function toldOf({ replaced: _, ...logged }: ChangeRecord): LoggedChange {
  return logged
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
