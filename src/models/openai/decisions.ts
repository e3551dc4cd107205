import type OpenAI from 'openai'
import { z } from 'zod'
import type { Decision, DecisionWire } from '../../contracts/facts/ask.ts'
import type { Dialect } from '../../contracts/facts/dialect.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { RetryLaterError } from '../../contracts/facts/errors.ts'
import { firstOf } from '../../contracts/facts/first-of.ts'
import type { ModelReply, ModelRequest } from '../../contracts/ports/model.ts'
import { ParameterNamed } from './refusals.ts'
import { readUsage } from './usage.ts'

/** An interface for decision models. */
type DecisionInterface = Exclude<DecisionWire, 'chat'>

/** Where each stands below the base URL that chat completions have. OpenRouter's is outside of its `/api/v1`. */
export const DECISION_PATHS: Readonly<Record<DecisionInterface, string>> = {
  openai: '/decisions',
  systemone: '/systemone',
  openrouter: '/../alpha/decisions',
}

/**
 * The wire on which a request is sent. `auto` begins with OpenAI's interface; refusals lead on from there. Of the interfaces, only
 * OpenAI's has a field for images that all its servers share.
 */
export function wireOf({ decision, messages }: ModelRequest, { decisions }: Dialect): DecisionWire {
  if (decision === undefined) return 'chat'
  const wire = decisions === 'auto' ? 'openai' : decisions
  return wire !== 'openai' && messages.some(({ images = [] }) => images.length > 0) ? 'chat' : wire
}

/**
 * The request to a decision model. What it is asked and what strangers wrote stand in fields of their own, on each wire.
 */
export function decisionBody(
  wire: DecisionInterface,
  request: ModelRequest,
  decision: Decision,
  model: string,
): object {
  const { field, instructions, input, options } = decision
  if (wire !== 'openai') {
    const criteria = Object.fromEntries(options.map(({ value, description }) => [value, description ?? value]))
    return { model, state: input, questions: { [field]: { type: 'choice', instructions, criteria } } }
  }
  const images = request.messages.flatMap(({ images: shown = [] }) => shown)
  return {
    model,
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: input },
          ...images.map((image) => ({ type: 'input_image' as const, image_url: image })),
        ],
      },
    ],
    questions: [{ type: 'choice', name: field, instructions, choices: [...options] }],
  } satisfies OpenAI.DecisionCreateParams
}

/** Most answers and options that are looked at: what requests may have, and one more. */
const MOST_ANSWERS = 401
const MOST_OPTIONS = 256

const openAiAnswers = z.looseObject({
  answers: firstOf(
    MOST_ANSWERS,
    z.looseObject({
      type: z.unknown().optional(),
      name: z.unknown().optional(),
      choice: z.unknown().optional(),
      probabilities: firstOf(
        MOST_OPTIONS,
        z.looseObject({ value: z.unknown().optional(), probability: z.unknown().optional() }),
      ).catch([]),
    }),
  ),
})

const namedAnswers = z.looseObject({
  answers: z.record(
    z.string(),
    z.looseObject({
      type: z.unknown().optional(),
      choice: z.unknown().optional(),
      probabilities: z.record(z.string(), z.unknown()).catch({}),
    }),
  ),
})

/** One answer, whichever wire it came on. */
interface GivenAnswer {
  readonly type?: unknown
  readonly choice?: unknown
  readonly probabilities: readonly (readonly [value: unknown, probability: unknown])[]
}

/**
 * The reply of a decision model. One that can't mean one thing has in `decided` why; nothing is filled in. Throws `ParameterNamed`
 * if the response is none of a decision model.
 */
