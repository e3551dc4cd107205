import type { Redis } from 'ioredis'
import type { Clock } from '../../contracts/ports/clock.ts'
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
    /** Wall time, for when a thread is finished without a case; the machine's own by default. */
    readonly clock?: Clock
  }
  readonly token: () => FencingToken
}
