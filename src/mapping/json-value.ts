import { excessOf, withExactNumbers } from '../contracts/facts/json-walk.ts'
import { MAX_DEPTH } from '../contracts/facts/message-json.ts'
import { UnmappedRecord } from './faults.ts'

/** Most parts of a value: lists, objects, and all that they hold… */
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
  return jsonBy(value, parsedExactly)
}

function jsonBy(value: Buffer, parse: (text: string) => unknown): unknown {
  if (value.length > MOST_BYTES) throw new UnmappedRecord(`${value.length} bytes exceed the limit of ${MOST_BYTES}`)
  let text: string
  try {
    text = strictUtf8.decode(value)
  } catch {
    throw new UnmappedRecord('the value is not UTF-8')
  }
  const excess = excessOf(text, { depth: MAX_DEPTH, parts: MOST_FIELDS, values: true })
  if (excess === 'depth') throw new UnmappedRecord(`nested deeper than ${MAX_DEPTH} levels`)
  if (excess === 'parts') throw new UnmappedRecord(`more than ${MOST_FIELDS} values`)
  try {
    return parse(text)
  } catch {
    throw new UnmappedRecord('the value is not JSON')
  }
}

function parsedExactly(text: string): unknown {
  // Quotes would make JSON of some of what is none. A function that sees each value takes fifty times as long.
  const parsed: unknown = JSON.parse(text)
  const exact = withExactNumbers(text)
  return exact === text ? parsed : JSON.parse(exact)
}
