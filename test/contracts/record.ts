import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Medium, ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { commentKey, verdictId } from '../../src/contracts/facts/verdict-id.ts'
import {
  type ApplyOutcome,
  MOST_ERASED,
  MOST_VERDICTS,
  MOST_WORDS,
  type RecordBatch,
  type RecordedTopic,
  type RecordFilter,
  type RecordStore,
} from '../../src/contracts/ports/record.ts'
import type { PostPage, QueuePlace, ReviewQueue } from '../../src/contracts/ports/review.ts'
import type { IncomingMessage } from '../../src/contracts/ports/topic.ts'
import { contestedness } from '../../src/protocols/contestedness.ts'
import { sameWordsKey } from '../../src/protocols/same-words.ts'
import { judgementsOf } from '../../src/record/judgements.ts'
import { entriesOf } from '../../src/record/project.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { inSchemaTwo } from '../support/both-schemas.ts'
import { changesOf } from '../support/field-changes.ts'
import { aVerdict } from '../support/verdicts.ts'

export const DAY = 86_400_000
const T0 = Date.parse('2026-03-01T00:00:00Z')
export const KEEP = 200 * DAY
export const CONTEXT = {
  ofReplies: new Set(['counterspeech']),
  labels: new Map([['rumor', new Set(['rumor', 'non-rumor'])]]),
  weigh: contestedness,
  sameKey: sameWordsKey,
  indexChars: 20_000,
  maxBytes: 2 ** 20,
}

export const at = (seconds: number) => new Date(T0 + seconds * 1000).toISOString()

/** A transcript of this verdict over a post and comments by id. */
export function aTranscript(
  verdictId: string,
  text: string | null,
  comments: Record<string, string> = {},
  asked = 0,
  by: { author?: string; lang?: string; media?: readonly Medium[] } = {},
) {
  const createdAt = T0
  const snapshot = {
    post: { id: 'p', text, createdAt, ...by },
    comments: Object.entries(comments).map(([id, words]) => ({ id, text: words, createdAt })),
    leftOut: 0,
  }
  const turns = text === null ? [] : [{ startedAt: at(asked) }]
  return { schema: 1, verdictId, subject: text === null ? null : snapshot, turns, cut: [] }
}

interface HeldBatch {
  readonly from: number
  readonly entries: { offset: number; entry: RecordBatch['entries'][number]['entry'] }[]
}

/** Messages as they come from Kafka, each topic's one partition numbered from 0. */
export function feed(store: RecordStore, ends = new Map<RecordedTopic, number>()) {
  /** What is held back, by topic: by each, one batch. */
  let held: Map<RecordedTopic, HeldBatch> | null = null
  const feeding = {
    /** The next offset of each topic. */
    ends,
    async send(topic: RecordedTopic, key: string | null, value: unknown, seconds = 0): Promise<void> {
      const offset = ends.get(topic) ?? 0
      ends.set(topic, offset + 1)
      await feeding.sendAt(topic, offset, key, value, seconds)
    },
    sendAt(
      topic: RecordedTopic,
      offset: number,
      key: string | null,
      value: unknown,
      seconds = 0,
    ): Promise<ApplyOutcome> {
      const entries = entriesOf(topic, incoming(topic, offset, key, value, seconds), CONTEXT)
      const placed = entries.map((entry) => ({ offset, entry }))
      if (held === null) return store.apply({ topic, partition: 0, from: offset, next: offset + 1, entries: placed })
      const batch = held.get(topic) ?? { from: offset, entries: [] }
      batch.entries.push(...placed)
      held.set(topic, batch)
      return Promise.resolve('applied')
    },
    /** What is sent meanwhile comes as it does to a reader that is behind: topic by topic, each at once. */
    async together(work: () => Promise<void>): Promise<void> {
      const batches = new Map<RecordedTopic, HeldBatch>()
      held = batches
      await work()
      held = null
      for (const [topic, { from, entries }] of batches) {
        const outcome = await store.apply({ topic, partition: 0, from, next: ends.get(topic) ?? 0, entries })
        if (outcome !== 'applied') throw new Error(`${topic}: ${outcome}`)
      }
    },
    /** A verdict with its transcript, opened and decided at `seconds`. */
    async judged(
      change: Partial<Verdict> & { seconds?: number; crossKind?: boolean },
      text: string | null,
      comments: Record<string, string> = {},
      by: { author?: string; lang?: string; media?: readonly Medium[] } = {},
    ) {
      const { seconds = 0, ...own } = change
      // A judge was asked, unless it says otherwise: a near thing.
      const one = aVerdict(at(seconds), { models: { judge: 'a judge' }, ...own })
      await feeding.send('verdicts', one.subjectId, one, seconds)
      await feeding.send('transcripts', one.subjectId, aTranscript(one.id, text, comments, seconds, by), seconds)
      return one
    },
  }
  return feeding
}

export function incoming(
  topic: string,
  offset: number,
  key: string | null,
  value: unknown,
  seconds: number,
): IncomingMessage {
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  return { topic, partition: 0, offset: String(offset), key, value: bytes, headers: {}, timestamp: T0 + seconds * 1000 }
}

const POST: ThreadRef = { tenant: 'default', postId: 'p', kind: 'post' }

