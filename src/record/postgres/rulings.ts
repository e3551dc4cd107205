import { hash } from 'node:crypto'
import { redactWords } from '../../contracts/facts/redact-words.ts'
import type { RulingEntry } from '../../contracts/ports/record.ts'
import { clausesText } from '../compared.ts'
import { firstDoc, PER_SECOND } from '../documents.ts'
import { mayBeDeleted } from '../held.ts'
import { columnsOf } from './connection.ts'
import { enterDraws } from './draws.ts'
import { erase, goneElsewhere, unquoteAll } from './erasures.ts'
import type { PreparedBatch } from './prepared-batch.ts'
import { indexed, unindexed } from './texts.ts'
import { subjectsOf, touch, type WritingStep } from './writing.ts'

/** Takes verdicts, each that the record does not have yet; of one subject in their order. */
export async function takeRulings(
  writing: WritingStep,
  entries: readonly RulingEntry[],
  ready: PreparedBatch,
): Promise<void> {
  // A retraction erases what came before it.
  for (const { decidedBy, subject, openedAt } of entries)
    if (decidedBy === 'deleted') await erase(writing, subject, openedAt)
  const { sql, seals, counters, hashes } = writing
  const subjectOf = await subjectsOf(
    writing,
    entries.map(({ subject }) => subject),
  )
  const open = entries.flatMap((entry) => {
    const { s, deletedAt, dropped } = subjectOf(entry.subject)
    if (entry.decidedBy !== 'deleted' && entry.openedAt <= deletedAt) return []
    return [{ ...entry, entry, s, dropped, digest: hash('sha256', entry.json, 'base64url').slice(0, 22) }]
  })
  const fresh = await notYetThere(writing, open)
  if (fresh.length === 0) return
  const standing = await standingOf(writing, fresh)
  const wereShown = await goneElsewhere(
    writing,
    fresh.map(({ entry }) => entry),
  )
  const { heard, erased: isErased } = await restsOf(writing, fresh, wereShown)
  const docs = await freeDocs(writing, fresh)
  const audited = await enterDraws(writing, fresh)
  const marks: [string, string, number][] = []
  const rows = fresh.map((entry, at) => {
    const { id, s, subject, protocol, number, label, decidedBy, openedAt, decidedAt, json, digest, contested } = entry
    const doc = docs[at] ?? 0
    const erased = isErased(entry)
    const whole = ready.rulings.get(entry.entry)
    const key =
      erased || whole === undefined ? seals.seal(erased ? redactWords(json) : json) : { ...whole, k: seals.add(whole) }
    const all = contested ? [...entry.marks, { mark: 'contested', value: '' }] : entry.marks
    marks.push(...all.map(({ mark, value }): [string, string, number] => [mark, hashes.mark(mark, value), doc]))
    touch(writing, s, protocol)
    return [
      doc,
      s,
      id,
      subject.tenant,
      protocol,
      number,
      label,
      decidedBy,
      deciderOf(entry),
      Number(entry.degraded),

      Number(contested),
      entry.confidence,
      entry.accepted,
      Number(audited.has(id)),
      entry.restores,
      openedAt,
      decidedAt,
      Number(standing.has(entry)),
      Number(erased),
      digest,
      clausesText(entry.clauses ?? []),
      entry.decision ?? null,
      key.k,
      key.sealed,
    ]
  })
  await sql.run(
    `INSERT INTO rulings (doc, s, id, tenant, protocol, number, label, decided_by, decider, degraded, contested, confidence, accepted,
       sampled, restores, opened_at, decided_at, standing, erased, hash, clauses, decision, k, sealed)
     SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::text[], ?::text[], ?::text[],
       ?::smallint[], ?::smallint[], ?::double precision[], ?::bigint[], ?::smallint[], ?::text[], ?::bigint[], ?::bigint[], ?::smallint[],
       ?::smallint[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::bytea[])`,
    ...columnsOf(rows, 24),
  )
  counters.add('verdicts', rows.length)
  await unquoteAll(writing, wereShown)
  await sql.run(
    'INSERT INTO marks SELECT * FROM unnest(?::text[], ?::text[], ?::bigint[]) ON CONFLICT DO NOTHING',
    ...columnsOf(marks, 3),
  )
  await indexed(
    writing,
    fresh.flatMap((entry, at) =>
      standing.has(entry) && heard.has(entry.id) && !isErased(entry) ? [docs[at] ?? 0] : [],
    ),
  )
}

type Open = RulingEntry & {
  readonly entry: RulingEntry
  readonly s: number
  readonly dropped: number | null
  readonly digest: string
}

function deciderOf({ decidedBy, json }: RulingEntry): string | null {
  if (decidedBy !== 'human') return null
  const { decision } = JSON.parse(json) as { decision?: { by?: string } }
  return decision?.by ?? null
}

