import { endBefore, squeeze, startAfter } from '../domain/cut.ts'

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
