import { expect, test } from 'vitest'
import { sourcesConsumer } from '../../consumers/sources.ts'
import type { HandleBatch, IncomingMessage } from '../../src/contracts/ports/topic.ts'
import { topicMappings } from '../../src/mapping/mapping.ts'
import { T0 } from '../contracts/samples.ts'

const TOPICS = {
  posts: 'posts',
  comments: 'comments',
  counterspeech: 'replies',
  reach: 'reach',
  deadLetters: 'letters',
}
const ORDINARY = '{"id": $.id, "text": $.text, "createdAt": $time}'
/** A minute in one step, which nothing but the end of its process can stop. */
const HELD = '$count($distinct($distinct($distinct([1..100000]))))'

// Two seconds of a processor are many where others want it.
test('records that a mapping never ends with hold up no other partition and no other topic', {
  timeout: 120_000,
}, async () => {
  const mappings = topicMappings([
    { topic: 'hostile', kind: 'post', jsonata: `$.bad ? ${HELD} : ${ORDINARY}` },
    { topic: 'jsonata', kind: 'post', jsonata: ORDINARY },
    { topic: 'paths', kind: 'post', map: { id: '$.id', text: '$.text', createdAt: '$time' } },
  ])
  const sent: string[] = []
  let handle: HandleBatch = async () => {}
  const reader = {
    async start(given: HandleBatch) {
      handle = given
    },
    positions: async () => [],
    setPaused() {},
    downSince: null,
    async close() {},
  }
  const writer = {
    async send(records: readonly { readonly topic: string; readonly key: unknown }[]) {
      sent.push(...records.map(({ topic, key }) => `${topic} ${key}`))
    },
    async close() {},
  }
  await sourcesConsumer({ mappings, topics: TOPICS, writer, report: () => {}, reader }).start()
  /** Resolves when other batches may be read, to all that goes on behind this one. */
  const read = async (topic: string, partition: number, values: readonly object[]) => {
    const messages = values.map(
      (value, nth): IncomingMessage => ({
        topic,
        partition,
        offset: String(nth),
        key: null,
        value: Buffer.from(JSON.stringify(value)),
        headers: {},
        timestamp: T0,
      }),
    )
    const working: Promise<unknown>[] = []
    await handle(
      { topic, partition, messages, next: String(values.length), atEnd: true },
      async () => {},
      (work) => void working.push(work()),
    )
    return working
  }
  const posts = (name: string) => Array.from({ length: 50 }, (_, nth) => ({ id: `${name}${nth}`, text: 'said' }))

  const held = await read('hostile', 0, [{ bad: true }, { id: 'behind', text: 'said' }])
  const others = [read('hostile', 1, posts('a')), read('jsonata', 0, posts('b')), read('paths', 0, posts('c'))]
  await Promise.all((await Promise.all(others)).flat())
  expect(sent.filter((one) => one.startsWith('posts '))).toHaveLength(150)
  expect(sent.filter((one) => one.startsWith('letters '))).toEqual([])

  // Its own record is a dead letter, and what is behind it has its turn.
  await Promise.all(held)
  expect(sent.filter((one) => one.startsWith('letters '))).toEqual(['letters hostile/0/0'])
  expect(sent.at(-1)).toBe('posts behind')
})
