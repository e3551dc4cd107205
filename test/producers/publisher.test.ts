import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { publisher } from '../../producers/publisher/publisher.ts'
import type { SendingContext } from '../../producers/publisher/send-entries.ts'
import { BrokerRefused } from '../../src/contracts/facts/broker-refusal.ts'
import { type DeadLetter, deadLetter } from '../../src/contracts/facts/messages.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { noComments, noUsage, transcript, undecided } from '../../src/contracts/facts/verdict.ts'
import type { Outbox, OutboxEntry } from '../../src/contracts/ports/cases.ts'
import type { Events } from '../../src/contracts/ports/report.ts'
import type { SinkNotes } from '../../src/contracts/ports/sink-notes.ts'
import { type OutgoingMessage, RefusedRecord } from '../../src/contracts/ports/topic.ts'
import { askedThread } from '../../src/judging/threads/asked.ts'
import { sinkMappings, type VerdictSink } from '../../src/mapping/sinks.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { ARRIVAL, DECISION_TOPICS, endOf, postOf, RULES, retractionOf, T0, thread } from '../contracts/samples.ts'
import { openCase } from '../contracts/stores.ts'

const topics = { verdicts: 'verdicts', transcripts: 'transcripts', deadLetters: 'dead', ...DECISION_TOPICS }
const SOON = { timeout: 8_000, interval: 5 }

/** What a topic of the broker takes: anything up to this many bytes, or nothing for now. */
let limits: Record<string, number>
let down: Set<string>
/** Topics of which the broker refuses each record without a key, or where the user may not write. */
let refusing: Record<string, 'policy' | 'rights'>
/** Records by topic, as they stand there. */
let stands: OutgoingMessage[]
let requests: number
/** Of which subjects webhooks have verdicts. */
let hooked: string[]
/** What closed the gate of publication. */
let closed: string[]
/** How often the publisher said that it has looked into the outbox. */
let looks: number
let stores: ReturnType<typeof memoryStores>
let told: { 'publication:held': Events['publication:held'][]; 'message:dead': Events['message:dead'][] }
let own: ReturnType<typeof publisher> | undefined

const writer = {
  async send(records: readonly OutgoingMessage[]) {
    requests++
    for (const topic of new Set(records.map((record) => record.topic))) {
      const part = records.filter((record) => record.topic === topic)
      if (down.has(topic)) throw new Error(`This server does not host ${topic}`)
      const refused = refusing[topic]
      if (refused !== undefined && (refused === 'rights' || part.some(({ key }) => key === null)))
        throw new BrokerRefused(refused, [topic], `mend ${topic}`)
      if (part.some(({ value }) => Buffer.byteLength(value) > (limits[topic] ?? 1e6)))
        throw new RefusedRecord('too large')
      stands.push(...part)
    }
  },
  async close() {},
}

/** What sinks have had, in memory. */
function memorySinkNotes(): SinkNotes {
  const all = new Map<string, Set<string>>()
  return {
    async note({ ref, protocol }, entries) {
      const key = `${protocol} ${ref.tenant} ${ref.kind} ${ref.postId}`
      const known = new Set([...(all.get(key) ?? []), ...entries])
      all.set(key, known)
      return known
    },
  }
}

function start(
  outbox: Outbox = stores.outbox,
  failed: (error: unknown, event: Events['error']) => void = () => {},
  sinks: readonly VerdictSink[] = [],
  clock = Date.now,
) {
  own = publisher({
    outbox,
    writer,
    sinks: { mapping: sinkMappings(sinks), notes: memorySinkNotes() },
    hook: async (published) => void hooked.push(...published.map(({ verdict }) => verdict.subjectId)),
    gate: { closed: null, close: (what) => void closed.push(what), open: () => {} },
    answers: stores.answers,
    clock,
    report(name, event) {
      if (name === 'publication:held') told['publication:held'].push(event as Events['publication:held'])
      if (name === 'error') failed((event as Events['error']).error, event as Events['error'])
      if (name === 'message:dead') told['message:dead'].push(event as Events['message:dead'])
      if (name === 'loop:succeeded') looks++
    },
    name: 'one',
    topics,
  })
  own.start()
}

