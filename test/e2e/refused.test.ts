import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import kafkajs, { type Admin } from 'kafkajs'
import { afterAll, expect } from 'vitest'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import { createTopics } from '../support/create-topics.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { allFinal, environmentOn, eventually, recordsOf, send, transcriptsOf, verdictsOf } from '../support/pipeline.ts'

let admin: Admin
const it = onServers({ latencyMs: 20 })
it.beforeAll(async ({ stack }) => {
  admin = new kafkajs.Kafka({
    brokers: [stack.settings.KAFKA_BROKERS ?? ''],
    logLevel: kafkajs.logLevel.NOTHING,
  }).admin()
  await admin.connect()
})
afterAll(async () => {
  await admin?.disconnect()
})

const folder = ownFolder('refused')
let files = 0
async function sendPosts(environment: Record<string, string>, posts: readonly { id: string; text: string }[]) {
  const file = join(folder, `${++files}.jsonl`)
  const lines = posts.map((post) => JSON.stringify({ type: 'post', createdAt: '2025-03-01T10:00:00Z', ...post }))
  writeFileSync(file, `${lines.join('\n')}\n`)
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}
const post = (id: string, text = `The dam above ${id} has burst, they say.`) => ({ id, text })
const topicOf = (environment: Record<string, string>, name: string) => `${environment.GAVEL_KAFKA_TOPIC_PREFIX}${name}`
async function makeTopic(topic: string, maxBytes?: number) {
  const configEntries = maxBytes === undefined ? [] : [{ name: 'max.message.bytes', value: String(maxBytes) }]
  await createTopics(admin, [{ topic, numPartitions: 2, configEntries }])
}
it('publishes everything except refused records, which become dead letters', async ({ stack, start }) => {
  const environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_KAFKA_COMPRESSION: 'none' })
  await makeTopic(topicOf(environment, 'verdicts'), 1_900)
  await makeTopic(topicOf(environment, 'transcripts'), 12_000)
  await start(environment)
  const long = 'l'.repeat(500)
  const text = 'They say that the dam has burst again. '.repeat(200)
  await sendPosts(environment, [post('a'), post(long), post('b'), post('wordy', text), post('c')])
  await allFinal(environment, 4, 30_000)
  await eventually(
    async () => (await recordsOf(environment, 'deadLetters')).length > 0,
    10_000,
    () => 'there is no dead letter',
  )
  // What stood in one request with the refused may stand twice, the same bytes.
  const records = await recordsOf(environment, 'verdicts')
  const subjects = [...new Set(records)].map((json) => (JSON.parse(json) as { subjectId: string }).subjectId)
  expect(subjects.sort()).toEqual(['a', 'b', 'c', 'wordy'])
  const letters = (await recordsOf(environment, 'deadLetters')).map((json) => deadLetter.parse(JSON.parse(json)))
  expect(letters).toMatchObject([{ reason: 'refused', topic: topicOf(environment, 'verdicts'), key: long }])
  const cut = new Map((await transcriptsOf(environment)).map((one) => [one.verdictId, one.cut.length]))
  expect([cut.get('rumor~a~r1'), cut.get('rumor~wordy~r1')]).toEqual([0, 1])
})

it('waits for a topic that is not there, and loses nothing of it', { timeout: 120_000 }, async ({ stack, start }) => {
  const environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '1s' })
  const service = await start(environment)
  await sendPosts(environment, [post('before')])
  await allFinal(environment, 1, 30_000)
  stack.understudy?.behave({ latencyMs: 3_000 })
  await sendPosts(environment, [post('meanwhile')])
  await admin.deleteTopics({ topics: [topicOf(environment, 'verdicts')] })
  await eventually(
    async () => service.log.some((line) => line.includes('publication:held')),
    30_000,
    () => service.log.slice(-10).join('\n'),
  )
  expect(await recordsOf(environment, 'deadLetters')).toEqual([])
  await makeTopic(topicOf(environment, 'verdicts'))
  await allFinal(environment, 1, 30_000)
  expect((await verdictsOf(environment)).map(({ subjectId }) => subjectId)).toEqual(['meanwhile'])
})
