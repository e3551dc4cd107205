import { type Correctness, correctnessOf } from './decided.ts'
import type { ItemOutcome } from './outcomes.ts'

/** What the debates of one cause did to the answers that stood before them. The counts of items add up to `items`. */
export interface DebateEffect {
  /** Why there were debates, or none, as verdicts say it; `all` for all of them together. */
  readonly cause: string
  readonly items: number
  /** Wrong before, and right after. */
  readonly repaired: number
  /** Right before, and wrong after. */
  readonly broken: number
  readonly unchanged: { readonly right: number; readonly wrong: number }
  /** Of which nothing can be said: no answer stood `before`, or one did, and `after` the debate the verdict decides nothing. */
  readonly undecided: { readonly before: number; readonly after: number }
  /** In sum: what was asked after the answers before. */
  readonly usage: { readonly calls: number; readonly tokens: number; readonly costUsd: number }
  /** Null where nothing was repaired. */
  readonly usdPerRepair: number | null
}

/** What debates did, over all items with a gold label and then by cause; empty where none says what stood before it. */
export function debateEffects(outcomes: readonly ItemOutcome[]): DebateEffect[] {
  const debates = outcomes.flatMap(({ gold, label, debated }): Debate[] =>
    gold === null || debated === undefined
      ? []
      : [{ ...debated, was: correctnessOf(debated.before, gold), is: correctnessOf(label, gold) }],
  )
  const causes = [...Map.groupBy(debates, ({ why }) => why)].sort(([, one], [, other]) => other.length - one.length)
  if (causes.length === 0) return []
  return [effectOf('all', debates), ...causes.map(([cause, of]) => effectOf(cause, of))]
}

type Debate = NonNullable<ItemOutcome['debated']> & { readonly was: Correctness; readonly is: Correctness }

function effectOf(cause: string, debates: readonly Debate[]): DebateEffect {
  const count = (was: Correctness, is: Correctness) => debates.filter((one) => one.was === was && one.is === is).length
  const sum = (of: (usage: Debate['usage']) => number) => debates.reduce((total, { usage }) => total + of(usage), 0)
  const [repaired, costUsd] = [count('wrong', 'right'), sum((usage) => usage.costUsd)]
  return {
    cause,
    items: debates.length,
    repaired,
    broken: count('right', 'wrong'),
    unchanged: { right: count('right', 'right'), wrong: count('wrong', 'wrong') },
    undecided: {
      before: debates.filter(({ was }) => was === 'undecided').length,
      after: count('right', 'undecided') + count('wrong', 'undecided'),
    },
    usage: { calls: sum(({ calls }) => calls), tokens: sum(({ tokens }) => tokens), costUsd },
    usdPerRepair: repaired === 0 ? null : costUsd / repaired,
  }
}
