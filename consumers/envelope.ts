/** What a message that can't be read was wrapped in, in words for its dead letter; empty if it looks like nothing known. */
export function envelopeOf(value: Buffer, json?: unknown): string {
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
  if (typeof json === 'string') return 'it is JSON within a JSON text: encode it once'
  if (Array.isArray(json)) return 'it is a list: send each message by itself'
  if (typeof json !== 'object' || json === null) return undefined
  if ('specversion' in json) return 'it is a CloudEvent: send what is in its "data"'
  if ('payload' in json && 'schema' in json)
    return 'it is in the envelope of Kafka Connect: set value.converter.schemas.enable to false'
  if ('op' in json && ('after' in json || 'before' in json))
    return 'it is a change event of Debezium: unwrap it (ExtractNewRecordState)'
  return undefined
}
