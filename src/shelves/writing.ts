import { RetryLaterError } from '../contracts/facts/errors.ts'
import { type Change, contentId, type Embedder, type Item } from '../contracts/ports/library.ts'
import { ownerOf, placeName, type ShelfPlace, sourceKey, tableName } from './names.ts'
import { textKey } from './same-text.ts'
import { checkedName, type ShelfReading } from './shelf-reading.ts'
import { type Row, type Storage, type Version, versionOf } from './storage.ts'

/** Texts embedded in one call: few enough that a stop takes effect soon. */
const EMBEDDED_AT_ONCE = 256

interface Writing {
  readonly place: ShelfPlace
  readonly kind: 'add' | 'approve'
  readonly items: readonly Item[]
  readonly by: string
  readonly signal: AbortSignal
  readonly change: string
  /** Which of the items must still be written; called while no other writer can interfere. */
  readonly still?: () => Promise<readonly Item[]>
  readonly written?: () => Promise<void>
}

type Sourced = Item & { readonly source?: string }

/** Writes items onto a shelf as one change, and embeds those that are not there yet. */
export function writing(
  storage: Storage,
  { read, usable }: ShelfReading,
  { embedder, now }: { embedder: Embedder; now: () => number },
) {
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
      // Rarely any: items that were removed since they were read above.
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
      // The change is logged before it is made: otherwise a crash could leave one that can't be rolled back.
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
        'document',
      )
      for (const [index, [id]] of slice.entries()) {
        const vector = embedded.vectors[index]
        if (vector !== undefined) vectors.set(id, vector)
      }
    }
  }

  return { write }
}

function versionOfItem({ label, metadata, subject, caseText, sourceId, source }: Sourced, change: string): Version {
  const learntFrom = caseText === undefined ? '' : textKey(caseText)
  const from = source ?? (sourceId === undefined ? learntFrom : sourceKey(sourceId))
  return { label, metadata, owner: subject === null ? '' : ownerOf(subject), source: from, change }
}

/** The items by content id; if several share one, the last wins, as if they had been written one after another. */
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
