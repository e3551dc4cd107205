import { endBefore, squeeze, startAfter } from '../../contracts/facts/cut.ts'

/** So much of a piece stands at the beginning of the next one, too, in characters: what one ends within, the other shows whole. */
const SHARED = 300

/**
 * A text in pieces of at most `most` characters (90 or more), in order; itself if it is short enough. Together they hold all of it
 * but padding.
 */
export function piecesOf(text: string, most: number): string[] {
  if (text.length <= most) return [text]
  const { squeezed } = squeeze(text)
  const shared = Math.min(SHARED, Math.floor(most / 4))
  const pieces: string[] = []
  let from = 0
  while (squeezed.length - from > most) {
    const to = endBefore(squeezed, from + most)
    pieces.push(squeezed.slice(from, to))
    from = startAfter(squeezed, to - shared)
  }
  return [...pieces, squeezed.slice(from)]
}

/** Where a part of a text stands, in UTF-16 code units: `end` is behind its last. */
export interface TextPiece {
  readonly begin: number
  readonly end: number
}

/** Most parts of a text: of more sentences, neighbours go together. */
const MOST_PARTS = 30

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/** The sentences of a text in order, without the space around them. Together they hold all of it but space. */
export function sentencesOf(text: string): TextPiece[] {
  const sentences: TextPiece[] = []
  for (const { segment, index } of segmenter.segment(text)) {
    const begin = index + segment.length - segment.trimStart().length
    const end = index + segment.trimEnd().length
    if (end > begin) sentences.push({ begin, end })
  }
  const each = Math.ceil(sentences.length / MOST_PARTS)
  return sentences.flatMap(({ begin }, at) => {
    if (at % each !== 0) return []
    const last = sentences[Math.min(at + each, sentences.length) - 1]
    return last === undefined ? [] : [{ begin, end: last.end }]
  })
}
