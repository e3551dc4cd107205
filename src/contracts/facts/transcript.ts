import { cutSqueezed, type SqueezedText, squeeze } from './cut.ts'
import { jsonOf } from './json-of.ts'
import type { Transcript } from './verdict.ts'

/** Ids stay whole, so that a transcript can still be matched with its verdict and comments. */
const IDS: ReadonlySet<string> = new Set(['verdictId', 'id', 'parentId'])

/** A transcript shortened to at most `maxBytes`, whichever version made it; null if it is not a JSON object. */
export function shortenedTranscript(json: string, maxBytes: number): string | null {
  const read = jsonOf({ value: json })
  return typeof read === 'object' && read !== null ? fitted(read as Transcript, maxBytes) : null
}

/** A cut is at most so much shorter than it may be: its marks, and ends of words, in characters. */
const SLACK = 200
/** Shorter texts are left as they are. */
const SHORTEST = 100

/** What may be shortened, each text once. */
function textsOf(
  value: unknown,
  name = '',
  found = new Map<string, SqueezedText>(),
): ReadonlyMap<string, SqueezedText> {
  if (typeof value === 'string') {
    if (value.length > SHORTEST && !IDS.has(name) && !found.has(value)) found.set(value, squeeze(value))
  } else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) textsOf(inner, key, found)
  return found
}

/** The transcript at most `maxBytes` long: first without what only a replay needs, then with every string except ids shortened, further and further. */
export function fitted(whole: Transcript, maxBytes: number): string {
  const transcript = whole.replay === undefined ? whole : withoutReplay(whole, maxBytes)
  // What can't fit is not written out: that of a giant thread would hold up its process, at each of these lengths.
  const texts = textsOf(transcript)
  const leastAt = (longest: number) => {
    let least = 0
    for (const { squeezed } of texts.values()) least += Math.min(squeezed.length, longest - SLACK)
    return least
  }
  if (leastAt(Number.POSITIVE_INFINITY) <= maxBytes)
    for (const uncut of new Set([whole, transcript])) {
      const text = JSON.stringify(uncut)
      if (Buffer.byteLength(text) <= maxBytes) return text
    }
  for (let longest = 25_600; longest >= SHORTEST; longest /= 4) {
    if (leastAt(longest) > maxBytes) continue
    const notes = [`texts longer than ${longest} characters were shortened to stay under ${maxBytes} bytes`]
    const text = JSON.stringify({ ...transcript, cut: notes }, (name, value: unknown) =>
      typeof value === 'string' && value.length > longest && !IDS.has(name)
        ? cutSqueezed(texts.get(value) ?? squeeze(value), longest).text
        : value,
    )
    if (Buffer.byteLength(text) <= maxBytes) return text
  }
  const subject = '[cut: too large]'
  const notes = [`the subject and the turns were left out to stay under ${maxBytes} bytes`]
  return JSON.stringify({ ...transcript, subject, turns: [], cut: notes })
}

function withoutReplay({ replay: _, turns, ...rest }: Transcript, maxBytes: number): Transcript {
  const bare = turns.map(({ questions: _, asked: __, ...turn }) => turn)
  return { ...rest, turns: bare, cut: [`what a replay needs was left out to stay under ${maxBytes} bytes`] }
}