beforeEach(() => {
  limits = {}
  down = new Set()
  refusing = {}
  closed = []
  hooked = []
  stands = []
  requests = 0
  looks = 0
  stores = memoryStores(Date.now)
  told = { 'publication:held': [], 'message:dead': [] }
  own = undefined
})
afterEach(() => own?.close())

const on = (topic: string) => stands.filter((record) => record.topic === topic)
const letters = (): DeadLetter[] => on('dead').map(({ value }) => deadLetter.parse(JSON.parse(String(value))))

/** A verdict that this version reads in whole. */
const WHOLE = {
  schema: 1,
  tenant: 'north',
  protocol: 'hate',
  revision: 3,
  final: true,
  supersedes: null,
  counts: noComments(),
  faults: [],
  ...undecided('nothing'),
  usage: noUsage(),
  models: {},
  versions: { script: 1, prompts: 'p', settings: 's' },
  timing: { createdAt: '', receivedAt: '', openedAt: '', decidedAt: '', modelMs: 0, overheadMs: 0 },
}

/** A concluded case: its verdict's reason and its transcript are so long. */
async function decide(postId: string, { reason = 10, argument = 10 } = {}, change: object = {}): Promise<string> {
  const ref = thread(postId)
  await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
  return conclude(ref, { reason, argument }, change)
}

/** The same, of what was asked apart from the stream. */
async function answer(request: string): Promise<string> {
  const ref = thread(request, 'acme', 'asked')
  const asked = askedThread(ref, { post: postOf(thread('p1')), comments: [], postOnly: true }, T0, RULES)
  const of = {
    subject: thread('p1', 'acme'),
    protocols: ['rumor'],
    webhook: false,
    until: Date.now() + 60_000,
    most: null,
  }
  await stores.threads.putAsked({ thread: asked, ...of }, Date.now())
  return conclude(ref, {})
}

async function conclude(ref: ThreadRef, { reason = 10, argument = 10 }, change: object = {}): Promise<string> {
  const { postId } = ref
  const record = await openCase({ ...stores, async pass() {}, async close() {} }, ref)
  const taken = await stores.cases.take(record.id)
  const subject = {
    post: { id: postId, text: 'so it is '.repeat(argument / 9), createdAt: T0 },
    comments: [],
    leftOut: 0,
  }
  await stores.cases.conclude(record, taken?.epoch ?? 0, {
    ...endOf(record),
    verdict: JSON.stringify({ id: record.id, subjectId: postId, rationale: 'y'.repeat(reason), ...change }),
    transcript: JSON.stringify({ schema: 1, verdictId: record.id, subject, turns: [], cut: [] }),
    carry: null,
  })
  return record.id
}
const isFree = async (postId: string) =>
  (await stores.threads.read(thread(postId)))?.revisions.get('rumor')?.openId === null
const letterOf = (raw: string): string =>
  JSON.stringify({
    schema: 1,
    topic: 'posts',
    partition: 0,
    offset: '1',
    key: 'k',
    headers: { h: 'h' },
    reason: 'invalid',
    detail: 'd',
    raw,
    rawBytes: (raw.length / 4) * 3,
    truncated: false,
    at: new Date(T0).toISOString(),
  } satisfies DeadLetter)

describe('a verdict on what was asked apart from the stream', () => {
  test('is on no topic, and has its answer while no topic takes anything', async () => {
    down = new Set(['verdicts', 'transcripts', 'dead'])
    await decide('p1')
    const id = await answer('q-1')
    start()
    const read = async () => stores.answers.read('acme', 'q-1')
    await expect.poll(async () => (await read())?.verdicts.size, SOON).toBe(1)
    expect(JSON.parse((await read())?.verdicts.get('rumor') ?? '')).toMatchObject({ id, subjectId: 'q-1' })
    expect(JSON.parse((await read())?.transcripts.get('rumor') ?? '')).toMatchObject({ verdictId: id })
    await expect.poll(() => stores.outbox.size(), SOON).toBe(1)
    down = new Set()
    await expect.poll(() => stands.map(({ key }) => key), SOON).toEqual(['p1', 'p1'])
    expect(told['publication:held'].map(({ what, held }) => [what, held])).toEqual([
      ['verdict', true],
      ['verdict', false],
    ])
  })

  test('stays in the outbox until the store has taken its answer', async () => {
    const id = await answer('q-1')
    const { put } = stores.answers
    let [fails, tries] = [true, 0]
    stores.answers.put = async (given) => {
      tries++
      if (fails) throw new Error('Redis is away')
      return put(given)
    }
    const late: unknown[] = []
    start(stores.outbox, (_, event) => late.push(event.caseIds))
    await expect.poll(() => tries, SOON).toBeGreaterThan(1)
    expect([await stores.outbox.size(), late[0]]).toEqual([1, [id]])
    fails = false
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
    expect((await stores.answers.read('acme', 'q-1'))?.verdicts.size).toBe(1)
  })
})

