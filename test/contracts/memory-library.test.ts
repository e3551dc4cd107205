import { memoryLibrary, memoryStorage } from '../../src/shelves/memory.ts'
import { libraryContract } from './library.ts'

libraryContract('in memory', async ({ embedder, ...options }) => {
  const storage = memoryStorage()
  return {
    library: memoryLibrary(embedder, { ...options, storage }),
    with: (other) => memoryLibrary(other, { ...options, storage }),
    close: async () => {},
  }
})
