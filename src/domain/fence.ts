import { createHmac } from 'node:crypto'

/**
 * Puts untrusted text into a prompt as data: its own block, under a nonce that its author can't foresee (a keyed hash of
 * the text), so that no text can end its block, open another, or name a role. The same text under the same key gets the
 * same fence, so the same question stays the same question.
 */
export interface Fence {
  /** `kind` is a word (`claim`); `item` numbers texts of one kind in one prompt; longer texts are cut, and say so. */
  (kind: string, text: string, item?: number): string
}

/** Fences under `key`, each holding at most `maxChars` characters of text. */
export function fences(key: string, maxChars: number): Fence {
  return (kind, text, item) => {
    const nonce = createHmac('sha256', key).update(kind).update('\0').update(text).digest('hex').slice(0, 16)
    const label = item === undefined ? kind : `${kind} ${item}`
    return `<<${label}:${nonce}>>\n${cut(harmless(text), maxChars)}\n<<end:${nonce}>>`
  }
}

/**
 * Text without what could pass for structure: control and format characters (bidirectional marks and zero-width
 * characters among them) go, line ends become one kind, and doubled angle brackets of any script are parted.
 */
function harmless(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFC')
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(/[^\P{Cc}\n\t]|(?!\u200d)\p{Cf}/gu, '')
    .replace(/[<\u2039\u00ab\u300a\u3008\uff1c\u226a](?=[<\u2039\u00ab\u300a\u3008\uff1c\u226a])/g, '$& ')
    .replace(/[>\u203a\u00bb\u300b\u3009\uff1e\u226b](?=[>\u203a\u00bb\u300b\u3009\uff1e\u226b])/g, '$& ')
}

function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const kept = text.slice(0, maxChars).toWellFormed()
  return `${kept}\n[cut: ${text.length - kept.length} more characters]`
}
