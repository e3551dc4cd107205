import { afterAll } from 'vitest'
import { aPostgres } from '../support/postgres-server.ts'
import { accountsForAppeals } from './appeals.ts'

const postgres = await aPostgres({ password: 'canary4appeals' })
afterAll(async () => {
  await postgres?.close()
})
accountsForAppeals('SQLite', () => ({}), { apart: true })
if (postgres !== null) accountsForAppeals('PostgreSQL', () => postgres.variables('appeals'), { apart: true })
