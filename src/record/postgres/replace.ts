import { type DatabaseAddress, database, type Sql } from './connection.ts'
import { metaOf } from './schema.ts'

/** The schema in which a record is made anew, beside the one that it takes the place of. */
export const besides = (schema: string) => `${schema}_rebuilt`

async function once<Result>(address: DatabaseAddress, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const db = database(address, 1)
  try {
    return await db.transaction(work)
  } finally {
    await db.close()
  }
}

/** Removes what an earlier attempt left there. */
export async function cleared(address: DatabaseAddress): Promise<void> {
  await once(address, (sql) => sql.run(`DROP SCHEMA IF EXISTS ${address.schema} CASCADE`))
}

/** The record in this schema becomes that of `address`: at every moment there is one or the other. */
export async function putInPlace(place: string, address: DatabaseAddress): Promise<void> {
  const { schema } = address
  await once(address, async (sql) => {
    await sql.run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await sql.run(`ALTER SCHEMA ${place} RENAME TO ${schema}`)
  })
}

/** By what the record there draws verdicts for audit. Rejects with `NoRecord` if there is none. */
export async function drawKeyOf(address: DatabaseAddress): Promise<string> {
  return await once(address, async (sql) => (await metaOf(sql, address.schema)).draws)
}
