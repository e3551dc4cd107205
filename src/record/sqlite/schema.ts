import { hash, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RecordDamaged, RecordFull } from '../../contracts/ports/record.ts'
import { REVERSALS } from '../actions.ts'
import { ANSWERS_FORWARD, APPEALS, EARLIER_ANSWERS, LATER_COLUMNS } from '../appeal-rows.ts'
import { COMPARABLE, COMPARED, compare } from '../compared.ts'
import { LEDGER } from '../draws.ts'
import { LANE_LEDGER } from '../lane-draws.ts'
import { GOLDEN_ANSWER, GOLDEN_KEY, GOLDEN_UNSEEN, OPINION, OPINION_SIGHTED, OPINION_UNSEEN } from '../opinion-code.ts'
import { reviewIndexes } from '../queue-filter.ts'
import { SHOWN } from '../shown.ts'
import { FEEDBACK_INDEX } from '../spare-feedback.ts'
import { COUNT_HELD } from './held.ts'

/** Raised when the tables change: a file of the form before is brought forward where it lies, any other is rebuilt from the topics. */
const FORM = 3
const EARLIER = 2
/** What filters ask of a ruling, in the order of documents: a million of these are read in less time than 50,000 whole rows. */
export const FILTERED = 'rulings_filtered'
/** The same of each tenant by itself: of a small one nothing of the others is looked at. */
export const FILTERED_BY_TENANT = 'rulings_filtered_by_tenant'
/** Rows of `said` that are opinions, and those with the key of a golden item, as indexes have them. */
export const IS_OPINION = "said.said = 'decision' AND json_extract(said.json, '$.opinion')"
export const GOLDEN = "said.said = 'decision' AND json_extract(said.json, '$.golden') = 'key'"
/** Which verdict a withdrawal published again, of the few of which one did. */
export const RESTORED = "json_extract(json, '$.restored.from')"
/** An index names no table. */
const bare = (condition: string) => condition.replaceAll('said.said', 'said').replaceAll('said.json', 'json')
const INDEXES = `${reviewIndexes("json_extract(json, '$.decision.by')")}
  CREATE INDEX IF NOT EXISTS rulings_protocol ON rulings (protocol);
  CREATE INDEX IF NOT EXISTS ${FILTERED} ON rulings (doc, standing, tenant, protocol, label, degraded, decided_at);
  CREATE INDEX IF NOT EXISTS ${FILTERED_BY_TENANT} ON rulings (tenant, doc, standing, protocol, label, degraded, decided_at);
  CREATE INDEX IF NOT EXISTS rulings_restored ON rulings (s, ${RESTORED}) WHERE ${RESTORED} IS NOT NULL;
  DROP INDEX IF EXISTS rulings_tenant;
  CREATE INDEX IF NOT EXISTS said_kind ON said (s, protocol, said, at);
  CREATE INDEX IF NOT EXISTS said_asked ON said (s, protocol, json_extract(json, '$.verdict'), json_extract(json, '$.why'), at, n)
    WHERE said = 'review';
  CREATE INDEX IF NOT EXISTS said_opinions ON said (s, protocol, json_extract(json, '$.against'), at, n) WHERE ${bare(IS_OPINION)};
  CREATE INDEX IF NOT EXISTS said_golden ON said (s, protocol, json_extract(json, '$.against'), label) WHERE ${bare(GOLDEN)};
  ${FEEDBACK_INDEX};
`

