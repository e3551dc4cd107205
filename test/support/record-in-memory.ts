import type { QueueRules } from '../../src/record/review-queue.ts'
import { sameThreadHalf } from '../../src/record/sqlite/halves.ts'
import { sqlitePictures, sqliteRecord, sqliteReviewQueue } from '../../src/record/sqlite/record.ts'
import { pathInMemory } from '../../src/record/sqlite/schema.ts'
import { DAY, KEEP } from '../contracts/record.ts'

/** A record that ends with its test, its review queue, and what people look at beside it. */
export async function recordInMemory({
  costs = {},
  ownCaseAfter = DAY,
  auditShare = 0,
  laneShare = 0,
  blindShare = 0,
}: Partial<Review> = {}) {
  const path = pathInMemory()
  const settings = { path, keep: KEEP, maxBytes: 2 ** 30, sourceKeep: 8 * DAY, auditShare, laneShare, blindShare }
  const store = await sqliteRecord(settings, sameThreadHalf)
  return {
    ...store,
    review: await sqliteReviewQueue({ path, costs, ownCaseAfter }, sameThreadHalf),
    pictures: await sqlitePictures(path, sameThreadHalf),
  }
}

interface Review extends QueueRules {
  readonly auditShare: number
  readonly laneShare: number
  readonly blindShare: number
}
