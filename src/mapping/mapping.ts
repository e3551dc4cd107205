import { createHash } from 'node:crypto'
import { conditionOf, fieldsOf, itemsAt, type MappingCondition, onlyKeys, type SettingPath } from './expressions.ts'
import { InexactNumber, MappingSettingFault, UnmappedRecord } from './faults.ts'
import { exactJsonValue, jsonValue } from './json-value.ts'
import { FIELDS, type MappedKind, type MappedMessage, messageOf } from './messages.ts'
import type { MappingScope, SourceRecord } from './paths.ts'

/** An entry of the setting `sources`: which records of a topic are messages of a kind, and how. */
export interface SourceSettings {
  readonly topic: string
  readonly kind: MappedKind
  /** How values are written: JSON, or in the frame of a schema registry, by whose schemas they are decoded. */
  readonly format?: 'json' | 'registry' | undefined
  /** Which records are meant; absent: each that has a value. */
  readonly when?: unknown
  /** The path of a list, of which each item is a message. */
  readonly each?: string | undefined
  /** Each field of the message, by an expression. */
  readonly map: Readonly<Record<string, unknown>>
}

/** A record's messages, none where no entry means it; or why it can't be mapped. */
export type RecordMapping =
  | { readonly ok: true; readonly messages: readonly MappedMessage[] }
  | { readonly ok: false; readonly why: string }

/** A record as it was read. */
export interface RawRecord extends Omit<SourceRecord, 'value'> {
  readonly value: Buffer | null
}

/** How records of one topic become messages. */
export interface TopicMapping {
  /** Of its entries, 16 hexadecimal digits: another mapping has another. */
  readonly hash: string
  readonly format: 'json' | 'registry'
  /** `decoded`: its value, where that is not JSON. */
  map(record: RawRecord, decoded?: { readonly value: unknown }): RecordMapping
}

/** Most messages that one record may give. */
const MOST_MESSAGES = 1_000

interface Entry {
  readonly isMeant: MappingCondition
  readonly hasCondition: boolean
  readonly items: ((scope: MappingScope) => readonly unknown[]) | null
  readonly make: (scope: MappingScope) => MappedMessage
}

/** The mapping of each topic. Throws a `MappingSettingFault` with the path of what is wrong within `sources`. */
export function topicMappings(sources: readonly SourceSettings[]): ReadonlyMap<string, TopicMapping> {
  const entries = sources.map((source, nth) => ({ source, entry: entryOf(source, [nth]) }))
  const formats = new Map<string, SourceSettings['format']>()
  for (const [nth, { topic, format = 'json' }] of sources.entries()) {
    if ((formats.get(topic) ?? format) !== format)
      throw new MappingSettingFault([nth, 'format'], `another entry of ${topic} has another format`)
    formats.set(topic, format)
  }
  return new Map(
    [...Map.groupBy(entries, ({ source }) => source.topic)].map(([topic, own]) => [
      topic,
      topicMapping(
        own.map(({ source }) => source),
        own.map(({ entry }) => entry),
      ),
    ]),
  )
}

/** An entry, compiled. */
function entryOf({ kind, when, each, map }: SourceSettings, at: SettingPath): Entry {
  const { needed, may } = FIELDS[kind]
  onlyKeys(map, [...needed, ...may], [...at, 'map'])
  const missing = needed.find((name) => !Object.hasOwn(map, name))
  if (missing !== undefined) throw new MappingSettingFault([...at, 'map', missing], `a ${kind} needs it`)
  const make = fieldsOf(map, [...at, 'map'])
  return {
    isMeant: conditionOf(when, [...at, 'when']),
    hasCondition: when !== undefined,
    items: each === undefined ? null : itemsAt(each, [...at, 'each']),
    make: (scope) =>
      messageOf(kind, make(scope), { at: scope.record.timestamp, ofComment: Object.hasOwn(map, 'postId') }),
  }
}

function topicMapping(sources: readonly SourceSettings[], entries: readonly Entry[]): TopicMapping {
  const shapes = sources.map(({ kind, when, each, map }) => [kind, when, each, map])
  const format = sources[0]?.format ?? 'json'
  return {
    format,
    hash: createHash('sha256').update(JSON.stringify(shapes)).digest('hex').slice(0, 16),
    map(record, decoded) {
      try {
        const { value } = decoded ?? { value: jsonOrNone(record.value, jsonValue) }
        return { ok: true, messages: mapped(entries, { ...record, value }) }
      } catch (error) {
        if (decoded !== undefined || !(error instanceof InexactNumber)) return { ok: false, why: whyUnmapped(error) }
      }
      try {
        return { ok: true, messages: mapped(entries, { ...record, value: jsonOrNone(record.value, exactJsonValue) }) }
      } catch (error) {
        return { ok: false, why: whyUnmapped(error) }
      }
    },
  }
}

/** Why no messages can be made of a record. Throws what says nothing of it. */
function whyUnmapped(error: unknown): string {
  if (error instanceof UnmappedRecord) return error.message
  if (error instanceof InexactNumber) return 'a number is too large to be read exactly'
  // Thrown for what a record holds, it would stop all that come after it.
  if (error instanceof RangeError) return 'it holds a value that is out of range'
  throw error
}

/** The messages of all entries that mean the record: all of them, or none. */
function mapped(entries: readonly Entry[], record: SourceRecord): MappedMessage[] {
  const messages: MappedMessage[] = []
  const made = { chars: 0 }
  for (const { isMeant, hasCondition, items, make } of entries) {
    // What only removes a key from a compacted topic says nothing, unless a condition asks for it.
    if (record.value === undefined && !hasCondition) continue
    const whole = { record, item: undefined, made }
    for (const scope of items === null ? [whole] : itemScopes(items, whole))
      if (isMeant(scope)) {
        if (messages.length === MOST_MESSAGES) throw new UnmappedRecord(`gives more than ${MOST_MESSAGES} messages`)
        messages.push(make(scope))
      }
  }
  return messages
}

function itemScopes(items: (scope: MappingScope) => readonly unknown[], whole: MappingScope): MappingScope[] {
  return items(whole).map((item) => ({ ...whole, item }))
}

function jsonOrNone(value: Buffer | null, read: (bytes: Buffer) => unknown): unknown {
  return value === null ? undefined : read(value)
}
