import type { ConsumerRunConfig, EachBatchPayload, Kafka } from 'kafkajs'
import { expect, it, vi } from 'vitest'
import { readToEnd } from '../../consumers/feedback.ts'

/** A topic of two partitions with a message each, the second of which has no leader. */
function fakeKafka(committed: string[]) {
  const listeners = new Map<string, (event: { payload: unknown }) => void>()
  const admin = {
    connect: async () => {},
    disconnect: async () => {},
    fetchOffsets: async () => [
      { topic: 'feedback', partitions: [0, 1].map((partition) => ({ partition, offset: '-1' })) },
    ],
    fetchTopicOffsets: async () => [0, 1].map((partition) => ({ partition, low: '0', high: '1' })),
  }
  const consumer = {
    events: { CRASH: 'crash', GROUP_JOIN: 'join', END_BATCH_PROCESS: 'batch ended' },
    on: (name: string, listen: (event: { payload: unknown }) => void) => void listeners.set(name, listen),
    connect: async () => {},
    disconnect: async () => {},
    subscribe: async () => {},
    pause() {},
    resume() {},
    commitOffsets: async (offsets: { partition: number; offset: string }[]) =>
      void committed.push(...offsets.map(({ partition, offset }) => `${partition}@${offset}`)),
    async run({ eachBatch }: ConsumerRunConfig) {
      listeners.get('join')?.({ payload: { memberAssignment: { feedback: [0, 1] } } })
      const message = { offset: '0', key: null, value: Buffer.from('{}'), timestamp: '5', headers: {} }
      const batch = { topic: 'feedback', partition: 0, messages: [message], lastOffset: () => '0' }
      const payload = { batch, resolveOffset() {}, isRunning: () => true, isStale: () => false }
      // The fields of kafkajs' payload that the reader uses.
      await eachBatch?.(payload as unknown as EachBatchPayload)
    },
  }
  return { admin: () => admin, consumer: () => consumer } as unknown as Kafka
}

it('says so where it ends before its topic does', async () => {
  vi.useFakeTimers()
  try {
    const [said, committed]: [string[], string[]] = [[], []]
    const settings = { group: 'g', topic: 'feedback', atOnce: 10, atOnceBytes: 1_000, sessionTimeout: 6_000 }
    const say = (line: string) => void said.push(line)
    const read = readToEnd(fakeKafka(committed), { ...settings, say }, new AbortController().signal, async () => true)
    await vi.advanceTimersByTimeAsync(20_000)
    await read
    expect(committed).toEqual(['0@1'])
    expect(said).toEqual([expect.stringMatching(/^feedback was not read to its end: .* Run again/)])
  } finally {
    vi.useRealTimers()
  }
})
