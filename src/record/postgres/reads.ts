import type { ThreadRef } from '../../contracts/facts/thread.ts'
import {
  type Arrivals,
  MOST_ERASED,
  MOST_VERDICTS,
  MOST_WORDS,
  type RecordReader,
  type RecordSize,
} from '../../contracts/ports/record.ts'
import { madeInPauses } from '../../platform/pauses.ts'
import { GIVEN_UP_OF } from '../actions.ts'
import { appealsRead } from '../appeal-rows.ts'
import { type AppealReadRow, recordedAppeal } from '../appeals.ts'
import { conditionsOf, markSoughtBy } from '../conditions.ts'
import { AUDIT_CHANCE } from '../draws.ts'
import { FOLDING, gramsOf, readingsOf } from '../grams.ts'
import { histogramOf, histogramQuery } from '../histogram.ts'
import {
  type ListedRow,
  MOST_LEFT,
  type NoteOfSubject,
  recordedRow,
  subjectsNamed,
  wordOfSubject,
} from '../record-rows.ts'
import { actionsIn } from './actions.ts'
import type { Database, Sql } from './connection.ts'
import { type GramHashes, hashing } from './grams-key.ts'
import { largestOf } from './held.ts'
import { listed, opened, recordsOf, type SealedNote, type SubjectRow } from './opened.ts'
import { HAS_DUE_STATEMENTS } from './schema.ts'
import { keysOf, unsealed } from './seals.ts'
import { searched } from './search.ts'
import { heldJson } from './transcript-bytes.ts'
import { writtenBy } from './written.ts'

/** Subjects that are exported between two looks at what was erased meanwhile. */
const PAGE = 200

