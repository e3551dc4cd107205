import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import type { AuthorErasure } from '../../../src/contracts/facts/author-erasure.ts'
import type { ThreadRef } from '../../../src/contracts/facts/thread.ts'
import { commentKey } from '../../../src/contracts/facts/verdict-id.ts'
import { redisAuthorErasures, redisAuthors } from '../../../src/store/author/redis.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { redisThreads } from '../../../src/store/thread/redis.ts'
import { ARRIVAL, postOf, RULES, retractionOf, said, T0, thread } from '../../contracts/samples.ts'
import { onRedis } from '../../support/on-redis.ts'

const KEEP_MS = 60_000
const [AUTHOR_BYTES, SUBJECT_BYTES] = [300, 40]
const ANN = { tenant: 'default', author: 'hash-of-ann' }
const BEN = { tenant: 'default', author: 'hash-of-ben' }

let client: Redis
onRedis.beforeAll(({ client: one }) => {
  client = one
})

describe('who wrote what', () => {
  let keys: ReturnType<typeof keysUnder>
  let now = T0
  let index: ReturnType<typeof redisAuthors>
  let threads: ReturnType<typeof redisThreads>
  beforeEach(() => {
    now = T0
    keys = keysUnder(`test-${randomUUID()}`)
    index = redisAuthors(client, keys, KEEP_MS, () => now)
    threads = redisThreads(client, keys, { keepTombstoneMs: KEEP_MS, keepAfterFinalMs: KEEP_MS })
  })
  const comment = (post: string, id: string): ThreadRef => ({
    tenant: 'default',
    kind: 'comment',
    postId: commentKey(post, id),
  })
  const idsOf = async (author = ANN) => (await index.by(author, 100)).map(({ subject }) => subject.postId)
  const held = () => threads.heldBy('default', now)

  it('is noted once for each subject, counts to the tenant, and leaves nothing when it is forgotten', async () => {
    const subjects = [thread('p1'), thread('p2'), comment('p1', 'c~1')]
    await index.note(subjects.map((subject) => ({ ...ANN, subject })))
    await index.note([
      { ...ANN, subject: thread('p1') },
      { ...BEN, subject: thread('p3') },
    ])
    expect((await idsOf()).sort()).toEqual(['p1', 'p1~c%7E1', 'p2'])
    const members = ['default:p1', 'default:p2', 'default/comment:p1~c%7E1', 'default:p3']
    expect(await held()).toBe(2 * AUTHOR_BYTES + members.length * SUBJECT_BYTES + members.join('').length)
    for (const author of [ANN, BEN]) await index.forget(author, await index.by(author, 100))
    expect(await held()).toBe(0)
    expect(await client.keys(`${keys.saidBy}*`)).toEqual([])
  })

  it('stays noted if it came again since it was read', async () => {
    await index.note([{ ...ANN, subject: thread('p1') }])
    const read = await index.by(ANN, 100)
    now += 1
    await index.note([{ ...ANN, subject: thread('p1') }])
    await index.forget(ANN, read)
    expect(await idsOf()).toEqual(['p1'])
  })

  it('is not noted of a tenant that holds all that it may, unless it is known', async () => {
    await index.note([{ ...ANN, subject: thread('p1') }])
    const most = (await held()) + 1
    await index.note([{ ...BEN, subject: thread('p2') }], most)
    const after = await held()
    expect(after).toBeGreaterThan(most)
    const others = { tenant: 'other', author: 'hash-of-cid' }
    now += 1
    const subjects = Array.from({ length: 50 }, (_, at) => ({ ...BEN, subject: thread(`q${at}`) }))
    await index.note(
      [...subjects, { ...ANN, subject: thread('p1') }, { ...others, subject: thread('r1', 'other') }],
      most,
    )
    expect(await held()).toBe(after)
    expect(await idsOf(BEN)).toEqual(['p2'])
    expect(await idsOf(others)).toEqual(['r1'])
    expect((await index.by(ANN, 10)).map(({ at }) => at)).toEqual([now])
  })

  it('is forgotten of many authors in one run, and of those who wrote much', async () => {
    const names = Array.from({ length: 45 }, (_, at) => ({ tenant: 'default', author: `hash-${at}` }))
    await index.note(names.map((author) => ({ ...author, subject: thread('p1') })))
    await index.note(Array.from({ length: 250 }, (_, at) => ({ ...ANN, subject: thread(`q${at}`) })))
    now += KEEP_MS
    await index.tidy()
    expect(await client.zcard(keys.authorsLookedAt)).toBe(0)
    expect(await held()).toBe(0)
  })

  it('is forgotten once its time is over and the store holds nothing of it', async () => {
    const p1 = thread('p1')
    await threads.putPost(p1, postOf(p1), ARRIVAL, RULES)
    await threads.putComments(p1, [said('c1')], T0, RULES)
    const [c1, c2] = [comment('p1', 'c1'), comment('p1', 'c2')]
    await index.note([p1, c1, c2, thread('p9')].map((subject) => ({ ...ANN, subject })))
    now += KEEP_MS - 1
    await index.tidy()
    expect((await idsOf()).length).toBe(4)
    now += 1
    await index.tidy()
    expect((await idsOf()).sort()).toEqual(['p1', 'p1~c1'])
    await threads.deletePost(p1, retractionOf(p1))
    await client.del(keys.thread('default:p1'))
    now += KEEP_MS
    await index.tidy()
    expect(await idsOf()).toEqual([])
    expect(await client.zcard(keys.authorsLookedAt)).toBe(0)
  })
})

