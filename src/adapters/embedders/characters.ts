/** Embedders read this much of a text, in characters: models know no more of it, and endpoints refuse much longer ones. */
const READ = 4_000

/** The part of a text that is embedded; never a broken character at its end. */
export function readPart(text: string): string {
  return text.length <= READ ? text : text.slice(0, READ).toWellFormed()
}

/** Why the vector of a long text is weak, in words; null where all of it is read. */
export function weakByLength(text: string): string | null {
  return text.length <= READ ? null : `only the first ${READ} of ${text.length} characters were compared`
}
