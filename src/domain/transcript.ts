import { cut } from './cut.ts'
import { jsonOf } from './json-of.ts'
import type { Transcript } from './verdict.ts'

/** Ids stay whole, so that a transcript can still be matched with its verdict and comments. */
const IDS: ReadonlySet<string> = new Set(['verdictId', 'id', 'parentId'])

/** A transcript shortened to at most `maxBytes`, whichever version made it; null if it is not a JSON object. */
export function shortenedTranscript(json: string, maxBytes: number): string | null {
  const read = jsonOf({ value: json })
  return typeof read === 'object' && read !== null ? fitted(read as Transcript, maxBytes) : null
}

/** Shortens every string except ids, further and further, until the whole fits. */
export function fitted(transcript: Transcript, maxBytes: number): string {
  let text = JSON.stringify(transcript)
  for (let longest = 25_600; Buffer.byteLength(text) > maxBytes && longest >= 100; longest /= 4) {
    const said = [`texts longer than ${longest} characters were shortened to stay under ${maxBytes} bytes`]
    text = JSON.stringify({ ...transcript, cut: said }, (name, value: unknown) =>
      typeof value === 'string' && value.length > longest && !IDS.has(name) ? cut(value, longest).text : value,
    )
  }
  if (Buffer.byteLength(text) <= maxBytes) return text
  const subject = '[cut: too large]'
  const said = [`the subject and the turns were left out to stay under ${maxBytes} bytes`]
  return JSON.stringify({ ...transcript, subject, turns: [], cut: said })
}
