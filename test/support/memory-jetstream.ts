import type { JetstreamPosition, JetstreamStore, TakenRecord } from '../../src/contracts/ports/jetstream.ts'

/** What the reader of Jetstream remembers, in this process, and for ever. */
export function memoryJetstream() {
  const known = new Map<string, TakenRecord>()
  const gone = new Set<string>()
  let position: JetstreamPosition | null = null
  const store: JetstreamStore = {
    position: async () => position,
    taken: async (ids) => ids.map((id) => known.get(id) ?? null),
    async save(at, noted) {
      position = at
      for (const [id, record] of noted.taken) known.set(id, record)
      for (const author of noted.gone) gone.add(author)
    },
    gone: async () => [...gone],
    async erased(author) {
      gone.delete(author)
    },
  }
  return { store, position: () => position }
}
