import { RetryLaterError } from '../domain/errors.ts'
import type { AskContext } from './context.ts'

/**
 * Stops the ask, and with it its call in flight, as soon as it is unwanted, unless others wait for one of the answers: then it
 * continues, and they get it. Returns what ends this.
 */
export function stopWhenUnwanted(context: AskContext): () => void {
  const { unwanted } = context
  if (unwanted === undefined) return () => {}
  let isOver = false
  const look = async () => {
    if ((await isAwaited(context)) || isOver) return
    context.stop(new RetryLaterError('aborted', 'nobody waits for its answer', { costsAttempt: false }))
  }
  const begin = () => void look()
  unwanted.addEventListener('abort', begin, { once: true })
  if (unwanted.aborted) begin()
  return () => {
    isOver = true
    unwanted.removeEventListener('abort', begin)
  }
}

/** Whether anybody else waits for what it asks at the moment. Where nobody does, others may ask it from now on. */
async function isAwaited({ sharing }: AskContext): Promise<boolean> {
  if (sharing === null || sharing.mine.length === 0) return false
  const { waiter, lease, mine } = sharing
  const isJoined = () => mine.some((key) => (waiter.flightOf(key)?.waiters ?? 0) > 1)
  // Somebody here may join while the memo is asked.
  return isJoined() || !(await lease.abandon(mine)) || isJoined()
}
