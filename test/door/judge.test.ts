import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import type { ApiKey } from '../../src/contracts/facts/api-key.ts'
import { commentMessage, postMessage } from '../../src/contracts/facts/messages.ts'
import { readValue } from '../../src/contracts/facts/read-value.ts'
import type {
  Answers,
  VerdictAnswer,
  VerdictRequest,
  VerdictRequestOutcome,
} from '../../src/contracts/ports/answers.ts'
import { StoreSuspended } from '../../src/contracts/ports/cases.ts'
import type { OutgoingMessage } from '../../src/contracts/ports/topic.ts'
import { judgeRoutes } from '../../src/door/judge.ts'
import type { SendOutcome } from '../../src/door/sending.ts'
import { givenAround } from '../../src/judging/engine/surroundings.ts'
import { keptComment, keptPost, keptReply } from '../../src/judging/threads/kept.ts'
import { NOW, testDoor, turnsDuring } from './door-for-tests.ts'

/** Of one for which somebody waits. */
const REQUEST = `f${'a'.repeat(31)}`
const REVOKED = new Date(NOW).toISOString()
const RULES = { maxTextChars: 1_000, isPlaceholder: () => false }

/** A door whose store is a map; `judge` gives a request its verdicts. */
function judgingDoor(
  options: {
    outcome?: VerdictRequestOutcome
    hasRoom?: boolean
    rate?: { perSecond: number; burst: number }
    waiting?: number
    fails?: Error
    pressure?: string
    overDue?: string
    /** Until these settle the store takes, or gives back, nothing. */
    takes?: Promise<unknown>
    reads?: Promise<unknown>
    away?: 'redis' | 'kafka'
    bodies?: number
    bodyBytes?: number
    textFields?: readonly string[]
    became?: (record: OutgoingMessage) => SendOutcome
  } = {},
) {
  /** Whose questions have come to the store. */
  const begun: string[] = []
  const asked: { tenant: string; asked: VerdictRequest }[] = []
  const sent: OutgoingMessage[] = []
  const left: string[] = []
  const requests = new Map<string, VerdictAnswer & { tenant: string }>()
  const waiters = new Set<() => void>()
  const answers: Pick<Answers, 'read' | 'changed'> = {
    read: async (tenant, id) => {
      await options.reads
      const found = requests.get(id)
      return found?.tenant === tenant ? found : null
    },
    changed: (_, signal) =>
      new Promise<void>((resolve) => {
        waiters.add(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      }),
  }
  const set = (change: Partial<VerdictAnswer>) => {
    const before = requests.get(REQUEST)
    if (before !== undefined) requests.set(REQUEST, { ...before, ...change })
    for (const waiter of waiters) waiter()
  }
  const door = testDoor({
    rate: options.rate ?? { perSecond: 1e6, burst: 1e6 },
    ...(options.bodies === undefined ? {} : { bodies: options.bodies }),
    ...(options.bodyBytes === undefined ? {} : { bodyBytes: options.bodyBytes }),
    isAway: (dependency) => dependency === options.away,
    routes: judgeRoutes({
      asking: {
        mostCalls: () => 0,
        hasRoom: async () => options.hasRoom ?? true,
        async ask(tenant, one) {
          begun.push(tenant)
          await options.takes
          if (options.fails !== undefined) throw options.fails
          asked.push({ tenant, asked: one })
          const protocols = one.protocols ?? ['hate']
          const [opened, until] = [NOW, NOW + 3_600_000]
          const none = { verdicts: new Map(), transcripts: new Map(), erased: false }
          requests.set(REQUEST, { tenant, subjectId: one.post.id, protocols, opened, until, ...none })
          return options.outcome ?? { kind: 'asked', id: REQUEST, until, protocols }
        },
        leave: async (_, id) => void left.push(id),
        erase: async (tenant, id) => requests.get(id)?.tenant === tenant && requests.delete(id),
      },
      answers,
      sending: {
        withinMs: 10_000,
        async send(_, all) {
          sent.push(...all)
          return all.map(options.became ?? (() => 'acknowledged' as const))
        },
      },
      topics: { post: 'posts', comment: 'comments', counterspeech: 'counterspeech', feedback: 'feedback' },
      limits: { maxMessageBytes: 20_000, maxAhead: 60_000, textFields: options.textFields ?? [] },
      items: 100,
      kept: {
        post: (message) => keptPost(message, RULES),
        comment: (message) => keptComment(message, RULES),
        reply: (message) => keptReply(message, RULES),
        around: givenAround,
      },
      waiting: options.waiting ?? 100,
      waitingPerTenant: options.waiting ?? 100,
      pressure: () => options.pressure ?? null,
      isOverDue: (tenant) => tenant === options.overDue,
      clock: () => NOW,
      report: () => {},
    }),
  })
  const judge = (protocol = 'hate') =>
    set({
      verdicts: new Map([[protocol, JSON.stringify({ id: 'v', subjectId: REQUEST, label: 'non-hate' })]]),
      transcripts: new Map([[protocol, JSON.stringify({ turns: [] })]]),
    })
  return { ...door, begun, asked, sent, left, judge, set, waiters }
}

const POST = { text: 'The bridge is closed.' }
const waited = async (yes: () => boolean) => {
  while (!yes()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('of a tenant that has its share of what is due no question is asked, and of others it is', async () => {
  const { ask, keyOf, asked } = judgingDoor({ overDue: 'acme', rate: { perSecond: 1, burst: 2 } })
  for (let n = 0; n < 2; n++)
    expect(await ask('POST', '/v1/judge', { post: POST, wait: 0 })).toMatchObject({
      status: 429,
      body: { type: '/problems/over-share', detail: expect.stringContaining('pauseAtDue') },
    })
  const authorization = `Bearer ${keyOf('other', ['judge'])}`
  expect((await ask('POST', '/v1/judge', { post: POST, wait: 0 }, { authorization })).status).not.toBe(429)
  expect(asked.map(({ tenant }) => tenant)).toEqual(['other'])
})

describe('large questions', () => {
  test('of one tenant are read two at a time, up to what the store has of them, and keep no other waiting', async () => {
    const store = Promise.withResolvers<void>()
    const { ask, keyOf, begun } = judgingDoor({ takes: store.promise, bodyBytes: 2_000_000, bodies: 100_000_000 })
    const comments = Array.from({ length: 90 }, () => ({ author: 'a', text: 'x'.repeat(15_000) }))
    const large = Array.from({ length: 12 }, () => ask('POST', '/v1/judge', { post: POST, comments, wait: 0 }))
    await waited(() => begun.length >= 2)
    const authorization = `Bearer ${keyOf('other', ['judge'])}`
    const small = ask('POST', '/v1/judge', { post: POST, wait: 0 }, { authorization })
    await waited(() => begun.includes('other'))
    // Each of them that is read meanwhile would be here.
    for (let n = 0; n < 200; n++) await new Promise((resolve) => setImmediate(resolve))
    expect(begun).toEqual(['acme', 'acme', 'other'])
    store.resolve()
    expect((await small).status).toBe(202)
    await Promise.all(large)
    expect(begun).toHaveLength(13)
  })
})

describe('what is asked', () => {
  test('is answered when all its verdicts are there, under the client’s id', async () => {
    const { ask, judge, asked, sent, waiters } = judgingDoor()
    const answering = ask('POST', '/v1/judge', { post: { id: 'mine', ...POST }, protocols: ['hate'], wait: 20 })
    await waited(() => waiters.size > 0)
    judge()
    const { status, body } = await answering
    expect([status, body.done, body.missing]).toEqual([200, true, []])
    expect(body.verdicts).toEqual([{ id: 'v', subjectId: REQUEST, label: 'non-hate', subject: 'mine' }])
    expect(asked[0]?.tenant).toBe('acme')
    expect(asked[0]?.asked.post).toMatchObject({ id: 'mine', text: POST.text, createdAt: NOW })
    expect(sent).toEqual([])
  })

  test.each<[string, Partial<ApiKey>, number, string]>([
    ['was revoked', { revokedAt: REVOKED }, 401, 'key-unknown'],
    ['may do less', { scopes: ['send'] }, 403, 'scope'],
  ])('is not answered under a key that %s while it waited, and is left', async (_, change, refused, problem) => {
    const { ask, judge, left, changeKeys, waiters } = judgingDoor()
    const answering = ask('POST', '/v1/judge', { post: POST, protocols: ['hate'], wait: 20 })
    await waited(() => waiters.size > 0)
    changeKeys(change)
    judge()
    const { status, body } = await answering
    expect([status, body.type]).toEqual([refused, `/problems/${problem}`])
    expect(JSON.stringify(body)).not.toContain('non-hate')
    expect(left).toEqual([REQUEST])
  })

  test('is left under a revoked key whatever else came from its address, and counts for no wrong key there', async () => {
    const { ask, judge, left, changeKeys, waiters } = judgingDoor()
    const answering = ask('POST', '/v1/judge', { post: POST, protocols: ['hate'], wait: 20 })
    await waited(() => waiters.size > 0)
    const guess = () => ask('GET', '/v1/judgements/x', undefined, { authorization: 'Bearer wrong' })
    while ((await guess()).status === 401);
    changeKeys({ revokedAt: REVOKED })
    judge()
    expect((await answering).body.type).toBe('/problems/key-unknown')
    expect(left).toEqual([REQUEST])
  })

  test('is a 202 after its wait, with an address that answers, also with the debate, and is erased by DELETE', async () => {
    const { ask, judge } = judgingDoor()
    const { status, body, headers } = await ask('POST', '/v1/judge', { post: POST, wait: 0 })
    expect([status, body.done, body.missing, headers.get('location')]).toEqual([
      202,
      false,
      ['hate'],
      `/v1/judgements/${REQUEST}`,
    ])
    expect(body.url).toBe(`http://localhost:8420/v1/judgements/${REQUEST}`)
    expect((await ask('GET', `/v1/judgements/${REQUEST}`)).status).toBe(202)
    judge()
    const later = await ask('GET', `/v1/judgements/${REQUEST}?transcript=true`)
    expect([later.status, later.body.done, later.body.transcripts]).toEqual([200, true, [{ turns: [] }]])
    expect((await ask('DELETE', `/v1/judgements/${REQUEST}`)).status).toBe(204)
    expect((await ask('GET', `/v1/judgements/${REQUEST}`)).status).toBe(404)
    expect((await ask('DELETE', `/v1/judgements/${REQUEST}`)).status).toBe(404)
  })

  test.each([
    ['1s', true],
    ['0.5', false],
  ])('waits as the query says, too: ?wait=%s', async (said, waits) => {
    const { ask, asked } = judgingDoor()
    const answering = ask('POST', `/v1/judge?wait=${said}`, { post: POST })
    await waited(() => asked.length > 0)
    expect(asked[0]?.asked.waits).toBe(waits)
    expect((await answering).status).toBe(202)
  })

  test.each([
    ['?wait=1m', {}],
    ['?wait=61s', {}],
    ['?wait=', {}],
    ['?wait=1s', { wait: 1 }],
  ])('is refused by its wait: %s beside %o', async (query, more) => {
    const { ask, asked } = judgingDoor()
    const { status, body } = await ask('POST', `/v1/judge${query}`, { post: POST, ...more })
    expect([status, body.type, asked]).toEqual([400, '/problems/invalid', []])
  })

  test.each([
    ['lane', false, []],
    ['lane', true, ['stream', 'person']],
    ['judge', true, undefined],
  ])('that %s settles names what may supersede it; streamed: %s', async (decidedBy, stream, supersededBy) => {
    const { ask, set, asked } = judgingDoor()
    const answering = ask('POST', '/v1/judge?wait=20s', { post: POST, stream })
    await waited(() => asked.length > 0)
    set({ verdicts: new Map([['hate', JSON.stringify({ id: 'v', subjectId: REQUEST, label: 'hate', decidedBy })]]) })
    const { status, body } = await answering
    expect([status, body.done, body.supersededBy]).toEqual([200, true, supersededBy])
  })

  test('is nobody else’s: another tenant finds nothing of it', async () => {
    const { ask, judge, keyOf } = judgingDoor()
    await ask('POST', '/v1/judge', { post: POST, wait: 0 })
    judge()
    const as = { authorization: `Bearer ${keyOf('other', ['judge', 'read'])}` }
    for (const method of ['GET', 'DELETE'])
      expect((await ask(method, `/v1/judgements/${REQUEST}`, undefined, as)).status).toBe(404)
    expect((await ask('POST', '/v1/judge', { post: { ...POST, tenant: 'acme' }, wait: 0 }, as)).status).toBe(403)
    expect((await ask('GET', `/v1/judgements/${REQUEST}`)).status).toBe(200)
  })

  test('may be a reply, or have comments, and goes onto the topics where it asks for that', async () => {
    const { ask, asked, sent, keyOf } = judgingDoor()
    const judgesOnly = { authorization: `Bearer ${keyOf('acme', ['judge'])}` }
    const refused = await ask('POST', '/v1/judge', { post: POST, wait: 0, stream: true }, judgesOnly)
    expect([refused.status, refused.body.type, asked, sent]).toEqual([403, '/problems/scope', [], []])
    await ask('POST', '/v1/judge', { reply: { hateSpeech: 'x', text: 'y' }, wait: 0, stream: true })
    expect(asked[0]?.asked.post).toMatchObject({ hateSpeech: 'x', text: 'y' })
    const comments = [{ text: 'a' }, { id: 'c9', text: 'b', postId: 'another' }]
    await ask('POST', '/v1/judge', { post: { id: 'p1', ...POST }, comments, wait: 0, stream: true })
    expect(asked[1]?.asked.comments.map(({ id }) => id)).toEqual(['p1-c1', 'c9'])
    expect(sent.map(({ topic }) => topic)).toEqual(['counterspeech', 'posts', 'comments', 'comments'])
    expect(sent.slice(1).map(({ key }) => key)).toEqual(['p1', 'p1', 'p1'])
    expect(sent.map(({ value }) => JSON.parse(String(value)).tenant)).toEqual(Array(4).fill('acme'))
  })

  test('may be a comment, shown with its post and what it answers, and goes onto the topic of comments alone', async () => {
    const { ask, asked, sent } = judgingDoor()
    const comment = { id: 'c', text: 'so it is' }
    const around = { post: { id: 'p', text: 'a post' }, parent: { id: 'b', text: 'what it answers' } }
    const body = { comment, ...around, protocols: ['hate'], wait: 0, stream: true }
    expect((await ask('POST', '/v1/judge', body)).status).toBe(202)
    const [one] = asked
    expect([one?.asked.post, one?.asked.comments]).toMatchObject([
      {
        id: 'c',
        text: 'so it is',
        parentId: 'b',
        around: { postId: 'p', under: { text: 'a post' }, answered: { id: 'b', text: 'what it answers' } },
      },
      [],
    ])
    expect(sent.map(({ topic, key, value }) => [topic, key, JSON.parse(String(value)).id])).toEqual([
      ['comments', 'p', 'c'],
    ])
    await ask('POST', '/v1/judge', { comment: { text: 'alone' }, wait: 0 })
    expect(asked[1]?.asked.post.around).toMatchObject({ under: null, answered: null })
    for (const odd of [
      { comment, reply: { text: 'x', hateSpeech: 'y' } },
      { post: around.post, parent: around.parent },
      { comment, comments: [{ text: 'x' }] },
      { comment: { ...comment, postId: 'q' }, post: around.post },
      { comment, stream: true },
    ])
      expect([odd, (await ask('POST', '/v1/judge', { wait: 0, ...odd })).status]).toEqual([odd, 400])
    expect(asked).toHaveLength(2)
  })

  test('has the words that a setting names beside the text, of the post, its comments and a reply, also on the stream', async () => {
    const limits = { maxMessageBytes: 20_000, maxAhead: 60_000, textFields: ['title', 'text', 'poll[]'] }
    const { ask, asked, sent } = judgingDoor(limits)
    const post = { id: 'p1', title: 'One', text: 'two', poll: ['three'] }
    const comments = [{ id: 'c1', title: 'Four', text: null }]
    const said = await ask('POST', '/v1/judge', { post, comments, wait: 0, stream: true })
    await ask('POST', '/v1/judge', { reply: { hateSpeech: 'x', text: 'y', title: 'Five' }, wait: 0 })
    const texts = asked.flatMap(({ asked: { post, comments } }) => [post, ...comments].map(({ text }) => text))
    expect(texts).toEqual(['One\n\ntwo\n\nthree', 'Four', 'Five\n\ny'])
    expect(said.body.ignored).toBe(undefined)
    // Whoever reads the record by the same setting reads the same, and no words twice.
    const value = (at: number) => Buffer.from(String(sent[at]?.value))
    const read = [readValue(value(0), postMessage, limits, NOW), readValue(value(1), commentMessage, limits, NOW)]
    expect(read.map((one) => (one.ok ? one.message.text : one.detail))).toEqual(texts.slice(0, 2))
  })

  test('is what the last of two fields of one name says', async () => {
    const { ask, asked } = judgingDoor()
    const body = `{"post":{"text":"no","tenant":"other"},"wait":60,"wait":0,"post":${JSON.stringify(POST)}}`
    expect((await ask('POST', '/v1/judge', body)).status).toBe(202)
    expect(asked.map(({ asked: { post } }) => post.text)).toEqual([POST.text])
  })

  test('names what nobody reads of its messages', async () => {
    const { ask } = judgingDoor()
    const comments = [{ text: 'a', stance: 'deny' }]
    const { body } = await ask('POST', '/v1/judge', { post: { ...POST, body: 'x', '<b>': 1 }, comments, wait: 0 })
    expect(body.ignored).toEqual(['post.body', 'post.(odd)', 'comments.0.stance'])
  })

  test('lets other work in while it is read', async () => {
    const { ask } = judgingDoor()
    const comments = Array.from({ length: 100 }, () => ({ text: 'x'.repeat(800) }))
    expect(await turnsDuring(() => ask('POST', '/v1/judge', { post: POST, comments, wait: 0 }))).toBeGreaterThan(
      (await turnsDuring(() => ask('POST', '/v1/judge', { post: POST, comments: [], wait: 0 }))) + 1,
    )
  })

  test('is left when its client goes, and not when a webhook is to hear of it', async () => {
    for (const webhook of [false, true]) {
      const { fetch, from, key, waiters, left } = judgingDoor()
      const going = new AbortController()
      const request = new Request('http://localhost:8420/v1/judge', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ post: POST, wait: 30, webhook }),
        signal: going.signal,
      })
      const answering = fetch(request, from)
      await waited(() => waiters.size > 0)
      going.abort()
      await answering
      expect(left).toEqual(webhook ? [] : [REQUEST])
    }
  })

  test('has waited until its verdict was decided, and no longer', async () => {
    for (const [decidedAt, hasWaited] of [
      [NOW, true],
      [NOW - 3_600_000, false],
    ] as const) {
      const { ask, set, waiters, events } = judgingDoor()
      const answering = ask('POST', '/v1/judge', { post: POST, wait: 20 })
      await waited(() => waiters.size > 0)
      const verdict = { id: 'v', subjectId: REQUEST, label: 'hate', decidedAt: new Date(decidedAt).toISOString() }
      set({ verdicts: new Map([['hate', JSON.stringify(verdict)]]) })
      await answering
      const answered = events.filter(([name]) => name === 'door:answered').map(([, event]) => event)
      expect(answered).toHaveLength(1)
      expect((answered[0] as { waitSeconds: number }).waitSeconds > 0).toBe(hasWaited)
    }
  })

  test.each([
    [0, false],
    [0.001, false],
    [1, true],
  ])('with a wait of %d s has a share of its own: %s', async (wait, waits) => {
    const { ask, asked, judge } = judgingDoor()
    judge()
    await ask('POST', '/v1/judge', { post: POST, protocols: ['hate'], wait })
    expect(asked.map(({ asked: one }) => one.waits)).toEqual([waits])
  })

  test('may wait for a part of a millisecond', async () => {
    const { ask } = judgingDoor()
    expect((await ask('POST', '/v1/judge', { post: POST, wait: 0.0123456 })).status).toBe(202)
    expect((await ask('GET', `/v1/judgements/${REQUEST}?wait=0.0123456`)).status).toBe(202)
  })

  test('is a 202 when the door closes', async () => {
    const { ask, closing, waiters, left } = judgingDoor()
    const answering = ask('POST', '/v1/judge', { post: POST, wait: 60 })
    await waited(() => waiters.size > 0)
    closing.abort()
    const { status, headers } = await answering
    expect([status, headers.get('connection'), left]).toEqual([202, 'close', []])
  })
})

