import { normalized } from '../../contracts/facts/normalized.ts'
import { ASCII, DECORATED_WORDS, MENTION, plainly, UNSEEN, wordsOf } from './words.ts'

/** Who is repeated, before the words; a repetition of a repetition names several. */
const REPEATED = /^(?:\s*RT\s+@[\p{L}\p{N}_.-]+\s*:)+/iu
/** As links are found elsewhere (words.ts), before anything is put into small letters: what follows a host tells capitals apart. */
const LINK = /(?:https?:\/\/|www\.)\S+|(?<![a-z0-9-]|[a-z0-9-]\.)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\/\S*/gi
/** Punctuation of the sentence around a link. */
const AFTER_LINK = /[.,;:!?'"”’»)\]}…]+$/

/**
 * The words of a whole text with its links, equal for copies of it: as comments in the same words are told (near-identical.ts), but a
 * link is no decoration, and a leading `RT @name:` is left out. Null for a text of few words, which many say without meaning the same.
 */
export function storyWords(text: string): string | null {
  const own = text.slice(REPEATED.exec(text)?.[0].length ?? 0)
  const seen = ASCII.test(own) ? own : normalized(own, 'NFKC').replace(UNSEEN, '')
  const links: string[] = []
  const around = /[./]/.test(seen)
    ? seen.replace(LINK, (link) => {
        links.push(linkOf(link))
        return ' '
      })
    : seen
  // Numbers and letters in turns may be an address in disguise: here they are words.
  const words = wordsOf(plainly(around).replace(MENTION, ' '), { random: 'kept' })
  if (words.length < DECORATED_WORDS) return null
  // None of these holds a line's end.
  return links.length === 0 ? words.join('\n') : `${words.join('\n')}\n\n${links.join('\n')}`
}

/** A link in one spelling: its host is the same in any letters. */
function linkOf(link: string): string {
  const [, scheme = '', host = '', rest = ''] =
    /^(https?:\/\/)?([^/?#]*)(.*)$/isu.exec(link.replace(AFTER_LINK, '')) ?? []
  return `${scheme.toLowerCase()}${host.toLowerCase()}${rest}`
}
