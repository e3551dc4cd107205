import { setImmediate as turn } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import { expect, test } from 'vitest'
import { groupProgress } from '../../src/stream/offsets.ts'

/**
 * A client of several brokers, as kafkajs is one: the answer that comes last is the list of topics, and one that is not on it has no
 * partitions. So topics that are asked about together, and each topic at first, have none.
 */
function clientOfBrokers(): Kafka {
  const asked = new Map<string, number>()
  let underWay = 0
  const admin = {
    connect: async () => {},
    disconnect: async () => {},
    describeGroups: async () => ({ groups: [] }),
    async fetchOffsets({ topics: [topic = ''] }: { topics: readonly string[] }) {
      const times = asked.get(topic) ?? 0
      asked.set(topic, times + 1)
      const isAlone = ++underWay === 1
      await turn()
      underWay--
      return [{ topic, partitions: times > 0 && isAlone ? [{ partition: 0, offset: '7', metadata: null }] : [] }]
    },
  }
  return { admin: () => admin } as unknown as Kafka // Nothing else of it is used.
}

test('what a group has read is known of every topic, also of one that the client knows late', async () => {
  const { committed } = await groupProgress(clientOfBrokers(), 'gavel', ['posts', 'comments', 'counterspeech'])
  const read = new Map([[0, 7n]])
  expect([...committed]).toEqual(['posts', 'comments', 'counterspeech'].map((topic) => [topic, read]))
})
