import type { Clock } from '../contracts/ports/clock.ts'

/** Most questions whose answers are known. */
const MOST_KNOWN = 100

/** Answers the same question with what is known, for a while. */
export function knownFor<Asked, Answer>(ms: number, clock: Clock, ask: (of: Asked) => Promise<Answer>) {
  const known = new Map<string, { readonly until: number; readonly answer: Promise<Answer> }>()
  return (of: Asked): Promise<Answer> => {
    const name = JSON.stringify(of ?? null)
    const before = known.get(name)
    if (before !== undefined && before.until > clock()) return before.answer
    const answer = ask(of)
    known.set(name, { until: clock() + ms, answer })
    answer.catch(() => known.delete(name))
    for (const oldest of known.keys()) if (known.size > MOST_KNOWN) known.delete(oldest)
    return answer
  }
}
