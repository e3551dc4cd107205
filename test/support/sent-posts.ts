import kafkajs, { type Message } from 'kafkajs'
import { topicsOf } from '../../config/topics.ts'
import { clientOf, settingsOf } from './pipeline.ts'

/** Sends posts, comments or replies; those of the same key lie in one partition, in this order. */
export async function sendPosts(
  environment: Record<string, string>,
  messages: Message[],
  to: 'posts' | 'comments' | 'counterspeech' = 'posts',
): Promise<void> {
  const producer = clientOf(environment).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  await producer.send({ topic: topicsOf(settingsOf(environment))[to], messages })
  await producer.disconnect()
}
