import type { Comment } from '../../contracts/facts/thread.ts'
import type { Ruling, WeighedCounts } from '../../contracts/facts/verdict.ts'
import type { Conclusion } from '../../judging/engine/script.ts'
import { carriedScores, claimHash, type RumorCarry, type RumorDecision } from './carry.ts'
import type { WeighedComments } from './comment-weights.ts'
import type { RumorContext } from './context.ts'
import { type Evidence, type ScoredThread, sizeOf } from './evidence.ts'
import type { Utterance } from './near-identical.ts'
import { opposedIn } from './opposed.ts'
import { withParents } from './parents.ts'
import type { RumorSettings } from './settings.ts'
import type { Sides } from './sides.ts'
import { mostCommon } from './stance.ts'

// This writes a decision down as a ruling: its counts, its evidence, and what the next revision may build on.

/** A decision; its last fields may be left out if there is nothing to say. */
export type ReachedDecision = Pick<
  RumorDecision,
  'label' | 'rationale' | 'decidedBy' | 'rounds' | 'confidence' | 'unverified'
> &
  Partial<Pick<RumorDecision, 'degraded' | 'again' | 'models'>> &
  Pick<Ruling, 'debated' | 'faults'>

export function undecided(...why: string[]): ReachedDecision & { degraded: string[] } {
  return { label: null, rationale: '', decidedBy: 'none', rounds: 0, degraded: why }
}

/** A post that has only undescribed images contains no claim that could be read. */
export function nothingToJudge(): Conclusion {
  const decided = undecided('no words to judge: images without a description are left out')
  return {
    ruling: { ...decided, scores: { support: 0, oppose: 0 }, evidence: { support: [], oppose: [], precedents: [] } },
  }
}

/** The decision of the revision before, which stands: its evidence is what was debated then, also where a little has changed. */
export function kept(context: RumorContext, found: ScoredThread, evidence: Evidence, before: RumorCarry): Conclusion {
  const reached = { ...before.decision, debated: { held: false, why: 'unchanged' } }
  const conclusion = concluded(context, found, evidence, reached)
  const { debated } = before
  if (before.evidence === evidence.hash || debated === undefined) return conclusion
  const idsOf = (side: typeof debated.support) => side.map(([id]) => id)
  const note = 'the debate of an earlier revision stands: little of its evidence has changed since'
  const { ruling, carry } = conclusion
  return {
    ruling: {
      ...ruling,
      evidence: { ...ruling.evidence, support: idsOf(debated.support), oppose: idsOf(debated.oppose) },
      degraded: [...ruling.degraded, note],
    },
    // What the decision may quote, and what the next change is measured by, is what was debated.
    carry: { ...(carry as RumorCarry), evidence: before.evidence, shown: before.shown, debated } satisfies RumorCarry,
  }
}

/** The ruling, with all that was left out or lost on the way, and what the next revision may build on. */
export function concluded(
  context: RumorContext,
  found: ScoredThread,
  evidence: Evidence,
  { debated, faults = [], ...reached }: ReachedDecision,
): Conclusion {
  const { thread, settings, parentOf } = context
  const { weighed, sides, full } = evidence
  const others = evidence.elsewhere.map(({ id }) => id)
  const scorer = mostCommon([...found.scores.values()].map(({ model }) => model))
  const all = [...faults, ...(sizeOf(sides) < sizeOf(full) ? (['ours'] as const) : [])]
  // What is decided by scores alone rests on no comment.
  const restsOnComments = reached.decidedBy !== 'scores'
  const decision: RumorDecision = {
    ...reached,
    degraded: reached.degraded ?? [],
    again: reached.again === true,
    models: { ...reached.models, ...(scorer === undefined ? {} : { scorer }) },
  }
  return {
    ruling: {
      ...rulingOf(decision, evidence),
      ...opposedIn(context, weighed),
      debated,
      degraded: [
        ...(restsOnComments && thread.comments.length === 0 ? ['no comments: judged on the claim alone'] : []),
        ...context.limitations,
        ...found.limitations,
        ...evidence.limitations,
        ...(restsOnComments ? evidence.ofUnnamed : withoutNames(evidence)),
        ...decision.degraded,
      ],
      ...(all.length === 0 ? {} : { faults: all }),
      comments: countsOf(weighed, sides, found.unasked, settings),
    },
    carry: {
      under: context.under,
      claim: claimHash(thread.post),
      kind: found.kindUnknown ? null : found.kind,
      scores: carriedScores(found.scores, settings, parentOf),
      evidence: evidence.hash,
      shown: [...withParents([...sides.support, ...sides.oppose], parentOf), ...others],
      ...(others.length === 0 ? {} : { elsewhere: others }),
      decision,
      ...(evidence.debated === undefined ? {} : { debated: evidence.debated }),
    } satisfies RumorCarry,
  }
}

/** What a verdict by scores alone says, where comments without an author would make a side if each were somebody else's. */
function withoutNames({ gate, counts: { support, oppose } }: Evidence): string[] {
  if (!gate.lacksNames) return []
  return [`comments without an author count as one author of each side: ${support} support and ${oppose} oppose`]
}

function rulingOf(
  { label, rationale, decidedBy, rounds, models, confidence, unverified }: RumorDecision,
  { sides: { support, oppose }, elsewhere, weighed: { comments } }: Evidence,
): Omit<Ruling, 'degraded'> {
  const idsOf = (side: readonly Comment[]) => side.map(({ id }) => id)
  return {
    label,
    rationale,
    decidedBy,
    rounds,
    models,
    confidence,
    unverified,
    scores: {
      support: comments.filter(({ score }) => score !== null && score > 0).length,
      oppose: comments.filter(({ score }) => score !== null && score < 0).length,
    },
    evidence: {
      support: idsOf(support),
      oppose: idsOf(oppose),
      precedents: [],
      ...(elsewhere.length === 0 ? {} : { elsewhere: idsOf(elsewhere) }),
    },
  }
}

/** What happened to the snapshot's comments. */
function countsOf(
  { comments, folded, author }: WeighedComments,
  sides: Sides,
  unasked: readonly Utterance[],
  settings: RumorSettings,
): WeighedCounts {
  const judged = settings.stance ? comments.length : sizeOf(sides)
  const load = unasked.reduce((sum, utterance) => sum + utterance.comments.length, 0)
  return { judged, folded, author, cap: comments.length - judged, load }
}