describe('erasures of authors', () => {
  const asked: AuthorErasure = {
    id: 'hash-of-ann',
    tenant: 'default',
    author: 'ann',
    by: 'lea',
    askedAt: T0,
    state: 'asked',
    waitsFor: 'intake',
    sent: 0,
    upTo: {},
  }

  it('are one for each author while they run, and begin anew once they are done', async () => {
    const erasures = redisAuthorErasures(client, keysUnder(`test-${randomUUID()}`), () => T0)
    expect(await erasures.ask(asked)).toEqual(asked)
    await erasures.save({ ...asked, state: 'sending', sent: 7 })
    await erasures.saveRecord(asked.id, 'searched')
    expect(await erasures.ask({ ...asked, by: 'ben' })).toMatchObject({ by: 'lea', sent: 7 })
    expect(await erasures.all()).toHaveLength(1)
    await erasures.finish({ ...asked, author: undefined, state: 'done', sent: 7 }, 60_000)
    expect(await erasures.all()).toEqual([])
    expect(await erasures.read(asked.id)).toMatchObject({ state: 'done', sent: 7 })
    expect(await erasures.ask({ ...asked, by: 'ben' })).toMatchObject({ by: 'ben', sent: 0 })
    expect(await erasures.read(asked.id)).toMatchObject({ state: 'asked' })
    expect(await erasures.recordOf(asked.id)).toBeNull()
  })

  it('that are done are forgotten in time', async () => {
    const erasures = redisAuthorErasures(client, keysUnder(`test-${randomUUID()}`), () => T0)
    await erasures.ask(asked)
    await erasures.finish({ ...asked, author: undefined, state: 'done' }, 1)
    await expect.poll(() => erasures.read(asked.id)).toBeNull()
  })

  it('are so many of a tenant at a time', async () => {
    const erasures = redisAuthorErasures(client, keysUnder(`test-${randomUUID()}`), () => T0)
    for (const id of ['a', 'b']) await erasures.ask({ ...asked, id }, 2)
    expect(await erasures.ask({ ...asked, id: 'c' }, 2)).toBeNull()
    expect(await erasures.ask({ ...asked, id: 'a', by: 'ben' }, 2)).toMatchObject({ by: 'lea' })
    expect(await erasures.ask({ ...asked, id: 'c', tenant: 'other' }, 2)).toMatchObject({ tenant: 'other' })
    await erasures.finish({ ...asked, id: 'a', state: 'done' }, 60_000)
    expect(await erasures.ask({ ...asked, id: 'd' }, 2)).toMatchObject({ id: 'd' })
  })

  it('know whether a record is kept', async () => {
    const erasures = redisAuthorErasures(client, keysUnder(`test-${randomUUID()}`), () => T0)
    expect(await erasures.hasRecord()).toBe(false)
    await erasures.noteRecord(60_000)
    expect(await erasures.hasRecord()).toBe(true)
  })
})
