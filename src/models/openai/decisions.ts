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
  const { input, options } = decision
  const questions = questionsOf(decision)
  if (wire !== 'openai') {
    const criteria = Object.fromEntries(options.map(({ value, description }) => [value, description ?? value]))
    const named = questions.map(({ name, instructions }) => [name, { type: 'choice', instructions, criteria }])
    return { model, state: input, questions: Object.fromEntries(named) }
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
    questions: questions.map((one) => ({ type: 'choice' as const, ...one, choices: [...options] })),
  } satisfies OpenAI.DecisionCreateParams
}

/** The questions of a decision: one, or one for each thing that it is asked of. */
function questionsOf({ field, instructions, each }: Decision): { name: string; instructions: string }[] {
  if (each === undefined) return [{ name: field, instructions }]
  return each.map((one, at) => ({ name: `${field}_${at + 1}`, instructions: `${instructions}\n\n${one}` }))
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
  if (answers.some(({ type }) => type === 'refusal'))
    return { ...unreadable('the model declines the question'), finish: 'content-filter', filtered: [] }
  const each: Map<string, number>[] = []
  for (const answer of answers) {
    const read = probabilitiesIn(answer, decision)
    if (typeof read === 'string') return unreadable(read)
    each.push(read)
  }
  const likeliest = each.map((read) => [...read].reduce((most, one) => (one[1] > most[1] ? one : most))[0])
  const probabilities = each.map((read) => Object.fromEntries(read))
  const [only = {}] = probabilities
  return {
    text: JSON.stringify({ [decision.field]: decision.each === undefined ? likeliest[0] : likeliest }),
    finish: 'stop',
    decided: decision.each === undefined ? { wire, probabilities: only } : { wire, each: probabilities },
    ...usage,
  }
}

/** OpenAI's answers, by their places; why they can't be told; or null for a response of another kind. */
function listedIn(data: unknown, decision: Decision): GivenAnswer[] | string | null {
  const read = openAiAnswers.safeParse(data)
  if (!read.success) return null
  const { answers } = read.data
  const questions = questionsOf(decision)
  if (answers.length !== questions.length)
    return `${answers.length} answers to ${questions.length === 1 ? 'one question' : `${questions.length} questions`}`
  if (answers.some(({ name }, at) => name != null && name !== questions[at]?.name))
    return 'an answer to another question'
  return answers.map((one) => ({
    ...one,
    probabilities: one.probabilities.map(({ value, probability }) => [value, probability]),
  }))
}

/** The same of System One, where answers stand by the names of their questions. */
function namedIn(data: unknown, decision: Decision): GivenAnswer[] | string | null {
  const read = namedAnswers.safeParse(data)
  if (!read.success) return null
  const { answers } = read.data
  const questions = questionsOf(decision)
  const found = questions.flatMap(({ name }) => entryOf(answers, name) ?? [])
  if (found.length < questions.length || Object.keys(answers).length > questions.length)
    return 'answers to other questions'
  return found.map((one) => ({ ...one, probabilities: Object.entries(one.probabilities) }))
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
