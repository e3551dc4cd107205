import { describe, expect, it } from 'vitest'
import type { Entry, RecordStore } from '../../src/contracts/ports/record.ts'
import type { QueueFilter, QueuePlace, ReviewQueue } from '../../src/contracts/ports/review.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import type { DrawShares } from '../../src/record/draws.ts'
import { entriesOf } from '../../src/record/project.ts'
import { lookAt, type QueueRules } from '../../src/record/review-queue.ts'
import { inSchemaTwo } from '../support/both-schemas.ts'
import { aVerdict } from '../support/verdicts.ts'
import { at, CONTEXT, DAY, incoming } from './record.ts'

const COSTS = { rumor: { 'non-rumor': 2, rumor: 0.3 }, hate: { hateful: 5 } }
const HOURS = 3_600
const NOW = Date.parse(at(100 * HOURS))

interface Waiting {
  readonly verdict: string
  readonly subject: string
  readonly tenant: string
  readonly protocol: string
  readonly label: string | null
  readonly reasons: readonly string[]
  readonly accepted: number
  readonly weight: number
  readonly since: number
}

/** Verdicts in any order, many of which weigh the same, with what each waits for as src/record/review-queue.ts says. */
async function history(store: RecordStore, seed: number, count: number): Promise<Waiting[]> {
  const random = seededRandom(seed)
  const pick = <One>(all: readonly [One, ...One[]]): One => all[random.below(all.length)] ?? all[0]
  const waiting: Waiting[] = []
  const entries: { readonly offset: number; readonly entry: Entry }[] = []
  for (let n = 0; n < count; n++) {
    const protocol = pick(['rumor', 'hate'])
    const subjectId = `p${Math.floor(n / 2)}`
    const tenant = Math.floor(n / 2) % 3 === 0 ? 'acme' : 'default'
    const label = pick([null, ...(protocol === 'rumor' ? ['rumor', 'non-rumor'] : ['hateful', 'non-hateful'])])
    // Some wait since before what counts twice, some are of an hour that is yet to come, and many of the same second.
    const seconds = pick([0, 30, 60, 90, 99, 101]) * HOURS + random.below(3)
    const accepted = pick([0, 0, 7, 300])
    const value = pick([null, 0.1, 0.5, 0.9])
    const verdict = inSchemaTwo(
      aVerdict(at(seconds), {
        protocol,
        subjectId,
        tenant,
        label,
        revision: n + 1,
        degraded: ['so'],
        decidedBy: label === null ? 'none' : 'consensus',
        counts: { ...aVerdict(at(0)).counts, accepted },
      }),
    )
    const sent = value === null ? verdict : { ...verdict, confidence: { value, how: 'lane' } }
    const read = entriesOf('verdicts', incoming('verdicts', n, subjectId, sent, seconds), CONTEXT)
    entries.push(...read.map((entry) => ({ offset: n, entry })))
    const { decidedBy } = sent
    const current = { ...sent, decidedBy, accepted, contested: false, degraded: true, drawn: false, golden: false }
    const look = lookAt({ ...current, confidence: value, decidedAt: Date.parse(at(seconds)) }, [], 0)
    const before = waiting.findIndex((one) => one.subject === subjectId && one.protocol === protocol)
    if (before >= 0) waiting.splice(before, 1)
    if (look !== null)
      waiting.push({ verdict: sent.id, subject: subjectId, tenant, protocol, label, accepted, ...look })
  }
  await store.apply({ topic: 'verdicts', partition: 0, from: 0, next: count, entries })
  return waiting
}

/** By docs/review.md, a row after the other. */
function inOrder(all: readonly Waiting[], { order, ...filter }: QueueFilter, costs: QueueRules['costs']): Waiting[] {
  const scoreOf = ({ protocol, label, weight, since }: Waiting) => {
    const own: Readonly<Record<string, number>> = costs[protocol] ?? {}
    const cost = label === null ? Math.max(1, ...Object.values(own)) : (own[label] ?? 1)
    return weight * cost * Math.min(3, 1 + Math.max(0, NOW - since) / DAY)
  }
  const fits = (one: Waiting) =>
    (filter.tenants?.includes(one.tenant) ?? true) &&
    (filter.protocol ?? one.protocol) === one.protocol &&
    (filter.label ?? one.label) === one.label &&
    (filter.reason === undefined || one.reasons.includes(filter.reason)) &&
    one.accepted >= (filter.reach ?? 0) &&
    one.since <= (filter.waitingSince ?? Number.POSITIVE_INFINITY)
  return all
    .filter(fits)
    .toSorted(
      (a, b) =>
        (order === 'oldest' ? 0 : scoreOf(b) - scoreOf(a)) || a.since - b.since || (a.verdict < b.verdict ? -1 : 1),
    )
}

const FILTERS: readonly QueueFilter[] = [
  {},
  { tenants: ['acme'] },
  { tenants: [] },
  { protocol: 'hate' },
  { label: 'non-rumor' },
  { reason: 'undecided' },
  { reason: 'degraded', reach: 7 },
  { waitingSince: Date.parse(at(60 * HOURS)), tenants: ['default'] },
]

/** In which order the queue is, of every record. */
export function queueOrderContract(
  where: string,
  make: (review: QueueRules & DrawShares) => Promise<{ store: RecordStore; queue: ReviewQueue }>,
): void {
  describe(`the order of the queue ${where}`, () => {
    it.each([1, 2])('is what a mistake would cost, or age, by any filter and page, history %i', async (seed) => {
      for (const costs of [COSTS, {}]) {
        const { store, queue } = await make({ costs, ownCaseAfter: DAY, auditShare: 0, blindShare: 0 })
        const all = await history(store, seed, 90)
        for (const filter of FILTERS.flatMap((one) => [one, { ...one, order: 'oldest' as const }])) {
          const wanted = inOrder(all, filter, costs)
          const { items, waiting } = await queue.list(filter, 1_000, NOW)
          expect(items.map(({ verdict }) => verdict)).toEqual(wanted.map(({ verdict }) => verdict))
          expect(waiting).toBe(wanted.length)
          const few = await queue.list(filter, 3, NOW, 2)
          expect(few.items).toEqual(items.slice(2, 5))
          // Pages of posts have each once, where its first item stands.
          const posts: string[] = []
          for (let after: QueuePlace | null = null, pages = 0; pages < 60; pages++) {
            const page = await queue.posts(filter, 7, NOW, after)
            posts.push(...page.posts.map(({ subject }) => subject.postId))
            expect(page.waiting).toBe(new Set(wanted.map(({ subject }) => subject)).size)
            after = page.next
            if (after === null) break
          }
          expect(posts).toEqual([...new Set(wanted.map(({ subject }) => subject))])
        }
        await queue.close()
        await store.close()
      }
    })

    it('passes by what others have, however much of it comes first', async () => {
      const { store, queue } = await make({ costs: COSTS, ownCaseAfter: DAY, auditShare: 0, blindShare: 0 })
      const wanted = inOrder(await history(store, 4, 700), {}, COSTS).map(({ verdict }) => verdict)
      const reserve = (verdict: string, n: number) =>
        queue.reserve(verdict, { for: `person${Math.floor(n / 20)}` }, NOW + DAY, NOW)
      await Promise.all(wanted.slice(0, 280).map(reserve))
      const { items, waiting } = await queue.list({ for: 'ann' }, 3, NOW)
      expect(items.map(({ verdict }) => verdict)).toEqual(wanted.slice(280, 283))
      expect(waiting).toBe(wanted.length - 280)
      await queue.close()
      await store.close()
    })
  })
}
