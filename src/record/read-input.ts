import type { z } from 'zod'
import { parseMessage, withoutDeepFields } from '../contracts/facts/message-json.ts'
import { MESSAGE_FIELDS } from '../contracts/facts/messages.ts'

/** A message of an input topic, as intake reads it; null if intake would not take it. */
export function inputOf<Message>(schema: z.ZodType<Message>, value: Buffer): Message | null {
  const shallow = withoutDeepFields(value, MESSAGE_FIELDS)
  if (shallow === null) return null
  try {
    const read = schema.safeParse(parseMessage(shallow.toString('utf8')))
    return read.success ? read.data : null
  } catch {
    return null
  }
}
