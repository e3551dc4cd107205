import type { Admin, ITopicConfig } from 'kafkajs'
import { eventually } from './pipeline.ts'

/**
 * Makes topics, and returns when each of their partitions has a leader that answers. kafkajs' own wait for leaders fails where a broker
 * that was just told of a topic says once more that it does not host it.
 */
export async function createTopics(admin: Admin, topics: readonly ITopicConfig[]): Promise<void> {
  await admin.createTopics({ topics: [...topics], waitForLeaders: false })
  let why: unknown
  await eventually(
    () =>
      Promise.all(topics.map(({ topic }) => admin.fetchTopicOffsets(topic))).then(
        () => true,
        (error: unknown) => {
          why = error
          return false
        },
      ),
    20_000,
    () => String(why),
  )
}
