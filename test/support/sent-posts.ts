import kafkajs, { type Message } from 'kafkajs'
import { topicsOf } from '../../config/topics.ts'
import { clientOf, settingsOf } from './pipeline.ts'

/** Sends posts, or comments; those of the same key lie in one partition, in this order. */
export async function sendPosts(
  environment: Record<string, string>,
  messages: Message[],
  to: 'posts' | 'comments' = 'posts',
): Promise<void> {
  const producer = clientOf(environment).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  await producer.send({ topic: topicsOf(settingsOf(environment))[to], messages })
  await producer.disconnect()
}
