import { z } from 'zod'
import { offScale, scaleName, scales } from '../../contracts/facts/scales.ts'

/** Perspective's attributes that are scored, and what the question calls each. */
export const ATTRIBUTES = {
  TOXICITY: 'toxicity',
  SEVERE_TOXICITY: 'severeToxicity',
  IDENTITY_ATTACK: 'identityAttack',
  INSULT: 'insult',
  PROFANITY: 'profanity',
  THREAT: 'threat',
} as const
export type Attribute = keyof typeof ATTRIBUTES

/** The categories of OpenAI's moderation endpoint, and what the question calls each. */
export const CATEGORIES = {
  harassment: 'harassment',
  'harassment/threatening': 'harassmentThreatening',
  hate: 'hate',
  'hate/threatening': 'hateThreatening',
  illicit: 'illicit',
  'illicit/violent': 'illicitViolent',
  'self-harm': 'selfHarm',
  'self-harm/intent': 'selfHarmIntent',
  'self-harm/instructions': 'selfHarmInstructions',
  sexual: 'sexual',
  'sexual/minors': 'sexualMinors',
  violence: 'violence',
  'violence/graphic': 'violenceGraphic',
} as const
export type Category = keyof typeof CATEGORIES

/** Readers of a hundred. The form asks for whole ones; a fraction among higher numbers is on the same scale. */
const share = z
  .number()
  .min(0, offScale(0, 100))
  .max(100, offScale(0, 100))
  .meta({ type: 'integer' })
  .register(scales, { scale: scaleName(0, 100) })

type Shares = Readonly<Record<string, unknown>>

/**
 * Whether the shares of an answer are of a hundred. A model that means shares of one gives fractions, and nothing above 1, or as a
 * running sum nothing above so many ones: taken for readers of a hundred, its 0.97 would call the worst text harmless.
 */
function areOfHundred(all: readonly Shares[]): boolean {
  const shares = all.flatMap((one) => Object.values(one)).filter((value) => typeof value === 'number')
  const mostOnes = Math.max(...all.map((one) => Object.keys(one).length))
  return (
    shares.some((value) => value > mostOnes || (value > 1 && Number.isInteger(value))) ||
    shares.every((value) => Number.isInteger(value))
  )
}

/** What is wrong with an answer on another scale. */
export const OF_HUNDRED = 'the scores are fractions of 1; whole numbers from 0 to 100 are asked for'

const shares = Object.fromEntries(Object.values(ATTRIBUTES).map((name) => [name, share])) as Record<
  (typeof ATTRIBUTES)[Attribute],
  typeof share
>

/** All attributes are asked for at once, so that one remembered answer serves any selection of them. */
export const attributesAnswer = z
  .object({ language: z.string().max(35), ...shares })
  .refine((one) => areOfHundred([one]), OF_HUNDRED)

/** The same for each of so many sentences, in their order. */
export function sentencesAnswer(count: number) {
  const sentence = z.object({ sentence: z.int().min(1).max(count), ...shares })
  return z.object({
    sentences: z
      .array(sentence)
      .min(count)
      .max(count)
      .refine((all) => all.every((one, at) => one.sentence === at + 1), 'one for each sentence, in their order')
      .refine((all) => areOfHundred(all.map(({ sentence: _, ...own }) => own)), OF_HUNDRED),
  })
}

export const categoriesAnswer = z
  .object(
    Object.fromEntries(Object.values(CATEGORIES).map((name) => [name, share])) as Record<
      (typeof CATEGORIES)[Category],
      typeof share
    >,
  )
  .refine((one) => areOfHundred([one]), OF_HUNDRED)
