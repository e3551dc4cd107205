import { type AskedRecord, READY } from './jsonata-process.ts'
import { mappingHere } from './mapping.ts'
import type { SourceSettings } from './source.ts'

// A terminal and some supervisors signal all processes of a service: which end it drains, and is gone with its parent.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

process.once('message', (sources: readonly SourceSettings[]) => {
  const map = mappingHere(sources)
  let last = Promise.resolve()
  // One after the other: several may come at once, and are answered in their order.
  process.on('message', ({ record: { value, ...record }, decoded }: AskedRecord) => {
    const bytes = value === null ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    last = last.then(async () => {
      process.send?.(await map({ ...record, value: bytes }, decoded))
    })
  })
  process.send?.(READY)
})