/** Images that people look at, how each wants them covered, and how many were uncovered. */
const FOR_PEOPLE = `
  CREATE TABLE pictures (
    s INTEGER NOT NULL, address TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL, sha256 TEXT NOT NULL,
    picture BLOB NOT NULL, cover BLOB NOT NULL, PRIMARY KEY (s, address)
  );
  CREATE INDEX pictures_at ON pictures (at);
  CREATE INDEX pictures_until ON pictures (until);
  CREATE TABLE covers (person TEXT PRIMARY KEY, choice TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE exposures (
    person TEXT, minute INTEGER, tenant TEXT, label TEXT, n INTEGER NOT NULL, PRIMARY KEY (person, minute, tenant, label)
  ) WITHOUT ROWID;
  CREATE INDEX exposures_minute ON exposures (minute);
`
/** What people note and name; it is there beside tables of an earlier version. */
const NOTED = `
  CREATE TABLE IF NOT EXISTS notes (n INTEGER PRIMARY KEY, s INTEGER NOT NULL, by TEXT NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS notes_subject ON notes (s);
  CREATE INDEX IF NOT EXISTS notes_at ON notes (at);
  CREATE TABLE IF NOT EXISTS views (person TEXT, name TEXT, query TEXT NOT NULL, PRIMARY KEY (person, name)) WITHOUT ROWID;
`
/** Who wrote what, by a keyed hash of the author: `comment` is empty where it is the subject itself. */
const WRITTEN = `
  CREATE TABLE IF NOT EXISTS written (author TEXT, s INTEGER, comment TEXT, PRIMARY KEY (author, s, comment)) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS written_subject ON written (s, comment);
`
/** Deleted posts whose comments and replies are being erased, and after which comment that goes on. */
const DELETED_POSTS = `
  CREATE TABLE IF NOT EXISTS deleted_posts (tenant TEXT, post TEXT, at INTEGER NOT NULL, after TEXT NOT NULL, PRIMARY KEY (tenant, post)) WITHOUT ROWID;
`
/** By triggers: whatever writes transcripts, and removes them. */
const SHOWN_BY = `
  CREATE TRIGGER IF NOT EXISTS shown_new AFTER INSERT ON transcripts WHEN new.comments IS NOT NULL
  BEGIN INSERT OR IGNORE INTO shown ${shownIn('new.s = subjects.s', 'json_each(new.comments)', 'new.comments')}; END;
  CREATE TRIGGER IF NOT EXISTS shown_gone AFTER DELETE ON transcripts WHEN NOT EXISTS (SELECT 1 FROM transcripts WHERE s = old.s)
  BEGIN DELETE FROM shown WHERE s = old.s; END;
`
/** What the transcripts of comments show. */
function shownIn(ofSubject: string, each: string, comments: string): string {
  return `SELECT subjects.tenant, substr(subjects.id, 1, instr(subjects.id, '~')) || CASE WHEN ${comments} = '"any"' THEN '' ELSE value END, subjects.s
    FROM subjects JOIN ${each} WHERE ${ofSubject} AND subjects.kind = 'comment'`
}
/** An action that is dropped has no statement any more. */
const STATEMENTS_END = `;
  CREATE TRIGGER IF NOT EXISTS statements_end AFTER DELETE ON said WHEN old.said = 'action'
  BEGIN DELETE FROM due_statements WHERE action = old.id; END`
/** Posts that came with the earlier form are no copies of each other until they are judged again: their words are not read for it. */
const FORWARD = `
  ALTER TABLE subjects ADD COLUMN same TEXT;
  CREATE INDEX subjects_same ON subjects (tenant, kind, same) WHERE same IS NOT NULL;
  CREATE INDEX said_assigned ON said (label, s) WHERE said = 'assignment';
  ALTER TABLE queue ADD COLUMN reach INTEGER NOT NULL DEFAULT 0;
  UPDATE queue SET reach = coalesce((SELECT accepted FROM rulings WHERE id = queue.verdict), 0);
  ${FOR_PEOPLE}
`

/** How many pictures a subject has: what was judged before that was known shows none in lists until it is judged again. */
const COUNTED = 'ALTER TABLE subjects ADD COLUMN images INTEGER'
const isCounted = (db: DatabaseSync) => hasColumn(db, 'subjects', 'images')

function hasColumn(db: DatabaseSync, table: string, column: string): boolean {
  return numberOf(db, `SELECT count(*) FROM pragma_table_info('${table}') WHERE name = '${column}'`) > 0
}

