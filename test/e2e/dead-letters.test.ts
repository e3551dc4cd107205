import { expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { type DeadLetter, deadLetter } from '../../src/contracts/facts/messages.ts'
import { samplesOf } from '../../src/operations/metrics/samples.ts'
import { readTopic, type TopicRecord } from '../../src/stream/bounded-reader.ts'
import { commandHere } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  settingsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import { sendPosts } from '../support/sent-posts.ts'

let environment: Record<string, string>
let service: Service
const it = onServers({ latencyMs: 10 })
it.beforeAll(async ({ stack, startForFile }) => {
  environment = environmentOn(stack, {
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_INTAKE_MAX_AHEAD: '1s',
    GAVEL_MESSAGES_TEXT_FIELDS: 'title',
  })
  service = await startForFile(environment)
})

const gavel = (...args: string[]) => commandHere(['dead-letters', ...args], environment)

interface Line {
  readonly place?: string
  readonly reason?: string
  readonly state?: string
  readonly summary?: Record<string, Record<string, number>>
}

/** Replays, and gives what it says of each letter and at the end. */
async function replay(...args: string[]): Promise<{ lines: Line[]; summary: Line['summary'] }> {
  const { code, out, said } = await gavel('replay', '--json', ...args)
  expect(code, said).toBe(0)
  const lines = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)
  return { lines, summary: lines.at(-1)?.summary }
}

const sentBy = ({ lines }: { lines: Line[] }) => lines.filter(({ state }) => state === 'sent')

async function postsOf(): Promise<TopicRecord[]> {
  const records: TopicRecord[] = []
  const reading = { follow: false, signal: new AbortController().signal }
  await readTopic(clientOf(environment), topicsOf(settingsOf(environment)).posts, reading, (one) => records.push(one))
  return records
}

async function letters(atLeast: number): Promise<DeadLetter[]> {
  let found: DeadLetter[] = []
  await eventually(
    async () => {
      found = (await recordsOf(environment, 'deadLetters')).map((record) => deadLetter.parse(JSON.parse(record)))
      return found.length >= atLeast
    },
    20_000,
    () => `${found.length} of ${atLeast} letters; the service says\n${service.log.slice(-5).join('\n')}`,
  )
  return found
}

const post = (id: string, createdAt: number, text: unknown = 'The bridge has fallen.') =>
  JSON.stringify({ id, text, createdAt: new Date(createdAt).toISOString() })

it('replays what is still bad once each time, however often it came back, and what went well never again', {
  timeout: 120_000,
}, async () => {
  const future = Date.now() + 6_000
  // Its words stand beside the text alone (messages.textFields).
  const early = JSON.stringify({ ...JSON.parse(post('early', future, null)), title: 'The bridge has fallen.' })
  await sendPosts(environment, [
    { key: 'bad-1', value: post('bad-1', 0, [7]), headers: { trace: 't-1' } },
    { key: null, value: 'no JSON' },
    { key: 'bad-2', value: 'nor this' },
    { key: 'early', value: early },
  ])
  const first = await letters(4)
  expect(first.map(({ reason }) => reason).sort()).toEqual(['future', 'invalid', 'not-json', 'not-json'])

  const dry = await replay('--dry-run')
  expect(dry.lines.filter(({ state }) => state === 'would be sent')).toHaveLength(4)
  expect(await postsOf()).toHaveLength(4)

  // Once the time of the early one has come it goes well; the others come back.
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, future - Date.now())))
  expect(sentBy(await replay())).toHaveLength(4)
  expect(await letters(7)).toHaveLength(7)
  await eventually(async () => (await verdictsOf(environment)).some(({ subjectId }) => subjectId === 'early'), 20_000)

  expect(sentBy(await replay())).toHaveLength(3)
  expect(await letters(10)).toHaveLength(10)
  const third = await replay()
  expect(sentBy(third)).toHaveLength(3)
  expect(third.summary).toEqual({
    sent: { invalid: 1, 'not-json': 2 },
    'came-back': { invalid: 2, 'not-json': 4 },
    replayed: { future: 1 },
  })
  const last = await letters(13)
  expect(last).toHaveLength(13)

  // A copy is the original, with the marks of where it came from.
  const copies = (await postsOf()).filter(({ message }) => message.headers?.['gavel-replays'] !== undefined)
  expect(copies).toHaveLength(10)
  const [of = { partition: -1, offset: '' }] = first.filter(({ key }) => key === 'bad-1')
  const newest = copies.findLast(({ message }) => String(message.key) === 'bad-1')?.message
  expect(String(newest?.value)).toBe(post('bad-1', 0, [7]))
  expect(
    Object.fromEntries(Object.entries(newest?.headers ?? {}).map(([name, value]) => [name, String(value)])),
  ).toEqual({
    'gavel-replay-of': expect.stringMatching(/^\d+@\d+$/),
    'gavel-replay-first': `${of.partition}@${of.offset}`,
    'gavel-replays': '3',
    trace: 't-1',
  })
  expect(copies.filter(({ message }) => message.key === null)).toHaveLength(3)
  const [again] = copies.filter(({ message }) => String(message.key) === 'early')
  expect(String(again?.message.value)).toBe(early)
  expect((await gavel('list')).out).toContain(', replayed 3 ×)')

  // Only what is meant, and again only what is asked for.
  const invalid = await replay('--reason', 'invalid', '--dry-run')
  expect(invalid.summary).toEqual({
    sent: { invalid: 1 },
    'came-back': { invalid: 3 },
    'not-chosen': expect.anything(),
  })
  const [one] = last.filter(({ key }) => key === 'bad-2')
  const place = `${one?.topic}/${one?.partition}@${one?.offset}`
  expect((await replay('--id', place, '--again', '--dry-run')).lines.slice(0, -1)).toEqual([
    { place, reason: 'not-json', state: 'came-back' },
  ])
  expect((await replay('--id', 'early', '--again', '--dry-run')).summary?.sent).toEqual({ future: 1 })
  expect((await replay('--topic', 'comments', '--dry-run')).summary).toEqual({ 'not-chosen': expect.anything() })
  expect((await replay('--until', '2025-01-01', '--dry-run')).summary).toEqual({ 'not-chosen': expect.anything() })
  const words = await gavel('replay', '--reason', 'invalid,future', '--dry-run')
  expect(words.said).toContain('1 message would be sent: invalid 1.')
  expect(words.said).toContain('1 skipped, already replayed; use --again to send them again: future 1.')
  expect((await gavel('replay', '--reason', 'bad')).code).toBe(2)
})