/** The promises of `RecordStore`, for every adapter. */
export function recordContract(
  where: string,
  make: (
    review: QueueRules & {
      auditShare: number
      laneShare?: number
      blindShare: number
    },
  ) => Promise<{ store: RecordStore; queue: ReviewQueue }>,
): void {
  describe(`the record ${where}`, () => {
    let store: RecordStore
    let topics: ReturnType<typeof feed>
    let queue: ReviewQueue
    async function start(
      shares: { auditShare: number; laneShare?: number; blindShare: number } = { auditShare: 0, blindShare: 0 },
    ): Promise<void> {
      const made = await make({ costs: { rumor: { rumor: 1, 'non-rumor': 2 } }, ownCaseAfter: DAY, ...shares })
      store = made.store
      queue = made.queue
      topics = feed(store)
    }
    async function stop(): Promise<void> {
      await queue.close()
      await store.close()
    }
    beforeEach(() => start())
    afterEach(stop)

    const subject = (id = 'p', tenant = 'default') => store.subject({ tenant, id })
    const ids = async (query: string, filter = {}) =>
      (await store.search(query, filter, 50)).found.map(({ verdict }) => verdict.id)
    const exported = async () => {
      const all: string[] = []
      for await (const one of store.export()) all.push(JSON.stringify(one))
      return all.join('\n')
    }

    it('has verdicts of both schemas whole, by what each says of its confidence, and words of later versions', async () => {
      const later = { debated: { held: false, why: 'word-of-later' }, decidedBy: 'way-of-later', protocol: 'of-later' }
      const sure = { confidence: { value: 0.9, how: 'lane' }, faults: ['weather'] }
      const one = aVerdict(at(0), { models: { judge: 'a judge' } })
      const two = inSchemaTwo(aVerdict(at(1), { subjectId: 'p2', models: { judge: 'a judge' } }))
      const third = inSchemaTwo(aVerdict(at(2), { subjectId: 'p3', degraded: ['so'], ...later }))
      const sent = [one, { ...two, ...sure }, third]
      for (const verdict of sent) await topics.send('verdicts', verdict.subjectId, verdict)
      for (const verdict of sent) expect((await store.verdict(verdict.id))?.verdict).toEqual(verdict)
      expect((await store.size()).rows).toMatchObject({ verdicts: 3, unread: 0 })
      // The contested verdict that is sure waits behind those that say nothing of it.
      const queued = (await queue.list({}, 10, T0)).items.map(({ verdict }) => verdict)
      expect(queued).toEqual([one.id, third.id, two.id])
    })

    it('keeps each field of a verdict of either schema, whatever it says, and finds it by what it says', async () => {
      const versions = { script: 1, prompts: 'a prompt', settings: '' }
      const one = aVerdict(at(0), { models: { judge: 'a judge' }, faults: ['ours'], versions })
      const all = [one, inSchemaTwo(one)].flatMap((sample) => [
        sample,
        ...changesOf(sample).flatMap(({ path, on }) => (path === 'id' ? [] : [on(sample)])),
      ])
      const sent = all.map((given, n): Verdict => ({ ...given, id: `rumor~v${n}~r1`, subjectId: `v${n}` }))
      for (const verdict of sent) await topics.send('verdicts', verdict.subjectId, verdict)
      for (const verdict of sent) expect((await store.verdict(verdict.id))?.verdict).toEqual(verdict)
      const found: [RecordFilter, (verdict: Verdict) => boolean][] = [
        [{ tenants: ['default'] }, ({ tenant }) => tenant === 'default'],
        [{ protocol: one.protocol }, ({ protocol }) => protocol === one.protocol],
        [{ label: one.label }, ({ label }) => label === one.label],
        [{ label: null }, ({ label }) => label === null],
        [{ degraded: true }, ({ degraded }) => degraded.length > 0],
        [{ contested: true }, (verdict) => contestedness(verdict).contested],
        [{ until: Date.parse(one.timing.decidedAt) }, ({ timing }) => timing.decidedAt < one.timing.decidedAt],
        [{ model: 'a judge' }, ({ models }) => Object.values(models).includes('a judge')],
        [{ prompts: one.versions.prompts }, ({ versions }) => versions.prompts === one.versions.prompts],
        [{ fault: 'ours' }, ({ faults }) => faults.includes('ours')],
        [{ subject: 'v3' }, ({ subjectId }) => subjectId === 'v3'],
      ]
      for (const [filter, fits] of found) {
        const rows = await store.find(filter, sent.length)
        const ids = sent.filter(fits).map(({ id }) => id)
        expect(rows.map(({ verdict }) => verdict.id).sort(), JSON.stringify(filter)).toEqual(ids.sort())
        expect([ids.length > 0, ids.length < sent.length], JSON.stringify(filter)).toEqual([true, true])
      }
    })

    it('finds what a person decided, by their whole name', async () => {
      await topics.judged({}, 'x')
      await topics.judged({ revision: 2, decidedBy: 'human', decision: { by: 'ann', against: null, of: '0@0' } }, 'x')
      const by = async (decider: string) => (await store.find({ decider }, 9)).map(({ verdict }) => verdict.id)
      expect(await by('ann')).toEqual(['rumor~p~r2'])
      expect(await by('an')).toEqual([])
      expect(await by('')).toEqual([])
    })

    it('keeps each verdict of a subject as it was sent, the last of each protocol standing', async () => {
      const first = await topics.judged({ revision: 1, final: false }, 'a claim')
      const second = await topics.judged({ revision: 2, seconds: 10, rationale: 'why' }, 'a claim')
      const other = await topics.judged({ protocol: 'hate', label: 'non-hate', seconds: 5 }, 'a claim')
      const found = await subject()
      expect(found?.subject).toEqual(POST)
      expect(found?.deletedAt).toBeNull()
      const plain = { standing: false, contested: false, conflicting: false, erased: false, sampled: false }
      expect(found?.verdicts).toEqual([
        { verdict: first, sent: JSON.stringify(first), ...plain, contested: true },
        { verdict: other, sent: JSON.stringify(other), ...plain, standing: true },
        { verdict: second, sent: JSON.stringify(second), ...plain, standing: true, contested: true },
      ])
      expect(await store.transcript(second.id)).toBe(JSON.stringify(aTranscript(second.id, 'a claim', {}, 10)))
      expect(await store.transcript('rumor~p~r9')).toBeNull()
      expect(await subject('p', 'other')).toBeNull()
    })

    it('an earlier revision that comes late is not the current one', async () => {
      await topics.judged({ revision: 2, seconds: 10 }, 'a claim')
      await topics.judged({ revision: 1 }, 'a claim')
      expect((await subject())?.verdicts.map(({ standing }) => standing)).toEqual([false, true])
      expect(await ids('claim')).toEqual(['rumor~p~r2'])
    })

    it('a post, a reply, and another tenant’s post with one id are three subjects', async () => {
      await topics.judged({ protocol: 'hate' }, 'of a post')
      await topics.judged({ protocol: 'hate', crossKind: true }, 'of a reply')
      await topics.judged({ protocol: 'hate', tenant: 'acme' }, 'of acme')
      expect((await subject())?.subject.kind).toBe('post')
      expect((await store.subject({ tenant: 'default', id: 'p', kind: 'reply' }))?.verdicts[0]?.verdict.id).toBe(
        'hate/reply~p~r1',
      )
      expect((await subject('p', 'acme'))?.verdicts).toHaveLength(1)
      expect(await ids('of', { tenants: ['acme'] })).toEqual(['hate@acme~p~r1'])
    })

    it('ids that differ by a character that a database can’t hold are two subjects, each once', async () => {
      for (const subjectId of ['a\0', 'a\u2400', 'a\u001a0'])
        for (let times = 0; times < 2; times++)
          await topics.judged({ subjectId }, `words of ${subjectId}`, { 'c\0': 'x' })
      for (const subjectId of ['a\0', 'a\u2400', 'a\u001a0']) {
        const found = await store.subject({ tenant: 'default', id: subjectId })
        expect(found?.verdicts.map(({ verdict }) => verdict.subjectId)).toEqual([subjectId])
        expect(found?.subject.postId).toBe(subjectId)
      }
      await topics.send('posts', 'a\0', { id: 'a\0', createdAt: at(0), deleted: true }, 60)
      expect((await store.find({}, 9)).map((row) => row.subject.postId).toSorted()).toEqual(['a\u001a0', 'a\u2400'])
    })

    it('a repeated message changes nothing, and an id with two contents is marked', async () => {
      const one = await topics.judged({}, 'a claim')
      await topics.send('verdicts', 'p', one)
      expect((await subject())?.verdicts).toMatchObject([{ conflicting: false }])
      await topics.send('verdicts', 'p', { ...one, label: 'non-rumor' })
      expect((await subject())?.verdicts).toMatchObject([{ conflicting: true, verdict: { label: 'rumor' } }])
    })

    describe('its position in each partition', () => {
      it('is stored beside the rows: known messages are skipped, and a gap is not accepted', async () => {
        const send = (offset: number, id: string) => {
          const one = aVerdict(at(offset), { subjectId: id })
          return topics.sendAt('verdicts', offset, id, one)
        }
        expect(await send(0, 'a')).toBe('applied')
        expect(await send(0, 'b')).toBe('behind')
        expect(await send(2, 'c')).toBe('gap')
        expect(await subject('b')).toBeNull()
        expect(await subject('c')).toBeNull()
        expect(await send(1, 'd')).toBe('applied')
        expect([...(await store.positions())]).toEqual([['verdicts/0', 2]])
      })

      it('a range that begins before it is taken from it on', async () => {
        const entryOf = (offset: number, id: string) => {
          const message = incoming('verdicts', offset, id, aVerdict(at(0), { subjectId: id }), 0)
          return entriesOf('verdicts', message, CONTEXT).map((entry) => ({ offset, entry }))
        }
        const batch = { topic: 'verdicts', partition: 0 } as const
        await store.apply({ ...batch, from: 0, next: 2, entries: entryOf(0, 'a') })
        await store.apply({ ...batch, from: 0, next: 4, entries: [...entryOf(1, 'old'), ...entryOf(2, 'b')] })
        expect(await subject('old')).toBeNull()
        expect(await subject('b')).not.toBeNull()
      })

      it('messages that a topic has lost for good are passed over, and counted', async () => {
        await topics.sendAt('verdicts', 0, 'a', aVerdict(at(0), { subjectId: 'a' }))
        expect(
          await store.apply({ topic: 'verdicts', partition: 0, from: 7, next: 9, entries: [], pastHole: true }),
        ).toBe('applied')
        expect((await store.size()).holes).toBe(1)
        expect([...(await store.positions())]).toEqual([['verdicts/0', 9]])
      })

      it('a topic that was made anew is read from its beginning, and its old rows stay', async () => {
        await topics.judged({}, 'a claim')
        await store.restart('verdicts', 0)
        expect(await topics.sendAt('verdicts', 0, 'b', aVerdict(at(0), { subjectId: 'b' }))).toBe('applied')
        expect(await subject()).not.toBeNull()
        expect((await store.size()).holes).toBe(1)
      })

      it('another name is another group', async () => {
        const name = await store.name()
        expect(await store.name()).toBe(name)
        expect(await store.rename()).not.toBe(name)
      })
    })

    describe('finds', () => {
      it('the newest that fit, by tenant, protocol, label, time, and whether less was known', async () => {
        await topics.judged({ subjectId: 'a', seconds: 1 }, 'one')
        await topics.judged({ subjectId: 'b', seconds: 3, label: null, decidedBy: 'none', degraded: ['x'] }, 'two')
        await topics.judged(
          { subjectId: 'c', seconds: 2, protocol: 'safety', label: 'unsafe', tenant: 'acme' },
          'three',
        )
        const found = async (filter: Parameters<RecordStore['find']>[0], limit = 50) =>
          (await store.find(filter, limit)).map(({ verdict }) => verdict.subjectId)
        expect(await found({})).toEqual(['b', 'c', 'a'])
        expect(await found({}, 2)).toEqual(['b', 'c'])
        expect(await found({ tenants: ['acme'] })).toEqual(['c'])
        expect(await found({ protocol: 'rumor' })).toEqual(['b', 'a'])
        expect(await found({ label: 'rumor' })).toEqual(['a'])
        expect(await found({ label: null })).toEqual(['b'])
        expect(await found({ degraded: true })).toEqual(['b'])
        expect(await found({ since: T0 + 2_000 })).toEqual(['b', 'c'])
        expect(await found({ subject: 'c' })).toEqual(['c'])
        expect(await found({ subject: ['a', 'c', 'x'], tenants: ['default'] })).toEqual(['a'])
      })

      it('those by author, language, model, prompts, fault, whether it was a near thing, and time', async () => {
        const about = (models: Record<string, string>, prompts: string) => ({
          models,
          versions: { script: 1, prompts, settings: '' },
        })
        const anna = { author: 'anna', lang: 'de' }
        await topics.judged(
          { subjectId: 'a', seconds: 1, ...about({ judge: 'm1', scorer: 'm1' }, 'x') },
          'one',
          {},
          anna,
        )
        const split = { protocol: 'hate', label: 'hate', scores: { hate: 3, nonHate: 2 }, faults: ['model' as const] }
        const opposed = { since: at(1) }
        await topics.judged({ subjectId: 'b', seconds: 2, opposed, ...split, ...about({ judge: 'm2' }, 'y') }, 'two')
        const clear = { protocol: 'hate', label: 'hate', scores: { hate: 5, nonHate: 0 } }
        await topics.judged({ subjectId: 'c', seconds: 3, ...clear }, 'three', {}, { author: 'bo', lang: 'de' })
        await topics.judged({ subjectId: 'a', seconds: 4, revision: 2, decidedBy: 'consensus' }, 'one', {}, anna)
        const found = async (filter: Parameters<RecordStore['find']>[0]) =>
          (await store.find(filter, 50)).map(({ verdict }) => `${verdict.subjectId}${verdict.revision}`)
        expect(await found({ author: 'anna' })).toEqual(['a2', 'a1'])
        expect(await found({ author: 'anna', standing: true })).toEqual(['a2'])
        expect(await found({ lang: 'de', protocol: 'hate' })).toEqual(['c1'])
        expect(await found({ model: 'm1' })).toEqual(['a1'])
        expect(await found({ model: 'm2', prompts: 'y' })).toEqual(['b1'])
        expect(await found({ model: 'm2', prompts: 'x' })).toEqual([])
        expect(await found({ fault: 'model' })).toEqual(['b1'])
        expect(await found({ contested: true })).toEqual(['b1', 'a1'])
        expect(await found({ opposed: true })).toEqual(['b1'])
        expect(await found({ since: T0 + 2_000, until: T0 + 4_000 })).toEqual(['c1', 'b1'])
        expect(await found({ tenants: [] })).toEqual([])
        expect(await found({ tenants: ['acme', 'default'], author: 'bo' })).toEqual(['c1'])
        expect((await store.search('o', { author: 'bo' }, 9)).found).toEqual([])
        expect((await store.search('three', { author: 'bo' }, 9)).found).toMatchObject([{ author: 'bo', lang: 'de' }])
      })

      it('how many came in each stretch of time: verdicts, of how many posts, with which labels, contested', async () => {
        const width = 900_000
        const hate = (change: object) => ({ protocol: 'hate', label: 'hate', ...change })
        await topics.judged({ subjectId: 'a', seconds: 10 }, 'one')
        await topics.judged(hate({ subjectId: 'a', seconds: 899, scores: { hate: 3, nonHate: 2 } }), 'one')
        await topics.judged(hate({ subjectId: 'b', seconds: 900, scores: { hate: 5, nonHate: 0 } }), 'two')
        await topics.judged({ subjectId: 'b', seconds: 2_700, label: null, decidedBy: 'none' }, 'three')
        await topics.judged({ subjectId: 'd', seconds: 2_701, tenant: 'acme' }, 'four')
        const of = { width, most: 50 }
        const { bins, subjects, isCut } = await store.histogram({ tenants: ['default'], since: T0 }, of)
        expect([subjects, isCut]).toEqual([2, false])
        expect(bins.map(({ labels: _, ...bin }) => bin)).toEqual([
          { at: T0, verdicts: 2, subjects: 1, contested: 2 },
          { at: T0 + width, verdicts: 1, subjects: 1, contested: 0 },
          { at: T0 + 3 * width, verdicts: 1, subjects: 1, contested: 0 },
        ])
        const named = bins.map(({ labels }) => labels.map(({ label, verdicts }) => `${label} ${verdicts}`).toSorted())
        expect(named).toEqual([['hate 1', 'rumor 1'], ['hate 1'], ['null 1']])
        const few = await store.histogram({ protocol: 'rumor' }, { width, most: 2 })
        expect(few.bins.map(({ at, verdicts }) => [at, verdicts])).toEqual([[T0 + 3 * width, 2]])
        expect(few.isCut).toBe(true)
        expect(await store.histogram({ contested: true, protocol: 'hate' }, of)).toMatchObject({ bins: [{ at: T0 }] })
        expect(await store.histogram({ tenants: [] }, of)).toEqual({ bins: [], subjects: 0, isCut: false })
      })

      it('page by page, none twice and none left out', async () => {
        for (let n = 0; n < 7; n++) await topics.judged({ subjectId: `p${n}`, seconds: n >> 2 }, 'a claim')
        const pages: string[][] = []
        for (let before: string | undefined; ; ) {
          const page = await store.find(before === undefined ? {} : { before }, 3)
          if (page.length === 0) break
          pages.push(page.map(({ verdict }) => verdict.subjectId))
          before = page.at(-1)?.cursor
        }
        expect(pages).toEqual([['p6', 'p5', 'p4'], ['p3', 'p2', 'p1'], ['p0']])
        const { found } = await store.search('claim', {}, 2)
        const next = await store.search('claim', { before: found.at(-1)?.cursor ?? '' }, 2)
        expect(next.found.map(({ verdict }) => verdict.subjectId)).toEqual(['p4', 'p3'])
        expect(await store.find({ before: "0' OR 1" }, 9)).toEqual([])
      })

      it('a verdict with how its subject begins, for its own tenants alone', async () => {
        const long = `${'x'.repeat(399)}🦊 end`
        await topics.judged({ tenant: 'acme' }, long, {}, { author: 'anna' })
        const row = await store.verdict('rumor@acme~p~r1', ['acme'])
        expect(row).toMatchObject({ subject: { ...POST, tenant: 'acme' }, author: 'anna', lang: null })
        expect(row?.words).toBe('x'.repeat(399))
        expect(await store.verdict('rumor@acme~p~r1', ['default'])).toBeNull()
        expect(await store.verdict('rumor@acme~p~r1')).not.toBeNull()
        expect(await store.verdict('rumor@acme~p~r2')).toBeNull()
      })

      it('a verdict with how many pictures its subject has, until it is erased', async () => {
        const image = { kind: 'image', url: 'https://images.example/a' } as const
        await topics.judged({}, 'with two', {}, { media: [image, { ...image, url: 'https://images.example/b' }] })
        await topics.judged({ subjectId: 'bare' }, 'with none')
        const pictures = async (id: string) => (await store.verdict(id))?.pictures
        expect(await pictures('rumor~p~r1')).toBe(2)
        expect((await store.find({}, 9)).map((row) => row.pictures)).toEqual([0, 2])
        expect(await pictures('rumor~bare~r1')).toBe(0)
        await topics.judged({ revision: 2, seconds: 9 }, 'with one', {}, { media: [image] })
        expect(await pictures('rumor~p~r1')).toBe(1)
      })

      it('words of the post, the comments and the rationale, and only of current verdicts', async () => {
        await topics.judged({ rationale: 'the rationale says moonbeam' }, 'a harbour', { c1: 'the lighthouse' })
        for (const word of ['harbour', 'Lighthouse', 'moonbeam', 'house', 'har'])
          expect(await ids(word), word).toEqual(['rumor~p~r1'])
        expect(await ids('harbour moonbeam')).toEqual(['rumor~p~r1'])
        expect(await ids('harbour sunbeam')).toEqual([])
        expect(await ids('"a harbour"')).toEqual(['rumor~p~r1'])
        expect(await ids('"harbour a"')).toEqual([])
        await topics.judged({ revision: 2, seconds: 9 }, 'a bridge')
        expect(await ids('harbour')).toEqual([])
        expect(await ids('bridge')).toEqual(['rumor~p~r2'])
      })

      it('letters as people type them: without marks that Unicode does not take off, a non-joiner as a space, any apostrophe', async () => {
        const texts = {
          vi: 'Tôi được đi học ở thành phố',
          hi: 'वे सब बुरे लोग हैं क़लम',
          fa: 'می\u200cخواهم بروم',
          spaced: 'می خواهم بروم',
          joined: 'میخواهم بروم',
          uk: 'п’ять об’єктів',
        }
        for (const [subjectId, text] of Object.entries(texts)) await topics.judged({ subjectId }, text)
        const found = async (query: string, filter = {}) =>
          (await store.search(query, filter, 9)).found.map(({ verdict }) => verdict.subjectId).sort()
        expect(await found('toi duoc di hoc')).toEqual(['vi'])
        expect(await found('कलम')).toEqual(['hi'])
        expect(await found('обʼєктів')).toEqual(['uk'])
        expect(await found('می خواهم')).toEqual(['fa', 'spaced'])
        expect(await found('میخواهم')).toEqual(['fa', 'joined'])
        expect(await found('می\u200cخواهم')).toEqual(['fa', 'joined', 'spaced'])
        expect(await found('می\u200cخواهم', { tenants: ['default'] })).toEqual(['fa', 'joined', 'spaced'])
        expect(await found('می\u200cخواهم', { tenants: ['acme'] })).toEqual([])
        expect(await store.search('کلم', {}, 9)).toMatchObject({ found: [], reindexing: false })
      })

      it('a transcript that comes before its verdict', async () => {
        await topics.send('transcripts', 'p', aTranscript('rumor~p~r1', 'a harbour'))
        await topics.send('verdicts', 'p', aVerdict(at(0)))
        expect(await ids('harbour')).toEqual(['rumor~p~r1'])
      })

      it('a verdict without a snapshot by the words that the one before it saw', async () => {
        await topics.judged({}, 'a harbour')
        const human = aVerdict(at(5), { revision: 2, decidedBy: 'human', rationale: 'overruled' })
        await topics.send('verdicts', 'p', human, 5)
        await topics.send('transcripts', 'p', aTranscript(human.id, null), 5)
        expect(await ids('harbour')).toEqual(['rumor~p~r2'])
        expect(await ids('overruled')).toEqual(['rumor~p~r2'])
      })

      it('nothing, and breaks on nothing, for terms that say something to SQL, to an index or to a pattern', async () => {
        await topics.judged({}, 'a harbour')
        const attacks = [
          '"',
          "'",
          '*',
          '%',
          '_',
          '^',
          'NEAR(a b)',
          'a OR b',
          '-harbour*',
          '(',
          '""',
          '\0',
          '\ud800',
          '',
          ' ',
          'NOT',
          "x'); DROP TABLE rulings;--",
          '{g}: harbour',
          '\u202eruobrah',
        ]
        for (const query of attacks) expect((await ids(query)).length, query).toBeLessThan(2)
        expect(await ids('"harbour')).toEqual(['rumor~p~r1'])
        expect(await ids('harbour')).toEqual(['rumor~p~r1'])
      })
    })

    describe('arrivals', () => {
      const of = async (after: string | null, most = 50) => {
        const { rows, erased, ...where } = await store.arrivals(after, most)
        return {
          ...where,
          ids: rows.map(({ verdict }) => verdict.id),
          erased: erased?.map(({ postId }) => postId) ?? null,
        }
      }

      it('are what came since, each once its words are there, first come first', async () => {
        await topics.judged({ subjectId: 'old' }, 'before')
        const { at: start, ids: none } = await of(null)
        expect(none).toEqual([])
        await topics.judged({ subjectId: 'b', seconds: 9 }, 'one')
        await topics.send('verdicts', 'c', aVerdict(at(3), { subjectId: 'c' }))
        const first = await of(start)
        expect(first).toMatchObject({ ids: ['rumor~b~r1'], erased: [], left: 0 })
        await topics.send('transcripts', 'c', aTranscript('rumor~c~r1', 'two'))
        await topics.judged({ subjectId: 'a', seconds: 1 }, 'three')
        expect(await of(first.at)).toMatchObject({ ids: ['rumor~c~r1', 'rumor~a~r1'] })
        expect((await store.arrivals(first.at, 50)).rows[0]).toMatchObject({ words: 'two', standing: true })
        const page = await of(start, 2)
        expect(page).toMatchObject({ ids: ['rumor~b~r1', 'rumor~c~r1'], left: 1 })
        expect(await of(page.at, 2)).toMatchObject({ ids: ['rumor~a~r1'], left: 0 })
      })

      it('are also what was erased: a subject whole, a verdict of its words', async () => {
        await topics.judged({ subjectId: 'p', rationale: 'why' }, 'one', { c1: 'words' })
        await topics.judged({ subjectId: 'q' }, 'two', {}, { author: 'anna' })
        const { at: start } = await of(null)
        await topics.send('comments', 'p', { id: 'c1', postId: 'p', createdAt: at(0), deleted: true }, 60)
        expect((await store.arrivals(start, 9)).rows).toMatchObject([{ erased: true, words: 'one' }])
        await topics.send('posts', 'q', { id: 'q', createdAt: at(0), deleted: true }, 60)
        expect(await of(start)).toMatchObject({ ids: ['rumor~p~r1'], erased: ['q'] })
        expect(await store.find({ author: 'anna' }, 9)).toEqual([])
      })

      it('name a bounded number of deleted subjects, and tell that there are more', async () => {
        const { at: start } = await of(null)
        await topics.send('posts', 'first', { id: 'first', createdAt: at(0), deleted: true }, 60)
        const { at: second } = await of(start)
        const deleted = Array.from({ length: MOST_ERASED }, (_, n) => `d${n}`)
        const entries = deleted.map((postId, n) => {
          const subject = { tenant: 'default', postId, kind: 'post' } as const
          return { offset: n + 1, entry: { what: 'deletion', subject, at: 60_000 } } as const
        })
        await store.apply({ topic: 'posts', partition: 0, from: 1, next: MOST_ERASED + 1, entries })
        expect((await of(second)).erased).toEqual(deleted)
        const { at: end } = await of(second)
        expect(await of(start)).toEqual({ ids: [], erased: null, at: end, left: 0 })
        expect((await of(end)).erased).toEqual([])
      })

      it('begin now for a place that is none, or in another file', async () => {
        await topics.judged({}, 'a claim')
        for (const place of ['', 'x', '/', 'other/0', "0'--", 'memory/x']) {
          expect((await of(place)).ids, place).toEqual([])
        }
      })
    })

    describe('keeps what is said', () => {
      const said = (id: string, more: object = {}) => ({ id, protocol: 'rumor', ...more })
      const decided = {
        subjectId: 'p',
        tenant: 'default',
        protocol: 'rumor',
        against: 1,
        by: 'ann',
        why: 'ticket 8',
        at: at(4),
      }
      const outcome = {
        schema: 1,
        subjectId: 'p',
        tenant: 'default',
        kind: 'post',
        protocol: 'rumor',
        revision: 2,
        by: 'ann',
        at: at(5),
      }
      const { revision: _, supersedes: __, ...ruled } = aVerdict(at(9), { label: 'rumor', rationale: 'the machine' })
      const proposed = { ...ruled, id: 'rumor~p~p3', proposal: 3, beneath: 'rumor~p~r2', differs: true }
      const reviewed = {
        schema: 1,
        id: 'rumor~p~r2~differs~rumor',
        subjectId: 'p',
        tenant: 'default',
        kind: 'post',
        protocol: 'rumor',
        why: 'differs',
        verdict: 'rumor~p~r2',
        proposal: 'rumor~p~p3',
        label: 'rumor',
        at: at(9),
      }
      async function all() {
        await topics.judged({}, 'a claim')
        await topics.send('decisions', 'p', { ...decided, label: 'non-rumor' }, 4)
        await topics.send('decisionOutcomes', 'p', { ...outcome, outcome: 'stands', of: '0@0', label: 'non-rumor' }, 5)
        await topics.send('proposals', 'p', proposed, 9)
        await topics.send('transcripts', 'p', aTranscript('rumor~p~p3', 'a claim', { c1: 'a comment' }, 9), 9)
        await topics.send('reviews', 'p', reviewed, 10)
      }

      it('decisions and what became of them, proposals with their transcripts, requests for review', async () => {
        await all()
        expect((await subject())?.said).toMatchObject([
          said('decision 0@0', {
            said: 'decision',
            label: 'non-rumor',
            by: 'ann',
            message: { why: 'ticket 8', against: 1 },
          }),
          said('outcome 0@0 stands', { said: 'outcome', label: 'non-rumor', message: { revision: 2 } }),
          said('rumor~p~p3', { said: 'proposal', label: 'rumor', message: { beneath: 'rumor~p~r2', differs: true } }),
          said('review rumor~p~r2~differs~rumor', { said: 'review', label: 'rumor', message: { why: 'differs' } }),
        ])
        expect(await store.word('rumor~p~p3', ['default'])).toMatchObject({
          said: 'proposal',
          message: { proposal: 3 },
        })
        expect(await store.word('rumor~p~p3', ['acme'])).toBeNull()
        expect(await store.transcript('rumor~p~p3')).not.toBeNull()
        const decidedOn: string[] = []
        for await (const one of store.export('decided')) decidedOn.push(one.subject.postId)
        expect(decidedOn).toEqual(['p'])
      })

      it('a repeat of them once, and another verdict’s subject is not one that was decided on', async () => {
        await all()
        await topics.send('reviews', 'p', reviewed, 10)
        await topics.send('proposals', 'p', proposed, 9)
        await topics.judged({ subjectId: 'q' }, 'another')
        await topics.judged({ subjectId: 'r', decidedBy: 'human' }, 'whose decision is no longer there')
        expect((await subject())?.said).toHaveLength(4)
        const decidedOn: string[] = []
        for await (const one of store.export('decided')) decidedOn.push(one.subject.postId)
        expect(decidedOn).toEqual(['p', 'r'])
      })

      it('of one subject the newest, however much is said of it, and one reason to look again from all of it', async () => {
        await topics.judged({}, 'a claim')
        const refused = { ...reviewed, why: 'refused', verdict: 'rumor~p~r1' }
        await topics.together(async () => {
          for (let nth = 0; nth < MOST_WORDS + 20; nth++) {
            const [id, of, seconds] = [`rumor~p~r1~refused~0@${nth}`, `0@${nth}`, 10 + nth]
            await topics.send('reviews', 'p', { ...refused, id, of, at: at(seconds) }, seconds)
          }
        })
        const words = (await subject())?.said ?? []
        expect(words).toHaveLength(MOST_WORDS)
        expect(words.at(-1)?.message).toMatchObject({ of: `0@${MOST_WORDS + 19}` })
        expect(words[0]?.message).toMatchObject({ of: '0@20' })
      })

      it('of one subject the verdicts that stand and the newest, however many there were', async () => {
        await topics.judged({ protocol: 'hate', label: 'non-hate' }, 'a claim')
        await topics.together(async () => {
          for (let revision = 1; revision <= MOST_VERDICTS + 5; revision++)
            await topics.judged({ revision, seconds: revision }, 'a claim')
        })
        const verdicts = (await subject())?.verdicts.map(({ verdict }) => verdict.id) ?? []
        expect(verdicts).toHaveLength(MOST_VERDICTS)
        expect(verdicts.slice(0, 2)).toEqual(['hate~p~r1', 'rumor~p~r7'])
        expect(verdicts.at(-1)).toBe(`rumor~p~r${MOST_VERDICTS + 5}`)
      })

      it('a proposal without its words once a comment is deleted that it saw', async () => {
        await all()
        await topics.send('comments', 'p', { id: 'c1', postId: 'p', createdAt: at(0), deleted: true }, 60)
        expect((await store.word('rumor~p~p3'))?.message).toMatchObject({ label: 'rumor', rationale: '' })
        expect(await store.transcript('rumor~p~p3')).toBeNull()
      })

      it('nothing of them after the subject’s deletion, of which an outcome alone may tell', async () => {
        await all()
        await topics.send(
          'decisionOutcomes',
          'p',
          { ...outcome, outcome: 'deleted', of: '0@0', label: null, at: at(60) },
          60,
        )
        expect(await subject()).toMatchObject({ deletedAt: T0 + 60_000, verdicts: [], said: [] })
        await topics.send('proposals', 'p', proposed, 9)
        await topics.send('reviews', 'p', reviewed, 10)
        expect((await store.size()).rows).toMatchObject({ said: 0, transcripts: 0 })
      })

      it('what came of decisions by the times that it names, in whatever order it is published', async () => {
        await topics.judged({}, 'x')
        await topics.send(
          'decisionOutcomes',
          'p',
          { ...outcome, outcome: 'withdrawn', of: '0@1', label: null, at: at(9) },
          30,
        )
        await topics.send(
          'decisionOutcomes',
          'p',
          { ...outcome, outcome: 'stands', of: '0@0', label: 'non-rumor', at: at(5) },
          31,
        )
        await topics.send('reviews', 'p', { ...reviewed, at: at(7) }, 32)
        const ids = (await store.subject({ tenant: 'default', id: 'p' }))?.said.map(({ id }) => id)
        expect(ids).toEqual(['outcome 0@0 stands', `review ${reviewed.id}`, 'outcome 0@1 withdrawn'])
        await topics.send(
          'decisionOutcomes',
          'p',
          { ...outcome, outcome: 'deleted', of: '0@1', label: null, at: at(12) },
          40,
        )
        await topics.send(
          'decisionOutcomes',
          'p',
          { ...outcome, outcome: 'stands', of: '0@2', label: 'rumor', at: at(11) },
          41,
        )
        await topics.send('reviews', 'p', { ...reviewed, id: 'another', at: at(11) }, 42)
        expect((await store.subject({ tenant: 'default', id: 'p' }))?.said).toEqual([])
      })

      it('no decision that intake refuses, and messages of another version as they are', async () => {
        await topics.send('decisions', 'other key', { ...decided, label: 'non-rumor' }, 4)
        await topics.send('decisions', 'p', decided, 4)
        await topics.send('decisions', 'p', { ...decided, label: 'hoax' }, 4)
        await topics.send('reviews', 'p', { ...reviewed, schema: 2 }, 4)
        await topics.send('reviews', 'p', { ...reviewed, subjectKind: 'story' }, 4)
        await topics.send('decisionOutcomes', 'p', { ...outcome, outcome: 'postponed', of: '0@0' }, 4)
        expect((await store.size()).rows).toMatchObject({ said: 0, unread: 3 })
      })
    })

    describe('the queue', () => {
      const NOW = T0 + 3_600_000
      const decidedBy = (by: string, more: Partial<Verdict> = {}) =>
        ({
          decidedBy: 'human',
          revision: 2,
          seconds: 9,
          decision: { by, against: 'rumor~p~r1', of: '0@0' },
          ...more,
        }) as const
      const listed = async (filter: Parameters<ReviewQueue['list']>[0] = {}) =>
        (await queue.list(filter, 50, NOW)).items.map(({ verdict, reasons }) => `${verdict} ${reasons}`)
      const review = (why: string, verdict: string, more: object = {}) =>
        topics.send(
          'reviews',
          'p',
          {
            schema: 1,
            id: `${verdict}~${why}`,
            subjectId: 'p',
            tenant: 'default',
            kind: 'post',
            protocol: 'rumor',
            why,
            verdict,
            at: at(20),
            ...more,
          },
          20,
        )

      it('has what is undecided, a near thing, or made from too little, and nothing else', async () => {
        await topics.judged({ subjectId: 'fine', decidedBy: 'consensus' }, 'fine')
        await topics.judged({ subjectId: 'none', label: null, decidedBy: 'none', degraded: ['x'] }, 'none')
        await topics.judged({ subjectId: 'near' }, 'near')
        await topics.judged({ subjectId: 'less', decidedBy: 'consensus', degraded: ['x'] }, 'less')
        expect(await listed()).toEqual(['rumor~none~r1 undecided', 'rumor~near~r1 contested', 'rumor~less~r1 degraded'])
        const { items, waiting } = await queue.list({}, 1, NOW)
        expect(waiting).toBe(3)
        expect(items).toEqual([
          {
            verdict: 'rumor~none~r1',
            protocol: 'rumor',
            revision: 1,
            label: null,
            reasons: ['undecided'],
            subject: { ...POST, postId: 'none' },
            // Doubt 0.5, no comments, twice as dear as the dearest label, an hour old.
            score: 0.5 * 2 * (1 + 1 / 24),
            since: T0,
            words: 'none',
            lang: null,
            pictures: 0,
            reservation: null,
            isOwnCase: false,
          },
        ])
      })

      it('is by the last verdict, and ends with a person’s, until somebody asks again', async () => {
        await topics.judged({}, 'a claim')
        await topics.judged({ revision: 2, seconds: 5, decidedBy: 'consensus' }, 'a claim')
        expect(await listed()).toEqual([])
        await topics.judged({ revision: 3, seconds: 6, degraded: ['x'], label: 'non-rumor' }, 'a claim')
        expect(await listed()).toEqual(['rumor~p~r3 contested,degraded'])
        await topics.judged({ ...decidedBy('ann'), revision: 4 }, 'a claim')
        expect(await listed()).toEqual([])
        await review('differs', 'rumor~p~r4', { label: 'non-rumor' })
        await review('refused', 'rumor~p~r3')
        expect(await listed()).toEqual(['rumor~p~r4 differs'])
        await review('edited', 'rumor~p~r4')
        expect(await listed()).toEqual(['rumor~p~r4 differs,edited'])
        await topics.judged({ ...decidedBy('ben'), revision: 5 }, 'a claim')
        expect(await listed()).toEqual([])
      })

      it('keeps what was judged since a deletion that is read late, with who has reserved it', async () => {
        await topics.judged({}, 'a claim')
        await topics.judged({ revision: 3, seconds: 90 }, 'born again')
        await topics.judged({ protocol: 'hate', label: 'non-hate', ...decidedBy('ann'), revision: 1 }, 'a claim')
        expect((await queue.reserve(null, { for: 'ben' }, NOW + 60_000, NOW)).outcome).toBe('reserved')
        await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
        const { items, waiting } = await queue.list({}, 9, NOW)
        expect(items).toMatchObject([{ verdict: 'rumor~p~r3', reservation: { by: 'ben' } }])
        expect(waiting).toBe(1)
      })

      it('has the dearest first: by doubt, by cost of the label, by reach, by age', async () => {
        const near = { decidedBy: 'judge' } as const
        await topics.judged({ subjectId: 'a', ...near, label: 'rumor' }, 'x')
        await topics.judged({ subjectId: 'b', ...near, label: 'non-rumor' }, 'x')
        const heard = { accepted: 100, judged: 100 }
        await topics.judged({ subjectId: 'c', ...near, counts: { ...aVerdict(at(0)).counts, ...heard } }, 'x')
        await topics.judged({ subjectId: 'd', ...near, seconds: -2 * 86_400 }, 'x')
        await topics.judged({ subjectId: 'e', ...near, seconds: 1 }, 'x')
        expect(await listed()).toEqual(['c', 'd', 'b', 'a', 'e'].map((id) => `rumor~${id}~r1 contested`))
      })

      it('has the same first, and counts all, however many wait', async () => {
        const entries = Array.from({ length: 700 }, (_, n) => n).flatMap((n) => {
          const heard = { accepted: (n * 7) % 40, judged: 1 }
          // Most came today; one of a hundred has waited for long.
          const seconds = n % 100 === 3 ? -n * 1_000 : n * 5
          const one = aVerdict(at(seconds), {
            subjectId: `s${n}`,
            label: n % 3 === 0 ? 'non-rumor' : 'rumor',
            models: { judge: 'a judge' },
            counts: { ...aVerdict(at(0)).counts, ...heard },
          })
          return entriesOf('verdicts', incoming('verdicts', n, one.subjectId, one, 0), CONTEXT).map((entry) => ({
            offset: n,
            entry,
          }))
        })
        await store.apply({ topic: 'verdicts', partition: 0, from: 0, next: 700, entries })
        const all = await queue.list({}, 1_000, NOW)
        expect(all.items).toHaveLength(700)
        expect(all.items.map(({ score }) => score)).toEqual(all.items.map(({ score }) => score).sort((a, b) => b - a))
        const { items, waiting } = await queue.list({}, 50, NOW)
        expect(items).toEqual(all.items.slice(0, 50))
        expect(waiting).toBe(700)
        const [first] = items
        if (first === undefined) throw new Error('nothing waits')
        expect((await queue.reserve(null, { for: 'ann' }, NOW + 60_000, NOW)).outcome).toBe('reserved')
        const bens = await queue.list({ for: 'ben' }, 50, NOW)
        expect(bens.items.map(({ verdict }) => verdict)).toEqual(all.items.slice(1, 51).map(({ verdict }) => verdict))
        expect(bens.waiting).toBe(699)
        expect((await queue.list({ for: 'ann', protocol: 'rumor' }, 1, NOW)).waiting).toBe(700)
        expect((await queue.list({ protocol: 'hate' }, 1, NOW)).waiting).toBe(0)
      })

      it('is each tenant’s own, and each protocol’s', async () => {
        await topics.judged({}, 'x')
        await topics.judged({ tenant: 'acme' }, 'x')
        await topics.judged({ protocol: 'hate', label: 'hate', scores: { hate: 3, nonHate: 2 } }, 'x')
        expect(await listed({ tenants: ['acme'] })).toEqual(['rumor@acme~p~r1 contested'])
        expect(await listed({ exceptTenants: ['default', 'other'] })).toEqual(['rumor@acme~p~r1 contested'])
        expect(await listed({ exceptTenants: [] })).toHaveLength(3)
        expect(await listed({ protocol: 'hate' })).toEqual(['hate~p~r1 contested'])
        expect(await queue.reserve('rumor~p~r1', { tenants: ['acme'], for: 'ann' }, NOW + 60_000, NOW)).toEqual({
          outcome: 'gone',
        })
        expect((await queue.state()).queue.toSorted((a, b) => (a.protocol < b.protocol ? -1 : 1))).toEqual([
          { protocol: 'hate', waiting: 1, oldest: T0 },
          { protocol: 'rumor', waiting: 2, oldest: T0 },
        ])
      })

      it('gives an item to one person for a while, and to the next when that is over', async () => {
        await topics.judged({ subjectId: 'a' }, 'x')
        await topics.judged({ subjectId: 'b', seconds: 1 }, 'x')
        const reserve = (item: string | null, by: string, now = NOW) =>
          queue.reserve(item, { for: by }, now + 60_000, now)
        expect(await reserve(null, 'ann')).toMatchObject({
          outcome: 'reserved',
          item: { verdict: 'rumor~a~r1', reservation: { by: 'ann' } },
        })
        expect(await reserve('rumor~a~r1', 'ben')).toEqual({ outcome: 'taken', by: 'ann', until: NOW + 60_000 })
        expect(await reserve(null, 'ben')).toMatchObject({ outcome: 'reserved', item: { verdict: 'rumor~b~r1' } })
        expect(await reserve(null, 'cem')).toEqual({ outcome: 'gone' })
        expect(await listed({ for: 'cem' })).toEqual([])
        expect(await listed({ for: 'ann' })).toEqual(['rumor~a~r1 contested'])
        expect(await reserve('rumor~a~r1', 'ann', NOW + 30_000)).toMatchObject({ outcome: 'reserved' })
        expect(await reserve('rumor~a~r1', 'ben', NOW + 89_000)).toMatchObject({ outcome: 'taken' })
        expect(await reserve('rumor~a~r1', 'ben', NOW + 90_000)).toMatchObject({
          outcome: 'reserved',
          item: { reservation: { by: 'ben' } },
        })
        expect(await queue.release('rumor~a~r1', 'ann', { anyone: false }, NOW + 90_000)).toBe(false)
        expect(await queue.release('rumor~a~r1', 'ann', { anyone: true }, NOW + 90_000)).toBe(true)
        expect(await queue.release('rumor~a~r1', 'ann', { anyone: true }, NOW + 90_000)).toBe(false)
        expect(await reserve('rumor~nowhere~r1', 'ann')).toEqual({ outcome: 'gone' })
      })

      it('keeps a claim through the next revision, and loses it with the item', async () => {
        await topics.judged({}, 'x')
        await queue.reserve('rumor~p~r1', { for: 'ann' }, NOW + 60_000, NOW)
        await topics.judged({ revision: 2, seconds: 5 }, 'x')
        expect((await queue.list({}, 9, NOW)).items).toMatchObject([
          { verdict: 'rumor~p~r2', reservation: { by: 'ann' } },
        ])
        await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
        expect(await listed()).toEqual([])
      })

      it('ends a claim where a person has decided, so that somebody else can take the second opinion', async () => {
        await stop()
        await start({ auditShare: 0, blindShare: 1 })
        await topics.judged({}, 'x')
        await queue.reserve('rumor~p~r1', { for: 'ann' }, NOW + 60_000, NOW)
        await topics.judged(decidedBy('ann'), 'x')
        expect((await queue.list({}, 9, NOW)).items).toMatchObject([{ verdict: 'rumor~p~r2', reservation: null }])
        expect(await queue.reserve('rumor~p~r2', { for: 'ben' }, NOW + 1, NOW)).toMatchObject({ outcome: 'reserved' })
      })

      it('lets nobody hold more than twenty, and counts one again that is renewed or given back', async () => {
        for (let n = 0; n < 23; n++) await topics.judged({ subjectId: `q${n}`, decidedBy: 'none', label: null }, 'x')
        const reserve = (by: string, n: number | null, now = NOW) =>
          queue.reserve(n === null ? null : `rumor~q${n}~r1`, { for: by }, NOW + 9, now)
        for (let n = 0; n < 20; n++) expect((await reserve('ann', n)).outcome).toBe('reserved')
        expect(await reserve('ann', 20)).toEqual({ outcome: 'many' })
        expect((await reserve('ann', 3)).outcome).toBe('reserved')
        expect((await reserve('ann', null)).outcome).toBe('reserved')
        expect((await reserve('ben', 20)).outcome).toBe('reserved')
        expect(await queue.release('rumor~q3~r1', 'ann', { anyone: false }, NOW)).toBe(true)
        expect((await reserve('ann', 21)).outcome).toBe('reserved')
        expect((await reserve('ann', 22)).outcome).toBe('many')
        expect((await reserve('ann', 22, NOW + 9)).outcome).toBe('reserved')
      })

      it('lists one item alone', async () => {
        for (const subjectId of ['q1', 'q2']) await topics.judged({ subjectId, decidedBy: 'none', label: null }, 'x')
        expect((await queue.list({ verdict: 'rumor~q2~r1' }, 9, NOW)).items).toMatchObject([{ verdict: 'rumor~q2~r1' }])
        expect((await queue.list({ verdict: 'none' }, 9, NOW)).items).toEqual([])
      })

      it('draws machines’ verdicts for audit', async () => {
        await stop()
        await start({ auditShare: 1, blindShare: 0 })
        await topics.judged({ decidedBy: 'consensus' }, 'x')
        expect(await listed()).toEqual(['rumor~p~r1 sampled'])
        expect((await subject())?.verdicts).toMatchObject([{ sampled: true }])
        await topics.judged(decidedBy('ann'), 'x')
        expect(await listed()).toEqual([])
        expect((await subject())?.verdicts).toMatchObject([{ sampled: true }, { sampled: false }])
      })

      it('draws what a lane settled by a share of its own, and says what people found of it', async () => {
        await stop()
        await start({ auditShare: 0, laneShare: 1, blindShare: 0 })
        const promise = { risk: 0.05, groups: 1 }
        const settled = (subjectId: string, lane: string) => ({
          subjectId,
          decidedBy: 'lane' as const,
          versions: { script: 1, prompts: 'p', settings: 's', lane },
        })
        for (const [nth, id] of ['q1', 'q2', 'q3'].entries())
          await topics.judged({ ...settled(id, 'l1'), seconds: nth }, 'x')
        await topics.judged({ ...settled('q4', 'l2'), seconds: 4 }, 'x')
        await topics.judged({ subjectId: 'q5', decidedBy: 'consensus', seconds: 5 }, 'x')
        expect(await listed()).toEqual(['q1', 'q2', 'q3', 'q4'].map((id) => `rumor~${id}~r1 sampled`))
        expect(await queue.laneAudit('l1', promise)).toMatchObject({
          drawn: 3,
          audited: 0,
          share: null,
          next: 'rumor~q1~r1',
        })
        // What is looked at before its turn counts later.
        await topics.judged({ ...decidedBy('ann'), subjectId: 'q2', label: 'non-rumor', seconds: 6 }, 'x')
        expect(await queue.laneAudit('l1', promise)).toMatchObject({ drawn: 3, audited: 0 })
        await topics.judged({ ...decidedBy('ann'), subjectId: 'q1', seconds: 7 }, 'x')
        expect(await queue.laneAudit('l1', promise)).toMatchObject({
          drawn: 3,
          audited: 2,
          wrong: 1,
          share: 0.5,
          next: 'rumor~q3~r1',
        })
        expect((await queue.laneAudit('l1', promise)).evidence).toBeGreaterThan(1)
        // What waits of one tenant keeps nothing of another back.
        await topics.judged({ ...settled('q6', 'l1'), tenant: 'acme', seconds: 8 }, 'x')
        await topics.judged({ ...decidedBy('ann'), subjectId: 'q6', tenant: 'acme', seconds: 9 }, 'x')
        expect(await queue.laneAudit('l1', promise)).toMatchObject({ drawn: 4, audited: 3, next: 'rumor~q3~r1' })
        expect(await queue.laneAudit('l3', promise)).toMatchObject({ drawn: 0, audited: 0, evidence: 1, next: null })
      })

      it('asks a second person about people’s verdicts, who sees nothing of the first', async () => {
        await stop()
        await start({ auditShare: 0, blindShare: 1 })
        await topics.judged({ label: 'non-rumor', decidedBy: 'consensus' }, 'x')
        await topics.judged(decidedBy('ann'), 'x')
        await review('differs', 'rumor~p~r2')
        expect((await queue.list({}, 9, NOW)).items).toMatchObject([{ label: null, reasons: ['second-opinion'] }])
        expect(await queue.reserve('rumor~p~r2', { for: 'ann' }, NOW + 1, NOW)).toEqual({ outcome: 'own' })
        expect(await queue.reserve(null, { for: 'ann' }, NOW + 1, NOW)).toEqual({ outcome: 'gone' })
        const opinion = {
          subjectId: 'p',
          tenant: 'default',
          protocol: 'rumor',
          against: 2,
          label: 'non-rumor',
          why: 'w',
          at: at(30),
          opinion: true,
        }
        await topics.send('decisions', 'p', { ...opinion, by: 'ann' }, 30)
        await topics.send('decisions', 'p', { ...opinion, by: 'cay', label: 'hoax' }, 30)
        expect(await listed()).toEqual(['rumor~p~r2 second-opinion'])
        await topics.send('decisions', 'p', { ...opinion, by: 'ben' }, 31)
        expect((await queue.list({}, 9, NOW)).items).toMatchObject([{ label: 'rumor', reasons: ['differs'] }])
        expect((await queue.state()).agreement).toEqual([
          { protocol: 'rumor', beside: 'machine', agrees: false, verdicts: 1 },
          { protocol: 'rumor', beside: 'person', agrees: false, verdicts: 1 },
        ])
      })

      it('compares no verdict of a person to whom an image could not be shown', async () => {
        await topics.judged({ label: 'non-rumor', decidedBy: 'consensus' }, 'x')
        const decision = { by: 'ann', against: null, of: '0@0', unseen: true } as const
        await topics.judged(decidedBy('ann', { decision }), 'x')
        expect((await queue.state()).agreement).toEqual([])
      })

      it('gives nobody a case about what they decided or said themselves; a lead may take one that waits for long', async () => {
        const opinion = { subjectId: 'p', tenant: 'default', protocol: 'rumor', against: 2, label: 'rumor', why: 'w' }
        const people = ['ann', 'ben', 'cay', 'dan', 'eve', 'fay']
        const mayTake = async (now: number, lead?: { tenants?: string[] }) => {
          const able: string[] = []
          for (const name of people) {
            const { items, waiting } = await queue.list({ for: name, lead }, 9, now)
            expect(waiting).toBe(items.length)
            const reserved = await queue.reserve('rumor~p~r2', { for: name, lead }, now, now)
            expect(reserved.outcome).toBe(items.length === 1 ? 'reserved' : 'own')
            if (items.length === 1) able.push(name)
          }
          return able
        }
        for (const why of ['refused', 'disputed', 'differs'] as const) {
          await stop()
          await start()
          await topics.judged(decidedBy('ann'), 'x')
          // Ben was refused, cay gave an opinion; dan decided on another protocol, eve on another post.
          await topics.send('decisions', 'p', { ...opinion, by: 'ben', against: 1, at: at(30) }, 30)
          await topics.send('decisions', 'p', { ...opinion, by: 'cay', opinion: true, at: at(31) }, 31)
          await topics.send(
            'decisions',
            'p',
            { ...opinion, protocol: 'hate', by: 'dan', label: 'hate', at: at(32) },
            32,
          )
          await topics.send('decisions', 'q', { ...opinion, subjectId: 'q', by: 'eve', at: at(33) }, 33)
          await review(why, 'rumor~p~r2')
          expect([why, await mayTake(NOW)]).toEqual([why, ['dan', 'eve', 'fay']])
          expect(await mayTake(NOW, {})).toEqual(['dan', 'eve', 'fay'])
          expect(await mayTake(NOW + DAY, { tenants: ['acme'] })).toEqual(['dan', 'eve', 'fay'])
          expect(await mayTake(NOW + DAY, { tenants: ['default'] })).toEqual(people)
        }
        // A post that was edited after a person decided is another post.
        await stop()
        await start()
        await topics.judged(decidedBy('ann'), 'x')
        await review('edited', 'rumor~p~r2')
        expect(await mayTake(NOW)).toEqual(people)
      })

      it('lists by reason, label, language, age and who has it, page by page, and by age', async () => {
        await stop()
        await start({ auditShare: 0, blindShare: 1 })
        for (let n = 0; n < 7; n++)
          await topics.judged({ subjectId: `near${n}`, label: n % 2 === 0 ? 'rumor' : 'non-rumor', seconds: n }, 'x')
        await topics.judged({ subjectId: 'less', decidedBy: 'consensus', degraded: ['x'], seconds: 9 }, 'x')
        await topics.judged({ subjectId: 'human', seconds: 0, decidedBy: 'consensus' }, 'x')
        await topics.judged({ ...decidedBy('ann'), subjectId: 'human' }, 'x')
        const names = async (filter: Parameters<ReviewQueue['list']>[0], most = 50, skip = 0) => {
          const { items, waiting } = await queue.list(filter, most, NOW, skip)
          return [items.map(({ verdict }) => verdict.split('~')[1]), waiting]
        }
        expect(await names({ reason: 'degraded' })).toEqual([['less'], 1])
        expect(await names({ reason: 'second-opinion' })).toEqual([['human'], 1])
        // What is blind is found by no label: not by its own either.
        const labelled = await names({ label: 'rumor', order: 'oldest' })
        expect(labelled).toEqual([['near0', 'near2', 'near4', 'near6', 'less'], 5])
        expect(await names({ label: 'rumor', verdicts: ['rumor~near2~r1', 'rumor~near3~r1'] })).toEqual([['near2'], 1])
        expect(await names({ verdicts: [] })).toEqual([[], 0])
        expect(await names({ lang: 'xx' })).toEqual([[], 0])
        const all = (await names({}))[0] as string[]
        expect(all).toHaveLength(9)
        expect([...((await names({}, 4))[0] as string[]), ...((await names({}, 9, 4))[0] as string[])]).toEqual(all)
        expect((await names({ waitingSince: T0 - 1 }))[1]).toBe(0)
        await queue.reserve('rumor~near3~r1', { for: 'ann' }, NOW + 60_000, NOW)
        await queue.reserve('rumor~near4~r1', { for: 'ben' }, NOW + 60_000, NOW)
        expect(await names({ reserved: 'own', for: 'ann' })).toEqual([['near3'], 1])
        expect(await names({ reserved: 'all', for: 'ann', order: 'oldest' })).toEqual([['near3', 'near4'], 2])
        expect((await names({ for: 'ann' }))[1]).toBe(7)
      })

      it('lists posts, each once with all that waits of it, in the place of its first item that fits', async () => {
        const hate = { protocol: 'hate', scores: { hate: 3, nonHate: 2 } } as const
        for (let n = 0; n < 12; n++) {
          await topics.judged(
            { subjectId: `s${n}`, seconds: n, label: n % 2 === 0 ? 'rumor' : 'non-rumor' },
            `post ${n}`,
          )
          await topics.judged({ subjectId: `s${n}`, seconds: 100 - n, ...hate, label: 'hate' }, `post ${n}`)
        }
        await topics.judged({ subjectId: 'fine', decidedBy: 'consensus' }, 'fine')
        for (const filter of [{}, { order: 'oldest' }, { label: 'non-rumor' }, { for: 'ann' }] as const) {
          const listed: string[] = []
          let after: QueuePlace | null = null
          do {
            const page: PostPage = await queue.posts(filter, 5, NOW, after)
            for (const { subject: of, words, items } of page.posts) {
              listed.push(of.postId)
              expect([words, items.map(({ protocol }) => protocol).toSorted()]).toEqual([
                `post ${of.postId.slice(1)}`,
                ['hate', 'rumor'],
              ])
            }
            expect(page.waiting).toBe('label' in filter ? 6 : 12)
            after = page.next
          } while (after !== null)
          const first = await queue.list(filter, 50, NOW)
          const order = [...new Set(first.items.map((item) => item.subject.postId))]
          expect(listed).toEqual(order)
        }
      })

      it('goes on behind the place where a page ended, whatever was decided in front of it', async () => {
        for (let n = 0; n < 9; n++) await topics.judged({ subjectId: `s${n}`, seconds: n }, 'x')
        const before = (await queue.list({}, 50, NOW)).items.map((item) => item.subject.postId)
        const first = await queue.posts({}, 3, NOW, null)
        expect(first.posts.map((post) => post.subject.postId)).toEqual(before.slice(0, 3))
        for (const id of before.slice(0, 3))
          await topics.send('posts', id, { id, createdAt: at(0), deleted: true }, 4_000)
        const second = await queue.posts({}, 3, NOW + 60_000, first.next)
        expect(second.posts.map((post) => post.subject.postId)).toEqual(before.slice(3, 6))
        expect((await queue.posts({ order: 'oldest' }, 3, NOW, second.next)).posts.length).toBeLessThanOrEqual(3)
        const odd = { at: -1, score: Number.MAX_VALUE, since: -1, verdict: "'; DROP TABLE queue;--" }
        expect((await queue.posts({}, 50, NOW, odd)).posts).toHaveLength(6)
      })

      it('shows of a post what this person may take, what others have, and what is their own case', async () => {
        await topics.judged({ seconds: 1 }, 'x')
        await topics.judged({ seconds: 1, protocol: 'hate', label: 'hate', scores: { hate: 3, nonHate: 2 } }, 'x')
        await queue.reserve('rumor~p~r1', { for: 'ann' }, NOW + 60_000, NOW)
        const mays = async (person: string, more: object = {}) => {
          const page = await queue.posts({ for: person, ...more }, 9, NOW, null)
          return page.posts.map(({ items }) => items.map(({ protocol, may }) => `${protocol} ${may}`).toSorted())
        }
        expect(await mays('ben')).toEqual([['hate yes', 'rumor taken']])
        expect(await mays('ann')).toEqual([['hate yes', 'rumor yes']])
        expect(await mays('ann', { protocol: 'rumor', reserved: 'own' })).toEqual([['hate yes', 'rumor yes']])
        expect(await mays('ben', { protocol: 'rumor' })).toEqual([])
        expect(await mays('ben', { protocol: 'rumor', reserved: 'any' })).toEqual([['hate yes', 'rumor taken']])
        expect(await mays('ben', { tenants: ['acme'] })).toEqual([])
      })

      it('keeps what is assigned to one person from others, but leads, and from nobody for longer than set', async () => {
        await topics.judged({}, 'x')
        await topics.judged({ subjectId: 'q' }, 'x')
        const assigned = (to: string | null, seconds: number, change: object = {}) =>
          topics.send(
            'casework',
            'p',
            {
              schema: 1,
              id: `a${seconds}`,
              subjectId: 'p',
              tenant: 'default',
              kind: 'post',
              what: 'assigned',
              to,
              by: 'lea',
              // Its sender's clock was set back: the topic's own time counts.
              at: at(-9 * seconds),
              ...change,
            },
            seconds,
          )
        await assigned('ann', 3_000)
        const of = async (person: string, now = NOW, more: object = {}) => {
          const { posts, waiting } = await queue.posts({ for: person, ...more }, 9, now, null)
          expect((await queue.list({ for: person, ...more }, 9, now)).waiting).toBe(posts.length)
          expect(waiting).toBe(posts.length)
          for (const { assignee, assignedBy } of posts) if (assignee !== null) expect(assignedBy).toBe('lea')
          return posts.map((post) => `${post.subject.postId} ${post.assignee}`).toSorted()
        }
        expect(await of('ann')).toEqual(['p ann', 'q null'])
        expect(await of('ben')).toEqual(['q null'])
        expect(await of('lea', NOW, { lead: {} })).toEqual(['p ann', 'q null'])
        expect(await of('lea', NOW, { lead: { tenants: ['acme'] } })).toEqual(['q null'])
        expect(await of('ann', NOW, { assigned: 'ann' })).toEqual(['p ann'])
        expect(await of('ben', NOW, { assigned: 'ben' })).toEqual([])
        expect(await queue.reserve('rumor~p~r1', { for: 'ben' }, NOW + 9, NOW)).toEqual({
          outcome: 'assigned',
          to: 'ann',
        })
        expect(await of('ben', NOW + DAY)).toEqual(['p ann', 'q null'])
        // Handed over, with the next revision too; other words of a later version mean nothing here.
        await assigned('ben', 3_001)
        await assigned('cay', 3_002, { what: 'escalated' })
        await topics.judged({ revision: 2, seconds: 5 }, 'x')
        expect(await of('ann')).toEqual(['q null'])
        expect(await of('ann', NOW, { assigned: 'ann' })).toEqual([])
        expect(await of('ben', NOW, { assigned: 'ben' })).toEqual(['p ben'])
        await assigned(null, 3_003)
        expect(await of('cay')).toEqual(['p null', 'q null'])
        // Erased with the post, like all else that was said of it.
        await assigned('dan', 3_004)
        await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 3_005)
        await topics.judged({ revision: 3, seconds: 3_006 }, 'born again')
        expect(await of('cay')).toEqual(['p null', 'q null'])
        expect(JSON.stringify(await subject())).not.toContain('dan')
      })

      it('keeps for others what is about the decision of the person to whom its post is assigned', async () => {
        const decision = { by: 'ben', against: null, of: '0@1' }
        await topics.judged({ decidedBy: 'human', label: 'non-rumor', decision }, 'x')
        await topics.judged({ seconds: 1, protocol: 'hate', label: 'hate', scores: { hate: 3, nonHate: 2 } }, 'x')
        const about = { schema: 1, subjectId: 'p', tenant: 'default', kind: 'post' }
        const disputed = { ...about, id: 'd', protocol: 'rumor', why: 'disputed', verdict: 'rumor~p~r1', at: at(3) }
        await topics.send('reviews', 'p', disputed, 3)
        const assigned = { ...about, id: 'a', what: 'assigned', to: 'ben', by: 'lea', at: at(4) }
        await topics.send('casework', 'p', assigned, 3_000)
        const mays = async (person: string) => {
          const { posts } = await queue.posts({ for: person, reserved: 'any' }, 9, NOW, null)
          return posts.flatMap(({ items }) => items.map(({ protocol, may }) => `${protocol} ${may}`)).toSorted()
        }
        expect(await mays('ben')).toEqual(['hate yes', 'rumor own'])
        expect(await mays('cay')).toEqual(['hate assigned', 'rumor yes'])
        expect((await queue.list({ for: 'cay' }, 9, NOW)).waiting).toBe(1)
      })

      it('finds copies in the same words: of one tenant and protocol, until the words are erased', async () => {
        const same = ['The bridge has fallen.', 'THE BRIDGE has fallen!!', '@all The bridge  has fallen']
        for (const [n, text] of same.entries()) await topics.judged({ subjectId: `s${n}`, seconds: n }, text)
        await topics.judged({ subjectId: 'not' }, 'The bridge has not fallen.')
        await topics.judged({ subjectId: 'theirs', tenant: 'acme' }, 'The bridge has fallen.')
        await topics.judged({ subjectId: 'none' }, '')
        await topics.judged({ subjectId: 'neither' }, ' ')
        await topics.judged(
          { subjectId: 's1', protocol: 'hate', label: 'hate', scores: { hate: 3, nonHate: 2 } },
          'x y',
        )
        const copies = async (verdict: string, more: object = {}) =>
          (await queue.list({ ...more, copiesOf: verdict, order: 'oldest' }, 9, NOW)).items.map((one) => one.verdict)
        // The last words that came of a subject are its words.
        expect(await copies('rumor~s0~r1')).toEqual(['rumor~s2~r1'])
        await topics.judged({ subjectId: 's1', revision: 2, seconds: 3 }, same[1] ?? '')
        expect(await copies('rumor~s0~r1')).toEqual(['rumor~s2~r1', 'rumor~s1~r2'])
        expect(await copies('rumor~not~r1')).toEqual([])
        expect(await copies('rumor~none~r1')).toEqual([])
        expect(await copies('rumor@acme~theirs~r1')).toEqual([])
        expect(await copies('hate~s1~r1')).toEqual([])
        await queue.reserve('rumor~s2~r1', { for: 'ann' }, NOW + 60_000, NOW)
        expect(await copies('rumor~s0~r1', { for: 'ben' })).toEqual(['rumor~s1~r2'])
        await topics.send('posts', 's2', { id: 's2', createdAt: at(0), deleted: true }, 60)
        await topics.judged({ subjectId: 's2', revision: 3, seconds: 90 }, null)
        expect(await copies('rumor~s0~r1')).toEqual(['rumor~s1~r2'])
      })

      it('lists by reach', async () => {
        const { counts } = aVerdict(at(0))
        for (const accepted of [5, 50, 500])
          await topics.judged({ subjectId: `s${accepted}`, seconds: accepted, counts: { ...counts, accepted } }, 'x')
        const reaching = async (reach: number) =>
          (await queue.list({ reach, order: 'oldest' }, 9, NOW)).items.map((item) => item.subject.postId)
        expect(await reaching(50)).toEqual(['s50', 's500'])
        await topics.judged({ subjectId: 's5', revision: 2, counts: { ...counts, accepted: 5_000 } }, 'x')
        expect(await reaching(501)).toEqual(['s5'])
      })

      it('compares with the last word of the person who spoke first', async () => {
        await topics.judged({ decidedBy: 'none', label: null }, 'x')
        await topics.judged(decidedBy('ann'), 'x')
        const opinion = { subjectId: 'p', protocol: 'rumor', against: 2, why: 'w', at: at(30), opinion: true }
        await topics.send('decisions', 'p', { ...opinion, by: 'ben', label: 'non-rumor' }, 30)
        await topics.send('decisions', 'p', { ...opinion, by: 'cay', label: 'non-rumor' }, 31)
        await topics.send('decisions', 'p', { ...opinion, by: 'ben', label: 'rumor' }, 32)
        const found = await subject()
        const [judged] = found === null ? [] : judgementsOf(found)
        expect(judged?.opinions[0]).toEqual({ by: 'ben', label: judged?.label })
        expect((await queue.state()).agreement).toEqual([
          { protocol: 'rumor', beside: 'person', agrees: true, verdicts: 1 },
        ])
      })

      it('compares the standing verdict alone, and none that was withdrawn', async () => {
        await topics.judged({ label: 'rumor', decidedBy: 'consensus' }, 'x')
        await topics.judged(decidedBy('ann'), 'x')
        expect((await queue.state()).agreement).toEqual([
          { protocol: 'rumor', beside: 'machine', agrees: true, verdicts: 1 },
        ])
        await topics.judged({ revision: 3, seconds: 12, decidedBy: 'consensus' }, 'x')
        expect((await queue.state()).agreement).toEqual([])
      })

      it('breaks on no name of a person, an item or a tenant', async () => {
        await topics.judged({}, 'x')
        for (const name of ["'; DROP TABLE queue;--", '', '\0', '__proto__', '\u202e', 'x'.repeat(10_000)]) {
          expect(await queue.reserve(name, { for: name, tenants: [name] }, NOW, NOW)).toEqual({ outcome: 'gone' })
          expect(await queue.release(name, name, { anyone: false }, NOW)).toBe(false)
          expect(await listed({ tenants: [name], protocol: name })).toEqual([])
        }
        expect(await listed()).toEqual(['rumor~p~r1 contested'])
      })
    })

    describe('keeps nothing', () => {
      const SECRET = 'zanzibarian'
      const isGone = async () => {
        expect(await ids(SECRET)).toEqual([])
        expect(await exported()).not.toContain(SECRET)
        expect(JSON.stringify(await subject())).not.toContain(SECRET)
        expect(JSON.stringify(await store.find({}, 50))).not.toContain(SECRET)
        expect((await store.transcript('rumor~p~r1')) ?? '').not.toContain(SECRET)
      }
      const note = { subjectId: 'p', protocol: 'rumor', label: 'non-rumor', by: 'ann', at: at(1), note: SECRET }

      it('of a deleted post, whatever of it comes later', async () => {
        const one = await topics.judged({ rationale: SECRET }, SECRET, { c1: SECRET })
        await topics.send('feedback', 'p', note, 1)
        await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
        await isGone()
        expect(await subject()).toMatchObject({ deletedAt: T0 + 60_000, verdicts: [], said: [] })
        await topics.send('verdicts', 'p', one)
        await topics.send('transcripts', 'p', aTranscript(one.id, SECRET))
        await topics.send('feedback', 'p', note, 1)
        await isGone()
        expect((await store.size()).rows).toEqual({ verdicts: 0, transcripts: 0, said: 0, unread: 0 })
      })

      it('of a comment that was judged by itself, and of what it was shown with', async () => {
        const of = { protocol: 'hate', tenant: 'default', postId: 'p~1' }
        const judge = async (id: string, said: string, answered: Record<string, string>, seconds = 1) => {
          const one = aVerdict(at(seconds), {
            ...of,
            id: verdictId({ ...of, subjectId: id, revision: 1 }),
            subjectId: id,
            subjectKind: 'comment',
            rationale: said,
          })
          const argued = aTranscript(one.id, said, answered, seconds)
          await topics.send('verdicts', of.postId, one, seconds)
          await topics.send(
            'transcripts',
            of.postId,
            { ...argued, subject: { ...argued.subject, under: null } },
            seconds,
          )
          return one.id
        }
        const wholeOf = (id: string) =>
          store.subject({ tenant: 'default', id: commentKey(of.postId, id), kind: 'comment' })
        const [parent, child, other] = [
          await judge('c1', SECRET, {}),
          await judge('c2', 'a child', { c1: SECRET }),
          await judge('c3', 'another', {}),
        ]
        // Another post's comments have the same ids.
        await topics.judged({ subjectId: 'p', rationale: 'fine' }, 'another claim', { c1: 'same id, another post' })
        expect([await ids('child'), await ids(SECRET)]).toEqual([[child], [parent]])
        await topics.send('comments', of.postId, { id: 'c1', postId: of.postId, createdAt: at(0), deleted: true }, 60)
        await isGone()
        expect([(await wholeOf('c1'))?.verdicts, await store.transcript(child)]).toEqual([[], null])
        expect([(await wholeOf('c2'))?.verdicts[0]?.erased, (await wholeOf('c3'))?.verdicts[0]?.erased]).toEqual([
          true,
          false,
        ])
        expect([(await store.transcript(other)) === null, (await store.transcript('rumor~p~r1')) === null]).toEqual([
          false,
          false,
        ])
        // What comes late of it comes to nothing.
        await judge('c4', 'late', { c1: SECRET }, 61)
        await isGone()
      })

      it('of a deleted post’s comments, a bounded number at a time, and of no other’s', async () => {
        const judged = [...Array.from({ length: 520 }, (_, nth) => ['p', `c${nth}`] as const), ['p2', 'c0'] as const]
        const entries = judged.flatMap(([postId, subjectId], offset) => {
          const of = { protocol: 'hate', subjectKind: 'comment', subjectId, postId } as const
          const one = aVerdict(at(1), { ...of, rationale: postId === 'p' ? SECRET : 'another' })
          const message = incoming('verdicts', offset, postId, one, 1)
          return entriesOf('verdicts', message, CONTEXT).map((entry) => ({ offset, entry }))
        })
        await store.apply({ topic: 'verdicts', partition: 0, from: 0, next: 521, entries })
        await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
        const left = [(await store.size()).rows.verdicts]
        for (let step = 0; step < 3; step++) {
          await store.tidy(T0 + 61_000)
          left.push((await store.size()).rows.verdicts)
        }
        expect(left).toEqual([271, 21, 1, 1])
        await isGone()
      })

      it('of what stands under many deleted posts, as many at a time as under one', async () => {
        const posts = Array.from({ length: 260 }, (_, nth) => `p${nth}`)
        const entries = posts.flatMap((postId, offset) => {
          const one = aVerdict(at(1), { protocol: 'hate', subjectKind: 'comment', subjectId: 'c', postId })
          const message = incoming('verdicts', offset, postId, one, 1)
          return entriesOf('verdicts', message, CONTEXT).map((entry) => ({ offset, entry }))
        })
        await store.apply({ topic: 'verdicts', partition: 0, from: 0, next: 260, entries })
        const deletions = posts.flatMap((id, offset) => {
          const message = incoming('posts', offset, id, { id, createdAt: at(0), deleted: true }, 60)
          return entriesOf('posts', message, CONTEXT).map((entry) => ({ offset, entry }))
        })
        const left = async () => [(await store.size()).rows.verdicts, await store.hasDependents('default')]
        expect(await left()).toEqual([260, false])
        await store.apply({ topic: 'posts', partition: 0, from: 0, next: 260, entries: deletions })
        expect([await left(), await store.hasDependents('acme')]).toEqual([[10, true], false])
        await store.tidy(T0 + 61_000)
        expect(await left()).toEqual([0, false])
      })

      it('of what stands under deleted posts in turn by tenant, and in nobody else’s step', async () => {
        const quotes = (tenant: string, n: number) =>
          Array.from({ length: n }, (_, nth) => ({
            what: 'quote' as const,
            post: { tenant, postId: 'p', kind: 'post' as const },
            reply: { tenant, postId: `r${nth}`, kind: 'reply' as const },
            at: T0,
          }))
        const all = [...quotes('acme', 600), ...quotes('zeta', 260)].map((entry, offset) => ({ offset, entry }))
        await store.apply({ topic: 'counterspeech', partition: 0, from: 0, next: all.length, entries: all })
        for (const tenant of ['acme', 'zeta'])
          await topics.send('posts', 'p', { id: 'p', tenant, createdAt: at(0), deleted: true }, 60)
        // 350 and 10 are left.
        await topics.judged({ tenant: 'other' }, 'a post')
        const waits = () => Promise.all(['acme', 'zeta'].map((tenant) => store.hasDependents(tenant)))
        expect(await waits()).toEqual([true, true])
        await store.tidy(T0 + 61_000)
        expect(await waits()).toEqual([true, false])
        for (let step = 0; step < 2; step++) await store.tidy(T0 + 61_000)
        expect(await waits()).toEqual([false, false])
      })

      it('of a deleted comment that a case was only handed on', async () => {
        const { id } = await topics.judged({ seconds: 1 }, 'a claim')
        const replay = { key: 'k', overloaded: false, carry: { shown: ['c1'], decision: { rationale: SECRET } } }
        const handedOn = { ...aTranscript(id.replace('r1', 'r2'), 'a claim', { c2: 'a comment' }, 5), replay }
        await topics.send('verdicts', 'p', aVerdict(at(5), { revision: 2 }), 5)
        await topics.send('transcripts', 'p', handedOn, 5)
        expect(await store.transcript('rumor~p~r2')).toContain(SECRET)
        await topics.send('comments', 'p', { id: 'c1', postId: 'p', text: '', createdAt: at(0), deleted: true }, 60)
        expect(await store.transcript('rumor~p~r2')).toBeNull()
        expect(await store.transcript('rumor~p~r1')).not.toBeNull()
      })

      it('of one whose retraction alone is read, which stays', async () => {
        await topics.judged({ rationale: SECRET }, SECRET)
        const retraction = aVerdict(at(30), { revision: 2, label: null, decidedBy: 'deleted', degraded: ['deleted'] })
        await topics.send('verdicts', 'p', retraction, 30)
        await topics.send('transcripts', 'p', aTranscript('rumor~p~r1', SECRET), 31)
        await isGone()
        expect((await subject())?.verdicts).toMatchObject([{ verdict: { decidedBy: 'deleted' }, standing: true }])
        expect(await exported()).toBe('')
      })

      it('of one that was judged between its deletion and its retraction', async () => {
        await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 10)
        await topics.judged({ rationale: SECRET, seconds: 12 }, SECRET)
        const retraction = aVerdict(at(15), { revision: 2, label: null, decidedBy: 'deleted', degraded: ['deleted'] })
        await topics.send('verdicts', 'p', retraction, 15)
        await isGone()
      })

      it('of one that was judged under a clock that was ahead', async () => {
        await topics.send('verdicts', 'p', aVerdict(at(600), { rationale: SECRET }), 5)
        await topics.send('transcripts', 'p', aTranscript('rumor~p~r1', SECRET, {}, 600), 5)
        await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
        await isGone()
        await topics.send('verdicts', 'p', aVerdict(at(900), { revision: 2, rationale: SECRET }), 61)
        const gone = { label: null, decidedBy: 'deleted', degraded: ['deleted'] }
        await topics.send('verdicts', 'p', aVerdict(at(59), { revision: 3, ...gone }), 62)
        await isGone()
        expect((await subject())?.verdicts.map(({ verdict }) => verdict.id)).toEqual(['rumor~p~r3'])
      })

      it('of the life before, where an id comes back', async () => {
        await topics.judged({ rationale: SECRET }, SECRET)
        await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
        await topics.judged({ revision: 3, seconds: 90 }, 'born again')
        await isGone()
        expect(await ids('born')).toEqual(['rumor~p~r3'])
      })

      it('of a deleted comment, in whatever order it and the verdict come', async () => {
        await topics.judged(
          { rationale: `it says ${SECRET}`, evidence: { support: ['c1'], oppose: [], precedents: [] } },
          'a claim',
          { c1: SECRET },
        )
        await topics.judged({ subjectId: 'q', rationale: 'fine' }, 'another claim', { c1: 'same id, another post' })
        const human = aVerdict(at(5), { revision: 2, decidedBy: 'human', rationale: 'overruled' })
        await topics.send('verdicts', 'p', human, 5)
        await topics.send('transcripts', 'p', aTranscript(human.id, null), 5)
        await topics.send('comments', 'p', { id: 'c1', postId: 'p', createdAt: at(0), deleted: true }, 60)
        await isGone()
        expect((await subject())?.verdicts[0]).toMatchObject({
          erased: true,
          verdict: { label: 'rumor', rationale: '', evidence: { support: [] } },
        })
        expect(await ids('overruled')).toEqual(['rumor~p~r2'])
        expect(await ids('same')).toEqual(['rumor~q~r1'])
        await topics.judged({ revision: 3, seconds: 90, rationale: SECRET }, 'a claim', { c1: SECRET })
        await isGone()
      })

      it('of a deleted comment, also in the verdicts that withdrawals published again, in whatever order they come', async () => {
        const again = (revision: number, from: string, seconds: number) => {
          const restored = { from, by: 'ann', why: 'a mistake', of: `0@${revision}` }
          return aVerdict(at(seconds), { revision, rationale: SECRET, restored })
        }
        await topics.judged({ rationale: SECRET }, 'a claim', { c1: SECRET })
        await topics.send('verdicts', 'p', again(3, 'rumor~p~r1', 9), 9)
        await topics.send('verdicts', 'p', again(5, 'rumor~p~r3', 19), 19)
        await topics.send('comments', 'p', { id: 'c1', postId: 'p', createdAt: at(0), deleted: true }, 60)
        await isGone()
        await topics.send('verdicts', 'p', again(7, 'rumor~p~r5', 70), 70)
        const { revision: _, supersedes: __, ...ruled } = aVerdict(at(80), { rationale: SECRET })
        const proposed = { ...ruled, id: 'rumor~p~p8', proposal: 8, beneath: 'rumor~p~r7', differs: false }
        await topics.send('proposals', 'p', proposed, 80)
        await topics.send('verdicts', 'p', again(9, 'rumor~p~p8', 90), 90)
        await topics.send('transcripts', 'p', aTranscript('rumor~p~p8', 'a claim', { c1: SECRET }, 80), 90)
        await isGone()
        expect((await subject())?.verdicts.map(({ erased }) => erased)).toEqual([true, true, true, true, true])
      })

      it.each([
        ['comment under another post that was shown', ['comments', 't', { id: 'e1', postId: 't' }]],
        ['other post, a comment under which was shown', ['posts', 't', { id: 't' }]],
      ] as const)('of a deleted %s, in whatever order it and the verdict come', async (_, [topic, key, of]) => {
        const elsewhere = { support: [], oppose: [], precedents: [], elsewhere: ['t~e1'] }
        const shown = { rationale: `it says ${SECRET}`, evidence: elsewhere }
        const held = { c1: 'own words', 't~e1': SECRET }
        const restored = { from: 'rumor~p~r1', by: 'ann', why: 'a mistake', of: '0@3' }
        const remove = () => topics.send(topic, key, { ...of, text: '', createdAt: at(0), deleted: true }, 60)
        await topics.judged(shown, 'a claim', held)
        await topics.judged({ subjectId: 'q', rationale: 'fine' }, 'another claim', { e1: 'same id, another post' })
        await topics.judged({ subjectId: 'r', evidence: { ...elsewhere, elsewhere: ['tt~e1'] } }, 'a third', {
          x: 'kept',
        })
        await topics.judged({ ...shown, tenant: 'acme', rationale: 'of acme' }, 'a claim', { c1: 'kept there' })
        await topics.send('verdicts', 'p', aVerdict(at(9), { ...shown, revision: 3, restored }), 9)
        await remove()
        await isGone()
        expect((await subject())?.verdicts.map(({ erased }) => erased)).toEqual([true, true])
        expect((await subject())?.verdicts[0]?.verdict).toMatchObject({ label: 'rumor', rationale: '' })
        expect(await ids('same')).toEqual(['rumor~q~r1'])
        expect(await ids('third')).toEqual(['rumor~r~r1'])
        expect(await ids('kept')).toEqual(['rumor@acme~p~r1', 'rumor~r~r1'])
        await topics.judged({ ...shown, revision: 4, seconds: 90 }, 'a claim', held)
        await topics.send('transcripts', 'p', aTranscript('rumor~p~r5', 'a claim', held, 95), 95)
        await topics.send('verdicts', 'p', aVerdict(at(95), { ...shown, revision: 5 }), 95)
        await isGone()
        expect(await store.transcript('rumor~p~r5')).toBeNull()
      })

      it('of a deleted comment, from verdicts whose transcripts were cut as well', async () => {
        const cut = (id: string) => ({
          ...aTranscript(id, null),
          subject: '[cut: too large]',
          turns: [{ startedAt: at(1) }],
        })
        await topics.send('verdicts', 'p', aVerdict(at(0), { rationale: SECRET }))
        await topics.send('transcripts', 'p', { ...cut('rumor~p~r1'), raw: SECRET })
        const human = aVerdict(at(5), { revision: 2, decidedBy: 'human', rationale: 'overruled' })
        await topics.send('verdicts', 'p', human, 5)
        await topics.send('transcripts', 'p', aTranscript(human.id, null), 5)
        await topics.send('comments', 'p', { id: 'c1', postId: 'p', createdAt: at(0), deleted: true }, 60)
        await isGone()
        await topics.send('transcripts', 'p', { ...cut('rumor~p~r3'), raw: SECRET }, 50)
        await topics.send('verdicts', 'p', aVerdict(at(50), { revision: 3, rationale: SECRET }), 50)
        await isGone()
        expect(await store.transcript('rumor~p~r3')).toBeNull()
        expect((await subject())?.verdicts.map(({ erased }) => erased)).toEqual([true, false, true])
        expect((await store.verdict(human.id))?.verdict.rationale).toBe('overruled')
      })

      it('of a deleted comment whose transcript comes before the verdict', async () => {
        await topics.send('comments', 'p', { id: 'c1', postId: 'p', createdAt: at(0), deleted: true }, 60)
        await topics.send('transcripts', 'p', aTranscript('rumor~p~r1', 'a claim', { c1: SECRET }))
        await topics.send('verdicts', 'p', aVerdict(at(0), { rationale: SECRET }))
        await isGone()
      })

      it('of the replies that quote a deleted post, also of one that is read later', async () => {
        const quote = (id: string) => ({ id, postId: 'p', hateSpeech: SECRET, text: 'no', createdAt: at(0) })
        await topics.send('counterspeech', 'p', quote('r1'))
        await topics.judged({ subjectId: 'r1', protocol: 'counterspeech', label: null, rationale: SECRET }, SECRET)
        await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
        await topics.judged({ subjectId: 'r2', protocol: 'counterspeech', label: null, rationale: SECRET }, SECRET)
        await topics.send('counterspeech', 'p', quote('r2'))
        await isGone()
        expect(await subject('r1')).toMatchObject({ verdicts: [] })
        expect(await subject('r2')).toMatchObject({ verdicts: [] })
      })

      it('of a deletion whose letters are escaped', async () => {
        await topics.judged({ rationale: SECRET }, SECRET)
        await topics.send('posts', 'p', `{"id":"p","createdAt":"${at(0)}","\\u0064eleted":true}`, 60)
        await isGone()
      })

      it('of another tenant’s deletion', async () => {
        await topics.judged({ rationale: 'stays' }, 'stays')
        await topics.send('posts', 'p', { id: 'p', tenant: 'acme', createdAt: at(0), deleted: true }, 60)
        expect(await ids('stays')).toEqual(['rumor~p~r1'])
      })
    })

    it('keeps a message of another version as it is, and counts it', async () => {
      await topics.send('verdicts', 'p', { schema: 2, id: 'rumor~p~r1' })
      await topics.send('transcripts', 'p', '{"schema":1,"verdi')
      await topics.send('feedback', 'p', 'not JSON')
      expect((await store.size()).rows.unread).toBe(2)
      await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
      expect((await store.size()).rows.unread).toBe(0)
    })

    it('keeps feedback on a reply with the reply, also by a protocol that judges posts as a rule, and no longer than it', async () => {
      const feedback = { protocol: 'hate', label: 'hate', by: 'ann', at: at(1) }
      await topics.judged({ subjectId: 'q', protocol: 'hate', crossKind: true }, 'a reply')
      await topics.send('feedback', 'q', { ...feedback, subjectId: 'q' }, 1)
      await topics.send('feedback', 'p', { ...feedback, subjectId: 'p' }, 1)
      expect((await store.subject({ tenant: 'default', id: 'q', kind: 'reply' }))?.said).toMatchObject([{ by: 'ann' }])
      expect((await store.subject({ tenant: 'default', id: 'p', kind: 'post' }))?.said).toMatchObject([{ by: 'ann' }])
      await topics.send('counterspeech', 'q', { id: 'q', createdAt: at(0), deleted: true }, 60)
      expect((await store.subject({ tenant: 'default', id: 'q', kind: 'reply' }))?.said).toEqual([])
      expect(await store.word('feedback 0@0')).toBeNull()
    })

    it('keeps what is said of a comment until its post is deleted: it is about no post or reply of its id', async () => {
      const said = { subjectId: 'p', protocol: 'hate', label: 'hate', by: 'ann', at: at(1) }
      const comment = { ...said, subjectKind: 'comment', postId: 'q' }
      await topics.judged({ subjectId: 'p', protocol: 'hate' }, 'a post')
      await topics.send('feedback', 'q', comment, 1)
      await topics.send('decisions', 'q', { ...comment, against: 1, why: 'Seen.' }, 1)
      const outcome = { schema: 1, tenant: 'default', kind: 'post', outcome: 'stands', of: '0@1', revision: 1 }
      await topics.send('decisionOutcomes', 'q', { ...comment, ...outcome }, 1)
      expect((await store.size()).rows).toMatchObject({ said: 3, unread: 0 })
      expect((await store.subject({ tenant: 'default', id: 'p', kind: 'post' }))?.said).toEqual([])
      expect(
        (await store.subject({ tenant: 'default', id: commentKey('q', 'p'), kind: 'comment' }))?.said,
      ).toHaveLength(3)
      await topics.send('posts', 'q', { id: 'q', createdAt: at(0), deleted: true }, 60)
      expect((await store.size()).rows).toMatchObject({ said: 0, unread: 0 })
    })

    it('keeps feedback with the kind that it names, whatever was judged of that id', async () => {
      const feedback = { subjectId: 'p', protocol: 'hate', label: 'hate', by: 'ann', at: at(1) }
      await topics.judged({ subjectId: 'p', protocol: 'hate' }, 'a post')
      await topics.send('feedback', 'p', { ...feedback, subjectKind: 'reply' }, 1)
      expect((await store.subject({ tenant: 'default', id: 'p', kind: 'post' }))?.said).toEqual([])
      expect((await store.word('feedback 0@0'))?.message).toMatchObject({ subjectKind: 'reply', by: 'ann' })
    })

    it('keeps what people said of a verdict', async () => {
      const feedback = {
        subjectId: 'p',
        protocol: 'rumor',
        label: 'non-rumor',
        by: 'ann',
        at: at(1),
        note: 'no source',
      }
      await topics.judged({}, 'a claim')
      await topics.send('feedback', 'p', feedback, 1)
      expect((await subject())?.said).toEqual([
        {
          said: 'feedback',
          id: 'feedback 0@0',
          protocol: 'rumor',
          label: 'non-rumor',
          by: 'ann',
          at: T0 + 1_000,
          message: { label: 'non-rumor', by: 'ann', at: at(1), note: 'no source' },
        },
      ])
    })

    it('forgets what is older than it keeps', async () => {
      await topics.judged({ subjectId: 'old', seconds: 0 }, 'ancient')
      await topics.judged({ subjectId: 'new', seconds: 200 * 86_400 }, 'recent')
      await store.tidy(T0 + KEEP + 60_000)
      expect(await subject('old')).toBeNull()
      expect(await ids('ancient')).toEqual([])
      expect(await ids('recent')).toEqual(['rumor~new~r1'])
      expect((await store.size()).oldest).toBe(T0 + KEEP)
    })

    it('forgets a deleted subject only with all that was said of it since, and gives it to nobody else', async () => {
      await topics.judged({}, 'a claim')
      await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
      const feedback = {
        subjectId: 'p',
        protocol: 'rumor',
        label: 'non-rumor',
        by: 'ann',
        at: at(120),
        note: 'private',
      }
      await topics.send('feedback', 'p', feedback, 120)
      await store.tidy(T0 + 9 * DAY)
      await topics.judged({ subjectId: 'q', tenant: 'acme', seconds: 9 * 86_400 }, 'another')
      expect((await subject('q', 'acme'))?.said).toEqual([])
    })

    it('exports nothing of a deleted subject, also where somebody spoke of it since', async () => {
      const feedback = {
        subjectId: 'p',
        protocol: 'rumor',
        label: 'non-rumor',
        by: 'ann',
        at: at(120),
        note: 'private',
      }
      await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
      await topics.send('feedback', 'p', feedback, 120)
      await topics.judged({ subjectId: 'q' }, 'a claim')
      await topics.judged({ subjectId: 'q', revision: 2, seconds: 60, decidedBy: 'deleted', label: null }, null)
      await topics.send('feedback', 'q', { ...feedback, subjectId: 'q' }, 120)
      expect(await exported()).toBe('')
    })

    it('announces no new verdict if a comment is deleted that the verdict did not see', async () => {
      await topics.judged({}, 'a claim', { c1: 'seen' })
      const { at: place } = await store.arrivals(null, 9)
      await topics.send('comments', 'p', { id: 'c2', postId: 'p', createdAt: at(0), deleted: true }, 60)
      expect((await store.arrivals(place, 9)).rows).toEqual([])
    })

    it('compares no verdict that it has forgotten', async () => {
      await topics.judged({ label: 'rumor', decidedBy: 'consensus' }, 'x')
      const decision = { by: 'ann', against: 'rumor~p~r1', of: '0@0' }
      await topics.judged({ revision: 2, seconds: 9, decidedBy: 'human', decision }, 'x')
      expect((await queue.state()).agreement).toHaveLength(1)
      await store.tidy(T0 + KEEP + 60_000)
      expect((await queue.state()).agreement).toEqual([])
    })

    it('exports every subject, each whole', async () => {
      await topics.judged({ subjectId: 'a' }, 'one')
      await topics.judged({ subjectId: 'a', revision: 2, seconds: 3 }, 'one')
      await topics.judged({ subjectId: 'b' }, 'two')
      const lines = (await exported()).split('\n').map((line) => JSON.parse(line))
      expect(lines).toMatchObject([
        { subject: { postId: 'a' }, verdicts: [{ verdict: { revision: 1 } }, { verdict: { revision: 2 } }] },
        { subject: { postId: 'b' }, verdicts: [{}] },
      ])
    })
  })
}
