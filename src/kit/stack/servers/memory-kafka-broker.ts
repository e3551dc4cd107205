// A process of its own for the in-memory broker, which reports where it listens.
import { writeSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { memoryBroker } from '../memory-kafka/broker.ts'

const HOST = '127.0.0.1'
const broker = memoryBroker(() => ({ host: HOST, port: (server.address() as AddressInfo).port }))
const server = createServer({ noDelay: true }, broker.serve)
server.listen(Number(process.argv[2] ?? 0), HOST, () =>
  writeSync(1, `listens on ${HOST}:${(server.address() as AddressInfo).port}\n`),
)
