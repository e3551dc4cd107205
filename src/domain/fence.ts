import { createHmac } from 'node:crypto'

/**
 * Puts untrusted text into a prompt as data: its own block, under a nonce that its author can't foresee (a keyed hash of
 * the text), so that no text can end its block, open another, or name a role. The same text under the same key gets the
 * same fence, so the same question stays the same question.
 */
export type Fence = (
  /** A word: `claim`, `comment`. */
  kind: string,
  text: string,
  /** Numbers texts of one kind in one prompt. */
  item?: number,
) => string

/** Fences under `key`, each holding at most `maxChars` characters of text. */
export function fences(key: string, maxChars: number): Fence {
  const made = new Map<string, { nonce: string; body: string }>()
  const block = (kind: string, text: string) => {
    const nonce = createHmac('sha256', key).update(`${kind}\0${text}`).digest('hex').slice(0, 16)
    const looked = harmless(text.slice(0, maxChars))
    const kept = looked.slice(0, maxChars).toWellFormed()
    const left = Math.max(0, text.length - maxChars) + looked.length - kept.length
    return { nonce, body: left === 0 ? kept : `${kept}\n[cut: ${left} more characters]` }
  }
  return (kind, text, item) => {
    // A comment is fenced for its score, for the debaters and for the transcript, mostly soon after one another.
    const id = `${kind}\0${text}`
    const { nonce, body } = made.get(id) ?? block(kind, text)
    if (text.length <= maxChars) {
      if (made.size >= REMEMBERED) made.clear()
      made.set(id, { nonce, body })
    }
    const label = item === undefined ? kind : `${kind} ${item}`
    return `<<${label}:${nonce}>>\n${body}\n<<end:${nonce}>>`
  }
}

/** Fenced texts kept for another use. */
const REMEMBERED = 4_096

const LESS = '<\\u2039\\u00ab\\u300a\\u3008\\uff1c\\ufe64\\u226a\\u27e8\\u27ea\\u276c\\u276e\\u2770\\u29fc\\u02c2'
const GREATER = '>\\u203a\\u00bb\\u300b\\u3009\\uff1e\\ufe65\\u226b\\u27e9\\u27eb\\u276d\\u276f\\u2771\\u29fd\\u02c3'
const BAR = '|\\uff5c'
/** What may stand between two characters and not be seen: joiners, fillers, variation selectors. */
const UNSEEN = '\\p{Default_Ignorable_Code_Point}*'
/** Doubled angle brackets (fence lines), and brackets against bars (`<|im_start|>`: roles in chat templates). */
const STRUCTURE = new RegExp(`[${LESS}](?=${UNSEEN}[${LESS}${BAR}])|[${GREATER}${BAR}](?=${UNSEEN}[${GREATER}])`, 'gu')
/** Tokens of chat templates that some servers take for the real thing wherever they stand: `<end_of_turn>`, `</s>`, `[INST]`. */
const TOKEN =
  /<(?=\/?(?:[a-z]{1,20}(?:_[a-z0-9]{1,20}){1,4}|s|bos|eos|pad|unk|mask|image|audio|video|think|unused\d{1,6})>)|\[(?=\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_[A-Z]{4,8}|MODEL_SETTINGS|ARGS|CALL_ID|THINK|IMG(?:_[A-Z]{3,5})?)\])/gi

/**
 * Text without what could pass for structure: control and format characters (bidirectional marks and zero-width
 * characters among them) go, line ends become one kind, doubled angle brackets of any script are parted, and so are the
 * tokens of chat templates.
 */
function harmless(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFC')
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(/[^\P{Cc}\n\t]|(?!\u200d)\p{Cf}/gu, '')
    .replace(STRUCTURE, '$& ')
    .replace(TOKEN, '$& ')
}
