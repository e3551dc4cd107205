import { beforeEach, expect, it } from 'vitest'
import { refusalWatch } from '../../producers/refusal-watch.ts'
import { BrokerRefused } from '../../src/contracts/facts/broker-refusal.ts'
import { type PlacingWriter, RefusedRecord, type TopicWriter } from '../../src/contracts/ports/topic.ts'

const refused = (topic: string) => new BrokerRefused('rights', [topic], `no rights on ${topic}`)
let told: string[]
/** What the broker refuses now. */
let barred: Set<string>
let watch: ReturnType<typeof refusalWatch>
let writer: TopicWriter & PlacingWriter
beforeEach(() => {
  told = []
  barred = new Set()
  const refusalOf = (topics: readonly string[]) => {
    const topic = topics.find((one) => barred.has(one))
    return topic === undefined ? null : refused(topic)
  }
  const check = (topics: readonly string[]) => {
    const refusal = refusalOf(topics)
    if (refusal !== null) throw refusal
  }
  watch = refusalWatch({
    what: 'door-record',
    gate: { close: (what, { message }) => told.push(`${what}: ${message}`), open: (what) => told.push(`${what} open`) },
    tryTopics: async (topics) => refusalOf(topics),
  })
  writer = watch.writer({
    send: async (records) => check(records.map(({ topic }) => topic)),
    async place({ topic }) {
      check([topic])
      return { partition: 0, offset: '1' }
    },
    close: async () => {},
  })
})
const send = (...topics: string[]) => writer.send(topics.map((topic) => ({ topic, key: 'a', value: '' })))
const place = (topic: string) => writer.place({ topic, key: 'a', value: '' })

it.each([
  ['send', send],
  ['place', place],
] as const)('a refusal of what is to %s is told of, and passed on, and so is that it is over', async (_, write) => {
  await write('posts')
  barred.add('posts')
  await expect(write('posts')).rejects.toThrow(refused('posts').message)
  barred.clear()
  await write('posts')
  await write('posts')
  expect(told).toEqual(['door-record: no rights on posts', 'door-record open'])
})

it('what another topic takes does not say that it is over', async () => {
  barred.add('posts')
  await expect(send('posts')).rejects.toThrow()
  await send('comments')
  expect(told).toEqual(['door-record: no rights on posts'])
})

it('is over once all that was refused together is taken', async () => {
  const batches = watch.writer({
    ...writer,
    send: async (records) => {
      if (barred.has('comments') && records.length > 1)
        throw new BrokerRefused('compression', ['posts', 'comments'], 'no such codec')
    },
  })
  const sendBatch = (...topics: string[]) => batches.send(topics.map((topic) => ({ topic, key: 'a', value: '' })))
  barred.add('comments')
  await expect(sendBatch('posts', 'comments')).rejects.toThrow('no such codec')
  await sendBatch('posts')
  expect(told).toEqual(['door-record: no such codec'])
  barred.clear()
  await sendBatch('comments', 'posts')
  expect(told).toEqual(['door-record: no such codec', 'door-record open'])
})

it('is tried by itself, where nobody sends it again', async () => {
  await watch.poll()
  barred.add('posts')
  await expect(send('posts')).rejects.toThrow()
  await watch.poll()
  barred.clear()
  await watch.poll()
  await watch.poll()
  expect(told).toEqual(['door-record: no rights on posts', 'door-record: no rights on posts', 'door-record open'])
})

it('a large record that is refused has a small one tried, which is told of if it is refused too', async () => {
  const large = watch.writer({ ...writer, send: () => Promise.reject(new RefusedRecord('MESSAGE_TOO_LARGE')) })
  const sendLarge = () => large.send([{ topic: 'audit', key: 'ann', value: '' }])
  await expect(sendLarge()).rejects.toBeInstanceOf(RefusedRecord)
  await watch.poll()
  expect(told).toEqual([])
  barred.add('audit')
  await watch.poll()
  expect(told).toEqual([])
  await expect(sendLarge()).rejects.toBeInstanceOf(RefusedRecord)
  await watch.poll()
  expect(told).toEqual(['door-record: no rights on audit'])
})

it('any other failure says nothing of settings', async () => {
  const failing = watch.writer({ ...writer, send: () => Promise.reject(new Error('away')) })
  await expect(failing.send([])).rejects.toThrow('away')
  expect(told).toEqual([])
})
