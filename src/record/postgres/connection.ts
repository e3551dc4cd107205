import pg from 'pg'
import { RecordAway, RecordDamaged, RecordFull } from '../../contracts/ports/record.ts'
import { type TlsSettings, tlsOptions } from '../../platform/tls.ts'

/** Where the record's database is, and as whom it is asked. */
export interface DatabaseAddress {
  /** postgresql://user@host:port/database */
  readonly url: string
  /** Goes before what stands in the URL; empty: that one. */
  readonly password: string
  /** The schema that all tables of the record are in. */
  readonly schema: string
  readonly tls: TlsSettings
}

type Value = string | number | null | Buffer | readonly (string | number | null | Buffer)[]

/** Questions to the database, within a transaction or one by one. Question marks in the SQL stand for the values. */
export interface Sql {
  rows<Row>(sql: string, ...values: readonly Value[]): Promise<Row[]>
  /** How many rows were changed. */
  run(sql: string, ...values: readonly Value[]): Promise<number>
}

export interface Database extends Sql {
  /** Does all of it or nothing, over one connection. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Asks all of it of one state of the record, one question after the other. */
  snapshot<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** The same; false, and nothing is done, if others hold for two seconds what it needs for itself. */
  alone(work: (sql: Sql) => Promise<unknown>): Promise<boolean>
  close(): Promise<void>
}

const CONNECT_MS = 10_000
/** A question that takes longer is given up with its connection: the database may be gone without a word. */
const ANSWER_MS = 120_000
/**
 * A writer holds up all other writers: a machine that is gone in mid-step does so for as long only. Rules that hold by what
 * was committed before, whatever the database's own default is.
 */
const SESSION = {
  tcp_keepalives_idle: '15',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '30s',
  default_transaction_isolation: String.raw`read\ committed`,
  client_min_messages: 'warning',
  // Each question reads few rows: to start workers, or to compile it, takes longer than that saves.
  max_parallel_workers_per_gather: '0',
  jit: 'off',
}
/** How long a step may be silent, in ms. */
const SILENT_MS = 60_000
/**
 * Keys and tables that are put in place of others while a snapshot is open would be empty to it. So it has them all before it is
 * taken; of the keys the whole table, which is locked before any part of it is written anew.
 */
const SNAPSHOT = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  LOCK TABLE meta, counters, subjects, rulings, marks, said, queue, ONLY keys IN ACCESS SHARE MODE`
const [INT8, TEXT] = [20, 25]
const LOCKED = '55P03'

/**
 * Connections to the record's database, at most so many. Each question fails by itself: with `RecordFull` where its disk is full, with
 * `RecordDamaged` where the server reports that its data are damaged.
 */
export function database(address: DatabaseAddress, most: number, silentMs = SILENT_MS): Database {
  const { schema, tls } = address
  const { password: _, ...place } = placeOf(address.url)
  const pool = new pg.Pool({
    ...place,
    // As it is when a connection logs in, also where there was none at the start.
    password: () => address.password || placeOf(address.url).password || '',
    ...(tls.enabled && { ssl: tlsOptions(tls, 'record.postgres.tls') }),
    options: Object.entries({ ...SESSION, search_path: schema, idle_in_transaction_session_timeout: silentMs })
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    max: most,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 15_000,
    application_name: 'gavel-record',
    types: { getTypeParser: (oid, format) => READ.get(oid) ?? pg.types.getTypeParser(oid, format) },
  })
  // A connection may end while nothing is asked, also in mid-step; the next question fails, or makes another.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const asked = (client: pg.Pool | pg.PoolClient): Sql => ({
    rows: async <Row>(sql: string, ...values: readonly Value[]) =>
      (await told(() => client.query(questionOf(sql, values)))).rows as Row[],
    run: async (sql, ...values) => (await told(() => client.query(questionOf(sql, values)))).rowCount ?? 0,
  })
  async function begun<Result>(begin: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const client = await told(() => pool.connect())
    let broken: Error | boolean = false
    try {
      await told(() => client.query(begin))
      const result = await work(asked(client))
      await told(() => client.query('COMMIT'))
      return result
    } catch (error) {
      // Of what the server has not refused itself nobody knows how far it went.
      if (error instanceof pg.DatabaseError)
        await client.query('ROLLBACK').catch((failure: Error) => {
          broken = failure
        })
      else broken = true
      throw error
    } finally {
      client.release(broken)
    }
  }
  return {
    ...asked(pool),
    transaction: (work) => begun('BEGIN', work),
    snapshot: (work) => begun(SNAPSHOT, work),
    async alone(work) {
      try {
        await this.transaction(async (sql) => {
          await sql.rows("SELECT set_config('lock_timeout', '2s', true)")
          await work(sql)
        })
        return true
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === LOCKED) return false
        throw error
      }
    },
    close: () => pool.end(),
  }
}

/** Taken apart here: what the package reads in a URL goes before all that is said beside it. */
function placeOf(url: string) {
  const { hostname, port, username, password, pathname } = new URL(url)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port !== '' && { port: Number(port) }),
    ...(username !== '' && { user: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 && { database: decodeURIComponent(pathname.slice(1)) }),
  }
}

function questionOf(sql: string, values: readonly Value[]): pg.QueryConfig {
  let at = 0
  const text = sql.replace(/\?/g, () => `$${++at}`)
  return { text, values: values.map(sendable) }
}

const ESCAPE = '\u001a'

/** No text of PostgreSQL's may hold a zero, nor half a character. Two texts that differ by a zero stay two. */
export function sendableText(text: string): string {
  const whole = text.toWellFormed()
  if (!whole.includes('\0') && !whole.includes(ESCAPE)) return whole
  return whole.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`)
}

function readText(text: string): string {
  if (!text.includes(ESCAPE)) return text
  return text.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE)
}

/** Numbers of documents and times are exact as numbers. */
const READ: ReadonlyMap<number, (value: string) => unknown> = new Map<number, (value: string) => unknown>([
  [INT8, Number],
  [TEXT, readText],
])

function sendable(value: Value): unknown {
  if (typeof value === 'string') return sendableText(value)
  return Array.isArray(value) ? value.map(sendable) : value
}

/** Rows as arrays of their columns, for `unnest`. */
export function columnsOf(rows: readonly (readonly (string | number | null | Buffer)[])[], count: number) {
  return Array.from({ length: count }, (_, column) => rows.map((row) => row[column] ?? null))
}

const FULL: ReadonlySet<string> = new Set(['53100'])
/** It shuts down, starts, or refuses the user, the password or the database. */
const NOT_LET_IN: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', '28000', '28P01', '3D000'])
/** What Node and the client say of a connection that can't be made, or was lost. */
const NO_ANSWER =
  /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET)|Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error/
const DAMAGED: ReadonlySet<string> = new Set(['XX001', 'XX002'])

/** Does this; the server's words for damage and a full disk become the port's. */
async function told<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const said = error instanceof Error ? error.message : String(error)
    if (FULL.has(code)) throw new RecordFull(`the record's database: ${said}`, { cause: error })
    if (NOT_LET_IN.has(code) || NO_ANSWER.test(code) || NO_ANSWER.test(said))
      throw new RecordAway(`the record's database does not answer (${code}${said === '' ? '' : ` ${said}`})`, {
        cause: error,
      })
    if (DAMAGED.has(code))
      throw new RecordDamaged(
        `the record's database is damaged (${said}). Restore it, or run "gavel record rebuild".`,
        {
          cause: error,
        },
      )
    throw error
  }
}
