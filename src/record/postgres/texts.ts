import { PER_DAY, PER_SECOND } from '../documents.ts'
import { columnsOf } from './connection.ts'
import { type SearchableText, searchedOf } from './prepared-batch.ts'
import { keysOf, unsealed } from './seals.ts'
import { heldWords } from './transcript-bytes.ts'
import type { WritingStep } from './writing.ts'

interface Row {
  readonly doc: number
  readonly id: string
  readonly tenant: string
  readonly k: number
  readonly sealed: Buffer
}
interface Heard {
  readonly doc: number
  readonly k: number
  readonly sealed: Buffer
}

/** What a verdict is found by. */
interface FoundBy {
  readonly doc: number
  readonly text: string
  readonly grams: ReadonlySet<number>
}

/**
 * Writes the texts of these standing verdicts, by which they are found. `known`: the words of those, by verdict, whose transcripts
 * come in the same step.
 */
export async function indexed(
  writing: WritingStep,
  docs: readonly number[],
  known: ReadonlyMap<string, SearchableText> = new Map(),
): Promise<void> {
  await writing.seals.save()
  const inOrder = docs.toSorted((a, b) => a - b)
  for (let at = 0; at < docs.length; at += READ) await indexedSome(writing, inOrder.slice(at, at + READ), known)
}

/** Texts whose grams are in memory at a time: those of a long one are some megabytes. */
const READ = 16

async function indexedSome(
  writing: WritingStep,
  docs: readonly number[],
  known: ReadonlyMap<string, SearchableText>,
): Promise<void> {
  const { sql, counters } = writing
  const { rows, texts } = await textsOf(writing, docs, { known })
  await written(writing, texts)
  for (const mark of ['author', 'lang'] as const)
    await sql.run(
      `INSERT INTO marks SELECT ?, ${mark}, doc FROM rulings JOIN subjects USING (s)
       WHERE doc = ANY (?::bigint[]) AND ${mark} IS NOT NULL ON CONFLICT DO NOTHING`,
      mark,
      rows.map(({ doc }) => doc),
    )
  await sql.run(
    'UPDATE rulings SET indexed = 1, seq = fresh.seq FROM unnest(?::bigint[], ?::bigint[]) AS fresh (doc, seq) WHERE rulings.doc = fresh.doc',
    ...columnsOf(
      rows.map(({ doc }) => [doc, counters.next('arrivals')]),
      2,
    ),
  )
}

/** What these verdicts are found by, in the order of their documents. `before`: what they were found by, where only that is left. */
async function textsOf(
  writing: WritingStep,
  docs: readonly number[],
  {
    known = new Map(),
    before = new Map(),
  }: { known?: ReadonlyMap<string, SearchableText>; before?: ReadonlyMap<number, string> },
): Promise<{ rows: readonly Row[]; texts: FoundBy[] }> {
  const { sql, hashes } = writing
  const rows = await sql.rows<Row>(
    'SELECT doc, id, tenant, k, sealed FROM rulings WHERE doc = ANY (?::bigint[]) ORDER BY doc',
    docs,
  )
  const heard = await heardOf(
    writing,
    rows.flatMap(({ doc, id }) => (known.has(id) ? [] : [doc])),
  )
  const keys = await keysOf(
    sql,
    [...rows, ...heard].map(({ k }) => k),
  )
  const words = new Map(
    heard.flatMap(({ doc, k, sealed }) => {
      const key = keys.get(k)
      return key === undefined ? [] : [[doc, searchedOf(heldWords(unsealed(key, sealed)), hashes)] as const]
    }),
  )
  const partsOf = ({ doc, id, k, sealed }: Row): (SearchableText | undefined)[] => {
    const own = known.get(id) ?? words.get(doc)
    const whole = before.get(doc)
    if (own === undefined && whole !== undefined) return [searchedOf(whole, hashes)]
    const key = keys.get(k)
    const { rationale } = JSON.parse(
      key === undefined ? '{"rationale":""}' : unsealed(key, sealed).toString('utf8'),
    ) as { rationale: string }
    return [own, searchedOf(rationale, hashes)]
  }
  const texts = rows.flatMap((row): FoundBy[] => {
    const parts = partsOf(row).flatMap((part) => (part === undefined || part.text === '' ? [] : [part]))
    if (parts.length === 0) return []
    const grams = new Set([hashes.tenant(row.tenant), ...parts.flatMap(({ grams: own }) => own)])
    return [{ doc: row.doc, text: parts.map(({ text }) => text).join(' '), grams }]
  })
  return { rows, texts }
}

/** Writes those texts of these verdicts anew that have become others. `before`: what each was found by, by its document. */
export async function reindexed(writing: WritingStep, before: ReadonlyMap<number, string>): Promise<void> {
  const { texts } = await textsOf(writing, [...before.keys()], { before })
  const others = texts.filter(({ doc, text }) => text !== before.get(doc))
  await unindexed(
    writing,
    others.map(({ doc }) => doc),
    'replaced',
  )
  await written(writing, others)
}

/** The transcripts by whose words these verdicts are found. */
async function heardOf({ sql }: WritingStep, docs: readonly number[]): Promise<Heard[]> {
  if (docs.length === 0) return []
  return await sql.rows<Heard>(
    `SELECT doc, coalesce(own.k, other.k) AS k, coalesce(own.sealed, other.sealed) AS sealed FROM rulings r
     LEFT JOIN LATERAL (
       SELECT t.k, held.sealed FROM transcripts t JOIN held ON held.at = t.at AND held.t = t.t
       WHERE t.id = r.id AND t.bare = 0 LIMIT 1) own ON true
     -- A human's verdict has seen what the machine's before it saw.
     LEFT JOIN LATERAL (
       SELECT t.k, held.sealed FROM transcripts t JOIN held ON held.at = t.at AND held.t = t.t
       WHERE own.k IS NULL AND t.s = r.s AND t.bare = 0 ORDER BY t.at DESC LIMIT 1) other ON true
     WHERE doc = ANY (?::bigint[]) AND coalesce(own.k, other.k) IS NOT NULL`,
    docs,
  )
}

