import { join } from 'node:path'
import { afterAll } from 'vitest'
import { aPostgres } from '../support/postgres-server.ts'
import { erasesAuthors } from './authors.ts'

const postgres = await aPostgres({ password: 'canary4authors' })
afterAll(async () => {
  await postgres?.close()
})

erasesAuthors('SQLite', (folder) => ({ GAVEL_RECORD_PATH: join(folder, 'record.sqlite') }))
if (postgres !== null) erasesAuthors('PostgreSQL', () => postgres.variables('authors'))
