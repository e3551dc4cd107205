import type { ItemOutcome } from './outcomes.ts'

type AskedOutcome = Pick<ItemOutcome, 'usage' | 'unanswered'>

/** How many calls these outcomes made, how many of them were answered, and how the others ended. */
function callsOf(outcomes: readonly AskedOutcome[]) {
  const ends = new Map<string, number>()
  for (const { unanswered = {} } of outcomes)
    for (const [end, count] of Object.entries(unanswered)) ends.set(end, (ends.get(end) ?? 0) + count)
  const answered = outcomes.reduce((sum, { usage }) => sum + usage.calls, 0)
  const without = [...ends.values()].reduce((sum, count) => sum + count, 0)
  return { answered, of: answered + without, ends: [...ends].sort(([, one], [, other]) => other - one) }
}

/** `0 of 400 calls answered: 396 unavailable, 4 timeout`; null where every outcome has an answer, or asked nothing. */
export function whatWasNotAnswered(outcomes: readonly AskedOutcome[]): string | null {
  if (!outcomes.some((outcome) => outcome.usage.calls === 0 && outcome.unanswered !== undefined)) return null
  const { answered, of, ends } = callsOf(outcomes)
  return `${answered} of ${of} calls answered: ${ends.map(([end, count]) => `${count} ${end}`).join(', ')}`
}

/** Whether calls were made for these outcomes, and none of them was answered: figures of them would say nothing of a judge. */
export function isUnanswered(outcomes: readonly AskedOutcome[]): boolean {
  const { answered, of } = callsOf(outcomes)
  return answered === 0 && of > 0
}
