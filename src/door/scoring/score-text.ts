import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import type { Ask } from '../../contracts/facts/ask.ts'
import type { ModelCall } from '../../contracts/facts/case.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { PermanentError, RetryLaterError } from '../../contracts/facts/errors.ts'
import type { Fence } from '../../contracts/facts/fence.ts'
import { fairSlots } from '../../contracts/facts/slots.ts'
import type { ChatMessage } from '../../contracts/facts/verdict.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { askContext, type GivenAsk, leaveLine } from '../../models/context.ts'
import type { Gateway } from '../../models/gateway.ts'
import type { DecisionPrompt } from '../../protocols/decision-prompt.ts'
import type { Prompts } from '../../protocols/prompts.ts'
import {
  ATTRIBUTE_FIELDS,
  type AttributeQuestion,
  attributesAnswers,
  categoriesAnswer,
  sentencesAnswer,
} from './attributes.ts'
import { categoriesDecision } from './categories-decision.ts'
import type { TextPiece } from './pieces.ts'
import { piecesOf } from './pieces.ts'

/** Raised when the prompts, the schemas or the fences of scores change: scores of two versions are not to be compared. */
export const SCORING_VERSION = 2

/** The prompt files of scores, and the places in each. */
export const SCORE_PROMPTS = {
  system: [],
  perspective: ['context', 'text'],
  sentences: ['context', 'sentences'],
  experimental: ['context', 'text'],
  'experimental-sentences': ['context', 'sentences'],
  bridging: ['context', 'text'],
  'bridging-sentences': ['context', 'sentences'],
  moderation: ['text'],
  'moderation-images': ['text'],
} as const

/** The prompt of each question about a text's sentences. */
const OF_SENTENCES = {
  perspective: 'sentences',
  experimental: 'experimental-sentences',
  bridging: 'bridging-sentences',
} as const satisfies Readonly<Record<AttributeQuestion, keyof typeof SCORE_PROMPTS>>

/** The model role that scores words alone. */
export const MODERATOR = 'moderator'

export interface ScoringSettings {
  /** Longest time for one score, in ms. */
  readonly timeout: number
  /** Most at a time, in this process. */
  readonly atOnce: number
}

/** A text to be scored, and for whom. */
export interface TextToScore {
  readonly text: string
  /** The text in pieces, as `TextScorer` has cut it: cutting takes as long as reading it. */
  readonly pieces: readonly string[]
  /** What it answers, the oldest first: shown to the model, and not scored. */
  readonly surroundings?: readonly string[]
  /** What belongs to it, as https or data addresses: a role that sees is asked then. For categories alone. */
  readonly images?: readonly string[]
  readonly tenant: string
  /** One of many who ask for the tenant. */
  readonly part: string
  /** False: nothing of the answer is kept. */
  readonly remember: boolean
  /** Aborts when the client has gone: the call is stopped, unless others wait for the same score. */
  readonly gone: AbortSignal
  /** Aborts when no score is waited for any more. */
  readonly signal: AbortSignal
}

/** Why there is no score. */
export type NoScoreReason = 'image' | 'filtered' | 'unreadable' | 'budget' | 'limit' | 'away' | 'late'

/** `cause` is what was thrown: of an `image`, which one it is (`imageAt`) and why. */
export class NoScore extends Error {
  override readonly name = 'NoScore'
  readonly why: NoScoreReason
  constructor(why: NoScoreReason, cause: unknown) {
    super(why, { cause })
    this.why = why
  }
}

/** Scores and the model that gave them. */
export interface ModelScores<Answer> {
  readonly scores: Answer
  readonly model: string
}

export type AttributeScores = z.infer<(typeof attributesAnswers)[AttributeQuestion]>

/**
 * Scores single texts, some with images, each by one call; of a text that is too long for one question each piece by one, and the
 * highest counts. Rejects with a `NoScore`.
 */
export interface TextScorer {
  /** Longest time for one score, in ms. */
  readonly withinMs: number
  /** The text in the pieces that are scored, each by one call, retries aside. */
  pieces(text: string): readonly string[]
  /** The attributes of one question. */
  attributes(text: TextToScore, question: AttributeQuestion): Promise<ModelScores<AttributeScores>>
  /** The same of each of these parts of the text, in their order. */
  sentences(
    text: TextToScore,
    parts: readonly TextPiece[],
    question: AttributeQuestion,
  ): Promise<ModelScores<z.infer<ReturnType<typeof sentencesAnswer>>>>
  categories(text: TextToScore): Promise<ModelScores<z.infer<typeof categoriesAnswer>>>
}

