import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RecordedTopic, RecordStore } from '../../src/contracts/ports/record.ts'
import { entriesOf } from '../../src/record/project.ts'
import { aVerdict } from '../support/verdicts.ts'
import { at, CONTEXT, feed, incoming } from './record.ts'

/** A record of its own, and what is counted of each tenant in it. */
export interface SharedRecord {
  open(maxBytes: number): Promise<RecordStore>
  /** How large it is at least, in bytes. */
  readonly empty: number
  /** What each tenant holds: as it is counted, and by the rows themselves. */
  held(): Promise<{ counted: Record<string, number>; scanned: Record<string, number> }>
  /** Removes what is counted, as an earlier version left it, or of this table alone. */
  asEarlier(table?: string): Promise<void>
  /** Keeps answers to appeals as an earlier version did. */
  answersAsEarlier(): Promise<void>
  /** All tables that it has, and those whose rows are counted to a tenant. */
  tables(): Promise<{ all: readonly string[]; counted: readonly string[] }>
}

/** Tables whose rows are counted to nobody, each with the reason why nobody fills the record by them. */
const UNCOUNTED: Readonly<Record<string, string>> = {
  meta: 'a row for each setting',
  counters: 'a row for each number',
  offsets: 'a row for each partition',
  holes: 'a row for each that was lost of a partition',
  erasing: 'one row',
  keys: 'with what they seal, which is counted',
  held: 'counted with its transcript',
  held_by: 'a row for each tenant',
  held_changes: 'taken together at each step of tidying',
  dropped_notes: 'a row for each tenant',
  blocks: 'grams of texts, which are counted with these',
  found: 'grams of texts, which are counted with these',
  marks: 'some for each verdict, which is counted',
  compared: 'one for each verdict, which is counted',
  draws: 'one for each verdict, which is counted',
  lane_draws:
    'one at most for each subject and lane, whose verdict is counted; of one that is erased a few bytes that name nobody',
  written: 'counted with its transcript',
  agreement: 'two for each subject and protocol that a person decided on, whose verdict is counted',
  queue: 'one for each subject and protocol, whose verdict is counted',
  deleted_posts: 'those with comments or quotes, which are counted, until these are erased',
  unread: 'of another’s message that it came, which makes room first; else Gavel’s own topics alone',
  pictures: 'of what people look at, bounded for each subject, for some hours',
  covers: 'what people chose at the console',
  exposures: 'what people looked at at the console',
  notes: 'what people noted at the console, bounded for each subject',
  views: 'what people named at the console, bounded for each of them',
}

/** Keeps answers to appeals as an earlier version did, which counted them to nobody. */
export const ANSWERS_AS_EARLIER = [
  "UPDATE meta SET v = 'earlier' WHERE k = 'held'",
  'CREATE TABLE appeal_answers AS SELECT s, id, decision, code, at FROM appeals_answered',
  'DROP TABLE appeals_answered',
]

const DAY = 86_400
const long = (n: number) => `${n}`.padStart(500, 'x')
const LOTS = 2 ** 40
const WORDS = 'the harbour is closed '.repeat(40)

type Topics = ReturnType<typeof feed>

