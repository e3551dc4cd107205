import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import kafkajs, { type Admin } from 'kafkajs'
import { expect, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { createTopics } from './create-topics.ts'

test('a topic that a broker does not host yet is waited for', async () => {
  const asked: string[] = []
  const admin = {
    createTopics: async ({ waitForLeaders = true }) => {
      if (waitForLeaders) throw new kafkajs.KafkaJSProtocolError('This server does not host this topic-partition')
      return true
    },
    fetchTopicOffsets: async (topic: string) => {
      asked.push(topic)
      if (asked.length < 4) throw new kafkajs.KafkaJSProtocolError('This server does not host this topic-partition')
      return []
    },
  }
  await createTopics(admin as unknown as Admin, [{ topic: 'posts' }, { topic: 'comments' }]) // the methods that it uses
  expect(asked).toHaveLength(6)
})

test('no test leaves the wait for leaders to kafkajs', () => {
  const calls = globSync('test/**/*.ts', { cwd: PROJECT }).flatMap((file) =>
    [...readFileSync(join(PROJECT, file), 'utf8').matchAll(/admin\.createTopics\((?:.|\n)*?\)\n/g)]
      .filter(([call]) => !call.includes('waitForLeaders: false'))
      .map(([call]) => `${file}: ${call}`),
  )
  expect(calls).toEqual([expect.stringContaining('does not support')])
})
