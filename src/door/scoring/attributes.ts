import { z } from 'zod'
import { offScale, scaleName, scales } from '../../contracts/facts/scales.ts'

/**
 * The questions that score Perspective's attributes, and what each calls them: the attributes that are in production there, those that
 * are experimental or the New York Times', and those of constructive and of persuasive talk. What one question asks is asked at once,
 * so that one remembered answer serves any selection of it.
 */
export const ATTRIBUTE_FIELDS = {
  perspective: ['toxicity', 'severeToxicity', 'identityAttack', 'insult', 'profanity', 'threat'],
  experimental: [
    'sexuallyExplicit',
    'flirtation',
    'attackOnAuthor',
    'attackOnCommenter',
    'incoherent',
    'inflammatory',
    'likelyToReject',
    'obscene',
    'spam',
    'unsubstantial',
  ],
  bridging: [
    'affinity',
    'compassion',
    'curiosity',
    'nuance',
    'personalStory',
    'reasoning',
    'respect',
    'alienation',
    'fearmongering',
    'generalization',
    'moralOutrage',
    'powerAppeal',
    'scapegoating',
  ],
} as const
export type AttributeQuestion = keyof typeof ATTRIBUTE_FIELDS
type AttributeField = (typeof ATTRIBUTE_FIELDS)[AttributeQuestion][number]

/** Perspective's attributes, and the field that scores each: one field for all names that Google gave the same meaning. */
export const ATTRIBUTES = {
  TOXICITY: 'toxicity',
  SEVERE_TOXICITY: 'severeToxicity',
  IDENTITY_ATTACK: 'identityAttack',
  INSULT: 'insult',
  PROFANITY: 'profanity',
  THREAT: 'threat',
  TOXICITY_FAST: 'toxicity',
  TOXICITY_EXPERIMENTAL: 'toxicity',
  SEVERE_TOXICITY_EXPERIMENTAL: 'severeToxicity',
  IDENTITY_ATTACK_EXPERIMENTAL: 'identityAttack',
  INSULT_EXPERIMENTAL: 'insult',
  PROFANITY_EXPERIMENTAL: 'profanity',
  THREAT_EXPERIMENTAL: 'threat',
  SEXUALLY_EXPLICIT: 'sexuallyExplicit',
  FLIRTATION: 'flirtation',
  ATTACK_ON_AUTHOR: 'attackOnAuthor',
  ATTACK_ON_COMMENTER: 'attackOnCommenter',
  INCOHERENT: 'incoherent',
  INFLAMMATORY: 'inflammatory',
  LIKELY_TO_REJECT: 'likelyToReject',
  OBSCENE: 'obscene',
  SPAM: 'spam',
  UNSUBSTANTIAL: 'unsubstantial',
  AFFINITY_EXPERIMENTAL: 'affinity',
  COMPASSION_EXPERIMENTAL: 'compassion',
  CURIOSITY_EXPERIMENTAL: 'curiosity',
  NUANCE_EXPERIMENTAL: 'nuance',
  PERSONAL_STORY_EXPERIMENTAL: 'personalStory',
  REASONING_EXPERIMENTAL: 'reasoning',
  CONSTRUCTIVE_EXPERIMENTAL: 'reasoning',
  RESPECT_EXPERIMENTAL: 'respect',
  ALIENATION_EXPERIMENTAL: 'alienation',
  FEARMONGERING_EXPERIMENTAL: 'fearmongering',
  GENERALIZATION_EXPERIMENTAL: 'generalization',
  MORAL_OUTRAGE_EXPERIMENTAL: 'moralOutrage',
  POWER_APPEAL_EXPERIMENTAL: 'powerAppeal',
  SCAPEGOATING_EXPERIMENTAL: 'scapegoating',
} as const satisfies Readonly<Record<string, AttributeField>>
export type Attribute = keyof typeof ATTRIBUTES

export const ATTRIBUTE_QUESTIONS = ['perspective', 'experimental', 'bridging'] as const satisfies AttributeQuestion[]

/** The question that scores an attribute. */
export function questionOf(attribute: Attribute): AttributeQuestion {
  const field: AttributeField = ATTRIBUTES[attribute]
  const question = ATTRIBUTE_QUESTIONS.find((one) => ATTRIBUTE_FIELDS[one].some((known) => known === field))
  if (question === undefined) throw new Error(`no question asks for ${field}`)
  return question
}

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

/** By what the attributes of one question are called. The type names those of the others, too: who asks for one asks its question. */
function sharesOf(question: AttributeQuestion): Record<AttributeField, typeof share> {
  const entries = ATTRIBUTE_FIELDS[question].map((name) => [name, share])
  // Its fields are the question's own, which the type of entries forgets.
  return Object.fromEntries(entries) as Record<AttributeField, typeof share>
}

function attributesAnswer(question: AttributeQuestion) {
  return z
    .object({ language: z.string().max(35), ...sharesOf(question) })
    .refine((one) => areOfHundred([one]), OF_HUNDRED)
}

/** The answers to the questions about one text. */
export const attributesAnswers = {
  perspective: attributesAnswer('perspective'),
  experimental: attributesAnswer('experimental'),
  bridging: attributesAnswer('bridging'),
} as const satisfies Readonly<Record<AttributeQuestion, unknown>>

/** The same for each of so many sentences, in their order. */
export function sentencesAnswer(count: number, question: AttributeQuestion) {
  const sentence = z.object({ sentence: z.int().min(1).max(count), ...sharesOf(question) })
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