/** Things that may happen, at this second. */
const HAPPENINGS: readonly ((topics: Topics, tenant: string, id: string, second: number) => Promise<unknown>)[] = [
  (topics, tenant, id, seconds) =>
    topics.judged({ tenant, subjectId: id, revision: 1 + (seconds % 3), seconds, rationale: 'why' }, WORDS, {
      c1: 'a comment',
      [`c${seconds % 3}`]: 'another',
    }),
  (topics, tenant, id, seconds) =>
    topics.judged({ tenant, subjectId: id, protocol: 'counterspeech', label: null, seconds }, WORDS),
  (topics, tenant, id, seconds) =>
    topics.judged({ tenant, subjectId: 'c1', postId: id, protocol: 'hate', label: 'hate', seconds }, WORDS, {
      c2: 'what it answers',
    }),
  (topics, tenant, id, seconds) =>
    topics.send(
      'verdicts',
      id,
      aVerdict(at(seconds), { tenant, subjectId: id, label: null, decidedBy: 'deleted', revision: 9 }),
      seconds,
    ),
  (topics, tenant, id, seconds) => feedback(topics, tenant, id, seconds),
  (topics, tenant, id, seconds) => quote(topics, tenant, id, `r${seconds % 3}`, seconds),
  (topics, tenant, id, seconds) => topics.send('posts', id, { id, tenant, createdAt: at(0), deleted: true }, seconds),
  (topics, tenant, id, seconds) =>
    topics.send('counterspeech', id, { id, tenant, createdAt: at(0), deleted: true }, seconds),
  (topics, tenant, id, seconds) => commentDeletion(topics, tenant, id, `c${seconds % 3}`, seconds),
  (topics, tenant, id, seconds) => action(topics, tenant, id, `a${seconds % 3}`, seconds),
  (topics, tenant, id, seconds) => appeal(topics, tenant, id, `e${seconds % 3}`, seconds),
  (topics, tenant, id, seconds) => decision(topics, tenant, id, [`e${seconds % 3}`, 'e9'], seconds),
  (topics, tenant, id, seconds) => {
    const withdrawal = { id: `a${seconds % 3}`, tenant, withdraw: true, by: 'ben', at: at(seconds) }
    return topics.send('actions', id, withdrawal, seconds)
  },
]

function action(topics: Topics, tenant: string, subjectId: string, id: string, seconds: number) {
  return topics.send('actions', subjectId, anAction(tenant, subjectId, id, seconds), seconds)
}

function appeal(topics: Topics, tenant: string, subjectId: string, id: string, seconds: number) {
  const one = { id, tenant, by: 'notifier', text: 'No.', contact: 'one', subjectId, at: at(seconds) }
  return topics.send('appeals', id, one, seconds)
}

function decision(topics: Topics, tenant: string, subjectId: string, appeals: readonly string[], seconds: number) {
  const one = {
    tenant,
    subjectId,
    protocol: 'rumor',
    label: 'rumor',
    against: 1,
    why: 'No.',
    by: 'ann',
    at: at(seconds),
    appeals,
  }
  return topics.send('decisions', subjectId, one, seconds)
}

function anAction(tenant: string, subjectId: string, id: string, seconds: number) {
  const times = { since: at(seconds), at: at(seconds) }
  return { id, tenant, subjectId, protocol: 'rumor', what: 'remove', source: 'own-initiative', by: 'ann', ...times }
}

function feedback(topics: Topics, tenant: string, subjectId: string, seconds: number, note = 'a note') {
  const word = { tenant, subjectId, protocol: 'rumor', label: 'rumor', by: `m${seconds}`, at: at(1), note }
  return topics.send('feedback', subjectId, word, seconds)
}

function quote(topics: Topics, tenant: string, postId: string, id: string, seconds: number) {
  const message = { id, tenant, postId, hateSpeech: 'x', text: 'y', createdAt: at(0) }
  return topics.send('counterspeech', id, message, seconds)
}

function commentDeletion(topics: Topics, tenant: string, postId: string, id: string, seconds: number) {
  return topics.send('comments', postId, { id, postId, tenant, createdAt: at(0), deleted: true }, seconds)
}

