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

/**
 * Which of these messages of one topic, each under its place, are about something of which the topic has a deletion, before or
 * after it: what is deleted stays so. The store may not know: it forgets deletions of what has not come. `ofPosts`: ids are unique
 * within a post.
 */
export async function deletedAmong(
  kafka: Kafka,
  { topic, ofPosts }: { readonly topic: string; readonly ofPosts: boolean },
  messages: ReadonlyMap<string, Value>,
  io: LettersIo,
): Promise<ReadonlySet<string>> {
  /** What a message is about, and whether it deletes it; null if that can't be read. */
  const readNamed = (message: Value) => {
    const read = named.safeParse(messageIn(message))
    if (!read.success) return null
    const { tenant, postId, id, deleted } = read.data
    return { name: JSON.stringify([tenant, ofPosts ? postId : null, id]), deletes: deleted === true }
  }
  const places = new Map<string, string[]>()
  for (const [place, message] of messages) {
    const about = readNamed(message)
    // A deletion itself may be sent as often as anybody likes.
    if (about !== null && !about.deletes) places.set(about.name, [...(places.get(about.name) ?? []), place])
  }
  const deleted = new Set<string>()
  if (places.size === 0) return deleted
  await readTopic(kafka, topic, { follow: false, signal: io.signal, say: io.terminal.say }, ({ message }) => {
    const { value } = message
    if (value == null || !(value.includes(IS_DELETED) || value.includes(ESCAPED))) return
    const about = readNamed(message)
    if (about?.deletes === true) for (const place of places.get(about.name) ?? []) deleted.add(place)
  })
  stopIfAsked(io)
  return deleted
}