describe('sinks', () => {
  const SINKS: VerdictSink[] = [
    { topic: 'flags', map: { post: '$.subjectId', of: { object: { label: '$.label' } } }, key: 'k-{$.subjectId}' },
    {
      topic: 'harm',
      when: { field: '$.label', equals: 'hateful' },
      map: { post: '$.subjectId', label: '$.label' },
    },
  ]
  const went = (topic: string) => on(topic).map(({ key, value }) => [key, JSON.parse(String(value))])

  test('get each verdict in their own shape, those that they mean', async () => {
    await decide('p1', {}, { label: 'hateful' })
    await decide('p2', {}, { label: 'benign' })
    await answer('q-1')
    start(stores.outbox, undefined, SINKS)
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
    expect(went('flags')).toEqual([
      ['k-p1', { post: 'p1', of: { label: 'hateful' } }],
      ['k-p2', { post: 'p2', of: { label: 'benign' } }],
    ])
    expect(went('harm')).toEqual([['p1', { post: 'p1', label: 'hateful' }]])
    expect(on('verdicts')).toHaveLength(2)
  })

  test('get what follows a verdict that they meant, its retraction too, and nothing else that they do not mean', async () => {
    const later = (id: string, change: object) => decide(id, {}, { ...WHOLE, supersedes: `${id}~r1`, ...change })
    start(stores.outbox, undefined, SINKS)
    for (const [id, label] of [
      ['p1', 'hateful'],
      ['p2', 'benign'],
      ['p3', 'hateful'],
    ] as const)
      await decide(id, {}, { ...WHOLE, label })
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
    await later('p1', { label: 'benign' })
    await later('p2', { label: 'benign' })
    await later('p3', { label: null, decidedBy: 'deleted' })
    await later('p4', { label: null, decidedBy: 'deleted' })
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
    expect(went('harm')).toEqual([
      ['p1', { post: 'p1', label: 'hateful' }],
      ['p3', { post: 'p3', label: 'hateful' }],
      ['p1', { post: 'p1', label: 'benign' }],
      ['p3', { post: 'p3' }],
    ])
  })

  test('that take nothing are waited for apart: webhooks, other verdicts and other sinks have theirs', async () => {
    down = new Set(['flags'])
    const ids = Array.from({ length: 70 }, (_, nth) => `p${nth}`)
    for (const id of ids) await decide(id, {}, { ...WHOLE, label: 'hateful' })
    start(stores.outbox, undefined, SINKS)
    await expect.poll(() => [on('verdicts').length, on('harm').length, hooked.length], SOON).toEqual([70, 70, 70])
    await expect
      .poll(() => told['publication:held'], SOON)
      .toMatchObject([{ what: 'sink', why: 'flags: This server does not host flags' }])
    expect(await stores.outbox.size()).toBe(70)
    down = new Set()
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
    expect([on('flags'), on('verdicts'), on('harm')].map((records) => records.length)).toEqual([70, 70, 70])
    expect([told['publication:held'].at(-1)?.held, closed, letters()]).toEqual([false, [], []])
  })

  test('that take nothing for longer get letters in place of records', async () => {
    down = new Set(['flags'])
    await decide('p1')
    let ahead = 0
    start(stores.outbox, undefined, SINKS, () => Date.now() + ahead)
    await expect.poll(() => told['publication:held'].length, SOON).toBe(1)
    expect(letters()).toEqual([])
    ahead = 31_000
    await expect.poll(() => letters().map(({ topic, reason }) => `${topic} ${reason}`), SOON).toEqual(['flags refused'])
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
  })

  test('that refuse a record leave the gate open: it alone is a letter', async () => {
    refusing = { flags: 'policy', harm: 'rights' }
    for (const id of ['p1', 'p2', 'p3']) await decide(id, {}, id === 'p2' ? { label: 'hateful' } : { language: 'de' })
    start(stores.outbox, undefined, [
      { topic: 'flags', map: { post: '$.subjectId' }, key: '$.language' },
      { topic: 'harm', when: { field: '$.label', equals: 'hateful' }, map: { post: '$.subjectId' } },
    ])
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
    expect(
      letters()
        .map(({ topic, reason }) => `${topic} ${reason}`)
        .sort(),
    ).toEqual(['flags refused', 'harm refused'])
    expect([on('verdicts').length, on('flags').length, on('harm').length, closed]).toEqual([3, 2, 0, []])
  })

  test('whose record can’t be made get none: a letter has the verdict, the same at each try', async () => {
    const at = new Date(T0).toISOString()
    await decide('p1', {}, { label: ['a', 'b'], timing: { decidedAt: at } })
    start(stores.outbox, undefined, [{ topic: 'flags', map: { label: '{$.label}' } }])
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
    const [letter] = letters()
    expect(letter).toMatchObject({ topic: 'flags', partition: -1, reason: 'unmapped', detail: 'label: is a list', at })
    expect(JSON.parse(Buffer.from(letter?.raw ?? '', 'base64').toString())).toMatchObject({ subjectId: 'p1' })
    expect([on('flags'), on('verdicts').length]).toEqual([[], 1])
    expect(told['message:dead']).toMatchObject([{ topic: 'flags', reason: 'unmapped', detail: 'label: is a list' }])
  })

  test('that refuse a record as too large get none, and the verdict is published', async () => {
    limits.flags = 20
    await decide('p1')
    start(stores.outbox, undefined, SINKS)
    await expect.poll(() => letters().map(({ topic, reason }) => `${topic} ${reason}`), SOON).toEqual(['flags refused'])
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
    expect(new Set(on('verdicts').map(({ value }) => value)).size).toBe(1)
  })
})

