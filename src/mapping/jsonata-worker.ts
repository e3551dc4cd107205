import { parentPort, workerData } from 'node:worker_threads'
import { type AskedRecord, READY } from './jsonata-thread.ts'
import { mappingHere } from './mapping.ts'

const map = mappingHere(workerData)

parentPort?.on('message', async ({ record: { value, ...record }, decoded }: AskedRecord) => {
  const bytes = value === null ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  parentPort?.postMessage(await map({ ...record, value: bytes }, decoded))
})
parentPort?.postMessage(READY)
