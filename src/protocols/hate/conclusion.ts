import type { Ask } from '../../contracts/facts/ask.ts'
import type { Ruling } from '../../contracts/facts/verdict.ts'
import type { Conclusion } from '../../judging/engine/script.ts'
import { withheldUnlessHarmful } from '../truncation.ts'
import type { HateJudgement } from './answers.ts'
import { missingForNonHate } from './benign.ts'
import type { HateContext } from './context.ts'
import type { Perspective } from './perspectives.ts'
import type { Example } from './questions.ts'
import type { PerspectiveStance } from './stances.ts'

// This writes a decision down as a ruling. What the label `non-hate` lacks is decided in benign.ts.

/** The deciding rule and its result; `wrong`: the failures, in words. */
export type HateDecision = Pick<
  Ruling,
  'label' | 'rationale' | 'decidedBy' | 'rounds' | 'debated' | 'confidence' | 'faults' | 'policy' | 'clauses'
> & {
  /** The judge's question and answer, where it decided. */
  readonly judged?: { readonly asked: Ask<HateJudgement>; readonly answer: HateJudgement }
  readonly wrong: readonly string[]
  /** Turns of the debate that got no answer. */
  readonly lostTurns?: number
}

export function undecided(...wrong: string[]): HateDecision {
  return { label: null, rationale: '', decidedBy: 'none', rounds: 0, wrong }
}

export function nothingToJudge(): Conclusion {
  return { ruling: rulingOf([], [], [], undecided('no words to judge')) }
}

/** How many perspectives were asked, took a side, and got no answer; their stances, and the examples that they were shown. */
export interface PerspectiveRound {
  readonly asked: number
  readonly sided: number
  readonly lost: number
  readonly stances: readonly PerspectiveStance[]
  readonly examples: readonly Example[]
  readonly similar: ReadonlyMap<Perspective, readonly Example[]>
}

/** The ruling; `non-hate` is withheld if anything is missing that it needs. */
export function concluded(
  context: HateContext,
  decision: HateDecision,
  { asked, sided, stances, examples }: PerspectiveRound,
): Conclusion {
  const { settings, post, unread, degraded } = context
  const perspectives = { asked, sided }
  const lostTurns = decision.lostTurns ?? 0
  const missing = missingForNonHate(settings, { post, unread, perspectives, lostTurns })
  return { ruling: withheldUnlessHarmful(rulingOf(stances, examples, degraded, decision), 'hate', missing) }
}

export function count(stances: readonly PerspectiveStance[]): { hate: number; nonHate: number } {
  const hate = stances.filter(({ side }) => side === 'hate').length
  return { hate, nonHate: stances.length - hate }
}

function rulingOf(
  stances: readonly PerspectiveStance[],
  examples: readonly Example[],
  degraded: readonly string[],
  { wrong, lostTurns: _, judged: __, ...decision }: HateDecision,
): Ruling {
  return {
    ...decision,
    scores: count(stances),
    evidence: { support: [], oppose: [], precedents: [...new Set(examples.map(({ id }) => id))] },
    degraded: [...degraded, ...wrong],
  }
}
