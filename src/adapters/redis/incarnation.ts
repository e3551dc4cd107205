import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Keys } from './keys.ts'
import { script } from './script.ts'

/** Why the data in Redis are not all that was written there. */
const LOSSES = ['emptied', 'rolled-back', 'recovering'] as const
export type Loss = (typeof LOSSES)[number]

/**
 * What a process last learnt of the data: their incarnation, their watermark, and the server's run in which it learnt them.
 * Redis opens and concludes no case for a process whose token it has never given.
 */
export interface FencingToken {
  readonly incarnationId: string
  readonly watermark: number
  readonly serverRun: string
}
const TOKEN = ['incarnationId', 'watermark', 'serverRun'] as const

/** The token of tests and commands that don't watch the incarnation: it always holds. */
export const NO_FENCING = (): FencingToken => ({ incarnationId: '', watermark: 0, serverRun: '' })

/** Offsets of what is durable here, the next one to come, by `topic/partition`. */
export type Positions = ReadonlyMap<string, string>

const begin = script('incarnation/begin', {
  keys: ['incarnation', 'marks'],
  args: ['freshId', 'alone', 'committed[].partition', 'committed[].offset'],
})
const advance = script('incarnation/advance', {
  keys: ['incarnation'],
  args: [...TOKEN, 'durable[].partition', 'durable[].offset'],
})
const suspend = script('incarnation/suspend', { keys: ['incarnation'] })
const setComplete = script('incarnation/set-complete', { keys: ['incarnation'], args: ['complete'] })
const createIncarnation = script('incarnation/create', {
  keys: ['incarnation'],
  args: ['freshId', 'durable[].partition', 'durable[].offset'],
})

const reply = z.tuple([z.string(), z.string(), z.string(), z.string(), z.number()])

/**
 * Notices that Redis lost what it had acknowledged. The data have an incarnation id and a watermark that only rises. A process
 * that finds the id gone (emptied), or that the data began their server's present run with a lower watermark than it was once
 * told (an older dump, a replica that was behind), knows. For 3 s after each start of a server nothing is opened, concluded or
 * published, so that a process that knows can say so first.
 */
export function redisIncarnation(client: Redis, keys: Keys) {
  const { incarnation, marks } = keys
  let token: FencingToken = { incarnationId: 'none', watermark: 0, serverRun: '' }
  let quiet = false
  let lost: Loss | null = null

  function learn(given: unknown): Loss | null {
    const [incarnationId, watermark, loss, serverRun, quietNow] = reply.parse(given)
    quiet = quietNow === 1
    lost = loss === '' ? null : z.enum(LOSSES).parse(loss)
    if (lost !== null) return lost
    // Replies may come out of order.
    const isNewer =
      incarnationId !== token.incarnationId || serverRun !== token.serverRun || Number(watermark) > token.watermark
    if (isNewer) token = { incarnationId, watermark: Number(watermark), serverRun }
    return lost
  }

  return {
    /** For the scripts that must not run on other data than this process knows. */
    token: (): FencingToken => (lost === null ? token : { incarnationId: 'lost', watermark: 0, serverRun: '' }),
    /** The server has only just started: a process that knows of something that it lost may not have said so yet. */
    get quiet() {
      return quiet
    },
    get lost() {
      return lost
    },
    /**
     * Adopts the data, or creates an incarnation where nothing was ever accepted. `committed` is how far the group has come in
     * Kafka; with `alone`, no other process may have brought it there a moment ago.
     */
    begin: async (committed: Positions, alone: boolean): Promise<Loss | null> =>
      learn(
        await begin(client, { incarnation, marks, freshId: randomUUID(), alone, committed: partitionsOf(committed) }),
      ),
    /** A heartbeat: raises the watermark, and notes what has been made durable. */
    advance: async (durable: Positions = new Map()): Promise<Loss | null> =>
      learn(await advance(client, { incarnation, ...token, durable: partitionsOf(durable) })),
    /**
     * Every process stops opening and concluding cases, and at its next heartbeat its intake, until `createIncarnation`; true if they
     * had.
     */
    suspend: async (): Promise<boolean> => (await suspend(client, { incarnation })) === 1,
    /** While suspended: whether all revisions that were ever published are known here, so that an unknown post has had none. */
    setComplete: async (complete: boolean): Promise<void> => {
      await setComplete(client, { incarnation, complete })
    },
    /** A new incarnation, which holds the effects of everything before these offsets. */
    createIncarnation: async (durable: Positions): Promise<void> => {
      await createIncarnation(client, { incarnation, freshId: randomUUID(), durable: partitionsOf(durable) })
    },
  }
}
export type Incarnation = ReturnType<typeof redisIncarnation>

function partitionsOf(positions: Positions): { partition: string; offset: string }[] {
  return [...positions].map(([partition, offset]) => ({ partition, offset }))
}
