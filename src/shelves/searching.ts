import { isBlank } from '../contracts/facts/blank.ts'
import { RetryLaterError } from '../contracts/facts/errors.ts'
import type { Neighbour, SearchResult, ShownItem } from '../contracts/facts/library.ts'
import type { DeletedOwners } from '../contracts/ports/erasures.ts'
import type { Embedder, Search, SubjectRef } from '../contracts/ports/library.ts'
import { DEFAULT_TENANT, ownerOf, placeName, type ShelfPlace, sourceKey } from './names.ts'
import { nearDuplicates, readingOf, sameText, textKey, wholeOf } from './same-text.ts'
import type { ShelfReading } from './shelf-reading.ts'
import type { NearRow, ShelfRecord, Storage } from './storage.ts'

const NOTHING_OWNED: readonly NearRow[] = []
/** Extra rows that are read, since some may be held out; each further read asks for this many times as many. */
const SPARE = 8
const FURTHER = 4

/** Finds the nearest items that a tenant is shown. */
export function searching(
  storage: Pick<Storage, 'nearest'>,
  { read, shelfNow, problemOf }: ShelfReading,
  { embedder, shared, deletedAmong }: { embedder: Embedder; shared: ReadonlySet<string> } & DeletedOwners,
) {
  async function find(
    wanted: Search,
    subject: SubjectRef,
    signal: AbortSignal,
  ): Promise<SearchResult & { tokens: number; shown?: readonly ShownItem[] }> {
    const { text, lang, shelves, k } = wanted
    const weak = embedder.weakFor(text, lang)
    const none = (shelf: string, problem: string) => ({ shelf, neighbours: [], problem })
    if (isBlank(text))
      return { shelves: shelves.map((shelf) => none(shelf, 'there is no text to look for')), weak: null, tokens: 0 }
    const { tenant } = subject
    const problems = await Promise.all(shelves.map((shelf) => problemFor(shelf, tenant)))
    if (!problems.includes(null))
      return { shelves: shelves.map((shelf, at) => none(shelf, problems[at] ?? '')), weak: null, tokens: 0 }

    const { vectors, tokens } = await embedder.embed([text], signal, 'query')
    const vector = vectors[0]
    if (vector === undefined) throw new RetryLaterError('unavailable', 'the embedder gave no vector')
    const heldOut = heldOutFor(wanted, subject)
    const looked = shelves.map(async (shelf, at) => {
      const problem = problems[at] ?? null
      return problem === null
        ? nearFor(shelf, tenant, vector, k, heldOut)
        : { ...none(shelf, problem), owned: NOTHING_OWNED }
    })
    const found = await Promise.all(looked)
    const shown = found.flatMap(({ shelf, owned }) => owned.map(({ id, owner }) => ({ shelf, id, owner })))
    const told = found.map(({ owned: _, ...looked }) => looked)
    return { shelves: told, weak: weak ?? weakAmong(told), tokens, ...(shown.length === 0 ? {} : { shown }) }
  }

  /** The embedder may also be weak for the texts that were found: their vectors say as little as a weak question's. */
  function weakAmong(found: SearchResult['shelves']): string | null {
    const texts = found.flatMap(({ neighbours }) => neighbours.map(({ text }) => text))
    const weak = texts.flatMap((text) => embedder.weakFor(text) ?? [])
    if (weak.length === 0) return null
    return `${weak.length} of the ${texts.length} items that were found are weak themselves: ${weak[0]}`
  }

  /** The places of a shelf that this tenant is shown, its own first. */
  function shownTo(tenant: string, shelf: string): ShelfPlace[] {
    const loaded = tenant === DEFAULT_TENANT || shared.has(shelf) ? [{ shelf, tenant: null }] : []
    return [{ shelf, tenant }, ...loaded]
  }

  /** Why a tenant can be shown nothing of a shelf; null if it can be shown something. */
  async function problemFor(shelf: string, tenant: string): Promise<string | null> {
    const records = await Promise.all(shownTo(tenant, shelf).map((place) => shelfNow(placeName(place))))
    const problems = records.flatMap((record) => (record === null ? [] : [problemOf(shelf, record)]))
    if (problems.length > 0) return problems.includes(null) ? null : (problems[0] ?? null)
    return `${problemOf(shelf, null)}${tenant === DEFAULT_TENANT ? '' : ` for the tenant ${tenant}`}`
  }

  /** The nearest items of everything that a tenant is shown on a shelf; of equal texts, its own. */
  async function nearFor(shelf: string, tenant: string, vector: Float32Array, k: number, heldOut: HeldOut) {
    const looks = shownTo(tenant, shelf).map((place) => near(place, vector, k, heldOut))
    const found = (await Promise.all(looks)).filter((place) => place !== null)
    const rows = new Map<string, NearRow>()
    for (const row of found.flatMap((place) => place.rows)) if (!rows.has(row.id)) rows.set(row.id, row)
    const nearest = [...rows.values()].sort((one, other) => other.similarity - one.similarity).slice(0, k)
    const sum = (which: 'own' | 'nearDuplicates') => found.reduce((total, { excluded }) => total + excluded[which], 0)
    const excluded = { own: sum('own'), nearDuplicates: sum('nearDuplicates') }
    const passed = excluded.own + excluded.nearDuplicates === 0 ? {} : { excluded }
    const owned = nearest.filter(({ owner }) => owner !== '')
    if (nearest.length > 0) return { shelf, neighbours: nearest.map(neighbourOf), problem: null, ...passed, owned }
    const [problem = null] = found.flatMap((place) => place.problem ?? [])
    const holds = `holds nothing but the case itself${excluded.nearDuplicates === 0 ? '' : ' and its near-duplicates'}`
    const why = 'excluded' in passed ? holds : 'is empty'
    return { shelf, neighbours: [], problem: problem ?? `the shelf "${shelf}" ${why}`, ...passed, owned }
  }

  /** The nearest items of one place; null if it does not exist. */
  async function near(place: ShelfPlace, vector: Float32Array, k: number, heldOut: HeldOut) {
    const none = { rows: [], excluded: { own: 0, nearDuplicates: 0 } }
    return read(placeName(place), async (record) => {
      const problem = problemOf(place.shelf, record, vector.length)
      return problem === null ? { ...(await nearestBut(record, vector, k, heldOut)), problem } : { ...none, problem }
    })
  }

  /** The `k` nearest rows that are not held out, and how many nearer ones were. */
  async function nearestBut(record: ShelfRecord, vector: Float32Array, k: number, heldOut: HeldOut) {
    for (let limit = Math.ceil(k) + SPARE; ; limit *= FURTHER) {
      const near = await storage.nearest(record, vector, limit)
      const deleted = await deletedAmong([...new Set(near.flatMap(({ owner }) => (owner === '' ? [] : [owner])))])
      const rows: NearRow[] = []
      const excluded = { own: 0, nearDuplicates: 0 }
      for (const row of near) {
        // It is erased soon, and the case itself is none the wiser.
        if (deleted.has(row.owner)) continue
        const why = heldOut(row)
        if (why !== null) excluded[why]++
        else if (rows.push(row) >= k) break
      }
      if (rows.length >= k || near.length < limit) return { rows, excluded }
    }
  }

  return { find }
}

/** Why a row is held out from the case that searches; null if it is shown. */
type HeldOut = (row: NearRow) => 'own' | 'nearDuplicates' | null

function heldOutFor({ text, cut, sourceId, holdOutNearDuplicates = false }: Search, subject: SubjectRef): HeldOut {
  const owner = ownerOf(subject)
  const sources = new Set([textKey(text), ...(sourceId === undefined ? [] : [sourceKey(sourceId)])])
  // Cut marks count only where intake cut the text: one that an author typed would hide every item with the same beginning.
  const reading = cut === true ? readingOf(text) : wholeOf(text)
  return (row) => {
    if (row.owner === owner || sources.has(row.source)) return 'own'
    const other = readingOf(row.text)
    if (sameText(reading, other)) return 'own'
    return holdOutNearDuplicates && nearDuplicates(reading, other) ? 'nearDuplicates' : null
  }
}

function neighbourOf({ id, text, label, similarity, metadata }: Neighbour): Neighbour {
  return { id, text, label, similarity, metadata: { ...metadata } }
}
