import { afterAll } from 'vitest'
import { aPostgres } from '../support/postgres-server.ts'
import { accountsForActions } from './actions.ts'

const postgres = await aPostgres({ password: 'canary4actions' })
afterAll(async () => {
  await postgres?.close()
})
if (postgres !== null) accountsForActions('PostgreSQL', () => postgres.variables('actions'))
