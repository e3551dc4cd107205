import { z } from 'zod'
import { type FencedText, readFences, type Sections } from './fences.ts'
import { isSchema, type LooseSchema } from './json-schema.ts'

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  image_url: z.looseObject({ url: z.string().optional() }).optional().catch(undefined),
})

/** What the understudy reads of a Chat Completions request; everything else in one is accepted and ignored. */
export const chatRequest = z.looseObject({
  model: z.string().optional(),
  messages: z
    .array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(part)]).nullish() }))
    .min(1),
  stream: z.literal(false, { error: 'the understudy does not stream' }).nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z.looseObject({ name: z.string(), schema: z.record(z.string(), z.unknown()).optional() }).optional(),
    })
    .nullish(),
})

type MessagePart = {
  readonly type: string
  readonly text?: string | undefined
  readonly image_url?: { readonly url?: string | undefined } | undefined
}
type Content = string | readonly MessagePart[] | null | undefined
type Format = { readonly name: string; readonly schema?: LooseSchema | undefined }

/** A Chat Completions request, as far as the understudy reads it. */
export type ChatRequest = {
  readonly model?: string | undefined
  readonly messages: readonly { readonly role: string; readonly content?: Content }[]
  readonly response_format?:
    | { readonly type: string; readonly json_schema?: Format | undefined }
    | { readonly type: string }
    | null
    | undefined
}

export type ReceivedQuestion = {
  readonly stage: string | null
  /** The JSON Schema that the answer must fit, if the question names one. */
  readonly schema: LooseSchema | undefined
  /** The fenced texts of the last user message that has any: one that asks for an answer again has none. */
  readonly fences: readonly FencedText[]
  /** The whole conversation but for the answerer's own replies: fenced texts, and what stands outside them. */
  readonly sections: () => Sections
  /** The URLs of the images that came with it. */
  readonly images: readonly string[]
  /** The answerer's own earlier replies, oldest first. */
  readonly replies: readonly string[]
  readonly promptTokens: number
}

/** Reads stage, schema, fenced texts and earlier replies out of a request. */
export function readQuestion({ messages, response_format: format }: ChatRequest): ReceivedQuestion {
  let characters = 0
  const images: string[] = []
  const asked: string[] = []
  const replies: string[] = []
  const heard: string[] = []
  for (const { role, content } of messages) {
    const text = textOf(content)
    characters += text.length
    images.push(...imagesIn(content))
    if (role === 'assistant') replies.push(text)
    else heard.push(text)
    if (role === 'user') asked.push(text)
  }
  const { fences, outside } = lastFences(asked)
  const given = format && 'json_schema' in format ? format.json_schema : undefined
  const line = formatLine(outside)
  // The line names the stage; a schema may have one name for all of them.
  const { name } = line ?? given ?? {}
  const { schema } = given ?? line ?? {}
  return {
    stage: name ?? null,
    schema,
    fences,
    sections: () => (heard.length > 1 ? readFences(heard.join('\n')) : { fences, outside }),
    images,
    replies,
    promptTokens: tokens(characters),
  }
}

/** The fences of the last message that has any; outside of them, also what was said since. */
function lastFences(asked: readonly string[]): Sections {
  const since: string[] = []
  for (const text of asked.toReversed()) {
    const { fences, outside } = readFences(text)
    since.unshift(...outside)
    if (fences.length > 0) return { fences, outside: since }
  }
  return { fences: [], outside: since }
}

/** A rough count of tokens: four characters each. */
export function tokens(characters: number): number {
  return Math.ceil(characters / 4)
}

function textOf(content: Content): string {
  if (typeof content === 'string') return content
  return content ? content.map(({ text }) => text ?? '').join('') : ''
}

function imagesIn(content: Content): string[] {
  if (typeof content === 'string' || !content) return []
  return content.flatMap(({ type, image_url: image }) => (type === 'image_url' ? [image?.url ?? ''] : []))
}

const FORMAT = /^Answer format \(([^)\n]{1,100})\):[ \t]*(\{.*)$/gm

/** The last `Answer format (<stage>): <JSON Schema>` line outside every fence. */
function formatLine(outside: readonly string[]): Format | undefined {
  for (const text of outside.toReversed()) {
    const line = [...text.matchAll(FORMAT)].at(-1)
    if (line) return { name: line[1] ?? '', schema: parsedSchema(line[2] ?? '') }
  }
  return undefined
}

const MOST_SCHEMAS = 200
const schemas = new Map<string, LooseSchema | undefined>()

function parsedSchema(json: string): LooseSchema | undefined {
  if (schemas.has(json)) return schemas.get(json)
  const schema = parseObject(json)
  if (schemas.size < MOST_SCHEMAS) schemas.set(json, schema)
  return schema
}

function parseObject(json: string): LooseSchema | undefined {
  try {
    return withRequired(z.record(z.string(), z.unknown()).parse(JSON.parse(json)))
  } catch {
    // A line that only looks like an answer format is prose, and the question then has no schema.
    return undefined
  }
}

/** A form as it is shown does not say that all fields of it are required. */
function withRequired(schema: LooseSchema): LooseSchema {
  const inner = Object.entries(schema).map(([key, value]) => [key, isSchema(value) ? withRequired(value) : value])
  const { properties } = schema
  return {
    ...(isSchema(properties) && { required: Object.keys(properties) }),
    ...Object.fromEntries(inner),
  }
}
