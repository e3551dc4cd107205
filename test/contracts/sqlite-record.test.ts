import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sameThreadHalf } from '../../src/service/adapters/sqlite/halves.ts'
import { sqliteRecord } from '../../src/service/adapters/sqlite/record.ts'
import { DAY, KEEP, recordContract } from './record.ts'

const pathOf = () => join(tmpdir(), `gavel-record-${randomBytes(6).toString('hex')}`, 'record.sqlite')

recordContract('in SQLite', () =>
  sqliteRecord({ path: pathOf(), keep: KEEP, maxBytes: 2 ** 30, sourceKeep: 8 * DAY }, sameThreadHalf),
)
