import { excessOf } from '../contracts/facts/json-walk.ts'
import { MAX_DEPTH } from '../contracts/facts/message-json.ts'
import { UnmappedRecord } from './faults.ts'

/** Most lists, objects and fields of a value… */
export const MOST_FIELDS = 100_000
/** …and most bytes of it. */
export const MOST_BYTES = 4 * 2 ** 20

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** A value as JSON. What would take long to parse is refused before. Throws an `UnmappedRecord` where it is none. */
export function jsonValue(value: Buffer): unknown {
  return jsonBy(value, JSON.parse)
}

/** The same, with numbers as their digits where a float would change them. */
export function exactJsonValue(value: Buffer): unknown {
  return jsonBy(value, withExactNumbers)
}

function jsonBy(value: Buffer, parse: (text: string) => unknown): unknown {
  if (value.length > MOST_BYTES) throw new UnmappedRecord(`${value.length} bytes exceed the limit of ${MOST_BYTES}`)
  let text: string
  try {
    text = strictUtf8.decode(value)
  } catch {
    throw new UnmappedRecord('the value is not UTF-8')
  }
  const excess = excessOf(text, { depth: MAX_DEPTH, parts: MOST_FIELDS, fields: true })
  if (excess === 'depth') throw new UnmappedRecord(`nested deeper than ${MAX_DEPTH} levels`)
  if (excess === 'parts') throw new UnmappedRecord(`more than ${MOST_FIELDS} lists, objects and fields`)
  try {
    return parse(text)
  } catch {
    throw new UnmappedRecord('the value is not JSON')
  }
}

function withExactNumbers(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? (context?.source ?? value)
      : value,
  )
}