describe('a record that the broker refuses for good', () => {
  test('stops nobody else', async () => {
    limits.transcripts = 2_000
    for (let at = 0; at < 20; at++) await decide(`p${at}`, { argument: at === 7 ? 50_000 : 10 })
    start()
    await expect.poll(() => on('verdicts').length, SOON).toBe(20)
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
    expect(told['publication:held']).toEqual([])
  })

  test('is shortened where it is a transcript, as far as it must be, and says so', async () => {
    limits.transcripts = 30_000
    const id = await decide('p1', { argument: 50_000 })
    start()
    await expect.poll(() => on('transcripts').length, SOON).toBe(1)
    const [sent] = on('transcripts').map(({ value }) => transcript.parse(JSON.parse(String(value))))
    expect(sent?.verdictId).toBe(id)
    expect(sent?.cut).toHaveLength(1)
    expect(JSON.stringify(sent?.subject).length).toBeGreaterThan(6_000)
    await expect.poll(() => isFree('p1'), SOON).toBe(true)
  })

  test('is put among the dead letters where it is a verdict, and its number counts as used', async () => {
    limits.verdicts = 1_000
    await decide('p1', { reason: 5_000 })
    await decide('p2')
    start()
    await expect.poll(() => on('verdicts').map(({ key }) => key), SOON).toEqual(['p2'])
    await expect.poll(() => isFree('p1'), SOON).toBe(true)
    await expect
      .poll(() => letters(), SOON)
      .toMatchObject([{ topic: 'verdicts', key: 'p1', reason: 'refused', truncated: false }])
    const [{ raw } = { raw: '' }] = letters()
    expect(JSON.parse(Buffer.from(raw, 'base64').toString())).toMatchObject({ id: 'rumor~p1~r1' })
    expect(told['message:dead']).toMatchObject([{ reason: 'refused', topic: 'verdicts', caseId: 'rumor~p1~r1' }])
  })

  test('loses of a dead letter only as many of its bytes as it must', async () => {
    limits.dead = 3_000
    await stores.outbox.putDeadLetters([
      { key: 'big', letter: letterOf('QUJD'.repeat(5_000)) },
      { key: 'small', letter: letterOf('QUJD') },
    ])
    start()
    await expect
      .poll(
        () =>
          on('dead')
            .map(({ key }) => key)
            .sort(),
        SOON,
      )
      .toEqual(['big', 'small'])
    const big = letters().find(({ truncated }) => truncated)
    expect(big).toMatchObject({ rawBytes: 15_000, offset: '1' })
    expect(Buffer.from(big?.raw ?? '', 'base64').toString()).toMatch(/^(ABC){100,}$/)
  })
})

