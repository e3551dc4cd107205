import type { Clock } from '../contracts/ports/clock.ts'
import type { ReviewQueue } from '../contracts/ports/review.ts'
import { isBlind, whoTakes } from './review-list.ts'
import type { Session } from './sessions.ts'

/** Whether a verdict waits because of what this person decided or said themselves. */
export type IsOwnCase = (verdict: string, session: Session) => Promise<boolean>

/** A draw by chance, of which who decided is to know nothing, is nobody's own case. */
export function ownCases(queue: Pick<ReviewQueue, 'posts'>, clock: Clock): IsOwnCase {
  return async (verdict, session) => {
    const { posts } = await queue.posts({ ...whoTakes(session), verdict, reserved: 'any' }, 1, clock(), null)
    const item = posts[0]?.items.find((one) => one.verdict === verdict)
    return item?.isOwnCase === true && !isBlind(item)
  }
}
