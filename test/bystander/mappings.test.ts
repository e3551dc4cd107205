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
/** A minute in one step, which nothing but the end of its thread can stop. */
const HELD = '$count($distinct($distinct($distinct([1..100000]))))'

test('records that a mapping never ends with hold up no other partition and no other topic', async () => {
  const mappings = topicMappings([
    { topic: 'hostile', kind: 'post', jsonata: `$.bad ? ${HELD} : ${ORDINARY}` },
    { topic: 'jsonata', kind: 'post', jsonata: ORDINARY },
    { topic: 'paths', kind: 'post', map: { id: '$.id', text: '$.text', createdAt: '$time' } },
  ])
  const sent: string[] = []
  let handle: HandleBatch = async () => {}
  let beats = 0
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
  const read = (topic: string, partition: number, values: readonly object[]) => {
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
    return handle(
      { topic, partition, messages, next: String(values.length), atEnd: true },
      async () => void beats++,
      () => {},
    )
  }
  const posts = (name: string) => Array.from({ length: 50 }, (_, nth) => ({ id: `${name}${nth}`, text: 'said' }))

  // Whoever writes to one partition holds it up from now on; the first record may cost the others of its topic two seconds.
  await read('hostile', 0, [{ bad: true }])
  const held = read('hostile', 0, [{ bad: true }, { id: 'behind', text: 'said' }])
  await Promise.all([read('hostile', 1, posts('a')), read('jsonata', 0, posts('b')), read('paths', 0, posts('c'))])
  expect(sent.filter((one) => one.startsWith('posts '))).toHaveLength(150)
  expect(sent.filter((one) => one.startsWith('letters '))).toEqual(['letters hostile/0/0'])

  // Its own records are dead letters, one after the other, and their group hears of each.
  beats = 0
  await held
  expect(sent.filter((one) => one.startsWith('letters '))).toHaveLength(2)
  expect(sent.at(-1)).toBe('posts behind')
  expect(beats).toBeGreaterThanOrEqual(2)
})
