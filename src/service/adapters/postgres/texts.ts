import { folded, gramsOf } from '../../record/grams.ts'
import { columnsOf } from './connection.ts'
import { keysOf, unsealed } from './seals.ts'
import type { Writing } from './writing.ts'

interface Row {
  readonly doc: number
  readonly s: number
  readonly k: number
  readonly sealed: Buffer
  readonly heard: number | null
  readonly words: Buffer | null
}

/** Writes the texts of these standing verdicts, by which they are found. */
export async function indexed(writing: Writing, docs: readonly number[]): Promise<void> {
  const { sql, counters, seals, hashes, days } = writing
  if (docs.length === 0) return
  await seals.save()
  const rows = await sql.rows<Row>(
    `SELECT doc, r.s, r.k, r.sealed, coalesce(own.k, other.k) AS heard, coalesce(own.words, other.words) AS words FROM rulings r
     LEFT JOIN LATERAL (
       SELECT t.k, held.words FROM transcripts t JOIN held ON held.at = t.at AND held.t = t.t
       WHERE t.id = r.id AND held.words IS NOT NULL) own ON true
     -- A human's verdict has seen what the machine's before it saw.
     LEFT JOIN LATERAL (
       SELECT t.k, held.words FROM transcripts t JOIN held ON held.at = t.at AND held.t = t.t
       WHERE own.k IS NULL AND t.s = r.s AND t.bare = 0 AND held.words IS NOT NULL ORDER BY t.at DESC LIMIT 1) other ON true
     WHERE doc = ANY (?::bigint[]) ORDER BY doc`,
    docs,
  )
  const keys = await keysOf(
    sql,
    rows.flatMap(({ k, heard }) => (heard === null ? [k] : [k, heard])),
  )
  const opened = (k: number | null, value: Buffer | null, which: 'text' | 'words') => {
    const key = k === null ? undefined : keys.get(k)
    return key === undefined || value === null ? '' : unsealed(key, value, which).toString('utf8')
  }
  const texts = rows.flatMap(({ doc, k, sealed, heard, words }) => {
    const { rationale } = JSON.parse(opened(k, sealed, 'text')) as { rationale: string }
    const text = folded(`${opened(heard, words, 'words')}\n${rationale}`)
    if (text === '') return []
    const key = seals.key()
    return [[doc, key.k, `{${[...gramsOf(text)].map(hashes.gram).join(',')}}`, key.seal(text)] as const]
  })
  await days.make(
    sql,
    'texts',
    texts.map(([doc]) => doc),
  )
  await sql.run(
    `INSERT INTO texts SELECT doc, k, grams::int[], sealed
     FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::bytea[]) AS fresh (doc, k, grams, sealed)`,
    ...columnsOf(texts, 4),
  )
  for (const mark of ['author', 'lang'] as const)
    await sql.run(
      `INSERT INTO marks SELECT ?, ${mark}, doc FROM rulings JOIN subjects USING (s)
       WHERE doc = ANY (?::bigint[]) AND ${mark} IS NOT NULL ON CONFLICT DO NOTHING`,
      ...[mark, rows.map(({ doc }) => doc)],
    )
  await sql.run(
    'UPDATE rulings SET indexed = 1, seq = fresh.seq FROM unnest(?::bigint[], ?::bigint[]) AS fresh (doc, seq) WHERE rulings.doc = fresh.doc',
    ...columnsOf(
      rows.map(({ doc }) => [doc, counters.next('arrivals')]),
      2,
    ),
  )
}

/** Takes the texts of these verdicts away; `outlived`: they are no longer searched, and nothing of them was deleted. */
export async function unindexed(
  { sql, seals }: Writing,
  docs: readonly number[],
  why: 'deleted' | 'outlived' = 'deleted',
): Promise<void> {
  if (docs.length === 0) return
  const gone = await sql.rows<{ k: number }>('DELETE FROM texts WHERE doc = ANY (?::bigint[]) RETURNING k', docs)
  const ks = gone.map(({ k }) => k)
  if (why === 'deleted') await seals.shred(ks)
  else await seals.forget(ks)
}
