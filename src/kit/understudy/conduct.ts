import { CONDUCT, type Conduct } from './conduct-words.ts'
import { type Cue, type CueReading, readerOf } from './cues.ts'

/** How a text treats people, as far as the word lists go. */
export type ConductReading = {
  /** The author's own stance in it. */
  readonly own: CueReading<Conduct>
  /** What its author puts in quotation marks. */
  readonly quoted: CueReading<Conduct>
  readonly empty: boolean
}

const readWords = readerOf(CONDUCT)
const QUOTATION = /["“„«「][^"“”„«»「」\n]{1,400}["”“»」]/g
const LETTER = /[\p{L}\p{N}]/u

export function readConduct(text: string): ConductReading {
  const quotations = text.match(QUOTATION) ?? []
  return {
    own: readWords(text.replace(QUOTATION, ' … ')),
    quoted: readWords(quotations.join('\n')),
    empty: !LETTER.test(text),
  }
}

/** The different phrases of some kinds in a reading that no negation turns round, each once, at most forty. */
export function affirmedCues(reading: CueReading<Conduct>, kinds: readonly Conduct[]): Cue<Conduct>[] {
  const said = new Map<string, Cue<Conduct>>()
  for (const cue of reading.cues) {
    if (said.size === MOST_PHRASES) break
    if (kinds.includes(cue.kind) && !cue.negated) said.set(`${cue.kind} ${cue.phrase}`, cue)
  }
  return [...said.values()]
}

/** `words of insult (2), coded`, or `no word on the list`. Names kinds and never repeats a text's own words. */
export function wordsOf(cues: readonly Cue<Conduct>[]): string {
  if (cues.length === 0) return 'no word on the list'
  const kinds = Map.groupBy(cues, ({ kind }) => kind)
  return `words of ${[...kinds].map(([kind, { length }]) => (length === 1 ? kind : `${kind} (${length})`)).join(', ')}`
}

/** The sum of what cues weigh. */
export function weightOf(cues: readonly Cue<Conduct>[], weights: Readonly<Partial<Record<Conduct, number>>>): number {
  return cues.reduce((sum, { kind }) => sum + (weights[kind] ?? 0), 0)
}

const MOST_PHRASES = 40