/** Machines' verdicts beside people's words: of what was taken before, clauses and what people had seen are not known. */
function laidBeside(db: DatabaseSync): void {
  db.exec(
    LEDGER + LANE_LEDGER + INDEXES + NOTED + DELETED_POSTS + WRITTEN + APPEALS + REVERSALS('TEXT') + STATEMENTS_END,
  )
  const isThere = (table: string) => numberOf(db, `SELECT count(*) FROM sqlite_schema WHERE name = '${table}'`) > 0
  if (!isThere('shown'))
    db.exec(`${SHOWN} ${SHOWN_BY} INSERT OR IGNORE INTO shown
      ${shownIn('transcripts.s = subjects.s', 'transcripts JOIN json_each(transcripts.comments)', 'transcripts.comments')}
      AND transcripts.comments IS NOT NULL`)
  if (!isThere('compared'))
    db.exec(`ALTER TABLE rulings ADD COLUMN clauses TEXT; ALTER TABLE rulings ADD COLUMN decision TEXT;
      ALTER TABLE said ADD COLUMN saw INTEGER; ${COMPARED}; ${compare(COMPARABLE)}`)
  for (const [table, column] of LATER_COLUMNS)
    if (!hasColumn(db, table, column)) db.exec(`ALTER TABLE ${table} ADD COLUMN ${column} TEXT`)
  recount(db, isThere('held_by'))
  if (isThere(EARLIER_ANSWERS)) db.exec(ANSWERS_FORWARD)
}

/** Counts anew what tenants hold, where an earlier version counted less of it, or in another way. */
function recount(db: DatabaseSync, isCounted: boolean): void {
  const way = hash('sha256', COUNT_HELD, 'base64url').slice(0, 22)
  if (isCounted && numberOf(db, `SELECT count(*) FROM meta WHERE k = 'held' AND v = '${way}'`) > 0) return
  const triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'held_%'").all()
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  db.exec(`DROP TABLE IF EXISTS held_by; ${COUNT_HELD}; INSERT OR REPLACE INTO meta VALUES ('held', '${way}')`)
}

/** `opinionCode` of a row of `said`, in SQL. */
export const OPINION_CODE = `CASE WHEN NOT coalesce(json_extract(said.json, '$.opinion'), 0) THEN 0
  WHEN json_extract(said.json, '$.golden') IS NULL THEN CASE WHEN json_extract(said.json, '$.sawLabel') THEN ${OPINION_SIGHTED}
    WHEN json_extract(said.json, '$.unseen') THEN ${OPINION_UNSEEN} ELSE ${OPINION} END
  WHEN json_extract(said.json, '$.unseen') THEN ${GOLDEN_UNSEEN}
  WHEN json_extract(said.json, '$.golden') = 'key' THEN ${GOLDEN_KEY}
  WHEN json_extract(said.json, '$.sawLabel') THEN ${GOLDEN_UNSEEN} ELSE ${GOLDEN_ANSWER} END`

