import { readCues } from './cues.ts'
import { verdict } from './debaters.ts'
import type { Fence } from './fences.ts'
import { hash } from './hash.ts'
import { fill, type JsonSchema, property } from './json-schema.ts'
import { type ChatRequest, type Question, readQuestion, tokens } from './question.ts'
import { isSubjective, lean, stance } from './weigh.ts'

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
export function contentOf(question: Question): string {
  const { schema } = question
  if (!schema) return 'The understudy is no model: it only answers questions that name a JSON Schema.'
  return JSON.stringify(fill(schema, { seed: seedOf(question), known: known(question, schema) }))
}

/** A text as an answer to a question, with the tokens it costs. */
export function answered({ promptTokens }: Question, content: string): Answer {
  const completion = tokens(content.length)
  return {
    content,
    usage: { prompt_tokens: promptTokens, completion_tokens: completion, total_tokens: promptTokens + completion },
  }
}

/** What the understudy knows to say; what it leaves out is filled in. */
function known(question: Question, schema: JsonSchema): unknown {
  const options = property(schema, 'answer')?.enum
  if (Array.isArray(options) && options.includes('Real') && options.includes('Fake')) return reasoned(verdict(question))
  if (question.stage?.includes('subjectiv')) return subjectivity(question)
  if (!question.stage?.includes('stance')) return undefined
  if (property(schema, 'scores')) return { scores: batch(question) }
  return property(schema, 'score') ? single(question) : undefined
}

function reasoned({ reasoning, answer }: { readonly reasoning: string; readonly answer: string }) {
  return { reasoning, reason: reasoning, answer }
}

function subjectivity({ fences }: Question) {
  return isSubjective(readCues(claimOf(fences)))
    ? reasoned({ reasoning: 'More words of opinion or jest than of fact.', answer: 'Yes' })
    : reasoned({ reasoning: 'Its words state something that can be checked.', answer: 'No' })
}

function batch({ fences }: Question) {
  const claim = readCues(claimOf(fences))
  return commentsOf(fences).map(({ number, text }, index) => ({ comment: number ?? index + 1, ...scored(claim, text) }))
}

function single({ fences }: Question) {
  return scored(readCues(claimOf(fences)), commentsOf(fences)[0]?.text ?? '')
}

function scored(claim: ReturnType<typeof readCues>, text: string) {
  const leanings = lean(claim, readCues(text))
  const kinds = [...new Set(leanings.map(({ cue }) => cue.kind))]
  const reason = kinds.length === 0 ? 'No word on the list takes a side.' : `Words of ${kinds.join(', ')}.`
  return { reason, reasoning: reason, score: stance(leanings) }
}

function claimOf(fences: readonly Fence[]): string {
  return (fences.find(({ kind }) => kind === 'claim') ?? fences.find(({ kind }) => kind !== 'comment'))?.text ?? ''
}

function commentsOf(fences: readonly Fence[]): Fence[] {
  return fences.filter(({ kind }) => kind === 'comment')
}

function seedOf({ stage, fences }: Question): number {
  return fences.reduce((seed, { text }) => hash(text, seed), hash(stage ?? ''))
}
