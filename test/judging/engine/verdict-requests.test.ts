import { beforeEach, describe, expect, test } from 'vitest'
import { posts } from '../../../consumers/posts.ts'
import { caseRecord } from '../../../src/contracts/facts/case.ts'
import { NEVER_OVERLOADED } from '../../../src/contracts/facts/overload.ts'
import type { ThreadRef } from '../../../src/contracts/facts/thread.ts'
import type { VerdictRequest } from '../../../src/contracts/ports/answers.ts'
import { opener } from '../../../src/judging/engine/open.ts'
import { router } from '../../../src/judging/engine/routes.ts'
import { givenAround } from '../../../src/judging/engine/surroundings.ts'
import { verdictRequests } from '../../../src/judging/engine/verdict-requests.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { HOUR, postOf, RULES, retractionOf, said, T0, thread } from '../../contracts/samples.ts'
import { intakeContext } from '../../support/intake-context.ts'
import { protocolNamed } from '../../support/parts.ts'

const PROTOCOLS = [
  protocolNamed('rumor'),
  protocolNamed('hate', { subject: 'post', accepts: ({ text }) => text !== '' }),
  protocolNamed('reply', { subject: 'reply', accepts: ({ hateSpeech }) => hateSpeech !== undefined }),
  protocolNamed('pictures', { subject: 'post', accepts: ({ media }) => media !== undefined }),
]

let stores: ReturnType<typeof memoryStores>
let opened: string[]
let forgotten: ThreadRef[]
let told: string[]
let mostKept: number | null

beforeEach(() => {
  stores = memoryStores(() => T0)
  opened = []
  forgotten = []
  told = []
  mostKept = null
})

function setUp(onlyAsked = false) {
  const routes = router(PROTOCOLS, { hate: [{ tenants: ['acme'] }] }, () => 0)
  const { threads, marks, cases } = stores
  const { openDue } = opener({
    routes,
    threads,
    marks,
    cases,
    clock: () => T0,
    report: () => {},
    queues: {
      push: async (ids) => void opened.push(...ids),
      work() {},
      stranded: async () => [],
      async drop() {},
      backlog: async () => [],
      async close() {},
    },
    settings: {
      checkpoints: { counts: [], ages: [], finalAge: HOUR },
      clock: { idleAfter: 5_000, atEnd: 'wall-pace' },
      cases: { maxOpen: 9, overload: NEVER_OVERLOADED, deadline: HOUR },
      mostDue: 1_000,
      partitions: null,
      onlyAsked,
    },
    orphanLetter: ({ offset }) => ({ key: offset, letter: offset }),
  })
  const door = verdictRequests({
    threads,
    routes,
    protocols: PROTOCOLS,
    rules: RULES,
    clock: () => T0,
    wake: () => {},
    memo: { forget: async (ref) => forgotten.push(ref) },
    answers: { tellDropped: async (id) => void told.push(id) },
    settings: { keepAnswers: HOUR, keepMemo: HOUR, maxReplies: 9 },
    mostKept: () => mostKept,
  })
  const ask = (asked: Partial<VerdictRequest> = {}, tenant = 'acme') =>
    door.ask(tenant, {
      post: postOf(thread('p1')),
      comments: [],
      protocols: null,
      webhook: false,
      waits: true,
      ...asked,
    })
  return { door, ask, openDue, recordOf: async (id: string) => caseRecord.parse((await cases.peek(id))?.record) }
}

