import type { Comment } from '../../domain/thread.ts'
import type { Ruling, WeighedCounts } from '../../domain/verdict.ts'
import type { Conclusion } from '../../engine/script.ts'
import type { Weighed } from './brigading.ts'
import { carriedScores, claimHash, type Decision, type RumorCarry } from './carry.ts'
import { type Evidence, type Scored, sizeOf } from './evidence.ts'
import type { Hearing } from './hearing.ts'
import type { Utterance } from './near-identical.ts'
import { withParents } from './parents.ts'
import type { RumorSettings } from './settings.ts'
import type { Sides } from './sides.ts'
import { mostCommon } from './stance.ts'

/** A decision; its last three fields may be left out if there is nothing to say. */
export type Reached = Pick<Decision, 'label' | 'rationale' | 'decidedBy' | 'rounds'> &
  Partial<Pick<Decision, 'degraded' | 'again' | 'models'>>

export function undecided(...why: string[]): Reached & { degraded: string[] } {
  return { label: null, rationale: '', decidedBy: 'none', rounds: 0, degraded: why }
}

/** A post that has only undescribed images contains no claim that could be read. */
export function nothingToJudge(): Conclusion {
  const decided = undecided('no words to judge: images without a description are left out')
  return {
    ruling: { ...decided, scores: { support: 0, oppose: 0 }, evidence: { support: [], oppose: [], precedents: [] } },
  }
}

/** The ruling, with all that was left out or lost on the way, and what the next revision may build on. */
export function concluded(hearing: Hearing, found: Scored, evidence: Evidence, reached: Reached): Conclusion {
  const { thread, settings, parentOf } = hearing
  const { weighed, sides, full } = evidence
  const scorer = mostCommon([...found.scores.values()].map(({ model }) => model))
  const decision: Decision = {
    ...reached,
    degraded: reached.degraded ?? [],
    again: reached.again === true,
    models: { ...reached.models, ...(scorer === undefined ? {} : { scorer }) },
  }
  return {
    ruling: {
      ...rulingOf(decision, sides, weighed),
      degraded: [...hearing.says, ...found.says, ...evidence.says, ...decision.degraded],
      ...(sizeOf(sides) < sizeOf(full) ? { faults: ['ours'] } : {}),
      comments: countsOf(weighed, sides, found.unasked, settings),
    },
    carry: {
      under: hearing.under,
      claim: claimHash(thread.post),
      kind: found.kindFailed ? null : found.kind,
      scores: carriedScores(found.scores, settings, parentOf),
      evidence: evidence.hash,
      shown: withParents([...sides.support, ...sides.oppose], parentOf),
      decision,
    } satisfies RumorCarry,
  }
}

function rulingOf(
  { label, rationale, decidedBy, rounds, models }: Decision,
  { support, oppose }: Sides,
  { comments }: Weighed,
): Omit<Ruling, 'degraded'> {
  const idsOf = (side: readonly Comment[]) => side.map(({ id }) => id)
  return {
    ...{ label, rationale, decidedBy, rounds, models },
    scores: {
      support: comments.filter(({ score }) => score !== null && score > 0).length,
      oppose: comments.filter(({ score }) => score !== null && score < 0).length,
    },
    evidence: { support: idsOf(support), oppose: idsOf(oppose), precedents: [] },
  }
}

/** What happened to the snapshot's comments. */
function countsOf(
  { comments, folded, author }: Weighed,
  sides: Sides,
  unasked: readonly Utterance[],
  settings: RumorSettings,
): WeighedCounts {
  const judged = settings.stance ? comments.length : sizeOf(sides)
  const load = unasked.reduce((sum, utterance) => sum + utterance.comments.length, 0)
  return { judged, folded, author, cap: comments.length - judged, load }
}