/** Questions to the record's tables, beside those who write. */
export function recordReads(db: Database): RecordReader {
  let known: { readonly secret: string; readonly hashes: GramHashes } | null = null
  /** As the record hashes now, and whether all texts are folded as terms are: it may have been made anew. */
  async function hashesNow(sql: Sql): Promise<{ hashes: GramHashes; isFolded: boolean }> {
    const rows = await sql.rows<{ k: string; v: string }>("SELECT k, v FROM meta WHERE k IN ('secret', 'folding')")
    const meta = new Map(rows.map(({ k, v }) => [k, v]))
    const secret = meta.get('secret') ?? ''
    if (known?.secret !== secret) known = { secret, hashes: hashing(secret) }
    return { hashes: known.hashes, isFolded: meta.get('folding') === FOLDING }
  }

  const word = wordIn(db)
  const appeals: RecordReader['appeals'] = async (tenant, of) => {
    const [text, ...values] = appealsRead(tenant, of)
    return (await db.rows<AppealReadRow>(text, ...values)).map(recordedAppeal)
  }
  return {
    name: async () => (await db.rows<{ v: string }>("SELECT v FROM meta WHERE k = 'name'"))[0]?.v ?? '',
    async subject({ tenant, id, kind }) {
      const found = await db.snapshot(async (sql) => {
        const rows = await sql.rows<SubjectRow>(
          'SELECT * FROM subjects WHERE tenant = ? AND id = ? ORDER BY kind',
          tenant,
          id,
        )
        return recordsOf(sql, rows, { verdicts: MOST_VERDICTS, words: MOST_WORDS })
      })
      const wanted = found.filter(({ subject }) => kind === undefined || subject.kind === kind)
      return wanted.find((one) => one.deletedAt !== null || one.verdicts.length + one.said.length > 0) ?? null
    },
    async verdict(id, tenants) {
      const { sql: fits, values } = conditionsOf(tenants === undefined ? {} : { tenants })
      const [row] = await db.snapshot(async (sql) => {
        const found = await sql.rows<{ doc: number }>(`SELECT doc FROM rulings WHERE id = ? AND ${fits}`, id, ...values)
        return listed(sql, docsOf(found))
      })
      return row === undefined ? null : recordedRow(row)
    },
    word,
    subjectsNamed: subjectsNamed(word, appeals),
    appeals,
    async find(filter, limit) {
      const rows = await db.snapshot(async (sql) => {
        const { hashes } = await hashesNow(sql)
        const { sql: fits, values } = conditionsOf(filter, hashes.mark)
        // By the rarest that it asks for, newest first: a row that fits is not looked for among all others.
        const mark = markSoughtBy(filter)
        const found = await sql.rows<{ doc: number }>(
          mark === undefined
            ? `SELECT doc FROM rulings WHERE ${fits} ORDER BY doc DESC LIMIT ?`
            : `SELECT marks.doc FROM marks JOIN rulings ON rulings.doc = marks.doc
               WHERE marks.mark = ? AND marks.value = ? AND ${fits} ORDER BY marks.doc DESC LIMIT ?`,
          ...(mark === undefined ? [] : [mark[0], hashes.mark(...mark)]),
          ...values,
          limit,
        )
        return listed(sql, docsOf(found))
      })
      return rowsRead(rows)
    },
    async histogram(filter, of) {
      const { hashes } = await hashesNow(db)
      const { sql, values } = histogramQuery(filter, of, hashes.mark)
      return histogramOf(await db.rows(sql, ...values), of)
    },
    arrivals: (after, most) => db.snapshot((sql) => arrivalsIn(sql, after, most)),
    async search(query, filter, limit) {
      const asked = readingsOf(query)
      if (asked.length === 0 || filter.tenants?.length === 0)
        return { found: [], stoppedEarly: false, reindexing: false }
      const { hashes, isFolded } = await hashesNow(db)
      const [tenant, ...others] = filter.tenants ?? []
      const own = tenant !== undefined && others.length === 0 ? [hashes.tenant(tenant)] : []
      const readings = asked.map((terms) => ({
        terms,
        grams: [...hashes.grams(new Set(terms.flatMap((term) => [...gramsOf(term)]))), ...own],
      }))
      const sought = { readings, filter, ...conditionsOf(filter, hashes.mark) }
      const { hits, stoppedEarly } = await searched(db, sought, limit)
      // A search has no one state: a number may be another verdict's by now.
      const ids = new Map(hits.map(({ doc, id }) => [doc, id]))
      const found = await rowsRead(await db.snapshot((sql) => listed(sql, docsOf(hits))))
      const same = found.filter(({ cursor, verdict }) => ids.get(Number(cursor)) === verdict.id)
      return { found: same, stoppedEarly, reindexing: !isFolded }
    },
    async auditChance({ tenant, kind, postId }, protocol) {
      const [drawn] = await db.rows<{ chance: number }>(AUDIT_CHANCE, tenant, kind, postId, protocol)
      return drawn?.chance ?? null
    },
    async writtenBy(author, after, most) {
      const { hashes } = await hashesNow(db)
      return writtenBy(db, hashes, author, after, most)
    },
    async transcript(verdictId) {
      const found = await db.rows<{ k: number; sealed: Buffer }>(
        'SELECT k, sealed FROM transcripts JOIN held ON held.at = transcripts.at AND held.t = transcripts.t WHERE id = ?',
        verdictId,
      )
      const [row] = found
      const key = row === undefined ? undefined : (await keysOf(db, [row.k])).get(row.k)
      return row === undefined || key === undefined ? null : heldJson(unsealed(key, row.sealed))
    },
    async *export(only) {
      const decided = `AND (EXISTS (SELECT 1 FROM said WHERE said.s = subjects.s AND said = 'decision')
        OR EXISTS (SELECT 1 FROM rulings WHERE rulings.s = subjects.s AND decided_by = 'human'))`
      for (let after = 0; ; ) {
        const { last, records } = await db.snapshot(async (sql) => {
          const page = await sql.rows<SubjectRow>(
            `SELECT * FROM subjects WHERE s > ? ${only === 'decided' ? decided : ''} ORDER BY s LIMIT ?`,
            after,
            PAGE,
          )
          return { last: page.at(-1), records: await recordsOf(sql, page, null) }
        })
        if (last === undefined) return
        for (const one of records) {
          const { verdicts, said } = one
          const isDeleted = one.deletedAt !== null && verdicts.every(({ verdict }) => verdict.decidedBy === 'deleted')
          if (verdicts.length + said.length > 0 && !isDeleted) yield one
        }
        after = last.s
      }
    },
    actions: () => actionsIn(db),
    async givenUp(tenant) {
      if ((await db.rows(HAS_DUE_STATEMENTS)).length === 0) return []
      return (await db.rows<{ action: string }>(GIVEN_UP_OF, tenant)).map(({ action }) => action)
    },
    size: () => sizeOf(db),
    close: () => db.close(),
  }
}

