const TERM = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|[\p{L}\p{N}]+/gu
const PLAIN = new Set(
  'a an and are as at be but by for from had has have he her his i if in into is it its me my no not of on or our she so that the their them there they this to up us was we were what when who will with you your de der die das ein eine el en es la las le les los que un una und y zu'.split(
    ' ',
  ),
)

/** The words of a text in lower case; where a script has no gaps, its characters. */
export function termsOf(text: string): string[] {
  return text.toLowerCase().match(TERM) ?? []
}

/** A word that reveals little about the topic of a text. */
export function isPlain(term: string): boolean {
  return PLAIN.has(term) || (term.length === 1 && term.charCodeAt(0) < 0x250)
}

/** The first letters of a word without a plural's ending, so that `slur` meets `slurs`, and `report` meets `reported`. */
export function stemOf(term: string): string {
  return (term.length > 3 && term.endsWith('s') ? term.slice(0, -1) : term).slice(0, 5)
}

/** The stems of the words that a text is about. */
export function topicsOf(text: string): Set<string> {
  const topics = new Set<string>()
  for (const term of termsOf(text)) if (!isPlain(term)) topics.add(stemOf(term))
  return topics
}

/** How many topics two texts have in common. */
export function inCommon(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let count = 0
  for (const topic of one) if (other.has(topic)) count++
  return count
}

/** Topics in common, as a share of the shorter text's, from 0 to 1. */
export function shared(one: string, other: string): number {
  const [ours, theirs] = [topicsOf(one), topicsOf(other)]
  const shorter = Math.min(ours.size, theirs.size)
  return shorter === 0 ? 0 : inCommon(ours, theirs) / shorter
}