describe('an entry of another version', () => {
  test('goes out as it is where its subject can be told', async () => {
    await decide('p1', {}, { schema: 7, news: [1] })
    start()
    await expect
      .poll(() => on('verdicts').map(({ value }) => String(value)), SOON)
      .toEqual([expect.stringContaining('"schema":7')])
    await expect.poll(() => isFree('p1'), SOON).toBe(true)
  })

  test('does not stop the others where it is refused and nobody here knows how to shorten it', async () => {
    limits.transcripts = 1_000
    limits.dead = 3_000
    let given: OutboxEntry[] = [
      {
        id: '1-1',
        kind: 'verdict',
        caseId: 'c',
        verdict: '{"subjectId":"p1"}',
        transcript: 'packed in a way that is no JSON '.repeat(100),
      },
      { id: '1-2', kind: 'dead-letter', key: 'strange', letter: 'packed as well '.repeat(500) },
    ]
    const outbox: Outbox = {
      ...stores.outbox,
      async next(...how) {
        const entries = given.length > 0 ? given : await stores.outbox.next(...how)
        given = []
        return entries
      },
    }
    await decide('p2')
    start(outbox)
    await expect.poll(() => on('verdicts').map(({ key }) => key), SOON).toEqual(['p1', 'p2'])
    await expect
      .poll(() => letters().map(({ topic, key, reason }) => `${topic} ${key} ${reason}`), SOON)
      .toEqual(expect.arrayContaining(['transcripts p1 refused', 'dead strange refused']))
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
  })

  test.each([
    ['a verdict that is none', { kind: 'verdict', caseId: 'c', verdict: 'no JSON', transcript: '{}' }],
    ['a verdict of nobody', { kind: 'verdict', caseId: 'c', verdict: '{"subjectId":1}', transcript: '{}' }],
    ['a kind that nobody knows', { kind: 'unknown', json: '{"kind":"retraction"}' }],
  ] as const)('is put among the dead letters where it is %s, and what comes behind it goes out', async (_, strange) => {
    const done: string[] = []
    let given: OutboxEntry[] = [{ id: '1-1', ...strange }]
    const outbox: Outbox = {
      ...stores.outbox,
      async next(...how) {
        const entries = given.length > 0 ? given : await stores.outbox.next(...how)
        given = []
        return entries
      },
      async done(entries) {
        done.push(...entries.map(({ id }) => id))
        await stores.outbox.done(entries)
      },
    }
    await decide('p2')
    start(outbox)
    await expect.poll(() => on('verdicts').map(({ key }) => key), SOON).toEqual(['p2'])
    await expect.poll(() => letters().map(({ reason }) => reason), SOON).toEqual(['refused'])
    expect(done).toContain('1-1')
  })
})

test('what stands is not sent again where the store does not take note of it, and no topic is to blame', async () => {
  let refusals = 3
  const outbox: Outbox = {
    ...stores.outbox,
    async done(entries) {
      if (refusals-- > 0) throw new Error('READONLY')
      await stores.outbox.done(entries)
    },
  }
  await decide('p1')
  start(outbox)
  await expect.poll(() => isFree('p1'), SOON).toBe(true)
  expect(stands).toHaveLength(2)
  expect(told['publication:held']).toEqual([])
})