test('the document of these routes is OpenAPI 3.1, and its example is taken', async () => {
  const { ask, asked, document, judge, waiters } = judgingDoor()
  expect(await new Validator().validate({ ...document })).toMatchObject({ valid: true })
  const { paths } = document as {
    paths: Record<string, { post: { requestBody: { content: Record<string, { example: unknown }> } } }>
  }
  const answering = ask('POST', '/v1/judge', paths['/v1/judge']?.post.requestBody.content['application/json']?.example)
  await waited(() => waiters.size > 0)
  judge()
  expect([(await answering).status, asked.length]).toEqual([200, 1])
})

describe('a refusal', () => {
  test.each([
    ['neither post nor reply', {}, 400, 'invalid'],
    ['both', { post: POST, reply: { hateSpeech: 'x', text: 'y' } }, 400, 'invalid'],
    ['a list', [POST], 400, 'invalid'],
    ['what is no JSON', '{post', 400, 'not-json'],
    ['a field that there is not', { post: POST, protocol: 'hate' }, 400, 'invalid'],
    ['a wait of an hour', { post: POST, wait: 3_600 }, 400, 'invalid'],
    ['a deletion', { post: { id: 'x', deleted: true } }, 400, 'invalid'],
    ['a post of nothing', { post: {} }, 400, 'invalid'],
    ['comments that are none', { post: POST, comments: {} }, 400, 'invalid'],
    ['one bad comment', { post: POST, comments: [{ text: 'a' }, { id: 7.5 }] }, 400, 'invalid'],
    ['more comments than may be', { post: POST, comments: Array(101).fill({ text: 'a' }) }, 413, 'too-large'],
  ])('names %s', async (_, body, status, problem) => {
    const { ask, asked } = judgingDoor()
    const said = await ask('POST', '/v1/judge', body)
    expect([said.status, said.body.type, asked]).toEqual([status, `/problems/${problem}`, []])
  })

  test.each([
    [{ kind: 'deleted' }, 409, 'deleted'],
    [{ kind: 'paused', protocols: ['hate'] }, 409, 'protocol-paused'],
    [{ kind: 'over-share' }, 429, 'over-share'],
    [{ kind: 'unjudged', protocols: [], judging: ['hate'] }, 422, 'protocol'],
  ] as const)('says of %o what it is', async (outcome, status, problem) => {
    const { ask } = judgingDoor({ outcome })
    const said = await ask('POST', '/v1/judge', { post: POST, wait: 0 })
    expect([said.status, said.body.type]).toEqual([status, `/problems/${problem}`])
  })

  test('of a name that was meant otherwise says which there are', async () => {
    const outcome = { kind: 'unjudged', protocols: ['rumour'], judging: ['rumor', 'hate'] } as const
    const { ask } = judgingDoor({ outcome })
    const unknown = await ask('POST', '/v1/judge', { post: POST, protocols: ['rumour'], wait: 0 })
    expect(unknown.body.detail).toMatch(/^rumour is off.*: rumor, hate judge such a subject\. Did you mean "rumor"\?$/)
    const field = await ask('POST', '/v1/judge', { post: POST, protocol: 'rumor' })
    expect(field.body.detail).toMatch(/^protocol: is no field here\. Did you mean "protocols"\? There are post, reply,/)
    const detailOf = async (body: unknown) => (await ask('POST', '/v1/judge', body)).body.detail
    expect(await detailOf([POST])).toContain('the body is a list')
    expect(await detailOf({ post: 'The bridge is closed.' })).toContain('send {"text": "…"}')
    expect(await detailOf('')).toBe('the body is empty')
  })

  test('is a 503 while the store can’t be trusted or does not answer', async () => {
    for (const fails of [new StoreSuspended(), new Error('no connection')]) {
      const said = await judgingDoor({ fails }).ask('POST', '/v1/judge', { post: POST, wait: 0 })
      expect([said.status, said.body.type, said.headers.get('retry-after')]).toEqual([503, '/problems/store-away', '3'])
    }
  })

  test('meets who would wait when enough do; those that don’t wait are taken, and ten thousand leave nothing behind', async () => {
    const { ask, judge, waiters } = judgingDoor({ waiting: 3 })
    const waiting = Array.from({ length: 3 }, () => ask('POST', '/v1/judge', { post: POST, wait: 60 }))
    await waited(() => waiters.size === 3)
    const many = await Promise.all(
      Array.from({ length: 10_000 }, () => ask('POST', '/v1/judge', { post: POST, wait: 60 })),
    )
    expect(new Set(many.map(({ body }) => body.type))).toEqual(new Set(['/problems/waiting']))
    expect((await ask('POST', '/v1/judge', { post: POST, wait: 0 })).status).toBe(202)
    judge()
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await ask('GET', `/v1/judgements/${REQUEST}?wait=5`)).status).toBe(200)
  })

  test('counts among those that wait until it is answered, whoever waits for it no more', async () => {
    const { ask, judge } = judgingDoor({ waiting: 1 })
    const another = () => ask('POST', '/v1/judge', { post: POST, wait: 1 })
    expect((await another()).status).toBe(202)
    expect((await another()).body.type).toBe('/problems/waiting')
    // Who waits for it again is that one.
    expect((await ask('GET', `/v1/judgements/${REQUEST}?wait=0.1`)).status).toBe(202)
    expect((await another()).body.type).toBe('/problems/waiting')
    judge()
    expect((await ask('GET', `/v1/judgements/${REQUEST}?wait=5`)).status).toBe(200)
    expect((await another()).status).toBe(202)
  })

  test('names what a topic does not take of what was to be streamed, and asks nothing', async () => {
    const became = ({ value }: OutgoingMessage) => (String(value).includes('large') ? 'refused' : 'acknowledged')
    const { ask, asked } = judgingDoor({ became })
    const comments = [{ text: 'a' }, { text: 'large' }]
    const said = await ask('POST', '/v1/judge', { post: POST, comments, wait: 0, stream: true })
    expect([said.status, said.body.type, asked]).toEqual([413, '/problems/too-large', []])
    expect(said.body.detail).toBe("Kafka's topic does not take comments.1")
  })

  test('meets ids that are none before any store is asked', async () => {
    const { ask } = judgingDoor({ fails: new Error('asked') })
    for (const id of ['x', '__proto__', '%2e%2e%2f', 'A'.repeat(32)])
      expect((await ask('GET', `/v1/judgements/${id}`)).status).toBe(404)
    expect((await ask('GET', `/v1/judgements/${REQUEST}?wait=x`)).status).toBe(400)
  })

  test('says that it was erased', async () => {
    const { ask, set } = judgingDoor()
    await ask('POST', '/v1/judge', { post: POST, wait: 0 })
    set({ erased: true })
    expect((await ask('GET', `/v1/judgements/${REQUEST}`)).status).toBe(410)
  })
})

