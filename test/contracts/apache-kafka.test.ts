import { randomUUID } from 'node:crypto'
import kafkajs from 'kafkajs'
import { it } from 'vitest'
import { startApacheKafka } from '../../src/kit/stack/servers/apache-kafka.ts'
import type { LocalKafka } from '../../src/kit/stack/servers/kafka.ts'
import { UnavailableError } from '../../src/kit/stack/servers/local-server.ts'
import { startMemoryKafka } from '../../src/kit/stack/servers/memory-kafka.ts'
import { createTopics } from '../support/create-topics.ts'
import { collector, IN_TIME, numbered, topicContract, valuesOf } from './topics.ts'

const ONLY_APACHE = 'Apache Kafka alone can do this'
const say = (line: string) => process.stderr.write(`${line}\n`)

async function start(): Promise<LocalKafka> {
  try {
    return await startApacheKafka({ say })
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    say(`THE TESTS ON APACHE KAFKA RUN ON THE IN-MEMORY BROKER, and those it can't take are skipped: ${error.message}`)
    return startMemoryKafka({ say })
  }
}

topicContract('in Apache Kafka', start, (broker) => {
  it.concurrent.for(['gzip', 'snappy', 'lz4', 'zstd'])(
    'are read as Java has compressed them: %s',
    async (codec, { skip, expect }) => {
      const { kind, admin, produce, reader } = broker()
      if (kind !== 'apache') return skip(ONLY_APACHE)
      const topic = `recompressed-${codec}-${randomUUID()}`
      const configEntries = [{ name: 'compression.type', value: codec }]
      await createTopics(admin, [{ topic, numPartitions: 1, replicationFactor: 1, configEntries }])
      const records = [...numbered(50), { key: 'long', value: 'words, words, '.repeat(20_000) }]
      await produce(topic, records)
      const got = collector()
      await reader([topic]).start(got.handle)
      await expect.poll(() => got.values(), IN_TIME).toEqual(valuesOf(records))
    },
  )

  it.concurrent('have no end of a partition hidden by a transaction’s marks', async ({ skip, expect }) => {
    const { kind, kafka, topic, reader } = broker()
    if (kind !== 'apache') return skip(ONLY_APACHE)
    const name = await topic()
    const producer = kafka.producer({
      transactionalId: randomUUID(),
      maxInFlightRequests: 1,
      idempotent: true,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    })
    await producer.connect()
    const transaction = await producer.transaction()
    await transaction.send({
      topic: name,
      messages: [
        { value: 'a', partition: 0 },
        { value: 'b', partition: 0 },
      ],
    })
    await transaction.commit()
    await producer.disconnect()
    const got = collector()
    const one = reader([name])
    await one.start(got.handle)
    await expect.poll(() => got.values(), IN_TIME).toEqual(['a', 'b'])
    expect.soft(got.batches.at(-1)?.atEnd).toBe(true)
    await expect
      .poll(async () => (await one.positions()).map(({ lag }) => lag), { timeout: 3_000 })
      .toEqual([0, 0, 0, 0])
  })

  it.concurrent('refuse a topic that nobody made, and a record that is too large', async ({ skip, expect }) => {
    const { kind, topic, writer } = broker()
    if (kind !== 'apache') return skip(ONLY_APACHE)
    const one = await writer()
    await expect(one.send([{ topic: `nobody-made-${randomUUID()}`, key: 'k', value: 'v' }])).rejects.toThrow()
    const name = await topic()
    await expect(one.send([{ topic: name, key: 'k', value: 'x'.repeat(2_000_000) }])).rejects.toThrow(
      /too large|larger/i,
    )
    await one.send([{ topic: name, key: 'k', value: 'v' }])
  })

  it('fail to be written while the broker is away, and go on by themselves when it is back', {
    timeout: 90_000,
  }, async ({ skip, expect }) => {
    const { kind, server, topic, writer, reader } = broker()
    if (kind !== 'apache' || !('restart' in server)) return skip(ONLY_APACHE)
    const name = await topic()
    const got = collector()
    const [one, reading] = [await writer(), reader([name])]
    await reading.start(got.handle)
    await one.send([{ topic: name, key: 'k', value: 'before' }])
    await expect.poll(() => got.values(), IN_TIME).toEqual(['before'])
    await server.kill()
    const [killed, seconds] = [performance.now(), (since: number) => ((performance.now() - since) / 1_000).toFixed(1)]
    await expect(one.send([{ topic: name, key: 'k', value: 'while away' }])).rejects.toThrow()
    await expect.poll(() => reading.downSince, IN_TIME).not.toBeNull()
    say(`the reader knew after ${seconds(killed)} s that the broker was gone`)
    await server.restart()
    const restarted = performance.now()
    await expect
      .poll(
        async () =>
          one.send([{ topic: name, key: 'k', value: 'after' }]).then(
            () => 'sent',
            () => 'failed',
          ),
        { timeout: 30_000 },
      )
      .toBe('sent')
    await expect.poll(() => got.values(), { timeout: 40_000 }).toContain('after')
    say(`the reader went on ${seconds(restarted)} s after the broker was back`)
    expect(reading.downSince).toBeNull()
    expect((await reading.positions()).map(({ lag }) => lag)).toEqual([0, 0, 0, 0])
  })
})
