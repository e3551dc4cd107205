import { withoutEntities } from '../contracts/facts/entities.ts'

/** So many characters of a text are read as HTML: what a message may hold of words, and no more. */
export const MOST_HTML = 2 ** 18

/** Elements after which, and before which, a line ends. */
const BLOCKS = new Set(
  'p div li ul ol blockquote pre h1 h2 h3 h4 h5 h6 tr table section article header footer hr figure figcaption'.split(
    ' ',
  ),
)
/** What ends an element whose contents are no words. */
const CLOSING = /<\/(?:script|style|template)\b/gi
const UNREAD = new Set(['script', 'style', 'template'])

/**
 * The words of a piece of HTML: markup is left out, paragraphs and breaks end lines, entities become characters. Of pictures nothing is
 * left. Linear in the text. A `<` that begins no tag stays.
 */
export function wordsOfHtml(html: string): string {
  const parts: string[] = []
  const [tagEnd, commentEnd] = [nextOf(html, '>'), nextOf(html, '-->')]
  let from = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', from)) {
    parts.push(html.slice(from, at))
    const isComment = html.startsWith('<!--', at)
    const end = isComment ? commentEnd(at + 4) : tagEnd(at)
    const name = /^\/?([a-z][a-z0-9]*)/i.exec(html.slice(at + 1, at + 24))?.[1]?.toLowerCase() ?? ''
    from = at + 1
    if (end < 0 || (name === '' && !isComment && html[at + 1] !== '!')) {
      parts.push('<')
      continue
    }
    from = end + (isComment ? 3 : 1)
    if (UNREAD.has(name) && html[at + 1] !== '/') {
      CLOSING.lastIndex = from
      from = CLOSING.exec(html)?.index ?? html.length
    } else if (name === 'br' || BLOCKS.has(name)) parts.push('\n')
  }
  parts.push(html.slice(from))
  const lines = withoutEntities(parts.join(''))
    .split('\n')
    .map((line) => line.trimEnd())
  return lines
    .filter((line, nth) => line !== '' || lines[nth - 1] !== '')
    .join('\n')
    .trim()
}

/** Where `sign` is next, from a place on that never goes back; -1 if nowhere. It looks at no character twice. */
function nextOf(text: string, sign: string): (from: number) => number {
  let known = -2
  return (from) => {
    if (known !== -1 && known < from) known = text.indexOf(sign, from)
    return known
  }
}