test('a stop comes to its end, reports what failed, and sends what is in hand, where the store takes and gives nothing more', async () => {
  const troubles: string[] = []
  let broken = false
  const fails = async <Result>(step: () => Promise<Result>): Promise<Result> => {
    if (broken) throw new Error('READONLY')
    return step()
  }
  const outbox: Outbox = {
    ...stores.outbox,
    next: (...how) => fails(() => stores.outbox.next(...how)),
    done: (entries) => fails(() => stores.outbox.done(entries)),
    leave: (name) => fails(() => stores.outbox.leave(name)),
  }
  down.add('verdicts')
  await decide('p1')
  start(outbox, (error) => troubles.push(String(error)))
  await expect.poll(() => told['publication:held'].length, SOON).toBe(1)
  broken = true
  down.clear()
  await own?.close()
  expect(on('verdicts').map(({ key }) => key)).toEqual(['p1'])
  expect(troubles.filter((error) => error === 'Error: READONLY').length).toBeGreaterThanOrEqual(3)
  own = undefined
})

test('thousands of short dead letters take few requests, and long ones no more than usual', async () => {
  const askedAbout = async (count: number, raw: string) => {
    stores = memoryStores(Date.now)
    const before = requests
    down.add('dead')
    await stores.outbox.putDeadLetters(Array.from({ length: count }, () => ({ key: 'k', letter: letterOf(raw) })))
    start()
    const seen = looks
    await expect.poll(() => looks - seen, SOON).toBeGreaterThan(count / 64 + 2)
    const tried = requests - before
    down.clear()
    stands = []
    await expect.poll(() => on('dead').length, SOON).toBe(count)
    await own?.close()
    return requests - before - tried
  }
  expect(await askedAbout(2_000, 'QUJD')).toBeLessThanOrEqual(3)
  expect(await askedAbout(256, 'QUJD'.repeat(2_000))).toBe(4)
})

