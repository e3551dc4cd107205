import { hash } from 'node:crypto'
import { z } from 'zod'
import { contentOf, MODEL } from './answer.ts'
import type { UnderstudyCall } from './calls.ts'
import { parsed } from './http.ts'
import { readQuestion, tokens } from './question.ts'

const words = z.union([z.string(), z.array(z.looseObject({ text: z.string().default('') }))])

/** What the understudy takes of OpenAI's decisions: choices, and predicates. */
const openAiRequest = z.looseObject({
  model: z.string().optional(),
  input: z.union([z.string(), z.array(z.looseObject({ content: words }))]),
  questions: z
    .array(
      z.looseObject({
        type: z.enum(['choice', 'predicate']),
        name: z.string().optional(),
        instructions: words,
        choices: z
          .array(z.looseObject({ value: z.string() }))
          .min(2)
          .max(255)
          .optional(),
      }),
    )
    .min(1)
    .max(400),
})

/** And of System One. */
const systemOneRequest = z.looseObject({
  model: z.string().optional(),
  state: z.string(),
  questions: z.record(
    z.string(),
    z.looseObject({
      type: z.enum(['choice', 'noul']),
      instructions: z.string(),
      criteria: z.record(z.string(), z.string().nullable()).nullish(),
    }),
  ),
})

interface AskedDecision {
  readonly name: string
  readonly instructions: string
  readonly options: readonly string[]
}

/** The options of a question that is answered with yes or no. */
const YES_NO = ['yes', 'no']

/** A call of OpenAI's interface for decisions. Throws BadRequest for a body that doesn't fit. */
export function openAiDecisionCall(body: string): UnderstudyCall {
  const { model, input, questions } = parsed(body, openAiRequest)
  const text = typeof input === 'string' ? input : input.map(({ content }) => textOf(content)).join('\n')
  const asked = questions.map(({ name = '', instructions, choices }) => ({
    name,
    instructions: textOf(instructions),
    options: choices?.map(({ value }) => value) ?? YES_NO,
  }))
  return decisionCall({ model, text, asked }, (decided) =>
    decided.map(([choice, probabilities], at) => {
      const name = questions[at]?.name ?? null
      if (questions[at]?.type === 'predicate')
        return { type: 'predicate', name, probability: probabilities[0]?.[1] ?? 0 }
      const listed = probabilities.map(([value, probability]) => ({ value, probability }))
      return {
        type: 'choice',
        name,
        choice,
        confidence: Math.max(...listed.map(({ probability }) => probability)),
        probabilities: listed,
      }
    }),
  )
}

/** A call of TypeSafe's interface, System One. Throws BadRequest for a body that doesn't fit. */
export function systemOneCall(body: string): UnderstudyCall {
  const { model, state, questions } = parsed(body, systemOneRequest)
  const asked = Object.entries(questions).map(([name, { instructions, criteria }]) => ({
    name,
    instructions,
    options: criteria == null ? YES_NO : Object.keys(criteria),
  }))
  return decisionCall({ model, text: state, asked }, (decided) =>
    Object.fromEntries(
      decided.map(([choice, probabilities], at) => {
        const { name = '' } = asked[at] ?? {}
        if (questions[name]?.type === 'noul') return [name, { type: 'noul', noul: probabilities[0]?.[1] ?? 0 }]
        const confidence = Math.max(...probabilities.map(([, probability]) => probability))
        return [name, { type: 'choice', choice, confidence, probabilities: Object.fromEntries(probabilities) }]
      }),
    ),
  )
}

type Decided = readonly [choice: string, probabilities: readonly (readonly [value: string, probability: number])[]]

function decisionCall(
  { model, text, asked }: { model: string | undefined; text: string; asked: readonly AskedDecision[] },
  answersOf: (decided: readonly Decided[]) => unknown,
): UnderstudyCall {
  const promptTokens = tokens(text.length + asked.reduce((sum, { instructions }) => sum + instructions.length, 0))
  return {
    model: model ?? '',
    stage: asked.map(({ name }) => name).join(', '),
    question: hash('sha256', JSON.stringify([text, asked]), 'base64url').slice(0, 22),
    promptTokens,
    content: false,
    answer: () => ({
      completionTokens: 0,
      value: {
        model: MODEL,
        answers: answersOf(asked.map((one) => decided(one, text))),
        usage: { input_tokens: promptTokens, output_tokens: 0 },
      },
    }),
  }
}

/** One question, played as it is in a chat: by the words of the text alone. */
function decided({ instructions, options }: AskedDecision, text: string): Decided {
  const least = 1 / options.length
  const question = readQuestion({
    messages: [{ role: 'user', content: `${text}\n\n${instructions}` }],
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'decide',
        schema: {
          type: 'object',
          properties: {
            label: { type: 'string', enum: options },
            probability: { type: 'number', minimum: least, maximum: 0.99 },
          },
          required: ['label', 'probability'],
        },
      },
    },
  })
  const said = z.object({ label: z.string(), probability: z.number() }).parse(JSON.parse(contentOf(question)))
  const probability = Math.min(0.99, Math.max(least, said.probability))
  const rest = (1 - probability) / Math.max(1, options.length - 1)
  return [said.label, options.map((option) => [option, option === said.label ? probability : rest] as const)]
}

function textOf(content: z.infer<typeof words>): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}
