import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin, type Kafka } from 'kafkajs'
import { expect, test, vi } from 'vitest'
import { OperatorError } from '../../src/contracts/facts/errors.ts'
import { ensureTopics } from '../../src/stream/client.ts'
import { onceTopicSettled } from '../../src/stream/settled.ts'

/** kafkajs' types leave out its argument. */
const NotFound = kafkajs.KafkaJSGroupCoordinatorNotFound as unknown as new (message: string) => Error
const noCoordinator = () => new NotFound('Failed to find group coordinator')
const electing = () => Object.assign(new kafkajs.KafkaJSProtocolError('no leader'), { retriable: true })

test.each([
  ['has no coordinator for the group yet', noCoordinator],
  ['elects a leader', electing],
  ['says so beneath what kafkajs gave up on', () => new Error('gave up', { cause: noCoordinator() })],
])('what is asked of a broker that %s is asked again', async (_, error) => {
  let asked = 0
  const said: string[] = []
  const ask = async () => {
    if (++asked < 3) throw error()
    return 'settled'
  }
  expect(await onceTopicSettled('posts', ask, { withinMs: 5_000, say: (line) => said.push(line) })).toBe('settled')
  expect(said).toHaveLength(1)
})

test('a broker that does not settle in time is an error that says what to do, and any other error is its own', async () => {
  const never = onceTopicSettled('posts', () => Promise.reject(noCoordinator()), { withinMs: 0 })
  await expect(never).rejects.toThrow(OperatorError)
  const bug = onceTopicSettled('posts', () => Promise.reject(new TypeError('a bug')), { withinMs: 5_000 })
  await expect(bug).rejects.toThrow('a bug')
})

test('topics that are created wait for their leaders, and are named meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    let busy = true
    const admin = {
      listTopics: async () => [],
      createTopics: async () => true,
      fetchTopicOffsets: (topic: string) =>
        busy && topic === 'posts' ? Promise.reject(electing()) : Promise.resolve([]),
    }
    const plans = ['posts', 'comments'].map((name) => ({ name, partitions: 1, retentionMs: 1 }))
    const told: string[] = []
    // The methods that it uses.
    const made = ensureTopics({} as Kafka, admin as unknown as Admin, plans, 1, (topics) => told.push(topics.join())) // Nothing else of both is used.
    while (told.length < 3) {
      vi.setSystemTime(Date.now() + 4_000)
      await sleep(30)
    }
    busy = false
    await made
    expect(new Set(told)).toEqual(new Set(['posts']))
  } finally {
    vi.useRealTimers()
  }
})

test('topics that are created and have no leader in time are an error that says what to do', async () => {
  vi.useFakeTimers()
  try {
    const admin = {
      listTopics: async () => [],
      createTopics: async () => true,
      fetchTopicMetadata: async () => ({ topics: [] }),
      fetchTopicOffsets: () => Promise.reject(electing()),
    }
    const plan = { name: 'posts', partitions: 1, retentionMs: 1 }
    // The methods that it uses.
    const made = ensureTopics({} as Kafka, admin as unknown as Admin, [plan], 1).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(310_000)
    const error = await made
    expect(error).toBeInstanceOf(OperatorError)
    expect(String(error)).toMatch(/posts.*no leader.*Start again/)
  } finally {
    vi.useRealTimers()
  }
})