describe('where the store hangs', () => {
  const large = { post: { text: 'x'.repeat(300) }, wait: 0 }

  test('a question is refused in its time and holds no room; taken later it is left, as nobody has its address', async () => {
    const { promise: takes, resolve: wake } = Promise.withResolvers<void>()
    const { ask, left, asked } = judgingDoor({ takes, bodies: 1_000 })
    // Together they take all the room that a tenant has.
    for (const _ of [1, 2]) {
      const { status, headers, body } = await ask('POST', '/v1/judge', large)
      expect([status, body.type, headers.has('retry-after')]).toEqual([503, '/problems/store-away', true])
      expect(body.detail).toMatch(/not known, and it is safe to ask again/)
    }
    expect(left).toEqual([])
    wake()
    await waited(() => left.length === 2)
    expect(asked).toHaveLength(2)
  })

  test('what it rejects with later is heard', async () => {
    const { promise: takes, reject } = Promise.withResolvers<void>()
    const { ask } = judgingDoor({ takes })
    expect((await ask('POST', '/v1/judge', large)).status).toBe(503)
    const unheard: unknown[] = []
    const hear = (error: unknown) => void unheard.push(error)
    process.on('unhandledRejection', hear)
    reject(new Error('the connection is closed'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    process.off('unhandledRejection', hear)
    expect(unheard).toEqual([])
  })

  test.each([true, false])(
    'what was asked before has an address all the same, and is not left: webhook %s',
    async (webhook) => {
      const { promise: reads, resolve: wake } = Promise.withResolvers<void>()
      const { ask, left } = judgingDoor({ reads })
      const { status, body } = await ask('POST', '/v1/judge', { post: POST, webhook, wait: 0 })
      expect([status, body.done, body.id]).toEqual([202, false, REQUEST])
      wake()
      expect((await ask('GET', `/v1/judgements/${REQUEST}`)).status).toBe(202)
      expect(left).toEqual([])
    },
  )

  test('what its topics have is said, with the id that was made up for it', async () => {
    const { promise: takes, resolve: wake } = Promise.withResolvers<void>()
    const { ask, sent } = judgingDoor({ takes })
    const { status, body } = await ask('POST', '/v1/judge', { post: POST, stream: true, wait: 0 })
    const { id } = JSON.parse(String(sent[0]?.value)) as { id: string }
    expect([status, body.detail]).toEqual([
      503,
      expect.stringContaining(`under the same id (${id}), or without "stream"`),
    ])
    wake()
  })

  test('of a tenant that holds its share nothing is sent to topics, asked or charged', async () => {
    const options = { hasRoom: false, rate: { perSecond: 1e-6, burst: 3 } }
    const { ask, asked, sent } = judgingDoor(options)
    const full = { post: POST, comments: [1, 2].map((n) => ({ ...POST, id: `c${n}` })), wait: 0 }
    expect(await ask('POST', '/v1/judge', { ...full, stream: true })).toMatchObject({
      status: 429,
      body: { type: '/problems/over-share', detail: expect.not.stringMatching(/topics/) },
    })
    expect([asked, sent]).toEqual([[], []])
    // The first unit was charged before the body was read: two are left for the three that it takes, one of them owed.
    options.hasRoom = true
    expect((await ask('POST', '/v1/judge', full)).status).toBe(202)
  })

  test('its topics have it where its tenant came to its share meanwhile: the refusal says the id for a repeat', async () => {
    const { ask, sent } = judgingDoor({ outcome: { kind: 'over-share' } })
    const { status, body } = await ask('POST', '/v1/judge', { post: POST, stream: true, wait: 0 })
    const { id } = JSON.parse(String(sent[0]?.value)) as { id: string }
    expect([status, body.detail]).toEqual([
      429,
      expect.stringContaining(`on their topics: ask again under the same id (${id}), or without "stream"`),
    ])
    const unstreamed = await ask('POST', '/v1/judge', { post: POST, wait: 0 })
    expect(unstreamed.body.detail).not.toMatch(/topics/)
  })

  test.each(['redis', 'kafka'] as const)(
    'nothing is begun that needs %s while it is known to be away',
    async (away) => {
      const { ask, asked, sent } = judgingDoor({ away })
      const { status, body } = await ask('POST', '/v1/judge', { post: POST, stream: true, wait: 0 })
      expect([status, body.type]).toEqual([503, away === 'redis' ? '/problems/store-away' : '/problems/kafka-away'])
      expect([asked, sent]).toEqual([[], []])
      expect((await ask('POST', '/v1/judge', { post: POST, wait: 0 })).status).toBe(away === 'redis' ? 503 : 202)
    },
  )
})
