import { memoryRecord } from '../../src/record/memory/record.ts'
import { KEEP, recordContract } from './record.ts'

recordContract('in memory', async (review) => {
  const store = memoryRecord({ keep: KEEP, ...review })
  return { store, queue: store.review }
})
