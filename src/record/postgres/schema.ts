import { randomBytes } from 'node:crypto'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { RecordDamaged } from '../../contracts/ports/record.ts'
import { REVERSALS } from '../actions.ts'
import { ANSWERS_FORWARD, APPEALS, EARLIER_ANSWERS, LATER_COLUMNS } from '../appeal-rows.ts'
import { COMPARABLE, COMPARED, compare } from '../compared.ts'
import { PER_DAY } from '../documents.ts'
import { LANGUAGE_OF_DRAW } from '../drawn-rates.ts'
import { LEDGER } from '../draws.ts'
import { FOLDING, GRAMS_VERSION } from '../grams.ts'
import { LANE_LEDGER } from '../lane-draws.ts'
import { GOLDEN_KEY } from '../opinion-code.ts'
import { reviewIndexes } from '../queue-filter.ts'
import { SHOWN } from '../shown.ts'
import { FEEDBACK_INDEX } from '../spare-feedback.ts'
import type { Database, Sql } from './connection.ts'
import { countedOff, countHeld } from './held.ts'
import { beginWritten, WRITTEN } from './written-table.ts'

/** Raised when the tables change: a record of the form before is brought forward where it lies, any other is rebuilt from the topics. */
const FORM = 'postgres-3'
const EARLIER = 'postgres-2'
const INDEXES = `${reviewIndexes('decider')}
  CREATE INDEX IF NOT EXISTS rulings_labelled ON rulings (protocol, label, doc);
  CREATE INDEX IF NOT EXISTS subjects_comments ON subjects (tenant, id text_pattern_ops) WHERE kind = 'comment';
  CREATE INDEX IF NOT EXISTS rulings_filtered ON rulings (doc, standing, tenant, protocol, label, degraded, decided_at);
  CREATE INDEX IF NOT EXISTS rulings_restored ON rulings (s, restores) WHERE restores IS NOT NULL;
  CREATE INDEX IF NOT EXISTS said_kind ON said (s, protocol, said, at, n);
  CREATE INDEX IF NOT EXISTS said_asked ON said (s, protocol, verdict, why, at, n) WHERE said = 'review';
  CREATE INDEX IF NOT EXISTS said_opinions ON said (s, protocol, against, at, n) WHERE said = 'decision' AND opinion <> 0;
  CREATE INDEX IF NOT EXISTS said_golden ON said (s, protocol, against, label) WHERE said = 'decision' AND opinion = ${GOLDEN_KEY};
  ${FEEDBACK_INDEX};
`
/** Partitions of the keys, which are written anew one by one after deletions. */
export const KEY_PARTS = 16

/** Images that people look at, how each wants them covered, and how many were uncovered. */
const FOR_PEOPLE = `
  CREATE TABLE pictures (
    s bigint, address text, at bigint NOT NULL, until bigint NOT NULL, sha256 text NOT NULL, k bigint NOT NULL, sealed bytea NOT NULL,
    PRIMARY KEY (s, address)
  );
  ALTER TABLE pictures ALTER sealed SET STORAGE EXTERNAL;
  CREATE INDEX pictures_at ON pictures (at);
  CREATE INDEX pictures_until ON pictures (until);
  CREATE TABLE covers (person text PRIMARY KEY, choice text NOT NULL);
  CREATE TABLE exposures (
    person text, minute bigint, tenant text, label text, n bigint NOT NULL, PRIMARY KEY (person, minute, tenant, label)
  );
  CREATE INDEX exposures_minute ON exposures (minute);
`
/** What people note and name; it is there beside tables of an earlier version. */
const NOTED = `
  CREATE TABLE IF NOT EXISTS notes (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, s bigint NOT NULL, by text NOT NULL, at bigint NOT NULL, k bigint NOT NULL,
    sealed bytea NOT NULL
  );
  CREATE INDEX IF NOT EXISTS notes_subject ON notes (s);
  CREATE INDEX IF NOT EXISTS notes_at ON notes (at);
  CREATE TABLE IF NOT EXISTS views (person text, name text, query text NOT NULL, PRIMARY KEY (person, name));
`
/** Deleted posts whose comments and replies are being erased, and after which comment that goes on. */
const DELETED_POSTS = `
  CREATE TABLE IF NOT EXISTS deleted_posts (tenant text, post text, at bigint NOT NULL, after text NOT NULL, PRIMARY KEY (tenant, post));
`
/** What the transcripts of comments show; `from`: these, named t. */
const shownIn = (
  from: string,
) => `SELECT subjects.tenant, left(subjects.id, strpos(subjects.id, '~')) || one.comment, t.s
  FROM ${from} JOIN subjects ON subjects.s = t.s AND subjects.kind = 'comment'
  CROSS JOIN LATERAL unnest(CASE WHEN t.cut = 1 THEN ARRAY[''] ELSE t.comments END) AS one (comment) WHERE t.comments IS NOT NULL`

