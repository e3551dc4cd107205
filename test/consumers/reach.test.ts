import { expect, it } from 'vitest'
import { reachConsumer } from '../../consumers/reach.ts'
import type { HandleBatch } from '../../src/contracts/ports/topic.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { ARRIVAL, HOUR, MINUTE, postOf, RULES, T0, thread } from '../contracts/samples.ts'

const AT = new Date(T0).toISOString()

/** What a batch of these values does to three posts that became due one after the other; the order in which they are due then. */
async function orderAfter(...values: readonly unknown[]) {
  const { threads, outbox } = memoryStores(() => T0)
  const settled: string[] = []
  let handle: HandleBatch = async () => {}
  await reachConsumer({
    threads,
    outbox,
    limits: { maxMessageBytes: 1 << 20, maxAhead: 5 * MINUTE },
    keepMs: HOUR,
    mostHeld: () => null,
    clock: () => T0,
    report: (name, event) => {
      if (name === 'messages:settled' && 'count' in event && 'outcome' in event)
        settled.push(`${event.outcome} ${event.count}`)
    },
    store: { whenRecovered: async (work) => void (await work()), untilStored: async (work) => void (await work()) },
    reader: {
      async start(given) {
        handle = given
      },
      positions: async () => [],
      setPaused() {},
      downSince: null,
      async close() {},
    },
  }).start()
  for (const [at, id] of ['a', 'b', 'c'].entries())
    await threads.putPost(
      thread(id),
      postOf(thread(id)),
      { ...ARRIVAL, now: T0 + at, threaded: false, atOnce: true },
      RULES,
    )
  const messages = values.map((value, at) => ({
    topic: 'reach',
    partition: 0,
    offset: `${at}`,
    timestamp: T0,
    key: 'a',
    value: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
    headers: {},
  }))
  await handle(
    { topic: 'reach', partition: 0, messages, next: '9', atEnd: true },
    async () => {},
    () => {},
  )
  const letters = await outbox.next('one', 10, 0)
  return {
    order: (await threads.due(0, 9)).map(({ postId }) => postId).join(' '),
    settled,
    letters: letters.map((entry) => ('letter' in entry ? (JSON.parse(entry.letter) as { reason: string }).reason : '')),
  }
}

it('ranks a post by the highest reach that was said of it', async () => {
  const said = [
    { postId: 'c', reach: 10, at: AT },
    { postId: 'b', reach: 5, at: AT },
    { postId: 'c', reach: 2, at: AT },
  ]
  expect(await orderAfter(...said)).toEqual({ order: 'c b a', settled: ['updated 2', 'duplicate 1'], letters: [] })
})

it('knows posts by tenant, and makes dead letters of what says no reach', async () => {
  const future = new Date(T0 + HOUR).toISOString()
  const said = [
    { postId: 'c', tenant: 'another', reach: 10, at: AT },
    { postId: 'c', reach: -1, at: AT },
    { postId: 'c', reach: 9, at: future },
    'no json',
  ]
  expect(await orderAfter(...said)).toEqual({
    order: 'a b c',
    settled: ['updated 1', 'dead-letter 3'],
    letters: ['invalid', 'future', 'not-json'],
  })
})
