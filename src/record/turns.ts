// What the record works off some at a time, each tenant's in turn: nobody's flood keeps another tenant waiting.

/** Rows of a table that are to be worked off. An index begins with whose they are, goes on in their order, and has no others. */
interface WorkList {
  readonly table: string
  readonly columns: string
  /** Whose a row is, in SQL; absent: the row names it. */
  readonly tenant?: string
  /** Which rows are on the list; absent: all. */
  readonly listed?: string
  /** Which of those are due now; absent: all. Its values come before others. */
  readonly due?: string
  readonly order: string
}

/** The same in SQL. */
export interface WorkQueries {
  /** Tenants that have something due, by one look at the index for each, in any order. Its last value: how many. */
  readonly tenants: string
  /** What is due of one. Its values: the tenant, those of what is due, and how many. */
  readonly of: string
}

export function workedInTurn({
  table,
  columns,
  tenant = 'tenant',
  listed = '1 = 1',
  due = '1 = 1',
  order,
}: WorkList): WorkQueries {
  const least = (more: string) =>
    `SELECT min(${tenant}) AS tenant FROM ${table} WHERE ${listed} AND ${tenant} > ${more}`
  const own = (whose: string) => `FROM ${table} WHERE ${listed} AND ${tenant} = ${whose} AND ${due}`
  return {
    tenants: `WITH RECURSIVE names (tenant) AS (${least("''")}
        UNION ALL SELECT (${least('names.tenant')}) FROM names WHERE names.tenant IS NOT NULL)
      SELECT tenant FROM names WHERE tenant IS NOT NULL AND EXISTS (SELECT 1 ${own('names.tenant')}) ORDER BY random() LIMIT ?`,
    of: `SELECT ${columns} ${own('?')} ORDER BY ${order} LIMIT ?`,
  }
}

export interface WaitingTenant {
  readonly tenant: string
}

/** At most so many rows, of each tenant as many as its share is. */
export function inTurn<Row>(
  most: number,
  tenants: readonly WaitingTenant[],
  of: (tenant: string, share: number) => readonly Row[],
): Row[] {
  const rows: Row[] = []
  const share = Math.ceil(most / tenants.length)
  for (const { tenant } of tenants) rows.push(...of(tenant, Math.min(share, most - rows.length)))
  return rows
}

/** The same where the rows are waited for. */
export async function inTurnLater<Row>(
  most: number,
  tenants: readonly WaitingTenant[],
  of: (tenant: string, share: number) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  const share = Math.ceil(most / tenants.length)
  for (const { tenant } of tenants) rows.push(...(await of(tenant, Math.min(share, most - rows.length))))
  return rows
}
