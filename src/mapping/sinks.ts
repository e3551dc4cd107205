import { createHash } from 'node:crypto'
import { conditionOf, fieldsOf, keyOf, type SettingPath } from './expressions.ts'
import { MappingSettingFault, whyUnmapped } from './faults.ts'
import type { MappingScope, SourceRecord } from './paths.ts'

/** An entry of the setting `sinks`: which verdicts a topic gets, and in which shape. */
export interface VerdictSink {
  readonly topic: string
  /** Which verdicts; absent: all. */
  readonly when?: unknown
  /** The record's key, by an expression; absent: that of the verdict. */
  readonly key?: unknown
  /** Each field of the record, by an expression. */
  readonly map: Readonly<Record<string, unknown>>
}

/** What a sink gets of a verdict; or why that can't be made. */
export type SinkRecord = {
  readonly topic: string
  /** The entry's name, if it has a condition: the same while topic and condition are. */
  readonly entry: string | null
  /** The verdict does not meet the condition: it is for a sink that has had one that did, whose place it takes. */
  readonly follows: boolean
} & (
  | { readonly ok: true; readonly key: string | null; readonly value: string }
  | { readonly ok: false; readonly why: string }
)

/** What all sinks get of a verdict, in the order of the settings. The same for the same verdict. `replaces`: it takes another's place. */
export type SinkMapping = (verdict: SourceRecord, replaces: boolean) => readonly SinkRecord[]

/** What sinks get of verdicts. Throws a `MappingSettingFault` with the path of what is wrong within `sinks`. */
export function sinkMappings(sinks: readonly VerdictSink[]): SinkMapping {
  const entries = sinks.map(({ topic, when, key, map }, nth) => {
    const at: SettingPath = [nth]
    if (Object.keys(map).length === 0) throw new MappingSettingFault([...at, 'map'], 'has no fields')
    return {
      topic,
      entry: when === undefined ? null : nameOf(topic, when),
      isMeant: conditionOf(when, [...at, 'when']),
      keyOf: key === undefined ? null : keyOf(key, [...at, 'key']),
      make: fieldsOf(map, [...at, 'map']),
    }
  })
  return (verdict, replaces) =>
    entries.flatMap(({ topic, entry, isMeant, keyOf: ownKey, make }): SinkRecord[] => {
      const scope: MappingScope = { record: verdict, item: undefined, made: { chars: 0 } }
      let follows = false
      try {
        follows = !isMeant(scope)
        if (follows && !replaces) return []
        const key = ownKey === null ? verdict.key : ownKey(scope)
        return [{ ok: true, topic, entry, follows, key, value: JSON.stringify(make(scope)) }]
      } catch (error) {
        return [{ ok: false, topic, entry, follows, why: whyUnmapped(error) }]
      }
    })
}

/** 16 hexadecimal digits. */
function nameOf(topic: string, when: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([topic, when]))
    .digest('hex')
    .slice(0, 16)
}
