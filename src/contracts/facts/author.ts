import { normalized } from './normalized.ts'

/** What no reader sees: ignorable characters (zero-width, bidi marks, tags, fillers), controls, anchors of annotations. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffc\u{1d159}\u{16fe4}]|[^\P{Cc}\s]/gu
/** White space, and the blank of Braille. */
const BLANKS = /[\s\u2800]+/gu
/** A longer name, in characters, is nobody's: its accents stay as they are, for to order them costs most. */
const LONGEST = 2_000
/** Names as most are. */
const PLAIN = /^[!-~]*$/

/**
 * A name as its readers see it: without what is invisible in it, blanks as one space between words, and its accents in one of
 * the forms that Unicode holds equal. Case, width and look-alike letters stay: they tell accounts apart. In linear time.
 */
export function visibleName(name: string): string {
  if (PLAIN.test(name)) return name
  const seen = name.replace(UNSEEN, '').replace(BLANKS, ' ').trim()
  return seen.length > LONGEST ? seen : normalized(seen, 'NFC')
}

/**
 * Who wrote something, for all who count authors: names that look the same are one author. Undefined if nobody is named. What is
 * shown, kept or looked up by name has the name as it was given.
 */
export function authorOf({ author }: { readonly author?: string | undefined }): string | undefined {
  return author === undefined ? undefined : visibleName(author)
}