type Flood = (n: number) => readonly [RecordedTopic, string, object]
/** What a tenant may send at will, by its topic: the message and its key. */
export const FLOODS = {
  'deletions of comments that never came': (n) => [
    'comments',
    long(n),
    { id: long(n), postId: long(n), tenant: 'alpha', createdAt: at(0), deleted: true },
  ],
  'replies to posts that never came': (n) => [
    'counterspeech',
    long(n),
    { id: long(n), postId: long(n), tenant: 'alpha', hateSpeech: 'x', text: 'y', createdAt: at(0) },
  ],
  'deletions of posts that never came': (n) => [
    'posts',
    long(n),
    { id: long(n), tenant: 'alpha', createdAt: at(0), deleted: true },
  ],
  'feedback on what nobody judged': (n) => [
    'feedback',
    long(n),
    { tenant: 'alpha', subjectId: long(n), protocol: 'rumor', label: 'rumor', by: `m${n}`, at: at(1), note: WORDS },
  ],
  'actions on what nobody judged': (n) => ['actions', long(n), anAction('alpha', long(n), long(n), 1)],
  'appeals of one contact': (n) => [
    'appeals',
    long(n),
    { id: long(n), tenant: 'alpha', by: 'notifier', text: 'No.', contact: 'one', subjectId: 'p', at: at(1) },
  ],
  'withdrawals of appeals that never came': (n) => [
    'appeals',
    long(n),
    { id: long(n), tenant: 'alpha', withdraw: true, at: at(1) },
  ],
  'what is no appeal': (n) => ['appeals', long(n), { junk: WORDS.repeat(4) }],
  'appeals against verdicts of long names': (n) => [
    'appeals',
    long(n),
    {
      id: `e${n}`,
      tenant: 'alpha',
      by: 'notifier',
      text: 'No.',
      contact: `c${n}`,
      verdictId: `rumor@alpha~${long(n)}~r1`,
      at: at(1),
    },
  ],
  'answers to appeals that never came': (n) => [
    'decisions',
    'p',
    {
      tenant: 'alpha',
      subjectId: 'p',
      protocol: 'rumor',
      label: 'rumor',
      by: 'ann',
      at: at(1 + n),
      against: 1,
      why: 'No.',
      appeals: [long(2 * n), long(2 * n + 1)],
    },
  ],
  'decisions on what nobody judged': (n) => [
    'decisions',
    long(n),
    {
      tenant: 'alpha',
      subjectId: long(n),
      protocol: 'rumor',
      against: 1,
      label: 'rumor',
      why: WORDS,
      by: 'ann',
      at: at(1),
    },
  ],
} as const satisfies Record<string, Flood>

