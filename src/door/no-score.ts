import { PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import { NO_IMAGES } from '../models/openai/learning.ts'
import { type ProblemName, RequestRefused } from './problem.ts'
import { NoScore, type NoScoreReason } from './scoring/score-text.ts'

/** What is wrong with a model's score, as the problem of the door. */
const NO_SCORE: Readonly<Record<NoScoreReason, ProblemName>> = {
  image: 'image',
  filtered: 'refused-content',
  unreadable: 'model-unreadable',
  budget: 'budget',
  limit: 'limit',
  away: 'model-away',
  late: 'model-away',
}

/** Throws the problem of a text that has no score. `images`: the paths of its images in the request, in their order. */
export function noScore(error: unknown, images: readonly string[] = []): never {
  if (!(error instanceof NoScore)) throw error
  const { why, cause } = error
  if (why !== 'image') throw new RequestRefused(NO_SCORE[why], `there is no score: ${why}`, { retryAfter: 5, cause })
  const message = whyUnseen(cause)
  const imageAt = cause instanceof PermanentError || cause instanceof RetryLaterError ? cause.imageAt : undefined
  const path = images.length === 1 ? images[0] : images[imageAt ?? images.length]
  const detail = `there is no score: ${path ?? 'an image'} can't be looked at: ${message}`
  throw new RequestRefused('image', detail, {
    retryAfter: 5,
    cause,
    ...(path === undefined ? {} : { errors: [{ path, message }] }),
  })
}

/** Only a loader's own words are repeated: what a server says may be anything. */
function whyUnseen(cause: unknown): string {
  const isOfLoader = cause instanceof PermanentError || cause instanceof RetryLaterError
  if (isOfLoader && cause.code === 'image') return cause.message
  return isOfLoader && cause.message.includes(NO_IMAGES)
    ? 'the model takes no images'
    : 'the model refused the question that shows it'
}