describe('a topic that takes nothing', () => {
  test('has no more letters wait in memory than sixteen million characters, and what was in hand; verdicts go on', async () => {
    const raw = 'QUJD'.repeat(80_000)
    let taken = 0
    const outbox: Outbox = {
      ...stores.outbox,
      async next(...how) {
        const entries = await stores.outbox.next(...how)
        taken += entries.length
        return entries
      },
    }
    down.add('dead')
    await stores.outbox.putDeadLetters(Array.from({ length: 300 }, () => ({ key: 'k', letter: letterOf(raw) })))
    start(outbox)
    await expect.poll(() => looks, SOON).toBeGreaterThan(5)
    expect(taken).toBe(64)
    await decide('p1')
    await expect.poll(() => on('verdicts').map(({ key }) => key), SOON).toEqual(['p1'])
    down.clear()
    await expect.poll(() => on('dead').length, SOON).toBe(300)
  })

  test('is waited for, loudly and by its own records alone', async () => {
    down.add('verdicts')
    for (const id of ['p1', 'p2']) await decide(id)
    await stores.outbox.putDeadLetters([{ key: 'k', letter: letterOf('QUJD') }])
    start()
    await expect.poll(() => letters().length, SOON).toBe(1)
    await expect.poll(() => told['publication:held'].length, SOON).toBe(1)
    expect(told['publication:held'][0]).toMatchObject({
      what: 'verdict',
      held: true,
      why: expect.stringContaining('verdicts'),
    })
    // After the first try, what stands on the transcripts' topic is not sent again.
    await expect.poll(() => requests, SOON).toBeGreaterThan(5)
    const written = on('transcripts').length
    expect(written).toBeLessThanOrEqual(4)
    expect(letters()).toHaveLength(1)
    down.clear()
    await expect.poll(() => on('verdicts').map(({ key }) => key), SOON).toEqual(['p1', 'p2'])
    expect(on('transcripts')).toHaveLength(written)
    await expect.poll(() => told['publication:held'].at(-1)?.held, SOON).toBe(false)
    expect(told['message:dead']).toEqual([])
  })

  test('gets nothing, when it takes records again, of what was deleted while they waited for it', async () => {
    down = new Set(['verdicts', 'transcripts'])
    for (const id of ['p1', 'p2']) await decide(id)
    start()
    await expect.poll(() => told['publication:held'].length, SOON).toBe(1)
    await stores.threads.deletePost(thread('p1'), retractionOf(thread('p1')))
    await decide('p4')
    await sleep(1_100)
    down.clear()
    await expect
      .poll(
        () =>
          on('verdicts')
            .map(({ key }) => key)
            .toSorted(),
        SOON,
      )
      .toEqual(['p1', 'p2', 'p4'])
    const { verdict, transcript: its } = retractionOf(thread('p1'))('rumor', 2)
    expect(stands.flatMap(({ key, value }) => (key === 'p1' ? [value] : [])).toSorted()).toEqual(
      [verdict, its].toSorted(),
    )
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
  })

  test('gets nothing of a withheld case that it may have already, and all others, until it is erased', async () => {
    const withheld = new Set<string>()
    const outbox: Outbox = {
      ...stores.outbox,
      async stillToSend(entries, tried) {
        const { sendable } = await stores.outbox.stillToSend(entries, tried)
        const isWithheld = (entry: OutboxEntry) => 'caseId' in entry && withheld.has(entry.caseId)
        return { sendable: sendable.filter((one) => !isWithheld(one)), withheld: sendable.filter(isWithheld) }
      },
    }
    down = new Set(['verdicts', 'transcripts'])
    const [first] = [await decide('p1'), await decide('p2')]
    start(outbox)
    await expect.poll(() => told['publication:held'].length, SOON).toBe(1)
    withheld.add(first)
    await sleep(1_100)
    down.clear()
    await expect.poll(() => on('verdicts').map(({ key }) => key), SOON).toEqual(['p2'])
    await decide('p3')
    await expect.poll(() => on('verdicts').map(({ key }) => key), SOON).toEqual(['p2', 'p3'])
    withheld.clear()
    await expect.poll(() => on('verdicts').map(({ key }) => key), SOON).toEqual(['p2', 'p3', 'p1'])
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
  })

  test('is told of with the cases that wait for it: how many, and the first five', async () => {
    down.add('verdicts')
    for (let at = 0; at < 7; at++) await decide(`p${at}`)
    const troubles: Events['error'][] = []
    start(undefined, (_, event) => troubles.push(event))
    const late = { cases: 7, caseIds: [0, 1, 2, 3, 4].map((at) => `rumor~p${at}~r1`) }
    await expect.poll(() => troubles, SOON).toContainEqual(expect.objectContaining(late))
    await expect.poll(() => told['publication:held'].length, SOON).toBe(1)
    expect(told['publication:held'][0]?.caseIds).toContain('rumor~p0~r1')
  })

  test('makes no dead letter where it refuses even the shortest dead letter', async () => {
    limits.dead = 50
    await stores.outbox.putDeadLetters([{ key: 'k', letter: letterOf('QUJD') }])
    await decide('p1')
    start()
    await expect.poll(() => told['publication:held'][0]?.what, SOON).toBe('dead-letter')
    await expect.poll(() => on('verdicts').length, SOON).toBe(1)
    expect(await stores.outbox.size()).toBe(1)
    limits = {}
    await expect.poll(() => letters().length, SOON).toBe(1)
  })
})

