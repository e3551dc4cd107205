import pg from 'pg'
import { RecordDamaged, RecordFull } from '../../ports/record.ts'
import { type TlsSettings, tlsOptions } from '../tls.ts'

/** Where the record's database is, and as whom it is asked. */
export interface Address {
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
  /** Does what no transaction can do; false if others held for two seconds what it needs for itself. */
  alone(statement: string): Promise<boolean>
  close(): Promise<void>
}

const CONNECT_MS = 10_000
const INT8 = 20
const LOCKED = '55P03'

/**
 * Connections to the record's database, at most so many. Each question fails by itself: with `RecordFull` where its disk is full, with
 * `RecordDamaged` where the server says that what it has is damaged.
 */
export function database({ url, password, schema, tls }: Address, most: number): Database {
  const pool = new pg.Pool({
    ...placeOf(url),
    ...(password !== '' && { password }),
    ...(tls.enabled && { ssl: tlsOptions(tls, 'record.postgres.tls') }),
    options: `-c search_path=${schema} -c client_min_messages=warning`,
    max: most,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    application_name: 'gavel-record',
    // Numbers of documents and times are exact as numbers.
    types: { getTypeParser: (oid, format) => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) },
  })
  // A connection that is idle may end; the next question makes another.
  pool.on('error', () => undefined)
  const asked = (client: pg.Pool | pg.PoolClient): Sql => ({
    rows: async <Row>(sql: string, ...values: readonly Value[]) =>
      (await told(() => client.query(questionOf(sql, values)))).rows as Row[],
    run: async (sql, ...values) => (await told(() => client.query(questionOf(sql, values)))).rowCount ?? 0,
  })
  return {
    ...asked(pool),
    async transaction(work) {
      const client = await told(() => pool.connect())
      let broken: Error | boolean = false
      try {
        await told(() => client.query('BEGIN'))
        const result = await work(asked(client))
        await told(() => client.query('COMMIT'))
        return result
      } catch (error) {
        await client.query('ROLLBACK').catch((failure: Error) => {
          broken = failure
        })
        throw error
      } finally {
        client.release(broken)
      }
    },
    async alone(statement) {
      const client = await told(() => pool.connect())
      try {
        await client.query("SET lock_timeout TO '2s'")
        await told(() => client.query(statement))
        await client.query('RESET lock_timeout')
        client.release()
        return true
      } catch (error) {
        client.release(true)
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

/** No text of PostgreSQL's may hold a zero, nor half a character. */
export function sendableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u2400')
}

function sendable(value: Value): unknown {
  if (typeof value === 'string') return sendableText(value)
  return Array.isArray(value) ? value.map(sendable) : value
}

/** Rows as arrays of their columns, for `unnest`. */
export function columnsOf(rows: readonly (readonly (string | number | null | Buffer)[])[], count: number) {
  return Array.from({ length: count }, (_, column) => rows.map((row) => row[column] ?? null))
}

const FULL: ReadonlySet<string> = new Set(['53100'])
const DAMAGED: ReadonlySet<string> = new Set(['XX001', 'XX002'])

/** Does this; the server's words for damage and a full disk become the port's. */
async function told<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const said = error instanceof Error ? error.message : String(error)
    if (FULL.has(code)) throw new RecordFull(`the record's database: ${said}`, { cause: error })
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
