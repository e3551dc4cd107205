import { counterspeech } from './counterspeech.ts'
import { curator } from './curator.ts'
import { hash } from './hash.ts'
import { hate } from './hate.ts'
import { fill, type LooseSchema } from './json-schema.ts'
import { type ChatRequest, type ReceivedQuestion, readQuestion, tokens } from './question.ts'
import type { PlayedAnswer, UnderstudyRole } from './role.ts'
import { rumor } from './rumor.ts'
import { safety } from './safety.ts'
import { scores } from './scores.ts'

/** What the understudy calls itself, whichever model was asked for. */
export const MODEL = 'understudy'

/** An answer and its cost, in the field names of the Chat Completions interface. */
type Answer = {
  readonly content: string
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number }
}

/**
 * Answers a question from word lists, in the schema it asks for: the same question always gets the same answer. What
 * fenced texts order is not obeyed, only their words are counted. Takes some ten microseconds, so that it can stand in
 * for a model inside a process.
 */
export function answer(request: ChatRequest): Answer {
  const question = readQuestion(request)
  return answered(question, contentOf(question))
}

/** The answer's text: JSON in the question's schema, or a sentence where the question names none. */
export function contentOf(question: ReceivedQuestion): string {
  const { schema } = question
  if (!schema) return 'The understudy is no model: it only answers questions that name a JSON Schema.'
  return JSON.stringify(fill(schema, { seed: seedOf(question), known: known(question, schema) }))
}

/** A text as an answer to a question, with the tokens it costs. */
export function answered({ promptTokens }: ReceivedQuestion, content: string): Answer {
  const completion = tokens(content.length)
  return {
    content,
    usage: { prompt_tokens: promptTokens, completion_tokens: completion, total_tokens: promptTokens + completion },
  }
}

/** Every part it can play, the first that fits the question. */
const ROLES: readonly UnderstudyRole[] = [scores, rumor, hate, safety, counterspeech, curator]

/** What the understudy knows to say; what it leaves out is filled in. */
function known(question: ReceivedQuestion, schema: LooseSchema): PlayedAnswer | undefined {
  for (const role of ROLES) {
    const said = role(question, schema)
    if (said) return said
  }
  return undefined
}

function seedOf({ stage, fences }: ReceivedQuestion): number {
  return fences.reduce((seed, { text }) => hash(text, seed), hash(stage ?? ''))
}
