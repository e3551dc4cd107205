import { type ProblemName, RequestRefused } from './problem.ts'
import { NoScore, type NoScoreReason } from './scoring/score-text.ts'

/** What is wrong with a model's score, as the problem of the door. */
const NO_SCORE: Readonly<Record<NoScoreReason, ProblemName>> = {
  image: 'image',
  filtered: 'refused-content',
  unreadable: 'model-unreadable',
  budget: 'budget',
  away: 'model-away',
  late: 'model-away',
}

/** Throws the problem of a text that has no score. */
export function noScore(error: unknown): never {
  if (!(error instanceof NoScore)) throw error
  const why =
    error.why === 'image' ? 'an image can not be fetched, is none or too large, or the model takes none' : error.why
  throw new RequestRefused(NO_SCORE[error.why], `there is no score: ${why}`, { retryAfter: 5 })
}
