import type { Library, Proposer, Room } from '../ports/library.ts'

/** How much a batch of feedback may still propose. Each proposal counts towards every bound that applies to its author. */
export function roomsOf(library: Pick<Library, 'room'>) {
  const bounds = new Map<string, readonly Room[]>()
  const left = new Map<string, number>()
  return {
    /** Null where there is room, else why there is none. */
    async take(proposer: Proposer): Promise<string | null> {
      const key = JSON.stringify([proposer.shelf, proposer.tenant, proposer.by])
      const known = bounds.get(key) ?? (await library.room(proposer))
      bounds.set(key, known)
      const leftOf = (room: Room) => left.get(room.of) ?? room.left
      const none = known.find((room) => leftOf(room) <= 0)
      if (none !== undefined) return none.why
      for (const room of known) left.set(room.of, leftOf(room) - 1)
      return null
    },
  }
}
