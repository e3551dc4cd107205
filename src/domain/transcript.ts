import { cut } from './cut.ts'
import { jsonOf } from './json-of.ts'
import type { Transcript } from './verdict.ts'

/** What stays whole, so that a transcript still fits its verdict and its comments. */
const IDS: ReadonlySet<string> = new Set(['verdictId', 'id', 'parentId'])

/** A transcript in at most `maxBytes`, whichever version made it; null where it is no JSON object. */
export function shortenedTranscript(json: string, maxBytes: number): string | null {
  const read = jsonOf({ value: json })
  return typeof read === 'object' && read !== null ? fitted(read as Transcript, maxBytes) : null
}

/** Shortens every string but ids to fewer and fewer characters until the whole fits. */
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
