import { entryOf } from '../../contracts/facts/entry-of.ts'
import { printable } from '../../contracts/facts/printable.ts'

/** A request to a server that may repeat any of it in its words. */
export interface SentRequest {
  readonly body: object
  /** The key, and whatever else was sent to be let in. */
  readonly secrets: readonly string[]
  /** It was sent to an interface for decision models. */
  readonly isDecision?: boolean | undefined
}

/** Most that is shown, and that is looked at, in characters. */
const [MOST_CHARS, MOST_READ] = [200, 600]
/** What stands for words that are not shown. */
const HIDDEN = '[…]'
/** Shorter ones stand in any text. */
const LEAST_SECRET = 4
/** So many bytes of the question in a row are no coincidence; within quotation marks any are the question's. */
const LEAST_ECHO = 12

/** What looks like a key, whole or in part, and a password in an address: it may be another's. */
const LIKE_SECRETS =
  /\b(?:(?:sk|gsk|pk|rk|xai|hf|nvapi|pplx)[-_]|AIza|AKIA)[\w*.-]{8,}|\b[Bb]earer\s{1,3}\S+|(?<=\/\/)[^@\s/]{1,200}(?=@)|[\w*+-]{32,}/g
const QUOTED = /(["'`“‘])(.{1,200}?)["'`”’]/g
/** How a text may be written in another one. */
const ESCAPES = /\\u([0-9a-f]{4})|&(?:quot|#39|#34|apos|amp|lt|gt);|\\[nrt"'\\/]/gi

/**
 * A server's words of a refusal, as one line for whoever runs this; '' if nothing is left of them. They hold no secret that was sent and no
 * words of the question: those are a stranger's.
 */
export function wordsForOperator(words: readonly string[], { body, secrets }: SentRequest): string {
  const texts = [...new Set(words.map((text) => whole(text.trim())).filter((text) => text !== ''))]
  // The name of a field mostly stands in the message as well.
  const said = texts.filter((text) => !texts.some((other) => other !== text && other.includes(text)))
  let text = beginning(said.join('; ')).replace(ESCAPES, (_, hex: string | undefined) =>
    hex === undefined ? ' ' : String.fromCharCode(Number.parseInt(hex, 16)),
  )
  for (const secret of secrets.flatMap((one) => [one, one.replace(/^\S+ /, '')]))
    if (secret.length >= LEAST_SECRET) text = text.replaceAll(secret, HIDDEN)
  text = text.replace(LIKE_SECRETS, HIDDEN)
  const question = bare(textsOf(body).join(' '))
  const unquoted = text.replace(QUOTED, (quotation, mark: string, inner: string) =>
    bare(inner) !== '' && question.includes(bare(inner)) ? `${mark}${HIDDEN}${quotation.slice(-1)}` : quotation,
  )
  return printable(withoutEchoes(unquoted, question), MOST_CHARS)
}

/** So much of a text as is looked at, without a word that would be cut; of a web page its title. */
function whole(text: string): string {
  if (/^<[!?a-z]/i.test(text)) return /<title>([^<]{1,200})/i.exec(text)?.[1] ?? ''
  return beginning(text)
}

function beginning(text: string): string {
  return text.length <= MOST_READ ? text : text.slice(0, MOST_READ).replace(/\S*$/, '')
}

/** The words of a question: of its messages, or of the texts to be embedded. */
function textsOf(body: object): string[] {
  const texts = (value: unknown): string[] => {
    if (typeof value === 'string') return [value]
    if (Array.isArray(value)) return value.flatMap(texts)
    if (typeof value !== 'object' || value === null) return []
    return texts('content' in value ? value.content : 'text' in value ? value.text : null)
  }
  const of = ['messages', 'input', 'state'].find((field) => field in body) ?? ''
  return texts(entryOf(body as Readonly<Record<string, unknown>>, of)) // Any object has its fields by name.
}

/** A text without case, white space and quotation marks: an endpoint may repeat it in its own spelling. */
function bare(text: string): string {
  return text.toLowerCase().replace(/[\s"'`“”‘’\\]/g, '')
}

/** The text without what stands in the question, too: from each place as much as there is in a row. */
function withoutEchoes(text: string, question: string): string {
  const characters = [...text]
  const parts: string[] = []
  for (let from = 0; from < characters.length; ) {
    const to = echoEnd(characters, from, question)
    parts.push(to > from ? HIDDEN : (characters[from] ?? ''))
    from = Math.max(to, from + 1)
  }
  return parts.join('')
}

/** Behind the last character of what is repeated from here on; `from` if it is too little. */
function echoEnd(characters: readonly string[], from: number, question: string): number {
  let [echo, to] = ['', from]
  for (let at = from; at < characters.length; at++) {
    const longer = echo + bare(characters[at] ?? '')
    if (!question.includes(longer)) break
    if (longer !== echo) to = at + 1
    echo = longer
  }
  return Buffer.byteLength(echo) >= LEAST_ECHO ? to : from
}