export function scorer(parts: {
  readonly gateway: Pick<Gateway, 'ask'>
  readonly prompts: Prompts
  /** What a decision model is told of categories, where the role decider is asked for those of words alone. */
  readonly decided?: DecisionPrompt | undefined
  readonly fence: Fence
  /** Longest text that a question shows whole, in characters. */
  readonly maxChars: number
  readonly settings: ScoringSettings
  readonly clock: Clock
}): TextScorer {
  const { gateway, prompts, decided, fence, maxChars, settings, clock } = parts
  const { atOnce } = settings
  // Nobody takes all of them: half for one tenant, half of that for one who asks for it.
  const slots = fairSlots({ all: () => atOnce, each: Math.ceil(atOnce / 2), ofPart: Math.ceil(atOnce / 4) })
  const system = prompts.get('system').render()

  async function score<Answer>(
    given: TextToScore,
    /** Made once it is asked: what waits for a slot is kept once. */
    messages: () => readonly ChatMessage[],
    answer: z.ZodType<Answer>,
    {
      maxTokens = TOKENS,
      ...asked
    }: Partial<Pick<Ask<Answer>, 'role' | 'decision' | 'fromDecided' | 'maxTokens'>> = {},
  ): Promise<ModelScores<Answer>> {
    const { tenant, part, remember } = given
    const late = AbortSignal.timeout(settings.timeout)
    const signal = AbortSignal.any([given.signal, late])
    const wanted = AbortSignal.any([signal, given.gone])
    const deadline = clock() + settings.timeout
    const calls: ModelCall[] = []
    let awaitedImage: RetryLaterError | null = null
    const made = (): Omit<GivenAsk, 'attempt'> => ({
      ask: {
        stage: 'score',
        role: given.images === undefined ? MODERATOR : 'describer',
        messages: [...system, ...messages()],
        answer,
        temperature: 0,
        maxTokens,
        ...asked,
      },
      protocol: 'score',
      subject: { tenant, postId: `text-${contentHash(given)}`, kind: 'post' as const },
      caseId: 'score',
      serviceClass: 'waiting' as const,
      askId: randomUUID(),
      author: part,
      last: false,
      remember,
      signal,
      cancelled: given.gone,
      deadline,
      calls,
    })
    try {
      return await slots.run({ name: tenant, part }, wanted, async () => {
        const context = made()
        for (let attempt = 1; ; attempt++)
          try {
            const settled = await gateway.ask(askContext({ ...context, attempt }))
            if (settled.failed !== undefined)
              throw new NoScore(whyOf(settled.failed.code, given), settled.failed.detail)
            return { scores: answer.parse(settled.answer), model: settled.model }
          } catch (error) {
            if (!(error instanceof RetryLaterError)) throw error
            awaitedImage = error.code === 'image' ? error : null
            const ms = error.delayMs ?? FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 5)
            try {
              if (wanted.aborted || clock() + ms >= deadline) throw error
              await sleep(ms, undefined, { signal: wanted })
            } catch (ended) {
              leaveLine(error)
              throw ended
            }
          }
      })
    } catch (error) {
      if (error instanceof NoScore) throw error
      if (late.aborted) throw awaitedImage === null ? new NoScore('late', error) : new NoScore('image', awaitedImage)
      if (given.signal.aborted) throw new NoScore('away', error)
      if (error instanceof PermanentError || error instanceof RetryLaterError)
        throw new NoScore(whyOf(error.code, given), error)
      throw error
    }
  }

  // Most texts grow by less than that when they are fenced.
  const most = Math.floor(0.9 * maxChars)
  /** A text as questions show it whole. */
  const whole = (text: string): string[] =>
    text.length < LEAST_CHARS || fence.unread('text', text) === 0
      ? [text]
      : piecesOf(text, Math.floor(0.6 * text.length)).flatMap(whole)

  /** Nothing of a text goes unread: it is as bad as the worst of its pieces. */
  async function scoreAll<Answer extends Readonly<Record<string, unknown>>>(
    given: TextToScore,
    ask: (piece: TextToScore) => Promise<ModelScores<Answer>>,
  ): Promise<ModelScores<Answer>> {
    // Images belong to the text as a whole: they are shown once.
    const { images: _, ...written } = given
    const [first, ...others] = given.pieces.map((text, nth) => ({ ...(nth === 0 ? given : written), text }))
    const [score, ...more] = await Promise.all([ask(first ?? given), ...others.map(ask)])
    const scores = more.reduce((worst, { scores }) => highest(worst, scores), score.scores)
    return { ...score, scores }
  }

  const surroundingsOf = ({ surroundings = [] }: TextToScore) =>
    surroundings.map((text, at) => fence('context', text, at + 1)).join('\n\n')

  return {
    withinMs: settings.timeout,
    pieces: (text) => piecesOf(text, most).flatMap(whole),
    attributes: (given, question) =>
      scoreAll(given, (piece) => {
        const messages = () =>
          prompts.get(question).render({ context: surroundingsOf(piece), text: fence('text', piece.text) })
        return score(piece, messages, attributesAnswers[question])
      }),
    sentences: (given, parts, question) => {
      const messages = () => {
        const lines = parts.map(({ begin, end }, at) => [
          `${at + 1}: `,
          { kind: 'text', text: given.text.slice(begin, end) },
        ])
        const sentences = fence.list('sentences', lines)
        return prompts.get(OF_SENTENCES[question]).render({ context: surroundingsOf(given), sentences })
      }
      const maxTokens = TOKENS + parts.length * ATTRIBUTE_FIELDS[question].length * TOKENS_A_NUMBER
      return score(given, messages, sentencesAnswer(parts.length, question), { maxTokens })
    },
    categories: (given) =>
      scoreAll(given, (piece) => {
        const { images } = piece
        const prompt = prompts.get(images === undefined ? 'moderation' : 'moderation-images')
        const shown = () => {
          const messages = prompt.render({ text: fence('text', piece.text) })
          const last = messages.length - 1
          if (images === undefined) return messages
          return messages.map((one, at) => (at === last ? { ...one, images: [...images] } : one))
        }
        const isDecided = decided !== undefined && images === undefined
        const asked = isDecided ? categoriesDecision(decided, fence('text', piece.text)) : {}
        return score(piece, shown, categoriesAnswer, asked)
      }),
  }
}

