import { setImmediate as others } from 'node:timers/promises'
import type { RecordBatch, RulingEntry, SubjectPreview, TranscriptEntry } from '../../contracts/ports/record.ts'
import { folded, gramsOf } from '../grams.ts'
import type { GramHashes } from './grams-key.ts'
import { type SealedValue, sealed } from './seals.ts'
import { heldBytes } from './transcript-bytes.ts'

/** A text as it is searched, and its grams as the database has them. */
export interface SearchableText {
  readonly text: string
  readonly grams: readonly number[]
}

export function searchedOf(words: string, hashes: GramHashes): SearchableText {
  const text = folded(words)
  return { text, grams: text === '' ? [] : hashes.grams(gramsOf(text)) }
}

export interface PreparedTranscript {
  readonly sealed: SealedValue
  readonly shown: SealedValue | null
  readonly words: SearchableText
}

/** The longest work at a time, in ms: the writer with the turn waits for this thread with each answer of the server. */
const WORKED_MS = 2

/** What of a subject stands in lists, as it is sealed. */
export interface SealedPreview {
  readonly author: string | null
  readonly begins: string
  /** A preview that was sealed before these were counted has none. */
  readonly pictures?: number
}
const previewOf = ({ author, begins, pictures }: SubjectPreview): SealedPreview => ({ author, begins, pictures })

/** What of a batch can be made before its step begins: the most work of all, for which nothing of the tables is needed. */
export interface PreparedBatch {
  readonly rulings: ReadonlyMap<RulingEntry, SealedValue>
  readonly transcripts: ReadonlyMap<TranscriptEntry, PreparedTranscript>
}

export async function prepareBatch(entries: RecordBatch['entries'], hashes: GramHashes): Promise<PreparedBatch> {
  const rulings = new Map<RulingEntry, SealedValue>()
  const transcripts = new Map<TranscriptEntry, PreparedTranscript>()
  let until = performance.now() + WORKED_MS
  for (const { entry } of entries) {
    if (performance.now() > until) {
      await others()
      until = performance.now() + WORKED_MS
    }
    if (entry.what === 'ruling') rulings.set(entry, sealed(entry.json))
    else if (entry.what === 'transcript')
      transcripts.set(entry, {
        sealed: sealed(heldBytes(entry.json, entry.words)),
        shown: entry.shown === null ? null : sealed(JSON.stringify(previewOf(entry.shown))),
        words: searchedOf(entry.words ?? '', hashes),
      })
  }
  return { rulings, transcripts }
}