describe('what is asked', () => {
  test('is refused where its tenant would hold more than it may, and nobody else', async () => {
    const { door, ask, openDue } = setUp()
    mostKept = 60_000
    const outcomes = [await ask(), await ask({ post: postOf(thread('p2'), { text: 'so it is '.repeat(300) }) })]
    expect(outcomes).toMatchObject([{ kind: 'asked' }, { kind: 'over-share' }])
    expect(await ask({}, 'other')).toMatchObject({ kind: 'asked' })
    const long = { post: postOf(thread('p2'), { text: 'so it is '.repeat(300) }), comments: [] }
    const hasRoom = async (protocols: string[] | null | 'any') => door.hasRoom('acme', { ...long, protocols })
    expect([await hasRoom(null), await hasRoom('any'), await hasRoom([])]).toEqual([false, false, true])
    expect(await door.hasRoom('acme', { post: postOf(thread('p1')), comments: [], protocols: ['rumor'] })).toBe(true)
    mostKept = null
    expect(await hasRoom(null)).toBe(true)
    mostKept = 60_000
    await openDue()
    expect(opened.filter((id) => id.startsWith('rumor/'))).toHaveLength(2)
  })

  test('is judged at once and finally, by those that the routes choose, however late its comments were said', async () => {
    const { ask, openDue, recordOf } = setUp()
    const { comment } = said('c1', { createdAt: T0 + 9 * HOUR })
    const asked = await ask({ comments: [comment] })
    expect(asked).toMatchObject({ kind: 'asked', protocols: ['rumor', 'hate'], until: T0 + HOUR })
    await openDue()
    const id = asked.kind === 'asked' ? asked.id : ''
    expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(opened.sort()).toEqual([`hate/asked@acme~${id}~r1`, `rumor/asked@acme~${id}~r1`])
    expect(await recordOf(`rumor/asked@acme~${id}~r1`)).toMatchObject({
      kind: 'asked',
      subjectId: id,
      final: true,
      supersedes: null,
      subject: { post: { id: 'p1', text: 'what p1 says' }, comments: [{ id: 'c1' }] },
      comments: { accepted: 1, late: 0 },
    })
    expect(await openDue()).toBe(0)
  })

  test('may be a comment, which is shown with what stands around it, and goes with that', async () => {
    const { ask, openDue, recordOf } = setUp()
    const { comment: answered } = said('b')
    const around = givenAround('p', postOf(thread('p')), answered)
    const comment = { post: postOf(thread('c'), { parentId: 'b', around }), protocols: ['hate'] }
    expect(await ask({ ...comment, protocols: ['rumor'] })).toMatchObject({ kind: 'unjudged', judging: ['hate'] })
    // No route takes comments.
    expect(await ask({ ...comment, protocols: null })).toMatchObject({ kind: 'unjudged', protocols: [] })
    const asked = await ask(comment)
    await openDue()
    const id = asked.kind === 'asked' ? asked.id : ''
    const { subject } = await recordOf(`hate/asked@acme~${id}~r1`)
    expect(subject).toMatchObject({ post: { id: 'c' }, under: { text: 'what p says' }, comments: [{ id: 'b' }] })
    expect(subject).not.toHaveProperty('post.around')
    const [post, itself] = [thread('p', 'acme'), thread('p~c', 'acme', 'comment')]
    expect(await stores.threads.repliesTo(post, 9)).toEqual([itself])
    expect(await stores.threads.repliesTo(thread('p~b', 'acme', 'comment'), 9)).toEqual([itself])
    expect((await stores.threads.askedAbout(itself, 9)).map(({ postId }) => postId)).toEqual([id])
    for (let nth = 1; nth < 9; nth++)
      await stores.threads.linkReply(post, thread(`r${nth}`, 'acme', 'reply'), { most: 9, now: 0 })
    const another = { ...comment, post: postOf(thread('c2'), { around }) }
    expect([await ask(comment), await ask(another)]).toMatchObject([{ kind: 'asked' }, { kind: 'over-share' }])
    // A deleted one's words do not come back; whoever names it alone is judged without.
    const parent = thread('p~b', 'acme', 'comment')
    await stores.threads.deletePost(parent, retractionOf(parent))
    expect(await ask(comment)).toEqual({ kind: 'deleted' })
    const without = givenAround('p', postOf(thread('p')), null)
    expect(await ask({ ...comment, post: { ...comment.post, around: without } })).toMatchObject({ kind: 'asked' })
    await stores.threads.deletePost(post, retractionOf(post))
    expect(await ask(comment)).toEqual({ kind: 'deleted' })
  })

  test('goes by the routes of its tenant, and by the names that it gives whatever they say', async () => {
    const { ask } = setUp()
    expect(await ask({}, 'other')).toMatchObject({ protocols: ['rumor'] })
    expect(await ask({ protocols: ['hate'] }, 'other')).toMatchObject({ kind: 'asked', protocols: ['hate'] })
  })

  test('is a request of its own each time, also with the same id, and no revision of the stream’s subject', async () => {
    const { ask, openDue } = setUp()
    for (const _ of [1, 2]) expect(await ask({ protocols: ['hate'] })).toMatchObject({ kind: 'asked' })
    while ((await openDue()) > 0);
    expect(new Set(opened).size).toBe(2)
    expect(await stores.threads.read(thread('p1', 'acme'))).toBeNull()
  })

  test('is refused where a protocol is off, unknown, or can’t judge it, or the routes lead nowhere', async () => {
    const { ask } = setUp()
    const answer = postOf(thread('p1'), { hateSpeech: 'what it answers' })
    expect(await ask({ protocols: ['hate', 'pictures', 'oracle'] })).toEqual({
      kind: 'unjudged',
      protocols: ['pictures', 'oracle'],
      judging: ['rumor', 'hate'],
    })
    expect(await ask({ protocols: ['reply'] })).toMatchObject({ kind: 'unjudged', protocols: ['reply'] })
    expect(await ask({ protocols: ['rumor'], post: answer })).toEqual({
      kind: 'unjudged',
      protocols: ['rumor'],
      judging: ['hate', 'reply'],
    })
    expect(await ask({ protocols: ['reply', 'hate'], post: answer })).toMatchObject({ protocols: ['hate', 'reply'] })
    expect(await ask({ protocols: [] })).toMatchObject({ kind: 'unjudged', protocols: [] })
    await stores.threads.pause('rumor')
    expect(await ask()).toEqual({ kind: 'paused', protocols: ['rumor'] })
    expect(await ask({ protocols: ['hate'] })).toMatchObject({ kind: 'asked' })
  })

  test('shows protocols of posts no reply’s question, and no comments to who reads none', async () => {
    const { ask, openDue, recordOf } = setUp()
    const post = postOf(thread('p1'), { hateSpeech: 'what it answers' })
    await ask({ protocols: ['hate'], post, comments: [said('c1').comment] })
    await openDue()
    const { subject } = await recordOf(opened[0] ?? '')
    expect(JSON.stringify(subject)).not.toMatch(/what it answers|words of c1/)
  })

  test('is opened by a process that opens nothing else', async () => {
    const { ask, openDue } = setUp(true)
    const put = { firstDue: T0, now: T0 - HOUR, threaded: true, atOnce: true }
    await stores.threads.putPost(thread('p9'), postOf(thread('p9')), put, RULES)
    await ask({ protocols: ['hate'] })
    expect(await openDue()).toBe(1)
    expect(opened).toEqual([expect.stringContaining('hate/asked@acme~')])
  })

  test('is dropped when its client leaves or erases it, which erases it from the memo too', async () => {
    const { door, ask } = setUp()
    const ids = [await ask(), await ask()].map((asked) => (asked.kind === 'asked' ? asked.id : ''))
    const [left = '', erased = ''] = ids
    await door.leave('acme', left)
    expect(await stores.threads.read(thread(left, 'acme', 'asked'))).toBeNull()
    expect(forgotten).toEqual([])
    expect(await door.erase('other', erased)).toBe(false)
    expect(await stores.threads.read(thread(erased, 'acme', 'asked'))).not.toBeNull()
    expect(await door.erase('acme', erased)).toBe(true)
    expect(forgotten).toEqual([thread(erased, 'acme', 'asked')])
    // Whoever works for it hears of it, once.
    await door.leave('acme', 'f'.repeat(32))
    expect(told).toEqual([left, erased])
    for (const id of ids) expect(await stores.threads.read(thread(id, 'acme', 'asked'))).toBeNull()
  })

  test('is erased when the stream’s subject of its id is deleted, all of it, and nothing is asked under it again', async () => {
    const { ask } = setUp()
    for (let nth = 0; nth < 120; nth++) await ask({ protocols: ['hate'] })
    const other = await ask({ protocols: ['hate'] }, 'other')
    const context = intakeContext(stores)
    const message = { id: 'p1', tenant: 'acme', createdAt: T0, deleted: true as const }
    const from = { topic: 'posts', partition: 0, offset: '1', key: 'p1', value: null, headers: {}, timestamp: T0 }
    let beats = 0
    const beat = async () => void beats++
    expect(await posts.handle(context, [{ ok: true, message, from }], beat)).toEqual(['deleted'])
    expect(beats).toBeGreaterThan(2)
    expect(await stores.threads.askedAbout(thread('p1', 'acme'), 9)).toEqual([])
    expect(await stores.threads.due(0, 9)).toEqual([thread(other.kind === 'asked' ? other.id : '', 'other', 'asked')])
    expect(await ask()).toEqual({ kind: 'deleted' })
  })
})
