import type { Redis } from 'ioredis'
import type { FencingToken } from '../redis/incarnation.ts'
import type { Keys } from '../redis/keys.ts'

/** What the parts of the thread store have in common. */
export interface ThreadContext {
  readonly client: Redis
  readonly keys: Keys
  /** How long deleted threads are remembered, and threads kept after their last verdict, in ms. */
  readonly settings: {
    readonly keepTombstoneMs: number
    readonly keepAfterFinalMs: number
    readonly keepAskedMs?: number
  }
  readonly token: () => FencingToken
}
