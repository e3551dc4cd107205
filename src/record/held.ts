// What each tenant holds in the record: counted beside the rows, by triggers, in the transaction that changes them. So it is right after
// whatever ended a process, in a record that was made anew, and where a version that does not know of it writes beside this one.

import type { ThreadRef } from '../contracts/facts/thread.ts'

/** A table whose rows count to a tenant. */
export interface HeldTable {
  readonly table: string
  /** By which table, and its key, or which SQL, it is found whose a row is; `null`: the row names it. */
  readonly by: { readonly table: string; readonly key: string } | ((row: string) => string) | null
  /** The bytes of a row with its indexes, in SQL over its columns: nearly what it takes on disk. */
  readonly bytes: (row: string) => string
  /** The columns by which that changes. */
  readonly changing: readonly string[]
}

/** The bytes of some columns; of one that is null none. */
export const bytesOf = (row: string, ...columns: readonly string[]) =>
  columns.map((column) => `coalesce(octet_length(${row}.${column}), 0)`).join(' + ')

export const BY_SUBJECT = { table: 'subjects', key: 's' } as const

/** What two tenants at least hold, in the SQL that both databases understand. */
export const LARGEST = (from: string) =>
  `SELECT tenant, bytes FROM ${from} WHERE bytes > 0 ORDER BY bytes DESC, tenant LIMIT 2`

/** The same with what pages of rows leave free: a quarter. */
export const onPages = (tables: readonly HeldTable[]): readonly HeldTable[] =>
  tables.map((one) => ({ ...one, bytes: (row) => `(${one.bytes(row)}) * 4 / 3` }))

/** What a row's tenant is, in SQL. */
export function tenantIn({ by }: HeldTable, row: string): string {
  if (by === null) return `${row}.tenant`
  return typeof by === 'function'
    ? by(row)
    : `(SELECT tenant FROM ${by.table} WHERE ${by.table}.${by.key} = ${row}.${by.key})`
}

/** What each tenant holds by the rows themselves: what is counted beside them equals it. */
export function scanned(tables: readonly HeldTable[]): string {
  const each = tables.map(
    (of) => `SELECT ${tenantIn(of, of.table)} AS tenant, ${of.bytes(of.table)} AS bytes FROM ${of.table}`,
  )
  return `SELECT tenant, sum(bytes) AS bytes FROM (${each.join(' UNION ALL ')}) AS held WHERE tenant IS NOT NULL GROUP BY tenant`
}

/** Up to which time notes of deletions were dropped to make room, by the tenant that held more than its share. */
export const DROPPED = (text: string, integer: string) =>
  `CREATE TABLE IF NOT EXISTS dropped_notes (tenant ${text} PRIMARY KEY, at ${integer} NOT NULL)`

/** Notes that a message of another's was no appeal: nothing of it is kept, and no tenant is known. */
export const NOTHING_READ = "topic = 'appeals'"

/** The part of `maxBytes` that one tenant may hold while another holds something, where the settings do not say. */
export const TENANT_SHARE = 0.5

/**
 * Whether the words of a subject that was opened or asked about then may have been deleted, where notes of deletions were dropped: those of
 * a reply whenever they come, as nobody knows any more which post they quote.
 */
export function mayBeDeleted({ kind }: ThreadRef, at: number | null, dropped: number | null): boolean {
  return dropped !== null && (kind === 'reply' || at === null || at <= dropped)
}
