// A process of its own for the in-memory broker: `node memory-kafka-broker.ts MODULE`, where MODULE is the file that
// kafka-crab-js is loaded from. librdkafka's log line names the address. Exit code 3: the module can't be loaded.

import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const module = process.argv[2] ?? 'kafka-crab-js'
const { KafkaClient } = await load(module)

const client = new KafkaClient({
  brokers: '127.0.0.1:1', // asked for, and then replaced by the mock cluster's own
  logLevel: 'info',
  configuration: { 'test.mock.num.brokers': '1' },
})
// The mock cluster lives as long as the producer that it was made for.
const producer = client.createProducer({})
setInterval(() => producer.inFlightCount(), 60_000)

async function load(file: string): Promise<typeof import('kafka-crab-js')> {
  try {
    return (await import(pathToFileURL(file).href)) as typeof import('kafka-crab-js')
  } catch (error) {
    writeSync(2, `${file} can't be loaded: ${String(error)}\n`)
    process.exit(3)
  }
}
