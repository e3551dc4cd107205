import type { IHeaders, KafkaMessage } from 'kafkajs'
import type { Incoming } from '../../ports/topic.ts'

/** Converts a kafkajs record to Gavel's message: key and headers as UTF-8 text. */
export function incomingOf(
  topic: string,
  partition: number,
  { offset, key, value, headers, timestamp }: Pick<KafkaMessage, 'offset' | 'key' | 'value' | 'headers' | 'timestamp'>,
): Incoming {
  return {
    topic,
    partition,
    offset,
    key: key === null ? null : key.toString('utf8'),
    value,
    headers: textHeaders(headers ?? {}),
    timestamp: Number(timestamp),
  }
}

/** A repeated header becomes one text, its values joined by commas. */
function textHeaders(headers: IHeaders): Record<string, string> {
  const entries = Object.entries(headers)
  if (entries.length === 0) return {}
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value.map(String).join(', ') : String(value ?? '')]),
  )
}
