import type { Ask } from '../../../contracts/facts/ask.ts'
import type { Calibration } from '../../../contracts/facts/calibration.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { estimateTokens } from '../../../contracts/facts/token-estimate.ts'
import { type Price, usdFor } from '../../../models/cost.ts'
import type { CalibrationSizes } from '../../calibration/calibrate.ts'
import type { RatingParts } from '../../calibration/parts.ts'

/** What a calibration asks at most, and what that costs. */
export interface CalibrationCost {
  readonly drafts: number
  readonly refinements: number
  /** Scores of single items; with halving and when an iteration gains nothing there are fewer. */
  readonly scores: number
  readonly tokens: number
  readonly usd: number
  /** Models without a price, as the settings name them: in `usd` they are free. */
  readonly unpriced: readonly string[]
  /** With so many slots and a model of one second, in seconds. */
  readonly secondsAtOneSecond: number
}

/** A score comes with a few sentences, steps are a page. */
const ANSWER_TOKENS = { score: 120, steps: 400 }

/** The cost of a calibration before any of it is paid: a bound, from its sizes and the length of its questions. */
export function costOf(
  calibration: Calibration,
  parts: RatingParts,
  sizes: CalibrationSizes,
  how: { models: { scorer: string; writer: string }; prices: Readonly<Record<string, Price>>; slots: number },
): CalibrationCost {
  const drafts = sizes.fewShot.length * sizes.trials
  const refinements = sizes.iterations * sizes.keep * sizes.refinements
  const { selection, test } = parts
  // The steps of before and the best score the unseen part; where there is none, those of before score all.
  const measured = test.length === 0 ? selection.length : 2 * test.length
  const scores = (drafts + refinements) * selection.length + measured
  const scorePrompt = meanScorePrompt(calibration, selection)
  const longest = Math.max(...sizes.fewShot)
  const stepsPrompt = promptTokens(calibration.draft(parts.development.slice(0, longest), { temperature: 0, draw: '' }))
  const written = drafts + refinements
  const { scorer, writer } = how.models
  const usd =
    scores * usdFor({ prompt: scorePrompt, completion: ANSWER_TOKENS.score }, entryOf(how.prices, scorer)) +
    written * usdFor({ prompt: stepsPrompt, completion: ANSWER_TOKENS.steps }, entryOf(how.prices, writer))
  return {
    drafts,
    refinements,
    scores,
    usd,
    unpriced: [...new Set([scorer, writer])].filter((name) => entryOf(how.prices, name) === undefined),
    tokens: scores * (scorePrompt + ANSWER_TOKENS.score) + written * (stepsPrompt + ANSWER_TOKENS.steps),
    secondsAtOneSecond: Math.ceil((scores + written) / how.slots),
  }
}

/** Tokens of a score's question on average over the items, with steps as long as those of today or as a page, whichever is more. */
function meanScorePrompt(calibration: Calibration, items: RatingParts['selection']): number {
  const { stepsNow = '' } = calibration
  const longer = Math.max(0, ANSWER_TOKENS.steps - estimateTokens(stepsNow))
  const all = items.map((item) => longer + promptTokens(calibration.score(stepsNow, item)))
  return Math.ceil(all.reduce((sum, tokens) => sum + tokens, 0) / Math.max(1, all.length))
}

function promptTokens({ messages }: Ask): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(content), 0)
}
