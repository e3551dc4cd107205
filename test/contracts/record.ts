import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ThreadRef } from '../../src/service/domain/thread.ts'
import type { Verdict } from '../../src/service/domain/verdict.ts'
import type { RecordedTopic, RecordStore } from '../../src/service/ports/record.ts'
import type { Incoming } from '../../src/service/ports/topic.ts'
import { entriesOf } from '../../src/service/record/project.ts'
import { aVerdict } from '../support/verdicts.ts'

export const DAY = 86_400_000
const T0 = Date.parse('2026-03-01T00:00:00Z')
export const KEEP = 200 * DAY
const CONTEXT = { ofReplies: new Set(['counterspeech']), indexChars: 20_000, maxBytes: 2 ** 20 }

export const at = (seconds: number) => new Date(T0 + seconds * 1000).toISOString()

/** A transcript of this verdict over a post and comments by id. */
export function aTranscript(verdictId: string, text: string | null, comments: Record<string, string> = {}, asked = 0) {
  const createdAt = T0
  const snapshot = {
    post: { id: 'p', text, createdAt },
    comments: Object.entries(comments).map(([id, words]) => ({ id, text: words, createdAt })),
    leftOut: 0,
  }
  const turns = text === null ? [] : [{ startedAt: at(asked) }]
  return { schema: 1, verdictId, subject: text === null ? null : snapshot, turns, cut: [] }
}

/** Messages as they come from Kafka, each topic's one partition numbered from 0. */
export function feed(store: RecordStore) {
  const ends = new Map<RecordedTopic, number>()
  const feeding = {
    async send(topic: RecordedTopic, key: string | null, value: unknown, seconds = 0): Promise<void> {
      const offset = ends.get(topic) ?? 0
      ends.set(topic, offset + 1)
      await feeding.sendAt(topic, offset, key, value, seconds)
    },
    sendAt(topic: RecordedTopic, offset: number, key: string | null, value: unknown, seconds = 0) {
      const entries = entriesOf(topic, incoming(topic, offset, key, value, seconds), CONTEXT)
      const placed = entries.map((entry) => ({ offset, entry }))
      return store.apply({ topic, partition: 0, from: offset, next: offset + 1, entries: placed })
    },
    /** A verdict with its transcript, opened and decided at `seconds`. */
    async judged(
      change: Partial<Verdict> & { seconds?: number; crossKind?: boolean },
      text: string,
      comments: Record<string, string> = {},
    ) {
      const { seconds = 0, ...own } = change
      const one = aVerdict(at(seconds), own)
      await feeding.send('verdicts', one.subjectId, one, seconds)
      await feeding.send('transcripts', one.subjectId, aTranscript(one.id, text, comments, seconds), seconds)
      return one
    },
  }
  return feeding
}

function incoming(topic: string, offset: number, key: string | null, value: unknown, seconds: number): Incoming {
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  return { topic, partition: 0, offset: String(offset), key, value: bytes, headers: {}, timestamp: T0 + seconds * 1000 }
}

const POST: ThreadRef = { tenant: 'default', postId: 'p', kind: 'post' }

/** The promises of `RecordStore`, for every adapter. */
export function recordContract(where: string, make: () => Promise<RecordStore>): void {
  describe(`the record ${where}`, () => {
    let store: RecordStore
    let topics: ReturnType<typeof feed>
    beforeEach(async () => {
      store = await make()
      topics = feed(store)
    })
    afterEach(() => store.close())

    const subject = (id = 'p', tenant = 'default') => store.subject({ tenant, id })
    const ids = async (query: string, filter = {}) =>
      (await store.search(query, filter, 50)).found.map(({ verdict }) => verdict.id)
    const exported = async () => {
      const all: string[] = []
      for await (const one of store.export()) all.push(JSON.stringify(one))
      return all.join('\n')
    }

    it('keeps each verdict of a subject as it was sent, the last of each protocol standing', async () => {
      const first = await topics.judged({ revision: 1, final: false }, 'a claim')
      const second = await topics.judged({ revision: 2, seconds: 10, rationale: 'why' }, 'a claim')
      const other = await topics.judged({ protocol: 'hate', label: 'non-hate', seconds: 5 }, 'a claim')
      const found = await subject()
      expect(found?.subject).toEqual(POST)
      expect(found?.deletedAt).toBeNull()
      expect(found?.verdicts).toEqual([
        { verdict: first, standing: false, contested: false, erased: false },
        { verdict: other, standing: true, contested: false, erased: false },
        { verdict: second, standing: true, contested: false, erased: false },
      ])
      expect(await store.transcript(second.id)).toBe(JSON.stringify(aTranscript(second.id, 'a claim', {}, 10)))
      expect(await store.transcript('rumor~p~r9')).toBeNull()
      expect(await subject('p', 'other')).toBeNull()
    })

    it('an earlier revision that comes late does not stand', async () => {
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
      expect(await ids('of', { tenant: 'acme' })).toEqual(['hate@acme~p~r1'])
    })

    it('a repeated message changes nothing, and an id with two contents is marked', async () => {
      const one = await topics.judged({}, 'a claim')
      await topics.send('verdicts', 'p', one)
      expect((await subject())?.verdicts).toMatchObject([{ contested: false }])
      await topics.send('verdicts', 'p', { ...one, label: 'non-rumor' })
      expect((await subject())?.verdicts).toMatchObject([{ contested: true, verdict: { label: 'rumor' } }])
    })

    describe('its position in each partition', () => {
      it('stands beside the rows: what it has is skipped, and what it lacks is not taken', async () => {
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

      it('what a topic has lost for good is passed over, and counted', async () => {
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
        expect(await found({ tenant: 'acme' })).toEqual(['c'])
        expect(await found({ protocol: 'rumor' })).toEqual(['b', 'a'])
        expect(await found({ label: 'rumor' })).toEqual(['a'])
        expect(await found({ label: null })).toEqual(['b'])
        expect(await found({ degraded: true })).toEqual(['b'])
        expect(await found({ since: T0 + 2_000 })).toEqual(['b', 'c'])
      })

      it('words of the post, of comments and of the rationale, and only where a verdict stands', async () => {
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
          ...{ said: 'feedback', id: 'feedback 0@0', protocol: 'rumor', label: 'non-rumor', by: 'ann' },
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
