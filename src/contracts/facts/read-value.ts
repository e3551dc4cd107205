import type { z } from 'zod'
import { MAX_DEPTH, parseMessage, withoutDeepFields } from './message-json.ts'
import { type DeadLetterReason, MESSAGE_FIELDS } from './messages.ts'
import { faultInJson } from './not-json.ts'
import { withTextFields } from './text-fields.ts'

export interface ReadLimits {
  /** Longest message value, in bytes. */
  readonly maxMessageBytes: number
  /** A `createdAt` further in the future than this, by the wall clock, is a mistake or an attack, in ms. */
  readonly maxAhead: number
  /** Where words stand beside the text, that are part of it (`messages.textFields`). */
  readonly textFields?: readonly string[]
}

/** A value as parsed, and its JSON, without fields that are nested too deep; or why it can't be read, with its JSON if it has any. */
export type ReadValue<Message> =
  | { readonly ok: true; readonly message: Message; readonly json: unknown }
  | { readonly ok: false; readonly reason: DeadLetterReason; readonly detail: string; readonly json?: unknown }

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** Parses one message's bytes against its schema. An error names what is wrong and where, and never quotes the message. */
export function readValue<Message extends { createdAt: number }>(
  value: Buffer,
  schema: z.ZodType<Message>,
  limits: ReadLimits,
  now: number,
): ReadValue<Message> {
  if (value.length > limits.maxMessageBytes)
    return dead('too-large', `${value.length} bytes exceed the limit of ${limits.maxMessageBytes}`)
  const shallow = withoutDeepFields(value, MESSAGE_FIELDS)
  if (shallow === null) return dead('invalid', `nested deeper than ${MAX_DEPTH} levels`)
  let [text, json]: [string, unknown] = ['', undefined]
  try {
    text = strictUtf8.decode(shallow)
    json = parseMessage(text)
    if (limits.textFields !== undefined && limits.textFields.length > 0) json = withTextFields(json, limits.textFields)
  } catch (error) {
    return dead('not-json', `the value is not JSON in UTF-8${envelopeOf(value) || faultInJson(text, error)}`)
  }
  const parsed = schema.safeParse(json)
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'message'}: ${faultIn(issue)}`)
    return { ...dead('invalid', `${faults.join('; ').slice(0, 800)}${envelopeOf(value, json)}`), json }
  }
  if (parsed.data.createdAt > now + limits.maxAhead) return { ...dead('future', 'createdAt is in the future'), json }
  return { ok: true, message: parsed.data, json }
}

/** What is wrong with a field, in plain words where it is not there at all. */
export function faultIn({ code, message }: Pick<z.core.$ZodIssue, 'code' | 'message'>): string {
  return code === 'invalid_type' && message.endsWith('received undefined') ? 'is missing' : message
}

function dead(reason: DeadLetterReason, detail: string) {
  return { ok: false, reason, detail } as const
}

/** What a message that can't be read was wrapped in, in words for its dead letter; empty if it looks like nothing known. */
function envelopeOf(value: Buffer, json?: unknown): string {
  const known = json === undefined ? wrappedBytes(value) : wrappedJson(json)
  return known === undefined ? '' : ` (${known})`
}

/** Framings and encodings, by the bytes that they begin with. */
const BEGINNINGS: readonly (readonly [bytes: readonly number[], what: string])[] = [
  [[0x00], 'it begins with a zero byte, as what a schema registry frames: send plain JSON'],
  [[0x1f, 0x8b], 'it is gzip: compress the topic, not the value'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'it is Zstandard: compress the topic, not the value'],
  [[0xff, 0xfe], 'it is UTF-16: send UTF-8'],
  [[0xfe, 0xff], 'it is UTF-16: send UTF-8'],
  [[0x7b, 0x00], 'it is UTF-16: send UTF-8'],
]

function wrappedBytes(value: Buffer): string | undefined {
  return BEGINNINGS.find(([bytes]) => bytes.every((byte, at) => value[at] === byte))?.[1]
}

function wrappedJson(json: unknown): string | undefined {
  if (typeof json === 'string')
    return /^\s*[{[]/.test(json) ? 'it is JSON within a JSON text: encode it once' : 'a text alone: send {"text": "…"}'
  if (Array.isArray(json)) return 'it is a list: send each message by itself'
  if (typeof json !== 'object' || json === null) return undefined
  if ('specversion' in json) return 'it is a CloudEvent: send what is in its "data"'
  if ('payload' in json && 'schema' in json)
    return 'it is in the envelope of Kafka Connect: set value.converter.schemas.enable to false'
  if ('op' in json && ('after' in json || 'before' in json))
    return 'it is a change event of Debezium: unwrap it (ExtractNewRecordState)'
  return undefined
}
