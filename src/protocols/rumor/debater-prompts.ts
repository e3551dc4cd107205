import type { Comment } from '../../contracts/facts/thread.ts'
import type { ChatMessage } from '../../contracts/facts/verdict.ts'
import { inOrder } from '../order.ts'
import type { RumorContext } from './context.ts'
import { elsewhereIn } from './elsewhere.ts'
import { type Evidence, type ScoredThread, sizeOf } from './evidence.ts'
import type { RumorQuestions, RumorSide } from './questions.ts'
import type { RumorSettings } from './settings.ts'
import type { Sides } from './sides.ts'
import type { ToldCounts } from './told-counts.ts'

/** The parts of the thread that debaters and judge see. */
export interface DebaterPrompts extends Readonly<Record<RumorSide | 'both', ChatMessage[]>> {
  readonly judge: Parameters<RumorQuestions['judge']>[2]
}

/** Equation 3: each debater's opening, over one side's comments; and what a single agent and the judge see. */
export function debaterPrompts(
  context: RumorContext,
  { kind }: ScoredThread,
  { counts: told, sides, elsewhere }: Evidence,
): DebaterPrompts {
  const { ask, settings } = context
  const counts = countsIn(told, settings)
  const isUndisputed = sizeOf(sides) === 0 && settings.preset !== 'paper'
  const oneSided = settings.counts && settings.stance && !isUndisputed
  const shown = (...of: readonly RumorSide[]) =>
    isUndisputed
      ? ''
      : `${of.map((side) => sideIn(context, side, sides[side], told)).join('\n\n')}${elsewhereIn(context, elsewhere)}`
  const opening = (side: RumorSide) => ask.opening(kind, { comments: shown(side), counts, oneSided, lacking: '' })
  const lacking = settings.stance ? lackingIn(sides) : ''
  return {
    support: opening('support'),
    oppose: opening('oppose'),
    both: ask.opening(kind, { comments: shown('support', 'oppose'), counts, oneSided: false, lacking }),
    judge: { kind, counts, oneSided, comments: strongest(context, sides, told) },
  }
}

/** The side that no comment takes, where they all take the other. */
function lackingIn({ support, oppose }: Sides): string {
  if (oppose.length === 0) return 'raises doubt'
  return support.length === 0 ? 'speaks for the claim' : ''
}

/** How many comments take which side, in words; empty where that is not said, or nobody asked for their stance. */
function countsIn(
  { support, oppose, neither }: ToldCounts,
  { counts, stance, foldNearIdentical, perAuthor }: RumorSettings,
): string {
  if (!counts || !stance || support + oppose + neither === 0) return ''
  const rules = [
    ...(foldNearIdentical ? ['near-copies once'] : []),
    ...(perAuthor === null ? [] : [`at most ${perAuthor} per author`]),
  ]
  const by = rules.length === 0 ? '' : ` (${rules.join(', ')})`
  return `Comments counted${by}: ${support} for the claim, ${oppose} against it, ${neither} neither (shown to nobody). Numbers tell what people believe, not what is true.`
}

/** What the judge is shown of the comments: the strongest of each side, as many as the settings say; empty if none. */
function strongest(context: RumorContext, sides: Sides, told: ToldCounts): string {
  const { judgeComments: most } = context.settings
  if (most === 0) return ''
  const shown = (side: RumorSide) => sideIn(context, side, sides[side].slice(0, most), told)
  return inOrder<RumorSide>(['support', 'oppose'], context.turned).map(shown).join('\n\n')
}

/** One side's comments under their heading; where there are none, what that means. */
function sideIn(
  { ask, settings }: RumorContext,
  side: RumorSide,
  comments: readonly Comment[],
  told: ToldCounts,
): string {
  if (comments.length > 0 || !settings.stance || settings.preset === 'paper')
    return ask.comments(heading(side, settings, comments.length, told[side]), comments)
  return `No comment was sorted as ${side === 'support' ? 'supporting' : 'opposing'} the claim. That speaks for neither.`
}

function heading(side: RumorSide, { stance, preset, counts }: RumorSettings, shown: number, all: number): string {
  if (!stance) return 'Comments'
  const sided = side === 'support' ? 'support the claim' : 'oppose the claim'
  if (preset === 'paper') return `Comments that ${sided}`
  // A debater who knows how many there are would take those that it sees for all of them.
  const some = counts && shown < all ? `the ${shown} strongest of ${all}, ` : ''
  return `Comments that ${sided}, as a model sorted them, perhaps wrongly, ${some}strongest first`
}
