import { createHash } from 'node:crypto'
import { conditionOf, fieldsOf, itemsAt, type MappingCondition, onlyKeys, type SettingPath } from './expressions.ts'
import { InexactNumber, MappingSettingFault, UnmappedRecord, whyUnmapped } from './faults.ts'
import { exactJsonValue, jsonValue } from './json-value.ts'
import { type JsonataExpression, jsonataOf } from './jsonata.ts'
import { jsonataProcesses } from './jsonata-process.ts'
import { FIELDS, type MappedMessage, messageOf } from './messages.ts'
import type { MappingScope, SourceRecord } from './paths.ts'
import type { DecodedRecord, RawRecord, RecordMapping, SourceSettings } from './source.ts'

/** How records of one topic become messages. */
export interface TopicMapping {
  /** Of its entries, 16 hexadecimal digits: another mapping has another. */
  readonly hash: string
  readonly format: 'json' | 'registry'
  /** It works in a process of its own. */
  readonly isApart: boolean
  map(record: RawRecord, decoded?: DecodedRecord): RecordMapping | Promise<RecordMapping>
}

/** Most messages that one record may give, and most characters of what JSONata makes of it. */
const [MOST_MESSAGES, MOST_CHARS] = [1_000, 32 * 2 ** 20]

interface Entry {
  readonly isMeant: MappingCondition
  readonly hasCondition: boolean
  readonly items: ((scope: MappingScope) => readonly unknown[]) | null
  readonly make: (scope: MappingScope) => MappedMessage
  /** In place of these two, in JSONata. */
  readonly evaluate?: JsonataExpression['evaluate']
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
function entryOf({ kind, when, each, map, jsonata }: SourceSettings, at: SettingPath): Entry {
  if ((map === undefined) === (jsonata === undefined))
    throw new MappingSettingFault([...at, 'map'], 'an entry has either map or jsonata')
  const condition = { isMeant: conditionOf(when, [...at, 'when']), hasCondition: when !== undefined }
  const { needed, may } = FIELDS[kind]
  if (jsonata !== undefined) {
    if (each !== undefined) throw new MappingSettingFault([...at, 'each'], 'goes with map: JSONata makes lists itself')
    const { evaluate, names } = jsonataOf(jsonata, [...at, 'jsonata'])
    // JSONata leaves out what it finds nothing for: a comment's deletion without its post's id would be that of a post.
    const ofComment = names('postId')
    const make = ({ record, item }: MappingScope) => {
      const fields = fieldsIn(item, [...needed, ...may])
      if (kind === 'deletion' && !ofComment && Object.hasOwn(fields, 'postId'))
        throw new UnmappedRecord('postId: an expression of deletions gives it by this name, "postId"')
      return messageOf(kind, fields, { at: record.timestamp, ofComment })
    }
    return { ...condition, items: null, make, evaluate }
  }
  const fields = map ?? {}
  onlyKeys(fields, [...needed, ...may], [...at, 'map'])
  const missing = needed.find((name) => !Object.hasOwn(fields, name))
  if (missing !== undefined) throw new MappingSettingFault([...at, 'map', missing], `a ${kind} needs it`)
  const make = fieldsOf(fields, [...at, 'map'])
  return {
    ...condition,
    items: each === undefined ? null : itemsAt(each, [...at, 'each']),
    make: (scope) =>
      messageOf(kind, make(scope), { at: scope.record.timestamp, ofComment: Object.hasOwn(fields, 'postId') }),
  }
}

/** What JSONata made of one message. What it left out is not there. */
function fieldsIn(made: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof made !== 'object' || made === null || Array.isArray(made))
    throw new UnmappedRecord('the expression makes no object of fields')
  const fields = Object.entries(made).filter(([, value]) => value !== undefined && value !== null)
  const unknown = fields.find(([name]) => !known.includes(name))
  if (unknown !== undefined) throw new UnmappedRecord(`${unknown[0].slice(0, 100)}: is no field of such a message`)
  return Object.fromEntries(fields)
}

function topicMapping(sources: readonly SourceSettings[], entries: readonly Entry[]): TopicMapping {
  const shapes = sources.map(({ kind, when, each, map, jsonata }) =>
    jsonata === undefined ? [kind, when, each, map] : [kind, when, { jsonata }],
  )
  const format = sources[0]?.format ?? 'json'
  const hash = createHash('sha256').update(JSON.stringify(shapes)).digest('hex').slice(0, 16)
  if (entries.some(({ evaluate }) => evaluate !== undefined))
    return { format, hash, isApart: true, map: jsonataProcesses(sources) }
  return {
    format,
    hash,
    isApart: false,
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

/** The same for a topic of which some entry is in JSONata, in the process that calls it. */
export function mappingHere(sources: readonly SourceSettings[]) {
  const entries = sources.map((source, nth) => entryOf(source, [nth]))
  return async (record: RawRecord, decoded: DecodedRecord): Promise<RecordMapping> => {
    try {
      // What JSONata does with a number that is not exact can't be told from what it does with others.
      const { value } = decoded ?? { value: jsonOrNone(record.value, exactJsonValue) }
      return { ok: true, messages: await mappedHere(entries, { ...record, value }) }
    } catch (error) {
      return { ok: false, why: whyUnmapped(error) }
    }
  }
}

/** The messages of all entries that mean the record: all of them, or none. */
function mapped(entries: readonly Entry[], record: SourceRecord): MappedMessage[] {
  const messages: MappedMessage[] = []
  const whole = { record, item: undefined, made: { chars: 0 } }
  for (const entry of entries) add(entry, whole, entry.items?.(whole), messages)
  return messages
}

async function mappedHere(entries: readonly Entry[], record: SourceRecord): Promise<MappedMessage[]> {
  const messages: MappedMessage[] = []
  const whole = { record, item: undefined, made: { chars: 0 } }
  for (const entry of entries) {
    const { evaluate, items } = entry
    if (evaluate === undefined) add(entry, whole, items?.(whole), messages)
    else if (says(entry, record) && entry.isMeant(whole)) {
      const made = await evaluate(record)
      add(entry, whole, made === undefined ? [] : Array.isArray(made) ? made : [made], messages)
    }
    if (messages.reduce((all, { value }) => all + value.length, 0) > MOST_CHARS)
      throw new UnmappedRecord(`makes more than ${MOST_CHARS} characters`)
  }
  return messages
}

/** What only removes a key from a compacted topic says nothing, unless a condition asks for it. */
function says({ hasCondition }: Entry, { value }: SourceRecord): boolean {
  return value !== undefined || hasCondition
}

/** Adds an entry's messages of the record itself, or of each of these items. */
function add(
  entry: Entry,
  whole: MappingScope,
  items: readonly unknown[] | undefined,
  messages: MappedMessage[],
): void {
  if (!says(entry, whole.record)) return
  const { isMeant, make } = entry
  for (const scope of items === undefined ? [whole] : items.map((item) => ({ ...whole, item })))
    if (isMeant(scope)) {
      if (messages.length === MOST_MESSAGES) throw new UnmappedRecord(`gives more than ${MOST_MESSAGES} messages`)
      messages.push(make(scope))
    }
}

function jsonOrNone(value: Buffer | null, read: (bytes: Buffer) => unknown): unknown {
  return value === null ? undefined : read(value)
}