/** What tenants hold of a record, in any store. */
export function recordSharesContract(
  where: string,
  make: () => Promise<SharedRecord>,
  { runs, floods }: { runs: number; floods: readonly (keyof typeof FLOODS)[] },
): void {
  describe(`the shares of tenants ${where}`, () => {
    it('are counted as the rows themselves say, after any history, expiry and want of room', async () => {
      const happening = fc.record({
        what: fc.nat(HAPPENINGS.length),
        tenant: fc.constantFrom('alpha', 'beta'),
        id: fc.constantFrom('p', 'q', 'r1', long(1)),
        later: fc.constantFrom(1, 1, 5, 4 * DAY, 120 * DAY),
        isOpenedAnew: fc.constantFrom(false, false, false, true),
      })
      await fc.assert(
        fc.asyncProperty(
          fc.array(happening, { minLength: 5, maxLength: 40 }),
          fc.boolean(),
          async (history, isSmall) => {
            const record = await make()
            const maxBytes = isSmall ? record.empty : LOTS
            let store = await record.open(maxBytes)
            let topics = feed(store)
            let second = 0
            for (const { what, tenant, id, later, isOpenedAnew } of history) {
              second += later
              const happens = HAPPENINGS[what]
              if (happens === undefined) {
                for (const due of await store.reversals(9)) await store.settleReversal(due)
                await store.tidy(Date.parse(at(second)))
              } else
                await happens(topics, tenant, id, second).catch((error: Error) => {
                  if (error.name !== 'RecordFull') throw error
                })
              if (!isOpenedAnew) continue
              await store.close()
              store = await record.open(maxBytes)
              topics = feed(store, topics.ends)
            }
            await store.close()
            const { counted, scanned } = await record.held()
            expect(counted).toEqual(scanned)
          },
        ),
        { numRuns: runs },
      )
    })

    it('are counted of every table, but for those that nobody can fill', async () => {
      const { all, counted } = await (await make()).tables()
      expect(counted.filter((table) => table in UNCOUNTED)).toEqual([])
      expect(all.filter((table) => !counted.includes(table) && !(table in UNCOUNTED))).toEqual([])
    })

    it('are counted anew where an earlier version counted less', async () => {
      const record = await make()
      const before = await record.open(LOTS)
      await action(feed(before), 'alpha', 'p', 'a1', 1)
      await before.close()
      const { counted } = await record.held()
      await record.asEarlier('said')
      expect((await record.held()).counted).not.toEqual(counted)
      await (await record.open(LOTS)).close()
      expect(await record.held()).toEqual({ counted, scanned: counted })
    })

    it('are counted of what an earlier version wrote', async () => {
      const record = await make()
      const before = await record.open(LOTS)
      const topics = feed(before)
      for (const [n, happens] of HAPPENINGS.entries()) await happens(topics, 'alpha', `p${n}`, n)
      await before.close()
      const { counted } = await record.held()
      expect(counted.alpha).toBeGreaterThan(1_000)
      await record.asEarlier()
      await (await record.open(LOTS)).close()
      expect(await record.held()).toEqual({ counted, scanned: counted })
    })

    it('are counted of answers to appeals that an earlier version kept, and these still end the appeals', async () => {
      const record = await make()
      const before = await record.open(LOTS)
      const { ends, ...topics } = feed(before)
      const tenant = 'alpha'
      const { id: verdictId } = await topics.judged({ tenant, decidedBy: 'consensus', label: 'rumor' }, WORDS)
      const appeal = { id: 'e1', tenant, verdictId, text: 'No.', by: 'author', contact: 'a', at: at(1) }
      await topics.send('appeals', 'e1', appeal, 1)
      const answered = { tenant, subjectId: 'p', protocol: 'rumor', against: 1, by: 'ann', why: 'w', appeals: ['e1'] }
      await topics.send('decisions', 'p', { ...answered, label: 'non-rumor', at: at(2) }, 2)
      await before.close()
      const { counted } = await record.held()
      await record.answersAsEarlier()
      const store = await record.open(LOTS)
      expect(await record.held()).toEqual({ counted, scanned: counted })
      const decision = { by: 'ann', against: null, of: '0@0' } as const
      const overruled = { tenant, decidedBy: 'human', revision: 2, label: 'non-rumor', seconds: 3, decision } as const
      await feed(store, ends).judged(overruled, WORDS)
      expect((await store.untoldAppeals(Date.parse(at(DAY)), 9)).map(({ outcome }) => outcome)).toMatchObject([
        { id: 'e1', outcome: 'reversed' },
      ])
      await store.close()
    })

    async function flooded(store: RecordStore, flood: Flood, { from = 0, rows = 1_000 } = {}) {
      for (let n = from; n < from + rows; n += 50) {
        const messages = Array.from({ length: 50 }, (_, more) => flood(n + more))
        const [[topic]] = messages as [(typeof messages)[number]] // There are fifty.
        const entries = messages.flatMap(([, key, message], more) =>
          entriesOf(topic, incoming(topic, n + more, key, message, 10 + n), CONTEXT).map((entry) => ({
            offset: n + more,
            entry,
          })),
        )
        expect(entries).toHaveLength(50)
        await store.apply({ topic, partition: 1, from: n, next: n + 50, entries })
        if (n % 250 === 200) await store.tidy(Date.parse(at(600 + 60 * n)))
      }
    }

    it('let actions on a post that was judged take no room of another tenant either, and keep the newest hundred', async () => {
      const record = await make()
      const store = await record.open(record.empty + 1_000_000)
      const topics = feed(store)
      const theirs = await topics.judged({ tenant: 'beta', subjectId: 'p' }, 'a harbour')
      await topics.judged({ tenant: 'beta', subjectId: 'q', seconds: 3 * DAY }, 'a bridge')
      await topics.judged({ tenant: 'alpha', subjectId: 'one' }, 'a post')
      await flooded(store, (n) => ['actions', 'one', anAction('alpha', 'one', long(n), 10 + n)])
      expect(await store.transcript(theirs.id)).not.toBeNull()
      expect(await store.word(`action alpha ${long(900)}`)).not.toBeNull()
      expect(await store.word(`action alpha ${long(0)}`)).toBeNull()
      await store.close()
      const { counted, scanned } = await record.held()
      expect(counted).toEqual(scanned)
    })

    for (const what of floods)
      it(`let ${what} take no room of another tenant`, async () => {
        const record = await make()
        const maxBytes = record.empty + 1_000_000
        const store = await record.open(maxBytes)
        const topics = feed(store)
        const theirs = await topics.judged({ tenant: 'beta', subjectId: 'p' }, 'a harbour')
        // PostgreSQL would remove the oldest day's, where there is another.
        const later = await topics.judged({ tenant: 'beta', subjectId: 'q', seconds: 3 * DAY }, 'a bridge')
        await flooded(store, FLOODS[what])
        expect((await store.size()).rows.verdicts).toBe(2)
        expect(await store.transcript(theirs.id)).not.toBeNull()
        expect((await store.search('harbour', { tenants: ['beta'] }, 5)).found).toHaveLength(1)
        const last = await topics.judged({ tenant: 'beta', subjectId: 'r', seconds: 3 * DAY }, 'a tower')
        for (const { id } of [later, last]) expect(await store.transcript(id)).not.toBeNull()
        await store.close()
        const { counted, scanned } = await record.held()
        expect(counted).toEqual(scanned)
        expect(counted.alpha ?? 0).toBeLessThan(1_600_000)
      })

    it('let nothing come back that was deleted, once the notes of deletions made room', async () => {
      const record = await make()
      const store = await record.open(record.empty + 1_000_000)
      const topics = feed(store)
      await topics.judged({ tenant: 'beta', subjectId: 'p' }, 'a harbour')
      await commentDeletion(topics, 'alpha', 'p', 'c1', 1)
      await quote(topics, 'alpha', 'quoted', 'reply', 2)
      await action(topics, 'alpha', 'nobody judged it', 'early', 2)
      await topics.send('posts', 'gone', { id: 'gone', tenant: 'alpha', createdAt: at(0), deleted: true }, 3)
      await flooded(store, FLOODS['deletions of comments that never came'])
      await flooded(store, FLOODS['deletions of posts that never came'], { from: 2_000, rows: 100 })
      await flooded(store, FLOODS['replies to posts that never came'], { from: 3_000, rows: 400 })
      const own = { tenant: 'alpha', rationale: 'words that were deleted' } as const
      const late = 1_000_000
      const withComment = await topics.judged({ ...own, subjectId: 'p', seconds: late }, 'a post', { c1: 'deleted' })
      const alone = await topics.judged({ ...own, subjectId: 'alone', seconds: late }, 'a post alone')
      const reply = await topics.judged(
        { ...own, subjectId: 'reply', protocol: 'counterspeech', label: null, seconds: late },
        'it quotes the post',
      )
      await topics.send('posts', 'quoted', { id: 'quoted', tenant: 'alpha', createdAt: at(0), deleted: true }, late + 1)
      const early = await topics.judged({ ...own, subjectId: 'gone', seconds: 2 }, 'a post that was deleted')
      for (const { id } of [withComment, reply, early]) {
        expect(await store.transcript(id)).toBeNull()
        expect(JSON.stringify((await store.verdict(id))?.verdict ?? null)).not.toContain('words that were deleted')
      }
      // Of what is neither a reply nor shows comments nothing can have been deleted unnoticed.
      expect(await store.transcript(alone.id)).not.toBeNull()
      const theirs = await topics.judged({ tenant: 'beta', subjectId: 'q', seconds: late }, 'x', { c1: 'a comment' })
      expect(await store.transcript(theirs.id)).not.toBeNull()
      // What was done stands beside deletions.
      await action(topics, 'alpha', 'gone', 'late', 2)
      for (const id of ['early', 'late']) expect(await store.word(`action alpha ${id}`)).not.toBeNull()
      // They are forgotten with the messages that might tell of what was deleted.
      await store.tidy(Date.parse(at(late + 30 * DAY)))
      const much = late + 30 * DAY
      const again = await topics.judged({ ...own, subjectId: 'again', seconds: much }, 'x', { c9: 'a comment' })
      expect(await store.transcript(again.id)).not.toBeNull()
      await store.close()
    })

    it('are none while one tenant alone holds something', async () => {
      const record = await make()
      const store = await record.open(record.empty + 1_000_000)
      await flooded(store, FLOODS['deletions of comments that never came'], { rows: 150 })
      expect(await store.size()).toMatchObject({ largest: null, overShare: false })
      await feedback(feed(store), 'beta', 'p', 401)
      expect((await store.size()).largest?.tenant).toBe('alpha')
      await store.close()
    })
  })
}
