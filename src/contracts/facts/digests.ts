/** Characters of texts whose digests are remembered, the latest: those of a thread that holds as much as a thread may. */
const REMEMBERED = 6_000_000
/** V8 tells longer texts of one length apart only by comparing them, each with all others. */
const LONGEST = 16_000

/**
 * Digests of long texts. That of one of the latest is found by the text itself, which takes a hundredth of the time: the
 * same thread is read for its questions, for its transcript, and for each deletion of one of its comments.
 */
export function digests(make: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>()
  let characters = 0
  return (text) => {
    if (text.length > LONGEST) return make(text)
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    known.set(text, made)
    characters += text.length
    for (const oldest of known.keys()) {
      if (characters <= REMEMBERED) break
      known.delete(oldest)
      characters -= oldest.length
    }
    return made
  }
}
