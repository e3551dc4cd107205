/**
 * How long the texts of answers are, in characters, by their fields' names: about what models write that are asked so. The
 * understudy's own are shorter, and the price of an answer is mostly its length.
 */
const TEXT_CHARACTERS: Readonly<Record<string, number>> = {
  /** Of one comment, at most ten words: in a batch of stances. */
  'scores.reason': 60,
  /** One sentence. */
  reason: 160,
  argument: 200,
  differences: 250,
  /** A few sentences. */
  summary: 500,
  patterns: 250,
  description: 500,
  reasoning: 900,
  evidence: 120,
  keyCues: 30,
}

/** The answer, a JSON text, with each text of those fields at its length. Choices and numbers stay as they are. */
export function paddedAnswer(content: string): string {
  try {
    return JSON.stringify(padded(JSON.parse(content), '', ''))
  } catch {
    return content
  }
}

function padded(value: unknown, name: string, within: string): unknown {
  if (typeof value === 'string') {
    const length = TEXT_CHARACTERS[`${within}.${name}`] ?? TEXT_CHARACTERS[name]
    return length === undefined || value === '' ? value : lengthened(value, length)
  }
  if (Array.isArray(value)) return value.map((one) => padded(one, name, within))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, padded(inner, key, name)]))
}

function lengthened(text: string, length: number): string {
  return `${text} `.repeat(Math.ceil(length / (text.length + 1))).slice(0, length)
}
