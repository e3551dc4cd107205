import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Keys } from './keys.ts'
import { scriptsOn } from './scripts.ts'

/** Why the data in Redis are not all that was written there. */
const LOSSES = ['emptied', 'rolled-back', 'recovering'] as const
export type Loss = (typeof LOSSES)[number]

/** What cases are opened and concluded under: Redis does neither for a process whose stamp it has never given. */
export type Stamp = readonly [id: string, beat: number, run: string]

/** Offsets of what is durable here, the next one to come, by `topic/partition`. */
export type Positions = ReadonlyMap<string, string>

const reply = z.tuple([z.string(), z.string(), z.string(), z.string(), z.number()])

/**
 * Notices that Redis lost what it had acknowledged. A data set has an id and a beat that only rises; a process that finds
 * the id gone (emptied), or that the data began their server's present run with an earlier beat than it was once told (an
 * older dump, a replica that was behind), knows. For a moment after each start of a server nothing is opened, concluded or
 * published, so that who knows can say so first.
 */
export function redisLineage(client: Redis, keys: Keys) {
  const scripts = scriptsOn(client)
  let stamp: Stamp = ['none', 0, '']
  let quiet = false
  let lost: Loss | null = null

  function learn(given: unknown): Loss | null {
    const [id, beat, loss, run, quietNow] = reply.parse(given)
    quiet = quietNow === 1
    lost = loss === '' ? null : z.enum(LOSSES).parse(loss)
    if (lost !== null) return lost
    // Beats may be answered out of order.
    const later = id !== stamp[0] || run !== stamp[2] || Number(beat) > stamp[1]
    if (later) stamp = [id, Number(beat), run]
    return lost
  }

  return {
    /** For the scripts that must not run on other data than this process knows. */
    stamp: (): Stamp => (lost === null ? stamp : ['lost', 0, '']),
    /** The server has only just started: who knows of something that it lost may not have said so yet. */
    get quiet() {
      return quiet
    },
    get lost() {
      return lost
    },
    /**
     * Adopts the data set, or founds one where nothing was ever accepted. `committed` is how far the group has come in
     * Kafka; with `alone`, no other process may have brought it there a moment ago.
     */
    begin: async (committed: Positions, alone: boolean): Promise<Loss | null> =>
      learn(
        await scripts.beginLineage(keys.lineage, keys.marks, randomUUID(), alone ? 1 : 0, ...[...committed].flat()),
      ),
    /** A sign of life, together with what has been made durable. */
    beat: async (durable: Positions = new Map()): Promise<Loss | null> =>
      learn(await scripts.beatLineage(keys.lineage, ...stamp, ...[...durable].flat())),
    /** Every process stops opening and concluding cases, and within a beat its intake, until `release`; true if they had. */
    hold: async (): Promise<boolean> => (await scripts.holdLineage(keys.lineage)) === 1,
    /** While it is held: whether all revisions that were ever published are known here, so that an unknown post has had none. */
    vouch: async (knowsAll: boolean): Promise<void> => {
      await scripts.vouchLineage(keys.lineage, knowsAll ? 1 : 0)
    },
    /** A new data set, which holds the effects of everything before these offsets. */
    release: async (durable: Positions): Promise<void> => {
      await scripts.releaseLineage(keys.lineage, randomUUID(), ...[...durable].flat())
    },
  }
}
export type Lineage = ReturnType<typeof redisLineage>
