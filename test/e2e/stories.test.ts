import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, expect } from 'vitest'
import { review } from '../../src/contracts/facts/decision-messages.ts'
import { reviewQueueOf } from '../../src/record/record-store.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, recordsOf, send, settingsOf, verdictsOf } from '../support/pipeline.ts'

const folder = ownFolder('stories')
let environment: Record<string, string>
let client: Redis
const it = onServers({ latencyMs: 5 })
it.beforeAll(async ({ stack }) => {
  client = new Redis(stack.settings.REDIS_URL ?? '')
  environment = environmentOn(stack, {
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_DRAIN: '3s',
    GAVEL_RECORD_PATH: join(folder, 'record.sqlite'),
    GAVEL_REVIEW_AUDIT_SHARE: '0',
  })
})
afterAll(async () => {
  client?.disconnect()
})

let files = 0
async function sendLines(lines: readonly object[]): Promise<void> {
  const file = join(folder, `${++files}.jsonl`)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}

const TEXT = 'The dam above Calvera has burst and the old town is under water'
const post = (id: string, text: string, says: string) => [
  { type: 'post', id, text, createdAt: '2025-03-01T10:00:00Z', reach: 6_000 },
  ...['eve', 'ben', 'ann'].map((author, nth) => ({
    type: 'comment',
    id: `${id}-${author}`,
    postId: id,
    author,
    text: `${says} I am ${author}.`,
    createdAt: `2025-03-01T10:0${nth + 1}:00Z`,
  })),
]
const of = async (id: string) => (await verdictsOf(environment)).filter(({ subjectId }) => subjectId === id)

it('posts in the same words whose verdicts contradict one another are one item of the queue, and leave nothing when they are deleted', {
  timeout: 120_000,
}, async ({ start }) => {
  const service = await start(environment, 'intake,judge,publish,record')
  const log = () => service.log.slice(-20).join('\n')
  await sendLines(post('told-true', TEXT, 'It is true, I saw it myself.'))
  await eventually(async () => (await of('told-true')).at(-1)?.label === 'non-rumor', 60_000, log)
  const first = (await of('told-true')).at(-1)
  await sendLines(post('told-false', `RT @eve: ${TEXT}!`, 'This is fake, it was debunked.'))
  await eventually(async () => (await of('told-false')).at(-1)?.label === 'rumor', 60_000, log)
  const second = (await of('told-false')).at(-1)
  expect(first?.story).toMatchObject({ members: 1, reach: 6_000, labels: { 'non-rumor': 1 } })
  expect(second?.story).toEqual({
    id: first?.story?.id,
    members: 2,
    reach: 12_000,
    labels: { 'non-rumor': 1, rumor: 1 },
  })
  const queue = await reviewQueueOf(settingsOf(environment))
  const waiting = async () => (await queue.list({ reason: 'story-differs' }, 10, Date.now())).items
  try {
    await eventually(async () => (await waiting()).length > 0, 10_000, log)
    expect((await waiting()).map(({ verdict }) => verdict)).toEqual([second?.id])
    const reviews = (await recordsOf(environment, 'reviews')).map((one) => review.parse(JSON.parse(one)))
    expect(reviews.filter(({ why }) => why === 'story-differs')).toHaveLength(1)
    await sendLines(
      ['told-true', 'told-false'].map((id) => ({ type: 'post', id, createdAt: '2025-03-01T11:00:00Z', deleted: true })),
    )
    await eventually(async () => (await of('told-false')).at(-1)?.decidedBy === 'deleted', 30_000, log)
    await eventually(async () => (await client.keys('*story:*')).length === 0, 10_000, log)
    await eventually(async () => (await waiting()).length === 0, 10_000, log)
  } finally {
    await queue.close()
  }
})
