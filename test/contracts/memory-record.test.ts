import { memoryRecord } from '../../src/service/adapters/memory/record.ts'
import { KEEP, recordContract } from './record.ts'

recordContract('in memory', async () => memoryRecord({ keep: KEEP }))
