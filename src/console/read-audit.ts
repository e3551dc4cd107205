import { AsyncLocalStorage } from 'node:async_hooks'
import type { RecordedRow, RecordReader } from '../contracts/ports/record.ts'
import type { ReviewQueue } from '../contracts/ports/review.ts'
import { CLOSED } from './blind-review.ts'
import type { PageAnswer } from './page.ts'

type Reader = Pick<
  RecordReader,
  'verdict' | 'subject' | 'transcript' | 'find' | 'search' | 'arrivals' | 'histogram' | 'subjectsNamed'
>
type Queue = Pick<
  ReviewQueue,
  | 'list'
  | 'posts'
  | 'reserve'
  | 'release'
  | 'decisions'
  | 'deciders'
  | 'drawnRates'
  | 'laneAudit'
  | 'draws'
  | 'drawSums'
  | 'peopleQuality'
  | 'comparedGroups'
  | 'compared'
  | 'totals'
>

const seen = new AsyncLocalStorage<Set<string>>()

/** Which verdicts are read for an answer, whichever page makes it: what a page does not read it can't show. */
export async function auditReads<Made>(
  work: () => Promise<Made> | Made,
): Promise<{ made: Made; verdicts: Set<string> }> {
  const verdicts = new Set<string>()
  return { made: await seen.run(verdicts, work), verdicts }
}

/** Notes that an answer shows these verdicts. */
export function noteSeen(...ids: readonly string[]): void {
  const verdicts = seen.getStore()
  for (const id of ids) verdicts?.add(id)
}

function noteRows<Rows extends readonly RecordedRow[]>(rows: Rows): Rows {
  noteSeen(...rows.map(({ verdict }) => verdict.id))
  return rows
}

/** The record, for pages. */
export function auditedRecord(record: Reader): Reader {
  return {
    async verdict(id, tenants) {
      const row = await record.verdict(id, tenants)
      if (row !== null) noteSeen(row.verdict.id)
      return row
    },
    async subject(of) {
      const subjectRecord = await record.subject(of)
      noteSeen(...(subjectRecord?.verdicts ?? []).map(({ verdict }) => verdict.id))
      return subjectRecord
    },
    async transcript(id) {
      noteSeen(id)
      return record.transcript(id)
    },
    find: async (filter, limit) => noteRows(await record.find(filter, limit)),
    async search(query, filter, limit) {
      const result = await record.search(query, filter, limit)
      noteRows(result.found)
      return result
    },
    // It names, and shows nothing.
    subjectsNamed: (id, tenants) => record.subjectsNamed(id, tenants),
    // Numbers of many: nobody's words are in them.
    histogram: (filter, of) => record.histogram(filter, of),
    // Verdicts in a stream are noted as they are sent.
    arrivals: (after, most) => record.arrivals(after, most),
  }
}

/** The queue, for pages: of an item some words are shown. */
export function auditedQueue(queue: Queue): Queue {
  return {
    async list(filter, most, now, skip) {
      const found = await queue.list(filter, most, now, skip)
      noteSeen(...found.items.map(({ verdict }) => verdict))
      return found
    },
    async posts(filter, most, now, after) {
      const found = await queue.posts(filter, most, now, after)
      noteSeen(...found.posts.flatMap(({ items }) => items.map(({ verdict }) => verdict)))
      return found
    },
    async decisions(query, most) {
      const found = await queue.decisions(query, most)
      noteSeen(...found.flatMap(({ verdict }) => (verdict === null ? [] : [verdict])))
      return found
    },
    async draws(query, most) {
      const found = await queue.draws(query, most)
      noteSeen(...found.map(({ verdict }) => verdict))
      return found
    },
    async compared(query, most) {
      const found = await queue.compared(query, most)
      noteSeen(...found.map(({ verdict }) => verdict))
      return found
    },
    comparedGroups: (query) => queue.comparedGroups(query),
    totals: (tenants) => queue.totals(tenants),
    deciders: (tenant, since, most) => queue.deciders(tenant, since, most),
    drawSums: (tenants) => queue.drawSums(tenants),
    drawnRates: (tenants) => queue.drawnRates(tenants),
    laneAudit: (lane, promise) => queue.laneAudit(lane, promise),
    peopleQuality: (period, tenants) => queue.peopleQuality(period, tenants),
    reserve: (item, filter, until, now) => queue.reserve(item, filter, until, now),
    release: (item, by, of, now) => queue.release(item, by, of, now),
  }
}

/** Of what was read for an answer the verdicts that it shows, but for those that a form named. */
export function shownBy(answer: PageAnswer, read: ReadonlySet<string>, about: readonly string[]): ReadonlySet<string> {
  if ('uncovered' in answer) return new Set(answer.uncovered)
  if (answer === CLOSED) return new Set()
  // What is not there is shown to nobody.
  const isShown =
    ('body' in answer && answer.status !== 404) || 'file' in answer || ('image' in answer && answer.isCover !== true)
  const { hides = [] } = 'body' in answer ? answer : {}
  return new Set(isShown ? [...read].filter((id) => !about.includes(id) && !hides.includes(id)) : [])
}
