import type { Kafka } from 'kafkajs'
import { z } from 'zod'
import type { jsonOf } from '../../../contracts/facts/json-of.ts'
import { parseMessage } from '../../../contracts/facts/message-json.ts'
import { id, tenant } from '../../../contracts/facts/messages.ts'
import { readTopic } from '../../../stream/bounded-reader.ts'
import { type LettersIo, stopIfAsked } from './letters.ts'

const named = z.looseObject({
  tenant: tenant.nullable().transform((name) => name ?? 'default'),
  postId: id.nullish(),
  id,
  deleted: z.boolean().nullish(),
})
const IS_DELETED = '"deleted"'
/** A field's name may be written with escapes. */
const ESCAPED = Buffer.from('\\u00')

type Value = Parameters<typeof jsonOf>[0]

/** Ids may be numbers, as intake reads them. */
function messageIn(message: Value): unknown {
  try {
    return parseMessage(String(message.value ?? ''))
  } catch {
    return undefined
  }
}

/** What a message names. */
export type NameIn = (message: z.infer<typeof named>) => string

export const itself: NameIn = ({ tenant, id }) => JSON.stringify([tenant, id])
export const itsPost: NameIn = ({ tenant, postId }) => JSON.stringify([tenant, postId])
/** A comment: its id is unique within its post alone. */
export const itselfInPost: NameIn = ({ tenant, postId, id }) => JSON.stringify([tenant, postId, id])

/**
 * Which of these messages, each under its place, are about something of which `topic` has a deletion, before or after it: what is
 * deleted stays so. The store may not know: it forgets deletions of what has not come. `wanted`: what each message is about;
 * `deletes`: what a deletion on the topic deletes.
 */
export async function deletedAmong(
  kafka: Kafka,
  { topic, wanted, deletes }: { readonly topic: string; readonly wanted: NameIn; readonly deletes: NameIn },
  messages: ReadonlyMap<string, Value>,
  io: LettersIo,
): Promise<ReadonlySet<string>> {
  const places = new Map<string, string[]>()
  for (const [place, message] of messages) {
    const { success, data } = named.safeParse(messageIn(message))
    // A deletion itself may be sent as often as anybody likes.
    if (!success || data.deleted === true) continue
    const name = wanted(data)
    places.set(name, [...(places.get(name) ?? []), place])
  }
  const deleted = new Set<string>()
  if (places.size === 0) return deleted
  await readTopic(kafka, topic, { follow: false, signal: io.signal, say: io.terminal.say }, ({ message }) => {
    const { value } = message
    if (value == null || !(value.includes(IS_DELETED) || value.includes(ESCAPED))) return
    const { success, data } = named.safeParse(messageIn(message))
    if (success && data.deleted === true) for (const place of places.get(deletes(data)) ?? []) deleted.add(place)
  })
  stopIfAsked(io)
  return deleted
}
