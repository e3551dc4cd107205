import { afterAll } from 'vitest'
import { aPostgres } from '../support/postgres-server.ts'
import { answersAppeals } from './appeals.ts'

const postgres = await aPostgres({ password: 'canary4appeals' })
afterAll(async () => {
  await postgres?.close()
})
if (postgres !== null) answersAppeals('PostgreSQL', () => postgres.variables('appeals'))
