import type { Clock } from '../contracts/ports/clock.ts'
import { forNobody } from '../platform/asked-for.ts'

/** Most questions whose answers are known. */
const MOST_KNOWN = 20

/** Of the time between two answers to the same question at most this share goes into making them. */
const MOST_SHARE = 0.05

/** Answers the same question with what is known, for `ms`, and for longer where it takes so long to answer that this would cost too much. */
export function knownFor<Asked, Answer>(ms: number, clock: Clock, ask: (of: Asked) => Promise<Answer>) {
  const known = new Map<string, { until: number; readonly answer: Promise<Answer> }>()
  return (of: Asked): Promise<Answer> => {
    const name = JSON.stringify(of ?? null)
    const before = known.get(name)
    if (before !== undefined && before.until > clock()) return before.answer
    const asked = clock()
    const answer = forNobody(() => ask(of))
    const one = { until: asked + ms, answer }
    known.set(name, one)
    answer.then(
      () => {
        one.until = Math.max(one.until, asked + (clock() - asked) / MOST_SHARE)
      },
      () => known.delete(name),
    )
    for (const [other, { until }] of known)
      if (other !== name && (until <= asked || known.size > MOST_KNOWN)) known.delete(other)
    return answer
  }
}
