import { asRead } from './as-read.ts'
import { cut } from './cut.ts'
import { digests } from './digests.ts'
import { hmac } from './hmac.ts'
import { neutralized } from './neutralized.ts'

/**
 * Puts untrusted text into a prompt as data: in a block of its own, with a nonce that its author can't predict (a keyed
 * hash of the text), so that no text can end its block, open another, or name a role. The same text with the same key
 * gets the same fence, so that the same question stays the same.
 */
export interface Fence {
  (
    /** A word: `claim`, `comment`. */
    kind: string,
    text: string,
    /** Numbers texts of one kind in one prompt. */
    item?: number,
  ): string
  /**
   * Several texts in one block, a line for each item: a block by itself costs more than a short text. Each text is a JSON
   * string, which no text can end, so that none can pose as another line, nor as what we say beside it.
   */
  list(kind: string, items: readonly ListItem[]): string
  /** How many characters of the text its block leaves out: of a long text it depends on the key by a few. */
  unread(kind: string, text: string): number
  /** The most characters of a text that a block of this kind shows. */
  most(kind: string): number
  /**
   * The same for what is sent under the preset `paper`, which stays as it was: texts as they were written, and nonces of
   * hexadecimal digits. A model reads decimal ones three at a time, and pays a fifth less for a block.
   */
  paper(): Fence
}

/** A line of a list: our own words, and between them texts of strangers, cut as in a block of their kind. */
export type ListItem = readonly (string | { readonly kind: string; readonly text: string })[]

/**
 * The longest text in a block, in characters; of a longer one the block has the beginning, the end and a window in
 * between.
 */
export interface FenceBounds {
  readonly maxChars: number
  /** For texts that occur many times in one prompt: comments, examples, precedents. */
  readonly maxCommentChars: number
}

/** Fences with nonces under `key`; a single number limits all texts. */
export function fences(key: string, bounds: FenceBounds | number): Fence {
  const { maxChars, maxCommentChars } =
    typeof bounds === 'number' ? { maxChars: bounds, maxCommentChars: bounds } : bounds
  const keyed = hmac(key)
  const made = new Map<string, Block>()
  let characters = 0
  const most = (kind: string): number => {
    if (CONTEXT.has(kind)) return Math.min(CONTEXT_CHARS, maxCommentChars)
    return MANY.has(kind) ? maxCommentChars : maxChars
  }
  const block = (kind: string, text: string, digest: string, form: TextForm): Block => {
    const place = Number.parseInt(digest.slice(NONCE_DIGITS, NONCE_DIGITS + 8), 16) / 2 ** 32
    const kept = cut(neutralized(form === 'read' ? asRead(kind, text) : text), most(kind), place)
    return { digest, body: kept.text, left: kept.left }
  }
  const ofKind = new Map<string, (text: string) => string>()
  const digestOf = (kind: string): ((text: string) => string) => {
    const known = ofKind.get(kind) ?? digests((text) => keyed(`${kind}\0${text}`, 'hex'))
    ofKind.set(kind, known)
    return known
  }
  const blockOf = (form: TextForm, kind: string, text: string): Block => {
    // A text is fenced for each ask about it and for the transcript, usually within a short time.
    const long = text.length > KEPT_AS_WRITTEN
    const whole = long ? digestOf(kind)(text) : `${kind}\0${text}`
    const id = `${form} ${whole}`
    const known = made.get(id)
    if (known !== undefined) return known
    const fresh = block(kind, text, long ? whole : keyed(whole, 'hex'), form)
    made.set(id, fresh)
    characters += id.length + fresh.body.length
    for (const [oldest, { body }] of made) {
      if (characters <= REMEMBERED) break
      made.delete(oldest)
      characters -= oldest.length + body.length
    }
    return fresh
  }
  const withNonces = (form: TextForm, nonceOf: (digest: string) => string) => {
    const unread = (kind: string, text: string) => blockOf(form, kind, text).left
    const enclosed = (label: string, body: string, digest: string) => {
      const nonce = nonceOf(digest)
      return `<<${label}:${nonce}>>\n${body}\n<<end:${nonce}>>`
    }
    const fence = (kind: string, text: string, item?: number) => {
      const { digest, body } = blockOf(form, kind, text)
      return enclosed(item === undefined ? kind : `${kind} ${item}`, body, digest)
    }
    const list = (kind: string, items: readonly ListItem[]) => {
      const lines = items.map((item) =>
        item
          .map((part) => (typeof part === 'string' ? part : JSON.stringify(blockOf(form, part.kind, part.text).body)))
          .join(''),
      )
      const body = lines.join('\n')
      return enclosed(kind, body, keyed(`list\0${kind}\0${body}`, 'hex'))
    }
    return Object.assign(fence, { list, unread, most })
  }
  const hexadecimal: Fence = Object.assign(
    withNonces('written', (digest) => digest.slice(0, NONCE_DIGITS)),
    { paper: () => hexadecimal },
  )
  return Object.assign(withNonces('read', decimal), { paper: () => hexadecimal })
}

/** As a person reads it, or as it was written. */
type TextForm = 'read' | 'written'

interface Block {
  readonly digest: string
  readonly body: string
  readonly left: number
}

/** The first digits of a text's keyed hash make its nonce; the next ones place its window. */
const NONCE_DIGITS = 16

/** As many decimal digits: fifty-three bits, for an author who has one guess. */
function decimal(digest: string): string {
  const number = BigInt(`0x${digest.slice(0, NONCE_DIGITS)}`) % 10n ** BigInt(NONCE_DIGITS)
  return String(number).padStart(NONCE_DIGITS, '0')
}

/** Kinds of text that occur many times in one prompt, each written by a stranger. */
const MANY: ReadonlySet<string> = new Set(['comment', 'example', 'precedent'])
/** What a comment answers, and stands under: not judged, only there to show what it speaks of, so a few lines are enough. */
const CONTEXT: ReadonlySet<string> = new Set(['parent', 'thread'])
const CONTEXT_CHARS = 400

/** Texts up to this length are cached under themselves, longer ones under their digest, which costs less than their space. */
const KEPT_AS_WRITTEN = 500
/** Characters of fenced texts that are cached, the latest ones: those of eight threads that hold as much as a thread may. */
const REMEMBERED = 8_000_000