/** What somebody said, by its id, with what it is about. */
function wordIn(db: Database): RecordReader['word'] {
  return async (id, tenants) => {
    const { rows } = await db.snapshot(async (sql) => {
      const found = await sql.rows<SealedNote & Pick<NoteOfSubject, 'tenant' | 'kind' | 'subject'>>(
        'SELECT said.*, tenant, kind, subjects.id AS subject FROM said JOIN subjects USING (s) WHERE said.id = ?',
        id,
      )
      return opened(sql, found)
    })
    const [row] = rows
    return row === undefined || tenants?.includes(row.tenant) === false ? null : wordOfSubject(row)
  }
}

const rowsRead = (rows: readonly ListedRow[]) => madeInPauses(rows, ({ json }) => json.length, recordedRow)
const docsOf = (rows: readonly { readonly doc: number }[]) => rows.map(({ doc }) => doc)

async function arrivalsIn(sql: Sql, after: string | null, most: number): Promise<Arrivals> {
  const [meta] = await sql.rows<{ n: number; file: string }>(
    "SELECT n, v AS file FROM counters, meta WHERE counters.k = 'arrivals' AND meta.k = 'file'",
  )
  const { n: now, file } = meta ?? { n: 0, file: '' }
  const [of, seen] = after?.split('/') ?? []
  const since = of === file && /^\d{1,15}$/.test(seen ?? '') ? Number(seen) : now
  const docs = await sql.rows<{ doc: number; seq: number }>(
    'SELECT doc, seq FROM rulings WHERE seq > ? AND seq <= ? AND standing = 1 ORDER BY seq LIMIT ?',
    since,
    now,
    most,
  )
  const upTo = docs.length < most ? now : (docs.at(-1)?.seq ?? now)
  const erased = await sql.rows<SubjectRow>(
    'SELECT * FROM subjects WHERE gone_seq > ? AND gone_seq <= ? ORDER BY gone_seq LIMIT ?',
    since,
    upTo,
    MOST_ERASED + 1,
  )
  const [left] = await sql.rows<{ n: number }>(
    'SELECT count(*) AS n FROM (SELECT 1 FROM rulings WHERE seq > ? AND standing = 1 LIMIT ?) AS more',
    upTo,
    MOST_LEFT,
  )
  return {
    rows: await rowsRead(await listed(sql, docsOf(docs))),
    erased:
      erased.length > MOST_ERASED
        ? null
        : erased.map(({ tenant, kind, id }): ThreadRef => ({ tenant, kind, postId: id })),
    at: `${file}/${upTo}`,
    left: left?.n ?? 0,
  }
}

/** Null also before a process that counts it has written. */
async function largestTenant(db: Database): Promise<RecordSize['largest']> {
  const [counted] = await db.rows("SELECT 1 WHERE to_regclass('held_changes') IS NOT NULL")
  const [largest, other] = counted === undefined ? [] : await largestOf(db)
  return largest === undefined || other === undefined ? null : largest
}

async function sizeOf(db: Database): Promise<RecordSize> {
  const counted = new Map(
    (await db.rows<{ k: string; n: number }>('SELECT k, n FROM counters')).map(({ k, n }) => [k, n]),
  )
  const [own] = await db.rows<{ oldest: number | null; holes: number; since: number | null; bytes: number }>(
    `SELECT (SELECT decided_at FROM rulings ORDER BY doc LIMIT 1) AS oldest, (SELECT count(*) FROM holes) AS holes,
       (SELECT min(since) FROM erasing) AS since,
       (SELECT sum(pg_relation_size(c.oid) + coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0))::bigint FROM pg_class c
        WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'meta'::regclass) AND c.relkind IN ('r', 'i')) AS bytes`,
  )
  const rows = {
    verdicts: counted.get('verdicts') ?? 0,
    transcripts: counted.get('transcripts') ?? 0,
    said: counted.get('said') ?? 0,
    unread: counted.get('unread') ?? 0,
  }
  const { oldest = null, holes = 0, since = null, bytes = 0 } = own ?? {}
  return {
    bytes,
    rows,
    oldest,
    holes,
    largest: await largestTenant(db),
    full: false,
    overShare: false,
    erasingSince: since,
  }
}
