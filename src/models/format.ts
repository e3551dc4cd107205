import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Ask } from '../contracts/facts/ask.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { neutralized } from '../contracts/facts/neutralized.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
import type { Breakpoint, ModelReply } from '../contracts/ports/model.ts'

// How an answer's format is asked for: in the endpoint's own way where it has one, and in words at the end of each question.

/**
 * The messages as sent, except for their images: the answer's format is repeated at the end, and earlier words of a
 * model are neutralized, whichever script put them there: they may repeat an attacker's words.
 */
export function withFormat(ask: Ask): ChatMessage[] {
  if (ask.lookup !== undefined) return []
  const line = formatLine(ask)
  const messages = ask.messages.map((message) =>
    message.role === 'assistant' ? { ...message, content: neutralized(message.content) } : message,
  )
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, { role: 'user', content: line }]
  return [...messages.slice(0, -1), { ...last, content: `${last.content}\n\n${line}` }]
}

/**
 * Up to where a later ask of the same conversation sends the same again: the end of the last message for it to find, and of the
 * one before for this ask to find itself. Endpoints keep the beginnings that end with a message of the user's.
 */
export function breakpointsIn({ messages, repeated = 0 }: Pick<Ask, 'messages' | 'repeated'>): Breakpoint[] {
  return messages
    .slice(0, repeated)
    .flatMap(({ role, content }, message) => (role === 'user' ? [{ message, characters: content.length }] : []))
    .slice(-2)
}

/**
 * The one repair question: the reply, neutralized, what was wrong with it, and the format again. An answer that was cut
 * at the token limit is not shown: it is as long as answers get, and would leave even less room for the next one.
 */
export function repair(ask: Ask, reply: ModelReply, why: string): ChatMessage[] {
  const said: ChatMessage[] =
    reply.text && reply.finish !== 'length' ? [{ role: 'assistant', content: neutralized(reply.text) }] : []
  return [
    ...said,
    {
      role: 'user',
      content: `That answer could not be read (${why}). Give your answer once more, as one JSON object in the form asked for, and nothing else.\n\n${formatLine(ask)}`,
    },
  ]
}

export function jsonSchema(answer: z.ZodType): unknown {
  return described(answer).schema
}

export function schemaLine(answer: z.ZodType): string {
  return described(answer).line
}

function formatLine(ask: Ask): string {
  const { line, shown } = described(ask.answer)
  return `Answer format (${ask.stage}): ${ask.wholeForm ? line : shown}`
}

/** A schema as strict servers get it, the same as one line, and what of that is shown in a question. */
interface Described {
  readonly schema: unknown
  readonly line: string
  readonly shown: string
}
const schemas = new WeakMap<z.ZodType, Described>()

function described(answer: z.ZodType): Described {
  const known = schemas.get(answer)
  if (known !== undefined) return known
  const { $schema: _, ...schema } = z.toJSONSchema(answer)
  const made = { schema, line: JSON.stringify(schema), shown: shownForm(schema) }
  schemas.set(answer, made)
  return made
}

/**
 * The schema without what its reader knows: the system's message states that all fields are required and no others allowed, and what
 * has properties, items or words to choose from need not say that it is an object, a list or a text.
 */
function shownForm(schema: object): string {
  return JSON.stringify(schema, function (this: Readonly<Record<string, unknown>>, key: string, value: unknown) {
    const { properties = {}, items, enum: words } = this
    const isPlain = { object: 'properties' in this, array: items !== undefined, string: Array.isArray(words) }
    if (key === 'type' && typeof value === 'string' && entryOf(isPlain, value)) return undefined
    if (key === 'required' && isDeepStrictEqual(value, Object.keys(properties as object))) return undefined
    if (key === 'additionalProperties' && value === false) return undefined
    return value
  })
}
