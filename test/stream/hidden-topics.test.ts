import kafkajs from 'kafkajs'
import { expect, test } from 'vitest'
import { hiddenTopics } from '../../src/stream/hidden-topics.ts'

test('topics that a user may not see are told from those that are not there', async () => {
  const answers: Record<string, Error> = {
    absent: new kafkajs.KafkaJSProtocolError(Object.assign(new Error('no'), { type: 'UNKNOWN_TOPIC_OR_PARTITION' })),
    hidden: new kafkajs.KafkaJSProtocolError(Object.assign(new Error('no'), { type: 'TOPIC_AUTHORIZATION_FAILED' })),
  }
  answers.beneath = new Error('gave up', { cause: answers.hidden })
  const admin = {
    fetchTopicMetadata: async ({ topics: [topic = ''] = [] }: { topics?: string[] } = {}) => {
      const failure = answers[topic]
      if (failure !== undefined) throw failure
      return { topics: [] }
    },
  }
  expect(await hiddenTopics(admin, ['absent', 'hidden', 'beneath', 'there'])).toEqual(['hidden', 'beneath'])
})