export function decisionReply(wire: DecisionInterface, data: unknown, decision: Decision): Omit<ModelReply, 'model'> {
  const answers = wire === 'openai' ? listedIn(data, decision) : namedIn(data, decision)
  if (answers === null) {
    const why = 'the response is no answer of a decision model'
    const perhaps = { trait: 'decisions', words: '', perhaps: true } as const
    throw new ParameterNamed(perhaps, why, new RetryLaterError('unavailable', why))
  }
  const usage = readUsage({ usage: usageIn(data) })
  const unreadable = (why: string) => ({
    text: null,
    finish: 'stop' as const,
    decided: { wire, unreadable: why },
    ...usage,
  })
  if (typeof answers === 'string') return unreadable(answers)
  if (answers.type === 'refusal')
    return { ...unreadable('the model declines the question'), finish: 'content-filter', filtered: [] }
  const read = probabilitiesIn(answers, decision)
  if (typeof read === 'string') return unreadable(read)
  const [likeliest = ''] = [...read].reduce((most, one) => (one[1] > most[1] ? one : most))
  return {
    text: JSON.stringify({ [decision.field]: likeliest }),
    finish: 'stop',
    decided: { wire, probabilities: Object.fromEntries(read) },
    ...usage,
  }
}

/** OpenAI's answer to the one question, by its place; why there is none; or null for a response of another kind. */
function listedIn(data: unknown, { field }: Decision): GivenAnswer | string | null {
  const read = openAiAnswers.safeParse(data)
  if (!read.success) return null
  const [one, ...others] = read.data.answers
  if (one === undefined || others.length > 0) return `${read.data.answers.length} answers to one question`
  if (one.name != null && one.name !== field) return 'an answer to another question'
  return { ...one, probabilities: one.probabilities.map(({ value, probability }) => [value, probability]) }
}

/** The same of System One, where answers stand by the names of their questions. */
function namedIn(data: unknown, { field }: Decision): GivenAnswer | string | null {
  const read = namedAnswers.safeParse(data)
  if (!read.success) return null
  const one = entryOf(read.data.answers, field)
  if (one === undefined || Object.keys(read.data.answers).length > 1) return 'answers to other questions'
  return { ...one, probabilities: Object.entries(one.probabilities) }
}

/** Servers round probabilities to two digits: how much each of them may lack. */
const ROUNDED = 0.005 + 1e-9

/** The probability of each option, in their order, which add up to 1; or why they can't be told. */
function probabilitiesIn(
  { type, choice, probabilities }: GivenAnswer,
  { options }: Decision,
): Map<string, number> | string {
  if (type !== 'choice') return 'an answer of another type'
  const given = new Map<string, number>()
  for (const [value, probability] of probabilities) {
    if (typeof value !== 'string' || !options.some((option) => option.value === value))
      return 'an option that was not given'
    if (given.has(value)) return 'an option that stands twice'
    if (typeof probability !== 'number' || !(probability >= 0 && probability <= 1)) return 'a probability that is none'
    given.set(value, probability)
  }
  if (given.size < options.length) return 'options without a probability'
  const sum = [...given.values()].reduce((all, one) => all + one, 0)
  if (Math.abs(sum - 1) > Math.max(2, options.length) * ROUNDED) return 'probabilities that do not add up to 1'
  const chosen = typeof choice === 'string' ? given.get(choice) : undefined
  if (chosen === undefined || chosen + 2 * ROUNDED < Math.max(...given.values()))
    return 'a choice that is not the likeliest option'
  return new Map(options.map(({ value }) => [value, (given.get(value) ?? 0) / sum]))
}

const usage = z.looseObject({
  usage: z.looseObject({
    input_tokens: z.unknown().optional(),
    output_tokens: z.unknown().optional(),
    input_tokens_details: z.unknown().optional(),
  }),
})

/** The usage under the names that chat completions have; a server that leaves out what was written has written nothing. */
function usageIn(data: unknown): object {
  const read = usage.safeParse(data)
  if (!read.success) return {}
  const { input_tokens, output_tokens = 0, input_tokens_details } = read.data.usage
  return { prompt_tokens: input_tokens, completion_tokens: output_tokens, prompt_tokens_details: input_tokens_details }
}
