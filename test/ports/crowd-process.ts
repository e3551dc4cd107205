import { fill, type Holding } from './filled.ts'

// Holds connections in a process of its own, so that the memory of the one that serves them is its alone.

process.once('message', async ({ holding, count }: { holding: Holding; count: number }) => {
  await fill(holding, count)
  process.send?.('held')
})
process.once('disconnect', () => process.exit())