/** Verdicts whose transcripts have come, and verdicts that rest on a deleted comment, or repeat one that does. */
async function restsOf({ sql }: WritingStep, fresh: readonly Open[], wereShown: readonly string[]) {
  const ids = fresh.flatMap(({ id, restores }) => (restores === null ? [id] : [id, restores]))
  const rows = await sql.rows<{ id: string; erased: boolean }>(
    `SELECT id, comments IS NULL AS erased FROM transcripts WHERE id = ANY (?::text[])
     UNION ALL SELECT id, true FROM rulings WHERE id = ANY (?::text[]) AND erased = 1`,
    ids,
    ids,
  )
  const gone = new Set([...wereShown, ...rows.flatMap(({ id, erased }) => (erased ? [id] : []))])
  // In the order of their numbers: what is restored came before.
  for (const { id, restores } of fresh.toSorted((a, b) => a.number - b.number))
    if (restores !== null && gone.has(restores)) gone.add(id)
  return {
    heard: new Set(rows.map(({ id }) => id)),
    erased: ({ id, subject, openedAt, dropped }: Open) => gone.has(id) || mayBeDeleted(subject, openedAt, dropped),
  }
}

/** Without what is there, or comes twice; a verdict with other content under an id that is there is marked. */
async function notYetThere({ sql }: WritingStep, open: readonly Open[]): Promise<Open[]> {
  const rows = await sql.rows<{ id: string; hash: string }>(
    'SELECT id, hash FROM rulings WHERE id = ANY (?::text[])',
    open.map(({ id }) => id),
  )
  const known = new Map(rows.map(({ id, hash: digest }) => [id, digest]))
  const conflicting = new Set<string>()
  const fresh: Open[] = []
  for (const one of open) {
    const before = known.get(one.id)
    if (before === undefined) {
      known.set(one.id, one.digest)
      fresh.push(one)
    } else if (before !== one.digest) conflicting.add(one.id)
  }
  if (conflicting.size > 0)
    await sql.run('UPDATE rulings SET conflicting = 1 WHERE id = ANY (?::text[])', [...conflicting])
  return fresh
}

/** Those of these that are the last of their subject and protocol; what was it before stands no more. */
async function standingOf(writing: WritingStep, fresh: readonly Open[]): Promise<ReadonlySet<Open>> {
  const { sql } = writing
  const keyOf = (s: number, protocol: string) => `${s} ${protocol}`
  const last = await sql.rows<{ s: number; protocol: string; doc: number; number: number }>(
    `SELECT wanted.s, wanted.protocol, last.doc, last.number
     FROM (SELECT DISTINCT * FROM unnest(?::bigint[], ?::text[])) AS wanted (s, protocol)
     JOIN LATERAL (SELECT doc, number FROM rulings WHERE rulings.s = wanted.s AND rulings.protocol = wanted.protocol
       ORDER BY number DESC LIMIT 1) AS last ON true`,
    fresh.map(({ s }) => s),
    fresh.map(({ protocol }) => protocol),
  )
  const before = new Map(last.map((row) => [keyOf(row.s, row.protocol), row]))
  const newest = new Map<string, Open>()
  for (const one of fresh) {
    const key = keyOf(one.s, one.protocol)
    const most = (newest.get(key) ?? before.get(key))?.number ?? Number.NEGATIVE_INFINITY
    if (one.number > most) newest.set(key, one)
  }
  const fallen = [...newest.keys()].flatMap((key) => before.get(key)?.doc ?? [])
  await unindexed(writing, fallen, 'outlived')
  if (fallen.length > 0)
    await sql.run('UPDATE rulings SET standing = 0, indexed = 0, seq = NULL WHERE doc = ANY (?::bigint[])', fallen)
  return new Set(newest.values())
}

/** Numbers for new documents, in the order of the entries; a second that is full goes on in the next. */
async function freeDocs({ sql }: WritingStep, fresh: readonly Open[]): Promise<number[]> {
  const now = Date.now()
  const firsts = fresh.map(({ decidedAt }) => firstDoc(decidedAt, now))
  const taken = new Map<number, number>()
  const ask = async (seconds: readonly number[]) => {
    const rows = await sql.rows<{ first: number; last: number | null }>(
      `SELECT first, (SELECT max(doc) FROM rulings WHERE doc BETWEEN first AND first + ?::bigint) AS last
       FROM unnest(?::bigint[]) AS first`,
      PER_SECOND - 1,
      seconds,
    )
    for (const { first, last } of rows) taken.set(first, last === null ? first : last + 1)
  }
  await ask([...new Set(firsts)])
  const docs: number[] = []
  for (const wanted of firsts) {
    let first = wanted
    while ((taken.get(first) ?? first) >= first + PER_SECOND) {
      first += PER_SECOND
      if (!taken.has(first)) await ask([first])
    }
    const doc = taken.get(first) ?? first
    taken.set(first, doc + 1)
    docs.push(doc)
  }
  return docs
}
