import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionDesk } from '../contracts/ports/decisions.ts'
import { leaveTurn } from '../platform/answer-turns.ts'
import { decisionRates } from '../platform/decision-rates.ts'

/** What one person may decide: on average, and at once, as with a batch of copies. */
const OF_ONE = { perSecond: 5, burst: 200 }

/** Refuses decisions of a person who makes more than anybody can read. */
export function ratedDecisions(decisionDesk: DecisionDesk, clock: Clock): DecisionDesk & { left(by: string): number } {
  const { count, left } = decisionRates(OF_ONE, clock)
  return {
    left,
    async decide(message, signal) {
      const tooMany = count(message.by, message)
      if (tooMany === null) {
        leaveTurn()
        return decisionDesk.decide(message, signal)
      }
      return { of: '', decided: { outcome: 'refused', why: `One person ${tooMany.says}.` } }
    },
  }
}