/** What is found by words has no copy of them: `texts` has the folded text, and the index the grams alone. */
const TABLES = `
  CREATE TABLE meta (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE offsets (topic TEXT, part INTEGER, next INTEGER NOT NULL, PRIMARY KEY (topic, part)) WITHOUT ROWID;
  CREATE TABLE holes (topic TEXT, part INTEGER, lo INTEGER, hi INTEGER, at INTEGER);
  CREATE TABLE subjects (
    s INTEGER PRIMARY KEY, tenant TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, author TEXT, lang TEXT, begins TEXT, same TEXT,
    images INTEGER, deleted_at INTEGER, gone_seq INTEGER, UNIQUE (tenant, kind, id)
  );
  CREATE INDEX subjects_same ON subjects (tenant, kind, same) WHERE same IS NOT NULL;
  CREATE INDEX subjects_deleted ON subjects (deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE INDEX subjects_gone ON subjects (gone_seq) WHERE gone_seq IS NOT NULL;
  CREATE TABLE rulings (
    doc INTEGER PRIMARY KEY, s INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, protocol TEXT NOT NULL,
    number INTEGER NOT NULL, label TEXT, decided_by TEXT NOT NULL, degraded INTEGER NOT NULL, opened_at INTEGER NOT NULL,
    decided_at INTEGER NOT NULL, standing INTEGER NOT NULL, contested INTEGER NOT NULL, confidence REAL,
    accepted INTEGER NOT NULL, sampled INTEGER NOT NULL DEFAULT 0,
    conflicting INTEGER NOT NULL DEFAULT 0, erased INTEGER NOT NULL DEFAULT 0, indexed INTEGER NOT NULL DEFAULT 0,
    seq INTEGER, hash TEXT NOT NULL, json TEXT NOT NULL
  );
  CREATE INDEX rulings_seq ON rulings (seq) WHERE seq IS NOT NULL;
  CREATE TABLE marks (mark TEXT, value TEXT, doc INTEGER, PRIMARY KEY (mark, value, doc)) WITHOUT ROWID;
  CREATE INDEX marks_doc ON marks (doc);
  CREATE INDEX rulings_subject ON rulings (s, protocol, number);
  CREATE INDEX rulings_label ON rulings (protocol, label);
  CREATE INDEX rulings_labelled ON rulings (label);
  CREATE INDEX rulings_unindexed ON rulings (doc) WHERE standing = 1 AND indexed = 0 AND erased = 0;
  CREATE TABLE transcripts (
    t INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, s INTEGER NOT NULL, at INTEGER NOT NULL, bare INTEGER NOT NULL,
    comments TEXT, words TEXT, z BLOB
  );
  CREATE INDEX transcripts_subject ON transcripts (s, at);
  CREATE INDEX transcripts_held ON transcripts (t) WHERE z IS NOT NULL;
  CREATE TABLE texts (doc INTEGER PRIMARY KEY, folded TEXT NOT NULL);
  CREATE VIRTUAL TABLE found USING fts5(g, content='', detail=none, tokenize='ascii');
  CREATE TABLE said (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, s INTEGER NOT NULL, said TEXT NOT NULL, protocol TEXT NOT NULL,
    label TEXT, by TEXT NOT NULL, at INTEGER NOT NULL, json TEXT NOT NULL
  );
  CREATE INDEX said_subject ON said (s, at);
  CREATE INDEX said_at ON said (at);
  CREATE INDEX said_assigned ON said (label, s) WHERE said = 'assignment';
  CREATE TABLE gone_comments (tenant TEXT, post TEXT, comment TEXT, at INTEGER, PRIMARY KEY (tenant, post, comment)) WITHOUT ROWID;
  CREATE INDEX gone_comments_at ON gone_comments (at);
  CREATE TABLE quotes (tenant TEXT, post TEXT, reply TEXT, at INTEGER, PRIMARY KEY (tenant, post, reply)) WITHOUT ROWID;
  CREATE INDEX quotes_at ON quotes (at);
  CREATE TABLE unread (topic TEXT, part INTEGER, at_offset INTEGER, subject TEXT, at INTEGER, raw BLOB, PRIMARY KEY (topic, part, at_offset));
  CREATE INDEX unread_subject ON unread (subject);
  CREATE INDEX unread_at ON unread (at);
  CREATE INDEX subjects_id ON subjects (id);
  CREATE TABLE queue (
    s INTEGER, protocol TEXT, verdict TEXT NOT NULL, tenant TEXT NOT NULL, number INTEGER NOT NULL, label TEXT,
    reasons TEXT NOT NULL, weight REAL NOT NULL, since INTEGER NOT NULL, decider TEXT, reach INTEGER NOT NULL, holder TEXT, until INTEGER,
    PRIMARY KEY (s, protocol)
  ) WITHOUT ROWID;
  CREATE INDEX queue_protocol ON queue (protocol, since);
  CREATE INDEX queue_verdict ON queue (verdict);
  CREATE INDEX queue_heaviest ON queue (weight DESC, since);
  CREATE INDEX queue_oldest ON queue (since);
  CREATE INDEX queue_tenant ON queue (tenant, protocol);
  CREATE INDEX queue_holder ON queue (holder) WHERE holder IS NOT NULL;
  CREATE INDEX queue_decider ON queue (decider) WHERE decider IS NOT NULL;
  CREATE TABLE agreement (s INTEGER, protocol TEXT, beside TEXT, agrees INTEGER NOT NULL, PRIMARY KEY (s, protocol, beside)) WITHOUT ROWID;
  CREATE INDEX agreement_protocol ON agreement (protocol, beside, agrees);
  ${FOR_PEOPLE}
  INSERT INTO found (found, rank) VALUES ('secure-delete', 1);
`

/** How a connection works; never VACUUM, which copies content to a temporary file. */
const PRAGMAS = `
  PRAGMA journal_mode = wal;
  PRAGMA synchronous = full;
  PRAGMA secure_delete = on;
  PRAGMA temp_store = memory;
  PRAGMA busy_timeout = 5000;
  PRAGMA cache_size = -32000;
`

