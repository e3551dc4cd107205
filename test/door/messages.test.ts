import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type OutgoingMessage, RefusedRecord } from '../../src/contracts/ports/topic.ts'
import { MESSAGE_TYPES } from '../../src/door/messages.ts'
import { COMMENT, POST, testDoor, turnsDuring } from './door-for-tests.ts'

const REPLY = { type: 'counterspeech', id: 'r1', postId: 'p1', hateSpeech: 'x', text: 'y', createdAt: POST.createdAt }
const FEEDBACK = { type: 'feedback', subjectId: 'p1', protocol: 'rumor', label: 'rumor', by: 'ann', at: POST.createdAt }

describe('messages', () => {
  test('of every type go to their topics under the key of their subject, as the tenant of the key', async () => {
    const { ask, records } = testDoor()
    const { status, body } = await ask('POST', '/v1/messages', [
      POST,
      COMMENT,
      REPLY,
      { ...REPLY, postId: null },
      FEEDBACK,
    ])
    expect(status).toBe(200)
    expect(body).toMatchObject({ accepted: 5, refused: 0 })
    expect(
      body.items.map(({ index, id, status }: { index: number; id: string; status: string }) => [index, id, status]),
    ).toEqual([
      [0, 'p1', 'acknowledged'],
      [1, 'c1', 'acknowledged'],
      [2, 'r1', 'acknowledged'],
      [3, 'r1', 'acknowledged'],
      [4, 'p1', 'acknowledged'],
    ])
    expect(records.map(({ topic, key }) => [topic, key])).toEqual([
      ['posts', 'p1'],
      ['comments', 'p1'],
      ['counterspeech', 'p1'],
      ['counterspeech', 'r1'],
      ['feedback', 'p1'],
    ])
    const { type: _, ...post } = POST
    expect(JSON.parse(String(records[0]?.value))).toEqual({ ...post, tenant: 'acme' })
  })

  test.each([
    [{ protocol: 'rumour' }, 'protocol: no protocol of this name is on'],
    [{ protocol: 'constructor' }, 'protocol: no protocol of this name is on'],
    [{ label: 'Rumor' }, "label: none of rumor's: rumor, non-rumor"],
    [{ protocol: 'hate' }, "label: none of hate's: hate, non-hate"],
  ])('of feedback on what is not there are refused: %o', async (wrong, detail) => {
    const { ask, records } = testDoor()
    const { body } = await ask('POST', '/v1/messages', [{ ...FEEDBACK, ...wrong }, FEEDBACK])
    expect(body).toMatchObject({ accepted: 1, refused: 1 })
    expect(body.items[0].problem).toEqual({ type: '/problems/invalid', detail })
    expect(records).toHaveLength(1)
    expect(await ask('POST', '/v1/messages', { ...FEEDBACK, ...wrong })).toMatchObject({
      status: 400,
      body: { detail },
    })
  })

  test('of people’s decisions go to theirs in the name of the key, if it may decide', async () => {
    const { ask, keyOf, records } = testDoor()
    const decision = { type: 'decision', subjectId: 'p1', protocol: 'rumor', label: 'rumor', against: 1, why: 'Seen.' }
    const at = POST.createdAt
    const noted = { code: 'irony', sawLabel: false, unseen: true }
    const list = [
      { ...decision, at, ...noted },
      { ...decision, at, by: 'somebody' },
      decision,
      { ...decision, at, withdraw: true },
      POST,
    ]
    const as = { authorization: `Bearer ${keyOf('acme', ['send', 'decide'])}` }
    const { body } = await ask('POST', '/v1/messages', list, as)
    expect(body.items.map(({ id, status }: { id: string; status: string }) => [id, status])).toEqual([
      ['p1', 'acknowledged'],
      ['p1', 'refused'],
      ['p1', 'refused'],
      ['p1', 'refused'],
      ['p1', 'acknowledged'],
    ])
    expect(body.items[1].problem.detail).toContain('leave it out')
    expect(records.map(({ topic, key }) => [topic, key])).toEqual([
      ['decisions', 'p1'],
      ['posts', 'p1'],
    ])
    const comment = { subjectKind: 'comment', postId: 'p9' }
    const feedback = { type: 'feedback', subjectId: 'c1', protocol: 'hate', label: 'hate', by: 'ann', at }
    const named = [
      { ...decision, at, ...comment },
      { ...feedback, ...comment },
      { ...feedback, subjectKind: 'comment' },
    ]
    const onComment = await ask('POST', '/v1/messages', named, as)
    expect(onComment.body.items.map(({ status }: { status: string }) => status)).toEqual([
      'acknowledged',
      'acknowledged',
      'refused',
    ])
    const sent = records.splice(2)
    expect(sent.map(({ topic, key }) => [topic, key])).toEqual([
      ['decisions', 'p9'],
      ['feedback', 'p9'],
    ])
    for (const { value } of sent) expect(JSON.parse(String(value))).toMatchObject(comment)
    const { type: _, ...said } = decision
    expect(JSON.parse(String(records[0]?.value))).toEqual({ ...said, ...noted, at, tenant: 'acme', by: 'acme-backend' })
    const without = await ask('POST', '/v1/messages', [{ ...decision, at }, POST])
    expect(without.body.items[0].problem.type).toBe('/problems/scope')
    expect(records).toHaveLength(3)
  })

  test('one by itself needs no list, and its fault is the answer', async () => {
    const { ask, records } = testDoor()
    expect((await ask('POST', '/v1/messages', POST)).body).toMatchObject({ accepted: 1 })
    const { status, body, headers } = await ask('POST', '/v1/messages', { ...POST, createdAt: 'yesterday' })
    expect([status, body.type, headers.get('content-type')]).toEqual([
      400,
      '/problems/invalid',
      'application/problem+json',
    ])
    expect(body.detail).toContain('createdAt')
    expect(records).toHaveLength(1)
  })

  test('a bad one among good ones is refused by itself', async () => {
    const { ask, records } = testDoor()
    const deep = `{"type":"post","id":"deep","createdAt":"2026-01-01T10:00:00Z","text":"x","x":${'['.repeat(50)}${']'.repeat(50)}}`
    const list = `[${JSON.stringify(POST)}, {"type": "post"}, {not json}, {"type":"nonsense"}, ${deep}, ${'['.repeat(90)}${']'.repeat(90)}, ${JSON.stringify({ ...POST, text: 'x'.repeat(30_000) })}]`
    const { status, body } = await ask('POST', '/v1/messages', list)
    expect(status).toBe(200)
    expect(body.items.map(({ problem }: { problem?: { type: string } }) => problem?.type ?? 'ok')).toEqual([
      'ok',
      '/problems/invalid',
      '/problems/not-json',
      '/problems/invalid',
      'ok',
      '/problems/invalid',
      '/problems/too-large',
    ])
    expect(records.map(({ key }) => key)).toEqual(['p1', 'deep'])
  })

  test('none that is accepted is 422, with what was wrong with each', async () => {
    const { ask } = testDoor()
    const { status, body } = await ask('POST', '/v1/messages', [{ type: 'post' }])
    expect([status, body.type, body.items.length]).toEqual([422, '/problems/none-accepted', 1])
  })

  test('one that names another tenant refuses all of them', async () => {
    const { ask, records } = testDoor()
    const { status, body } = await ask('POST', '/v1/messages', [POST, { ...COMMENT, tenant: 'other' }])
    expect([status, body.type, records]).toEqual([403, '/problems/tenant', []])
    expect((await ask('POST', '/v1/messages', [{ ...POST, tenant: 'acme' }])).status).toBe(200)
  })

  test('what is odd about optional fields is sent on, so that its verdict says so', async () => {
    const { ask, records } = testDoor()
    const odd = { ...POST, media: [{ kind: 'gif' }], reach: 'far', author: { name: 'x' }, extra: 'no field' }
    expect((await ask('POST', '/v1/messages', [odd])).status).toBe(200)
    const sent = JSON.parse(String(records[0]?.value))
    expect([sent.media, sent.reach, sent.extra]).toEqual([[{ kind: 'gif' }], 'far', undefined])
  })

  test('ids that are numbers keep their digits', async () => {
    const { ask, records } = testDoor()
    const text = `[{"type":"post","id":267081518403440641,"text":"x","createdAt":"2026-01-01T10:00:00Z"}]`
    expect((await ask('POST', '/v1/messages', text)).body.items[0].id).toBe('267081518403440641')
    expect(records[0]?.key).toBe('267081518403440641')
  })

  test('more than may be in a request are refused before any is read', async () => {
    const { ask, records } = testDoor({ items: 2 })
    expect((await ask('POST', '/v1/messages', [POST, POST, POST])).status).toBe(413)
    expect(records).toEqual([])
  })

  test('each counts towards the rate of the key', async () => {
    const { ask } = testDoor({ rate: { perSecond: 1, burst: 4 } })
    expect((await ask('POST', '/v1/messages', [POST, POST, POST])).status).toBe(200)
    expect((await ask('POST', '/v1/messages', [POST, POST])).status).toBe(200)
    const { status, headers } = await ask('POST', '/v1/messages', [POST])
    expect([status, headers.get('retry-after')]).toEqual([429, '2'])
  })

  test('are turned away while intake is paused', async () => {
    const { ask, records } = testDoor({ pressure: () => '90000 threads due' })
    const { status, headers, body } = await ask('POST', '/v1/messages', [POST])
    expect([status, headers.get('retry-after'), body.type, records]).toEqual([429, '5', '/problems/back-pressure', []])
  })

  test('that would be judged are turned away where as much of their tenant is due as may be, and no others', async () => {
    const { ask, records } = testDoor({ isOverDue: (tenant) => tenant === 'acme' })
    const { status, body } = await ask('POST', '/v1/messages', POST)
    expect([status, body.type]).toEqual([429, '/problems/over-share'])
    const rest = [COMMENT, { ...POST, text: undefined, deleted: true }]
    expect((await ask('POST', '/v1/messages', [POST, ...rest])).body).toMatchObject({ accepted: 2, refused: 1 })
    expect(records).toHaveLength(2)
    // A comment that is judged by itself is due as a post is.
    const judged = testDoor({ isOverDue: (tenant) => tenant === 'acme', takesComments: true })
    expect((await judged.ask('POST', '/v1/messages', [POST, ...rest])).body).toMatchObject({ accepted: 1, refused: 2 })
  })

  test('that would be kept are turned away where their tenant holds more than its share of Redis; deletions and decisions never', async () => {
    const { ask, records } = testDoor({ isOverShare: (tenant) => tenant === 'acme' })
    const { status, body } = await ask('POST', '/v1/messages', COMMENT)
    expect([status, body.type]).toEqual([429, '/problems/over-share'])
    const rest = [POST, { ...POST, text: undefined, deleted: true }, { ...COMMENT, text: undefined, deleted: true }]
    expect((await ask('POST', '/v1/messages', [COMMENT, ...rest])).body).toMatchObject({ accepted: 2, refused: 2 })
    expect(records).toHaveLength(2)
  })

  test('that Kafka does not acknowledge in time are a 503 that says that a repeat does no harm', async () => {
    const { ask } = testDoor({ write: () => new Promise(() => {}), timeoutMs: 20 })
    const { status, headers, body } = await ask('POST', '/v1/messages', [POST])
    expect([status, headers.get('retry-after'), body.type]).toEqual([503, '5', '/problems/kafka-away'])
    expect(body.todo).toContain('a repeat counts once')
  })

  test('one that Kafka refuses for good is named, and the others arrive', async () => {
    const arrived: (string | null)[] = []
    const write = async (all: readonly OutgoingMessage[]) => {
      if (all.some(({ key }) => key === 'p2')) throw new RefusedRecord('MESSAGE_TOO_LARGE')
      arrived.push(...all.map(({ key }) => String(key)))
    }
    const { ask } = testDoor({ write })
    const { body } = await ask('POST', '/v1/messages', [POST, { ...POST, id: 'p2' }, { ...POST, id: 'p3' }])
    expect(body.items.map(({ status }: { status: string }) => status)).toEqual([
      'acknowledged',
      'refused',
      'acknowledged',
    ])
    expect(arrived).toEqual(['p1', 'p3'])
  })

  test('of many clients arrive in the order of their requests, in few batches', async () => {
    const batches: number[] = []
    const order: string[] = []
    const write = async (all: readonly OutgoingMessage[]) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      batches.push(all.length)
      order.push(...all.map(({ value }) => String(JSON.parse(String(value)).text)))
    }
    const { ask } = testDoor({ write })
    await Promise.all(Array.from({ length: 50 }, (_, at) => ask('POST', '/v1/messages', [{ ...POST, text: `${at}` }])))
    expect(order).toEqual(Array.from({ length: 50 }, (_, at) => `${at}`))
    expect(batches.length).toBeLessThan(10)
  })

  test('in a large body let other work in while they are read, and still keep their order', async () => {
    const { ask, records } = testDoor({ bodyBytes: 4 * 2 ** 20, bodies: 16 * 2 ** 20 })
    const dense = { ...POST, ...Object.fromEntries(Array.from({ length: 1_500 }, (_, at) => [`field${at}`, 0])) }
    const one = JSON.stringify([dense])
    const many = `[${Array(150).fill(JSON.stringify(dense)).join(',')}]`
    const asFew = await turnsDuring(() => ask('POST', '/v1/messages', one))
    expect((await turnsDuring(() => ask('POST', '/v1/messages', many))) - asFew).toBeGreaterThan(50)
    records.length = 0
    const large = ask('POST', '/v1/messages', many)
    const small = ask('POST', '/v1/messages', [{ ...POST, id: 'later' }])
    await Promise.all([large, small])
    expect([records.length, records.at(-1)?.key]).toEqual([151, 'later'])
  })

  test('that nobody reads whole have what is not read named; those that can’t be read have their id', async () => {
    const { ask } = testDoor()
    const list = `[${JSON.stringify({ ...POST, txet: 'x', 'a b': 1 })},{"type":"post","id":"no-text"},{"id":26708151840344064112,"type":"nonsense"},{"id":"cut`
    const { body } = await ask('POST', '/v1/messages', `${list}"}]`)
    expect(body.items.map(({ id, ignored }: { id: string; ignored?: string[] }) => [id, ignored])).toEqual([
      ['p1', ['txet', '(odd)']],
      ['no-text', undefined],
      ['26708151840344064112', undefined],
      ['cut', undefined],
    ])
  })

  test('that name a field twice are checked and sent by the last', async () => {
    const { ask, records } = testDoor()
    const named = (...tenants: string[]) =>
      JSON.stringify(POST).replace('{', `{${tenants.map((tenant) => `"tenant":"${tenant}",`).join('')}`)
    expect((await ask('POST', '/v1/messages', named('other', 'acme'))).status).toBe(200)
    expect(String(records[0]?.value).match(/"tenant":"\w+"/g)).toEqual(['"tenant":"acme"'])
    expect((await ask('POST', '/v1/messages', named('acme', 'other'))).status).toBe(403)
    expect(records).toHaveLength(1)
  })

  test('begin with a byte order mark or not', async () => {
    const { ask } = testDoor()
    expect((await ask('POST', '/v1/messages', `\u{FEFF}${JSON.stringify([POST])}`)).body.accepted).toBe(1)
  })

  test('the fields that are sent are those of the schemas', () => {
    for (const [type, { schema, fields }] of Object.entries(MESSAGE_TYPES)) {
      const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
      const known = Object.keys(properties).filter((name) => name !== 'odd')
      expect([type, ...fields].sort()).toEqual([type, ...known].sort())
    }
  })
})

test('words beside the text that a setting names are sent as part of it', async () => {
  const { ask, records } = testDoor({ textFields: ['title', 'text', 'poll[]'] })
  const post = {
    type: 'post',
    id: 'p',
    title: 'One',
    text: 'two',
    poll: ['three'],
    mood: 'far too odd',
    createdAt: '2026-01-01T00:00:00Z',
  }
  const { status, body } = await ask('POST', '/v1/messages', post)
  expect([status, body.items[0].ignored]).toEqual([200, ['mood']])
  expect(JSON.parse(String(records[0]?.value))).toMatchObject({ id: 'p', text: 'One\n\ntwo\n\nthree' })
})