/** The question of what harm one text does, in the form of the moderation endpoint. */
export function harmQuestion(prompts: Prompts, fence: Fence, text: string): Ask {
  return scoreQuestion(prompts, 'moderation', { text: fence('text', text) }, categoriesAnswer)
}

/** The questions that score one text's attributes, each in its own form: those of all of it, and those of its only sentence. */
export function attributeQuestions(prompts: Prompts, fence: Fence, text: string, question: AttributeQuestion): Ask[] {
  const sentences = fence.list('sentences', [['1: ', { kind: 'text', text }]])
  const shown = { context: '', text: fence('text', text) }
  return [
    scoreQuestion(prompts, question, shown, attributesAnswers[question]),
    scoreQuestion(prompts, OF_SENTENCES[question], { context: '', sentences }, sentencesAnswer(1, question)),
  ]
}

function scoreQuestion(
  prompts: Prompts,
  name: keyof typeof SCORE_PROMPTS,
  shown: Readonly<Record<string, string>>,
  answer: z.ZodType,
): Ask {
  const messages = [...prompts.get('system').render(), ...prompts.get(name).render(shown)]
  return { stage: 'score', role: MODERATOR, messages, answer, temperature: 0, maxTokens: TOKENS }
}

/** The higher of each score; what is no score as it stands in the first. */
function highest<Answer extends Readonly<Record<string, unknown>>>(one: Answer, other: Answer): Answer {
  const entries = Object.entries(one).map(([name, value]) => {
    const score = entryOf(other, name)
    return [name, typeof value === 'number' && typeof score === 'number' ? Math.max(value, score) : value]
  })
  return Object.fromEntries(entries) as Answer
}

/** The hash of text and images as JSON, which is not made as a whole. */
function contentHash({ text, images = [] }: TextToScore): string {
  const hash = createHash('sha256').update(`[${JSON.stringify(text)},[`)
  for (const [at, image] of images.entries()) hash.update(`${at === 0 ? '' : ','}${JSON.stringify(image)}`)
  return hash.update(']]').digest('hex')
}

const FIRST_WAIT_MS = 200
/** Shorter texts are taken as they are. */
const LEAST_CHARS = 200

/** Longest answers. */
const [TOKENS, TOKENS_A_NUMBER] = [400, 14]

function whyOf(code: string, { images }: Pick<TextToScore, 'images'>): NoScoreReason {
  // A model that takes none refuses the question.
  if (code === 'rejected' && images !== undefined) return 'image'
  switch (code) {
    case 'image':
      return 'image'
    case 'content-filter':
    case 'refused':
      return 'filtered'
    case 'unreadable':
      return 'unreadable'
    case 'budget':
      return 'budget'
    case 'limited':
    case 'rate-limited':
      return 'limit'
    case 'deadline':
    case 'timeout':
      return 'late'
    default:
      return 'away'
  }
}
