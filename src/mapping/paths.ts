import { entryOf } from '../contracts/facts/entry-of.ts'
import { MappingSettingFault } from './faults.ts'
import { timeOf } from './times.ts'

/** A record as a mapping sees it: its value decoded, its key and headers as text. */
export interface SourceRecord {
  readonly value: unknown
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  /** The broker's time, ms since 1970. */
  readonly timestamp: number
}

/** What paths are read in: a record, and within a list the item whose turn it is. */
export interface MappingScope {
  readonly record: SourceRecord
  readonly item: unknown
  /** The characters of all that was made of the record so far. */
  readonly made: { chars: number }
}

/** Reads something of a record; undefined where it is not there, or is null. */
export type ReadScope = (scope: MappingScope) => unknown

/** Longest path, in steps. */
const MOST_STEPS = 16
const STEP = /\.([^\s.[\]{}"']{1,100})|\[(\d{1,6})\]|\["([^"]{1,100})"\]|\['([^']{1,100})'\]/y
const BEGINNING = /^(\$key|\$time|\$headers|\$|@)/

/** Whether a text of the settings is meant as a path. */
export function isPath(text: string): boolean {
  return /^[$@]/.test(text)
}

/** A path such as `$.user.name`, `$.tags[0]`, `@["a b"]`, `$headers.ce_type`, `$key` or `$time`, to be read in linear time. */
export function pathOf(text: string, at: readonly (string | number)[]): ReadScope {
  const steps: (string | number)[] = []
  const [beginning = ''] = BEGINNING.exec(text) ?? []
  if (beginning === '') throw new MappingSettingFault(at, `${text} is no path: paths begin with $ or @`)
  for (let from = beginning.length; from < text.length; from = STEP.lastIndex) {
    STEP.lastIndex = from
    const [, name, index, ...quoted] = STEP.exec(text) ?? []
    const step = name ?? quoted.find((one) => one !== undefined) ?? (index === undefined ? undefined : Number(index))
    if (step === undefined)
      throw new MappingSettingFault(at, `${text} can't be read as a path from character ${from + 1} on`)
    steps.push(step)
  }
  if (steps.length > MOST_STEPS) throw new MappingSettingFault(at, `${text} has more than ${MOST_STEPS} steps`)
  if ((beginning === '$key' || beginning === '$time') && steps.length > 0)
    throw new MappingSettingFault(at, `${beginning} is a text, and holds nothing`)
  const root = ROOTS[beginning as keyof typeof ROOTS] // as matched above
  return (scope) => {
    let value = root(scope)
    for (const step of steps) {
      value = within(value, step)
      if (value === undefined) return undefined
    }
    return value ?? undefined
  }
}

const ROOTS = {
  $: ({ record }: MappingScope) => record.value,
  '@': ({ item }: MappingScope) => item,
  $key: ({ record }: MappingScope): unknown => record.key,
  $time: ({ record }: MappingScope): unknown => timeOf(record.timestamp, 'ms'),
  $headers: ({ record }: MappingScope): unknown => record.headers,
}

function within(value: unknown, step: string | number): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if (typeof step === 'number') return Array.isArray(value) ? value[step] : undefined
  return Array.isArray(value) ? undefined : entryOf(value as Readonly<Record<string, unknown>>, step)
}
