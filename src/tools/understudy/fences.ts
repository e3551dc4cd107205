/** One fenced piece of untrusted text: its kind (`claim`, `comment`, …), its number if the fence bears one, its text. */
export type Fence = { readonly kind: string; readonly number: number | undefined; readonly text: string }

/** Fenced texts, and what stands before each of them and after the last. */
export type Sections = { readonly fences: readonly Fence[]; readonly outside: readonly string[] }

const OPENING = /<<([\w-]+)(?: (\d{1,9}))?:([0-9a-f]{16})>>\n/y

/**
 * Splits a prompt into its fenced texts and what stands outside them, in linear time. Whatever looks like a fence
 * inside a fence is text; only the closing line with the opening's own nonce ends it. A fence that is never closed
 * reaches to the end of the prompt, so that untrusted text can't get out.
 */
export function readFences(prompt: string): Sections {
  const fences: Fence[] = []
  const outside: string[] = []
  let from = 0
  let at = prompt.indexOf('<<')
  while (at !== -1) {
    const opening = openingAt(prompt, at)
    if (!opening) {
      at = prompt.indexOf('<<', at + 2)
      continue
    }
    const [line, kind = '', number, nonce = ''] = opening
    const start = at + line.length
    const closing = `\n<<end:${nonce}>>`
    const end = prompt.indexOf(closing, start - 1)
    const text = prompt.slice(start, end === -1 ? undefined : Math.max(start, end))
    fences.push({ kind, number: number === undefined ? undefined : Number(number), text })
    outside.push(prompt.slice(from, at))
    from = end === -1 ? prompt.length : end + closing.length
    at = prompt.indexOf('<<', from)
  }
  outside.push(prompt.slice(from))
  return { fences, outside }
}

function openingAt(prompt: string, at: number): RegExpExecArray | undefined {
  if (at > 0 && prompt.charCodeAt(at - 1) !== 10) return undefined
  OPENING.lastIndex = at
  const opening = OPENING.exec(prompt)
  return opening && opening[1] !== 'end' ? opening : undefined
}
