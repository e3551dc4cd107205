import { join } from 'node:path'
import { afterAll } from 'vitest'
import { aPostgres } from '../support/postgres-server.ts'
import { erasesAuthors } from './authors.ts'

const postgres = await aPostgres({ password: 'canary4authors' })
afterAll(async () => {
  await postgres?.close()
})

erasesAuthors('SQLite', (folder) => ({ GAVEL_RECORD_PATH: join(folder, 'record.sqlite') }))
if (postgres !== null)
  erasesAuthors('PostgreSQL', () => {
    const { url, password } = postgres.address('authors')
    return {
      GAVEL_RECORD_STORE: 'postgres',
      GAVEL_RECORD_POSTGRES_URL: url,
      GAVEL_RECORD_POSTGRES_PASSWORD: password,
      GAVEL_RECORD_POSTGRES_SCHEMA: 'authors',
    }
  })
