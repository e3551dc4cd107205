import type { FencedText } from './fences.ts'
import { type LooseSchema, property } from './json-schema.ts'
import type { ReceivedQuestion } from './question.ts'

/** The understudy's answer in one of its parts, by the answer's property; undefined where the part is not this one. */
export type UnderstudyRole = (question: ReceivedQuestion, schema: LooseSchema) => PlayedAnswer | undefined
export type PlayedAnswer = Readonly<Record<string, unknown>>

/** An answer with its reason under whichever name the schema asks for it. */
export function because(reason: string, said: PlayedAnswer = {}): PlayedAnswer {
  return { reason, reasoning: reason, rationale: reason, ...said }
}

/** The words that a property may be answered with; none where it is free. */
export function choices(schema: LooseSchema, name: string): string[] {
  const options = property(schema, name)?.enum
  return Array.isArray(options) ? options.filter((option) => typeof option === 'string') : []
}

/** Kinds of texts that speak about the text under judgement, or beside it. */
const BESIDE =
  /precedent|brief|argument|assessment|debat|turn|log|example|reference|opponent|opposing|reply to|reason|history|parent|thread/

/** The text under judgement: every fenced text of a question that is no example, reference or argument. */
export function subjectOf(fences: readonly FencedText[]): string {
  return fences
    .filter(({ kind }) => !BESIDE.test(kind))
    .map(({ text }) => text)
    .join('\n')
}

export function ofKind(fences: readonly FencedText[], kind: RegExp): FencedText[] {
  return fences.filter((fence) => kind.test(fence.kind))
}
