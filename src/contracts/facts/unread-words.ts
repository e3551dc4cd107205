/** Names under which platforms keep words of their posts: one word of theirs counts. Of other fields at least two do. */
const OF_WORDS =
  /^(?:title|subject|headline|caption|summary|description|body|content|message|quote|poll|card|spoiler|cw|alt|transcript|lyrics)|(?:_?(?:text|warning|html))$/i
/** What looks like words in these is a time. */
const OF_TIMES = /(?:_at|At|_?date|Date|_?time|Time)$/

const WORD = /\p{L}/u
/** Two words; or letters of scripts that put no space between words. */
const WORDS =
  /\p{L}[\p{P}\p{S}\p{M}]?\s+[\p{P}\p{S}]?\p{L}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]{2}/u
const ADDRESS = /^[a-z][a-z0-9+.-]{1,20}:\S*$/i

/** Most values of one field that are looked at, and characters of each. */
const [MOST_VALUES, MOST_CHARS] = [1_000, 10_000]

/** The fields of a message that nobody knows and that hold words, by their names as they may be shown. Linear in the message. */
export function unreadWordsIn(message: Readonly<Record<string, unknown>>, known: ReadonlySet<string>): string[] {
  const names = new Set<string>()
  for (const [name, value] of Object.entries(message))
    if (!known.has(name) && !OF_TIMES.test(name) && holdsWords(value, OF_WORDS.test(name) ? WORD : WORDS))
      names.add(/^[\w$@-]{1,64}$/.test(name) ? name : '(odd)')
  return [...names]
}

function holdsWords(value: unknown, words: RegExp): boolean {
  const left: unknown[] = [value]
  for (let seen = 0; left.length > 0 && seen < MOST_VALUES; seen++) {
    const one = left.pop()
    if (typeof one === 'string') {
      const text = one.slice(0, MOST_CHARS)
      if (words.test(text) && !ADDRESS.test(text.trim())) return true
    } else if (typeof one === 'object' && one !== null)
      for (const inner of Object.values(one).slice(0, MOST_VALUES)) left.push(inner)
  }
  return false
}