it('sends neither a comment nor a reply again whose post has been deleted, by its own tenant', async () => {
  const under = (postId: string) => JSON.stringify({ id: 'one', postId, text: 'So it says.', createdAt: 'never' })
  for (const topic of ['comments', 'counterspeech'] as const)
    await sendPosts(
      environment,
      [
        { key: 'gone', value: under('gone') },
        { key: 'stays', value: under('stays') },
      ],
      topic,
    )
  const gone = { id: 'gone', deleted: true, createdAt: '2024-05-01T12:00:00Z' }
  await sendPosts(environment, [
    { key: 'gone', value: JSON.stringify(gone) },
    { key: 'stays', value: JSON.stringify({ ...gone, id: 'stays', tenant: 'another' }) },
  ])
  await letters(17)
  const { lines, summary } = await replay('--topic', 'comments,counterspeech', '--dry-run')
  expect(
    lines
      .slice(0, -1)
      .map(({ place = '', state }) => `${/comments|counterspeech/.exec(place)} ${state}`)
      .sort(),
  ).toEqual(['comments deleted', 'comments would be sent', 'counterspeech deleted', 'counterspeech would be sent'])
  expect(summary).toMatchObject({ deleted: { invalid: 2 }, sent: { invalid: 2 } })
})

it('puts a message of 6,000 headers aside once, judges what lies behind it, and sends it again with fewer', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  // A service and topics of its own: what an older one could not get past would be in the way of others.
  await service.kill('SIGTERM')
  environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '1s' })
  service = await start(environment)
  const partition = 0
  const headers = Object.fromEntries(Array.from({ length: 6_000 }, (_, nth) => [`h${nth}`, 'v']))
  const behind = Array.from({ length: 8 }, (_, nth) => `plain-${nth}`)
  await sendPosts(environment, [{ key: 'heavy', value: post('heavy', 0), headers, partition }])
  for (const id of behind) await sendPosts(environment, [{ key: id, value: post(id, 0), partition }])

  const judged = async () => new Set((await verdictsOf(environment)).map(({ subjectId }) => subjectId))
  const said = () => `the service says\n${service.log.slice(-5).join('\n')}`
  await eventually(async () => (await judged()).size >= behind.length, 60_000, said)
  expect([...(await judged())].sort()).toEqual(behind)
  const [letter, ...more] = await letters(1)
  expect(more).toEqual([])
  expect(letter).toMatchObject({
    key: 'heavy',
    partition,
    offset: '0',
    reason: 'too-large',
    detail: '6000 headers exceed the limit of 1000; the first 32 are kept',
    raw: Buffer.from(post('heavy', 0)).toString('base64'),
  })
  expect(letter?.headers).toEqual(Object.fromEntries(Object.entries(headers).slice(0, 32)))
  const metrics = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
  const outcomes = samplesOf(metrics, 'gavel_messages_total').filter(({ value }) => value > 0)
  expect(Object.fromEntries(outcomes.map(({ labels, value }) => [labels.outcome, value]))).toEqual({
    judged: behind.length,
    'dead-letter': 1,
  })
  const admin = clientOf(environment).admin()
  await admin.connect()
  const topics = [topicsOf(settingsOf(environment)).posts]
  const committed = async () =>
    (await admin.fetchOffsets({ groupId: environment.GAVEL_KAFKA_GROUP ?? '', topics }))[0]?.partitions.find(
      (one) => one.partition === partition,
    )?.offset
  await eventually(async () => (await committed()) === String(1 + behind.length), 10_000).finally(() =>
    admin.disconnect(),
  )

  expect(sentBy(await replay())).toEqual([expect.objectContaining({ reason: 'too-large' })])
  await eventually(async () => (await judged()).has('heavy'), 20_000, said)
})
