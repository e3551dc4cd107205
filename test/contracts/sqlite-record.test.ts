import { join } from 'node:path'
import { sameThreadHalf } from '../../src/record/sqlite/halves.ts'
import { sqliteRecord, sqliteReviewQueue } from '../../src/record/sqlite/record.ts'
import { ownFolder } from '../support/own-folder.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { DAY, KEEP, recordContract } from './record.ts'

recordContract('in SQLite', async ({ costs, ownCaseAfter, ...shares }) => {
  const path = join(ownFolder('record'), 'record.sqlite')
  const settings = { path, keep: KEEP, maxBytes: 2 ** 30, sourceKeep: 8 * DAY, ...shares }
  const store = await sqliteRecord(settings, sameThreadHalf)
  return { store, queue: await sqliteReviewQueue({ path, costs, ownCaseAfter }, sameThreadHalf) }
})

recordContract('in memory', async (review) => {
  const store = await recordInMemory(review)
  return { store, queue: store.review }
})
