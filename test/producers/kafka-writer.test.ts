import type { Kafka, ProducerBatch, ProducerConfig } from 'kafkajs'
import { expect, test } from 'vitest'
import { kafkaWriter } from '../../producers/kafka-writer.ts'

const RECORDS = ['one', 'two'].map((key) => ({ topic: 'verdicts', key, value: `of ${key}` }))

/** A Kafka whose producer fails in these ways first. */
function kafkaOf(failures: Error[]) {
  const sent: ProducerBatch[] = []
  const configs: (ProducerConfig | undefined)[] = []
  const producer = (config?: ProducerConfig) => {
    configs.push(config)
    return {
      connect: async () => {},
      disconnect: async () => {},
      async sendBatch(batch: ProducerBatch) {
        sent.push(batch)
        const failure = failures.shift()
        if (failure !== undefined) throw failure
        return []
      },
    }
  }
  return { kafka: { producer } as unknown as Kafka, sent, configs }
}

const named = (name: string, cause?: Error) => Object.assign(new Error(name, { cause }), { name })

test('what may pass is sent again whole, by the writer: kafkajs’ own tries leave out what has moved to a broker that answered', async () => {
  const { kafka, sent, configs } = kafkaOf([named('KafkaJSNumberOfRetriesExceeded')])
  const writer = await kafkaWriter(kafka, 'none')
  await writer.send(RECORDS)
  expect(configs.map((config) => config?.retry?.retries)).toEqual([0])
  expect(sent).toHaveLength(2)
  expect(sent[1]).toEqual(sent[0])
  expect(sent[0]?.topicMessages?.[0]?.messages.map(({ key }) => key)).toEqual(['one', 'two'])
})

test('what can’t pass is not sent again', async () => {
  const { kafka, sent } = kafkaOf([named('KafkaJSNonRetriableError')])
  const writer = await kafkaWriter(kafka, 'none')
  await expect(writer.send(RECORDS)).rejects.toThrow('KafkaJSNonRetriableError')
  expect(sent).toHaveLength(1)
})