/** By triggers: a process of an earlier version may write transcripts beside this one, and remove them. */
async function beginShown(sql: Sql): Promise<void> {
  if ((await sql.rows("SELECT 1 WHERE to_regclass('shown') IS NOT NULL")).length > 0) return
  await statements(sql, SHOWN)
  const trigger = async (name: string, event: string, work: string) => {
    await sql.run(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${work}; RETURN NULL; END $$`)
    await sql.run(`CREATE TRIGGER ${name} AFTER ${event} EXECUTE FUNCTION ${name}()`)
  }
  const rows = 'ON transcripts REFERENCING'
  await trigger(
    'shown_new',
    `INSERT ${rows} NEW TABLE AS added FOR EACH STATEMENT`,
    `INSERT INTO shown ${shownIn('added AS t')} ON CONFLICT DO NOTHING`,
  )
  await trigger(
    'shown_gone',
    `DELETE ${rows} OLD TABLE AS gone FOR EACH STATEMENT`,
    'DELETE FROM shown USING gone WHERE shown.s = gone.s AND NOT EXISTS (SELECT 1 FROM transcripts WHERE transcripts.s = gone.s)',
  )
  await sql.run(`INSERT INTO shown ${shownIn('transcripts AS t')} ON CONFLICT DO NOTHING`)
}

/** Posts that came with the earlier form are no copies of each other until they are judged again: their words are not read for it. */
const FORWARD = `
  ALTER TABLE subjects ADD COLUMN same text;
  CREATE INDEX subjects_same ON subjects (tenant, kind, same) WHERE same IS NOT NULL;
  CREATE INDEX said_assigned ON said (label, s) WHERE said = 'assignment';
  ALTER TABLE queue ADD COLUMN reach bigint NOT NULL DEFAULT 0;
  UPDATE queue SET reach = coalesce((SELECT accepted FROM rulings WHERE id = queue.verdict), 0);
  ${FOR_PEOPLE}
`

/**
 * What people wrote stands in `sealed` alone, each value under a key of its own (`src/record/postgres/seals.ts`). The
 * texts that are searched, and what verdicts rest on, lie in a partition for each day: the newest are searched first, and the oldest
 * go at once. Neighbouring texts have one row together in the index of grams, which holds what they share once.
 */
const TABLES = `
  CREATE TABLE meta (k text PRIMARY KEY, v text NOT NULL);
  CREATE TABLE counters (k text PRIMARY KEY, n bigint NOT NULL);
  CREATE TABLE offsets (topic text, part int, next bigint NOT NULL, PRIMARY KEY (topic, part));
  CREATE TABLE holes (topic text, part int, lo bigint, hi bigint, at bigint);
  CREATE TABLE keys (part int, k bigint, key bytea NOT NULL, PRIMARY KEY (part, k)) PARTITION BY LIST (part);
  CREATE TABLE erasing (one int PRIMARY KEY, since bigint NOT NULL, last bigint NOT NULL);
  CREATE TABLE subjects (
    s bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text NOT NULL, kind text NOT NULL, id text NOT NULL,
    author text, lang text, same text, k bigint, sealed bytea, deleted_at bigint, gone_seq bigint, UNIQUE (tenant, kind, id)
  );
  CREATE INDEX subjects_id ON subjects (tenant, id);
  CREATE INDEX subjects_same ON subjects (tenant, kind, same) WHERE same IS NOT NULL;
  CREATE INDEX subjects_deleted ON subjects (deleted_at, s) WHERE deleted_at IS NOT NULL;
  CREATE INDEX subjects_gone ON subjects (gone_seq) WHERE gone_seq IS NOT NULL;
  CREATE TABLE rulings (
    doc bigint PRIMARY KEY, s bigint NOT NULL, id text NOT NULL UNIQUE, tenant text NOT NULL, protocol text NOT NULL,
    number bigint NOT NULL, label text, decided_by text NOT NULL, decider text, degraded smallint NOT NULL,
    contested smallint NOT NULL, confidence double precision, accepted bigint NOT NULL, sampled smallint NOT NULL, restores text,
    opened_at bigint NOT NULL, decided_at bigint NOT NULL, standing smallint NOT NULL, conflicting smallint NOT NULL DEFAULT 0,
    erased smallint NOT NULL, indexed smallint NOT NULL DEFAULT 0, seq bigint, hash text NOT NULL, k bigint NOT NULL,
    sealed bytea NOT NULL
  );
  CREATE INDEX rulings_subject ON rulings (s, protocol, number);
  CREATE INDEX rulings_seq ON rulings (seq) WHERE seq IS NOT NULL;
  CREATE INDEX rulings_tenant ON rulings (tenant, doc);
  CREATE INDEX rulings_protocol ON rulings (protocol, doc);
  CREATE INDEX rulings_label ON rulings (label, doc);
  CREATE INDEX rulings_unindexed ON rulings (doc) WHERE standing = 1 AND indexed = 0 AND erased = 0;
  CREATE TABLE marks (mark text, value text, doc bigint, PRIMARY KEY (mark, value, doc));
  CREATE INDEX marks_doc ON marks (doc);
  CREATE TABLE transcripts (
    t bigint PRIMARY KEY, id text NOT NULL UNIQUE, s bigint NOT NULL, at bigint NOT NULL, bare smallint NOT NULL, comments text[],
    cut smallint NOT NULL, k bigint
  );
  CREATE INDEX transcripts_subject ON transcripts (s, at);
  CREATE INDEX transcripts_at ON transcripts (at);
  CREATE TABLE held (at bigint, t bigint, sealed bytea, PRIMARY KEY (at, t)) PARTITION BY RANGE (at);
  ALTER TABLE held ALTER sealed SET STORAGE EXTERNAL;
  CREATE TABLE texts (
    doc bigint PRIMARY KEY, hi bigint NOT NULL, block bigint NOT NULL, k bigint, grams int[] NOT NULL, sealed bytea NOT NULL
  ) PARTITION BY RANGE (doc);
  ALTER TABLE texts ALTER grams SET STORAGE EXTERNAL, ALTER sealed SET STORAGE EXTERNAL;
  CREATE TABLE blocks (
    hi bigint, block bigint, lo bigint NOT NULL, docs bigint[] NOT NULL, grams int[] NOT NULL, PRIMARY KEY (hi, block)
  ) PARTITION BY RANGE (hi);
  ALTER TABLE blocks ALTER docs SET STORAGE PLAIN, ALTER grams SET STORAGE EXTERNAL;
  CREATE INDEX blocks_grams ON blocks USING gin (grams) WITH (gin_pending_list_limit = 4096);
  CREATE TABLE said (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, s bigint NOT NULL, said text NOT NULL,
    protocol text NOT NULL, label text, by text NOT NULL, at bigint NOT NULL, why text, verdict text, against bigint,
    opinion smallint NOT NULL, k bigint NOT NULL, sealed bytea NOT NULL
  );
  CREATE INDEX said_subject ON said (s, at);
  CREATE INDEX said_at ON said (at);
  CREATE INDEX said_assigned ON said (label, s) WHERE said = 'assignment';
  CREATE TABLE gone_comments (tenant text, post text, comment text, at bigint, PRIMARY KEY (tenant, post, comment));
  CREATE INDEX gone_comments_at ON gone_comments (at);
  CREATE TABLE quotes (tenant text, post text, reply text, at bigint, PRIMARY KEY (tenant, post, reply));
  CREATE INDEX quotes_at ON quotes (at);
  CREATE TABLE unread (
    topic text, part int, at_offset bigint, subject text, at bigint, k bigint NOT NULL, sealed bytea NOT NULL,
    PRIMARY KEY (topic, part, at_offset)
  );
  CREATE INDEX unread_subject ON unread (subject);
  CREATE INDEX unread_at ON unread (at);
  CREATE TABLE queue (
    s bigint, protocol text, verdict text NOT NULL, tenant text NOT NULL, number bigint NOT NULL, label text,
    reasons text NOT NULL, weight double precision NOT NULL, since bigint NOT NULL, decider text, reach bigint NOT NULL, holder text,
    until bigint, PRIMARY KEY (s, protocol)
  );
  CREATE INDEX queue_heaviest ON queue (weight DESC, since);
  CREATE INDEX queue_oldest ON queue (since);
  CREATE INDEX queue_tenant ON queue (tenant, protocol);
  CREATE INDEX queue_holder ON queue (holder) WHERE holder IS NOT NULL;
  CREATE INDEX queue_decider ON queue (decider) WHERE decider IS NOT NULL;
  CREATE INDEX queue_protocol ON queue (protocol, since);
  CREATE INDEX queue_verdict ON queue (verdict);
  CREATE TABLE agreement (s bigint, protocol text, beside text, agrees smallint NOT NULL, PRIMARY KEY (s, protocol, beside));
  ${FOR_PEOPLE}
`

/** Makes the tables where there are none, and tells what stands beside them. Throws `RecordDamaged` if they are of another version. */
export async function prepared(db: Database, schema: string, drawKey: string | undefined): Promise<Meta> {
  const drawn = {
    form: FORM,
    grams: String(GRAMS_VERSION),
    folding: FOLDING,
    name: randomBytes(6).toString('hex'),
    file: randomBytes(6).toString('hex'),
    draws: drawKey ?? randomBytes(16).toString('hex'),
    secret: randomBytes(16).toString('hex'),
  }
  await db.transaction(async (sql) => {
    // Of processes that start at a time one makes the tables.
    await sql.rows('SELECT pg_advisory_xact_lock(hashtext(?))', `gavel ${schema}`)
    const [found] = await sql.rows<{ made: string | null; there: string | null; other: string | null }>(
      `SELECT to_regclass(?)::text AS made, to_regnamespace(?)::text AS there,
         (SELECT min(relname::text) FROM pg_class WHERE relnamespace = to_regnamespace(?)) AS other`,
      `${schema}.meta`,
      schema,
      schema,
    )
    if (found?.made) {
      const [earlier] = await sql.rows("UPDATE meta SET v = ? WHERE k = 'form' AND v = ? RETURNING v", FORM, EARLIER)
      if (earlier !== undefined) await statements(sql, FORWARD)
      return laidBeside(sql)
    }
    if (found?.other)
      throw new OperatorError(
        `The schema ${schema} has tables of others (${found.other}), which "gavel record rebuild" would remove: give the record one of its own (record.postgres.schema).`,
      )
    // Who may not create schemas may have been given this one.
    if (!found?.there) await sql.run(`CREATE SCHEMA ${schema}`)
    await statements(sql, TABLES)
    await laidBeside(sql)
    await sql.run('ALTER TABLE keys ALTER key SET STATISTICS 0')
    for (let part = 0; part < KEY_PARTS; part++) await keyPart(sql, part)
    for (const counter of COUNTERS) await sql.run('INSERT INTO counters VALUES (?, 0)', counter)
    for (const [k, v] of Object.entries(drawn)) await sql.run('INSERT INTO meta VALUES (?, ?)', k, v)
  })
  return metaOf(db, schema)
}

/** A row if what people say comes with how long they took. */
export const IS_TIMED = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('said') AND attname = 'seconds'"

/**
 * A row if draws have their subjects' languages beside them: of a million subjects those that were drawn lie nowhere near each other,
 * and were looked up in ten times as long.
 */
export const HAS_DRAWN_LANGUAGES =
  "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('draws') AND attname = 'lang'"

/** A row if machines' verdicts stand beside people's words. */
export const HAS_COMPARED = "SELECT 1 WHERE to_regclass('compared') IS NOT NULL"

/** A row if it stands in a table of its own which statements are due. */
export const HAS_DUE_STATEMENTS = "SELECT 1 WHERE to_regclass('due_statements') IS NOT NULL"
const HAS_COLUMN = 'SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(?) AND attname = ?'

/** Makes what is there beside tables of an earlier version. */
async function laidBeside(sql: Sql): Promise<void> {
  await statements(sql, LEDGER + LANE_LEDGER + INDEXES + NOTED + DELETED_POSTS + WRITTEN + APPEALS + REVERSALS('text'))
  await beginWritten(sql)
  await beginShown(sql)
  const [timed] = await sql.rows(IS_TIMED)
  // It waits for all who read the table, and all who come later wait for it: done once, and not at each start.
  if (timed === undefined) await sql.run('ALTER TABLE said ADD COLUMN seconds bigint')
  if ((await sql.rows(HAS_DRAWN_LANGUAGES)).length === 0) {
    await sql.run('ALTER TABLE draws ADD COLUMN lang text')
    await sql.run(`UPDATE draws SET lang = ${LANGUAGE_OF_DRAW}`)
  }
  if ((await sql.rows(HAS_COMPARED)).length === 0) {
    // Of what was taken before, clauses and what people had seen are not known.
    await sql.run('ALTER TABLE rulings ADD COLUMN clauses text, ADD COLUMN decision text')
    await sql.run('ALTER TABLE said ADD COLUMN saw smallint')
    await statements(sql, COMPARED)
    await sql.run(compare(COMPARABLE))
  }
  for (const [table, column] of LATER_COLUMNS)
    if ((await sql.rows(HAS_COLUMN, table, column)).length === 0)
      await sql.run(`ALTER TABLE ${table} ADD COLUMN ${column} text`)
  await countHeld(sql)
  if ((await sql.rows('SELECT 1 WHERE to_regclass(?) IS NOT NULL', EARLIER_ANSWERS)).length > 0)
    await statements(sql, ANSWERS_FORWARD)
}

async function statements(sql: Sql, all: string): Promise<void> {
  for (const statement of all.split(';')) if (statement.trim() !== '') await sql.run(statement)
}

/** Makes a partition of the keys. The planner's statistics would copy some of them. */
export async function keyPart(sql: Sql, part: number): Promise<void> {
  await sql.run(`CREATE TABLE keys_${part} PARTITION OF keys FOR VALUES IN (${part})`)
  await sql.run(`ALTER TABLE keys_${part} ALTER key SET STATISTICS 0`)
}

/** What is counted beside the rows, in the transaction that changes them. */
export const COUNTERS = ['arrivals', 'keys', 'heard', 'blocks', 'verdicts', 'transcripts', 'said', 'unread'] as const

export interface Meta {
  readonly draws: string
  /** By what grams and authors are hashed. */
  readonly secret: string
}

/** What stands beside the tables. Throws `RecordDamaged` if they are of another version; another error if there are none. */
export async function metaOf(sql: Sql, schema: string): Promise<Meta> {
  const [found] = await sql.rows<{ made: string | null }>("SELECT to_regclass('meta')::text AS made")
  if (!found?.made) throw new NoRecord(`there is no schema ${schema} with a record in it`)
  const meta = new Map((await sql.rows<{ k: string; v: string }>('SELECT k, v FROM meta')).map(({ k, v }) => [k, v]))
  const read = (k: string) => meta.get(k) ?? ''
  if (read('form') === EARLIER)
    throw new RecordDamaged(
      `The schema ${schema} is of the form before: the role record brings it forward when it starts.`,
    )
  if (read('form') !== FORM || read('grams') !== String(GRAMS_VERSION))
    throw new RecordDamaged(`The schema ${schema} was written by another version. Run "gavel record rebuild".`)
  return { draws: read('draws'), secret: read('secret') }
}

/** Nobody has made a record there yet. */
export class NoRecord extends Error {
  override readonly name = 'NoRecord'
}

const DAY_MS = 86_400_000

/** What has a partition for each day: of documents, or of times. */
type ByDay = 'texts' | 'blocks' | 'held'
const widthOf = (table: ByDay) => (table === 'held' ? DAY_MS : PER_DAY)

/** The partitions by day that are there already, as far as this process knows. */
export class Days {
  readonly #made = new Set<string>()

  /** Makes those of these documents and times where they are missing. */
  async make(sql: Sql, table: ByDay, values: readonly number[]): Promise<void> {
    const width = widthOf(table)
    for (const day of new Set(values.map((value) => Math.floor(value / width)))) {
      const name = `${table}_${day}`
      if (this.#made.has(name)) continue
      const bounds = `FROM (${day * width}) TO (${(day + 1) * width})`
      await sql.run(`CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${table} FOR VALUES ${bounds}`)
      if (table !== 'held') {
        await sql.run(`ALTER TABLE ${name} SET (toast_tuple_target = 128)`)
        // Nor those of texts, which would outlive them.
        await sql.run(`ALTER TABLE ${name} ALTER grams SET STATISTICS 0`)
      }
      this.#made.add(name)
    }
  }

  /** After a step that was not written nothing is known. */
  forget(): void {
    this.#made.clear()
  }

  /** Removes those that end at or before this value, the oldest; or the oldest of all. Returns how many. */
  async drop(sql: Sql, table: ByDay, before: number | null): Promise<number> {
    const width = widthOf(table)
    const all = await sql.rows<{ name: string }>(
      'SELECT c.relname AS name FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = to_regclass(?)',
      table,
    )
    const days = all.map(({ name }) => Number(name.slice(table.length + 1))).sort((a, b) => a - b)
    const old =
      before === null ? days.slice(0, days.length > 1 ? 1 : 0) : days.filter((day) => (day + 1) * width <= before)
    for (const day of old) {
      if (table !== 'blocks') await countedOff(sql, table, `${table}_${day}`)
      await sql.run(`DROP TABLE ${table}_${day}`)
      this.#made.delete(`${table}_${day}`)
    }
    return old.length
  }
}