/** Neighbours in a block: most texts, from the first to the last document, and most grams. */
const MOST_TEXTS = 32
export const BLOCK_SPAN = 3_600 * PER_SECOND
const MOST_GRAMS = 16_384
/**
 * The index of blocks goes by so many bits of each gram: fewer are written in fewer places, but a block of some 4,000 grams is
 * found wrongly for a rare one as often as 4,000 in 2^bits. What is found wrongly has not all grams in whole.
 */
const INDEX_BITS = 22
export const indexKeyOf = (gram: number) => gram & (2 ** INDEX_BITS - 1)

interface Block {
  hi: number
  readonly block: number
  readonly docs: number[]
  readonly grams: Set<number>
}

const arrayOf = (numbers: Iterable<number>) => `{${[...numbers].join(',')}}`

/** `texts`: in the order of their documents. */
async function written(
  { sql, counters, seals, days, indexed: grams }: WritingStep,
  texts: readonly FoundBy[],
): Promise<void> {
  const blocks: Block[] = []
  const placed = texts.map((text) => {
    let block = blocks.at(-1)
    if (block === undefined || !mayTake(block, text)) {
      block = { hi: text.doc, block: counters.next('blocks'), docs: [], grams: new Set() }
      blocks.push(block)
    }
    block.hi = text.doc
    block.docs.push(text.doc)
    for (const gram of text.grams) block.grams.add(indexKeyOf(gram))
    return { text, block }
  })
  const docs = texts.map(({ doc }) => doc)
  await days.make(sql, 'texts', docs)
  await days.make(sql, 'blocks', docs)
  await sql.run(
    `INSERT INTO texts SELECT doc, hi, block, k, grams::int[], sealed
     FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::bytea[]) AS fresh (doc, hi, block, k, grams, sealed)`,
    ...columnsOf(
      placed.map(({ text: { doc, text, grams: own }, block }) => {
        const { k, sealed } = seals.seal(text)
        return [doc, block.hi, block.block, k, arrayOf(own), sealed]
      }),
      6,
    ),
  )
  await sql.run(
    `INSERT INTO blocks SELECT hi, block, lo, docs::bigint[], grams::int[]
     FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::text[]) AS fresh (hi, block, lo, docs, grams)`,
    ...columnsOf(
      blocks.map(({ hi, block, docs: own, grams }) => [hi, block, own[0] ?? hi, arrayOf(own), arrayOf(grams)]),
      5,
    ),
  )
  for (const { hi, grams: own } of blocks) {
    const day = Math.floor(hi / PER_DAY)
    grams.set(day, (grams.get(day) ?? 0) + own.size)
  }
}

function mayTake({ docs, grams }: Block, { doc, grams: more }: FoundBy): boolean {
  const first = docs[0] ?? doc
  const isNear = doc - first < BLOCK_SPAN && Math.floor(doc / PER_DAY) === Math.floor(first / PER_DAY)
  return isNear && docs.length < MOST_TEXTS && grams.size + more.size <= MOST_GRAMS
}

/**
 * Takes the texts of these verdicts away; `outlived`: they are no longer searched, and nothing of them was deleted; `replaced`: nor
 * is anything, and others come in their place.
 */
export async function unindexed(
  { sql, seals, thinned: blocks }: WritingStep,
  docs: readonly number[],
  why: 'deleted' | 'outlived' | 'replaced' = 'deleted',
): Promise<void> {
  if (docs.length === 0) return
  if (why === 'outlived') {
    const old = await sql.rows<{ k: number | null }>('SELECT k FROM texts WHERE doc = ANY (?::bigint[])', docs)
    // Its block keeps its grams, and finds nothing by them; when it is deleted they go as well.
    await sql.run("UPDATE texts SET k = NULL, grams = '{}', sealed = '' WHERE doc = ANY (?::bigint[])", docs)
    await seals.forget(old.map(({ k }) => k))
    return
  }
  const gone = await sql.rows<{ k: number | null; hi: number; block: number }>(
    'DELETE FROM texts WHERE doc = ANY (?::bigint[]) RETURNING k, hi, block',
    docs,
  )
  for (const { hi, block } of gone) blocks.set(block, hi)
  const ks = gone.map(({ k }) => k)
  if (why === 'deleted') await seals.shred(ks)
  else await seals.forget(ks)
}

/** Writes the blocks anew that texts were deleted from, with the grams of those that are left. */
export async function thinned({ sql, thinned: blocks }: WritingStep): Promise<void> {
  if (blocks.size === 0) return
  const [numbers, lasts] = [[...blocks.keys()], [...blocks.values()]]
  blocks.clear()
  const gone = await sql.rows<{ docs: number[] }>(
    'DELETE FROM blocks WHERE hi = ANY (?::bigint[]) AND block = ANY (?::bigint[]) RETURNING docs',
    lasts,
    numbers,
  )
  await sql.run(
    `INSERT INTO blocks SELECT hi, block, min(doc), array_agg(DISTINCT doc), array_agg(DISTINCT gram & ?)
     FROM texts, unnest(grams) AS gram WHERE doc = ANY (?::bigint[]) AND block = ANY (?::bigint[]) GROUP BY hi, block`,
    indexKeyOf(-1),
    gone.flatMap(({ docs }) => docs),
    numbers,
  )
}