describe('what a broker refuses until a setting is changed', () => {
  const rights = new BrokerRefused('rights', ['verdicts'], 'give Write on verdicts')
  let tries: string[][]
  let gate: string[]
  function startRefused(broker: { refuses: () => boolean; tryTopic?: SendingContext['tryTopic'] }): void {
    const { refuses, tryTopic = async () => null } = broker
    own = publisher({
      outbox: stores.outbox,
      writer: {
        async send(records) {
          tries.push(records.map(({ topic, key }) => `${topic} ${key}`))
          if (refuses() && records.some(({ topic }) => topic === 'verdicts')) throw rights
          return writer.send(records)
        },
        close: async () => {},
      },
      gate: {
        closed: null,
        close: (what, { setting }) => void gate.push(`${what} ${setting}`),
        open: (what) => void gate.push(`${what} open`),
      },
      tryTopic,
      answers: stores.answers,
      clock: Date.now,
      report: (name, event) => {
        if (name === 'message:dead') told['message:dead'].push(event as Events['message:dead'])
      },
      name: 'one',
      topics,
    })
    own.start()
  }
  beforeEach(() => {
    tries = []
    gate = []
  })

  test('is tried with one entry, and all go on once one is taken', async () => {
    let refuses = true
    for (const id of ['p1', 'p2', 'p3']) await decide(id)
    startRefused({ refuses: () => refuses })
    await expect.poll(() => gate.length, SOON).toBeGreaterThan(1)
    expect(new Set(gate)).toEqual(new Set(['verdict rights']))
    // All of the first request, and then of one subject.
    expect(new Set(tries.slice(-2).flat())).toEqual(new Set(['verdicts p1']))
    refuses = false
    await expect.poll(() => on('verdicts').map(({ key }) => key), SOON).toEqual(['p1', 'p2', 'p3'])
    expect(gate.at(-1)).toBe('verdict open')
    expect(told['message:dead']).toEqual([])
    await expect.poll(() => stores.outbox.size(), SOON).toBe(0)
  })

  test('stays closed where what it has tried goes to another topic', async () => {
    await decide('p1')
    await stores.outbox.putDeadLetters([{ key: 'k', letter: letterOf('QUJD') }])
    startRefused({ refuses: () => true })
    await expect.poll(() => letters().length, SOON).toBe(1)
    await expect.poll(() => gate.length, SOON).toBeGreaterThan(0)
    expect(gate).not.toContain('verdict open')
    expect(gate).not.toContain('dead-letter open')
  })

  test('opens by a trial where nothing of it is left', async () => {
    let tried = 0
    await decide('p1')
    const trial = async () => (++tried < 2 ? rights : null)
    startRefused({ refuses: () => true, tryTopic: trial })
    await expect.poll(() => gate.length, SOON).toBe(1)
    stores.outbox.stillToSend = async () => ({ sendable: [], withheld: [] })
    await expect.poll(() => gate.at(-1), { timeout: 15_000 }).toBe('verdict open')
    expect(tried).toBe(2)
    expect(on('verdicts')).toEqual([])
  })

  test('is even a small record, which is too large: no verdict becomes a dead letter', async () => {
    limits.verdicts = 20
    await decide('p1')
    const raiseIt = new BrokerRefused('size', ['verdicts'], 'raise it')
    const trial = async (topic: string) => ((limits[topic] ?? 1e6) < 1_024 ? raiseIt : null)
    startRefused({ refuses: () => false, tryTopic: trial })
    await expect.poll(() => gate[0], SOON).toBe('verdict size')
    limits = {}
    await expect.poll(() => on('verdicts').length, SOON).toBe(1)
    expect(gate.at(-1)).toBe('verdict open')
    expect(told['message:dead']).toEqual([])
  })
})

test('says that its loop goes on, and says nothing while the outbox can not be read', async () => {
  let broken = false
  const next: Outbox['next'] = async (...args) => {
    if (broken) throw new Error('no Redis')
    return stores.outbox.next(...args)
  }
  let failures = 0
  start({ ...stores.outbox, next }, () => failures++)
  await expect.poll(() => looks, SOON).toBeGreaterThan(2)
  broken = true
  await expect.poll(() => failures, SOON).toBeGreaterThan(1)
  const before = looks
  await expect.poll(() => failures, SOON).toBeGreaterThan(2)
  expect(looks).toBe(before)
})

describe('a record’s headers', () => {
  test('say by what consumers filter, on verdict and transcript alike', async () => {
    await decide('p1', {}, WHOLE)
    start()
    const headers = {
      'gavel-schema': '1',
      'gavel-protocol': 'hate',
      'gavel-revision': '3',
      'gavel-final': 'true',
      'gavel-tenant': 'north',
      'gavel-decided-by': 'none',
    }
    await expect.poll(() => stands.length, SOON).toBe(2)
    for (const record of stands) expect(record.headers).toEqual(headers)
  })

  test('of a dead letter say why, and from which topic', async () => {
    await stores.outbox.putDeadLetters([{ key: 'k', letter: letterOf('QUJD') }])
    await stores.outbox.putDeadLetters([{ key: 'k', letter: '{"schema":2}' }])
    start()
    await expect.poll(() => stands.length, SOON).toBe(2)
    expect(stands.map(({ headers }) => headers)).toEqual([
      { 'gavel-schema': '1', 'gavel-reason': 'invalid', 'gavel-topic': 'posts' },
      {},
    ])
  })

  test('are none of a verdict that this version reads only in part', async () => {
    await decide('p1')
    start()
    await expect.poll(() => stands.length, SOON).toBe(2)
    for (const record of stands) expect(record.headers).toEqual({})
  })
})