const IN_MEMORY = '?vfs=memdb'

/** The path of a record in memory alone, another at each call. This process's connections share it; it ends with the last of them. */
export const pathInMemory = () => `file:/${randomUUID()}${IN_MEMORY}`
export const isInMemory = (path: string) => path.endsWith(IN_MEMORY)

/** A connection that writes; makes file and tables where there are none. Throws `RecordDamaged`. */
export function writing(path: string, maxBytes: number): DatabaseSync {
  return guarded(path, () => {
    if (!isInMemory(path)) mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    return opened(new DatabaseSync(path), (db) => {
      // Before the first table: it can't be changed afterwards.
      db.exec('PRAGMA auto_vacuum = incremental')
      db.exec(PRAGMAS)
      const form = numberOf(db, 'PRAGMA user_version')
      if (form === 0) {
        db.exec(`BEGIN IMMEDIATE; ${TABLES} PRAGMA user_version = ${FORM}`)
        laidBeside(db)
        db.exec('COMMIT')
      } else inForm(db, path)
      const page = numberOf(db, 'PRAGMA page_size')
      db.exec(`PRAGMA max_page_count = ${Math.max(64, Math.floor(maxBytes / page))}`)
    })
  })
}

/** A connection that writes to tables that are there, beside the process that keeps them. Throws `RecordDamaged`. */
export function writingBeside(path: string): DatabaseSync {
  return guarded(path, () =>
    opened(new DatabaseSync(path, { readOnly: false }), (db) => {
      db.exec(PRAGMAS)
      inForm(db, path)
    }),
  )
}

/** The connection once it is ready; closed again if it can't be made so. */
function opened(db: DatabaseSync, ready: (db: DatabaseSync) => void): DatabaseSync {
  try {
    ready(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** A connection that reads. Throws `RecordDamaged`. */
export function reading(path: string): DatabaseSync {
  return guarded(path, () => {
    if (isBehind(path)) writingBeside(path).close()
    return opened(new DatabaseSync(path, { readOnly: true }), (db) => {
      db.exec('PRAGMA temp_store = memory; PRAGMA busy_timeout = 5000; PRAGMA cache_size = -64000')
      if (numberOf(db, 'PRAGMA user_version') !== FORM) throw new RecordDamaged(anotherForm(path))
    })
  })
}

/** Whether a file has to be brought forward before it is read. */
function isBehind(path: string): boolean {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const form = numberOf(db, 'PRAGMA user_version')
    const tables = "('appeals', 'reversals', 'held_by', 'shown', 'due_statements')"
    const laid = numberOf(db, `SELECT count(*) FROM sqlite_schema WHERE name IN ${tables}`)
    const hasAll = laid === 5 && LATER_COLUMNS.every(([table, column]) => hasColumn(db, table, column))
    return form === EARLIER || (form === FORM && !(isCounted(db) && hasAll))
  } finally {
    db.close()
  }
}

/** Brings a file of the earlier form forward; of processes that open it at a time one does. Throws `RecordDamaged` for any other form. */
function inForm(db: DatabaseSync, path: string): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    const form = numberOf(db, 'PRAGMA user_version')
    if (form === EARLIER) db.exec(`${FORWARD} PRAGMA user_version = ${FORM};`)
    else if (form !== FORM) throw new RecordDamaged(anotherForm(path))
    if (!isCounted(db)) db.exec(COUNTED)
    laidBeside(db)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

function anotherForm(path: string): string {
  return `${path} was written by another version. Run "gavel record rebuild".`
}

function numberOf(db: DatabaseSync, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0] ?? 0)
}

const FULL = 13
const DAMAGED: ReadonlySet<number> = new Set([11, 26])

/** Does this with the file; SQLite's words for a damaged or full one become the port's. */
export function guarded<Result>(path: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
    const said = error instanceof Error ? error.message : String(error)
    if (code === FULL) throw new RecordFull(`${path}: ${said}`, { cause: error })
    if (DAMAGED.has(code))
      throw new RecordDamaged(`${path} is damaged (${said}). Run "gavel record rebuild".`, { cause: error })
    throw error
  }
}
