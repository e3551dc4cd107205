import { RANK_LIMIT, type SamplingRank } from '../contracts/facts/sampling-rank.ts'
import type { VerdictDebate } from '../contracts/facts/verdict-fields.ts'

/**
 * Whether a subject that a debate is spared is debated all the same, to see what the debate would have changed: a share of all, by
 * a keyed hash that nobody can foresee. The same subject is always drawn, or never.
 */
export function isControl(rank: SamplingRank, protocol: string, subject: string, share: number): boolean {
  return rank(`control of ${protocol}`, subject) < share * RANK_LIMIT
}

/**
 * A control's debate in its verdict. `without` is the label that stood before it; a debate that came to nothing has none, since that
 * label still stands.
 */
export function controlled(
  { held }: Pick<VerdictDebate, 'held'>,
  { chance, without }: { readonly chance: number; readonly without?: string | null },
): VerdictDebate {
  return { held, why: 'control', chance, ...(without === undefined ? {} : { without }) }
}
