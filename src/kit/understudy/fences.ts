/** One fenced piece of untrusted text: its kind (`claim`, `comment`, …), its number if the fence bears one, its text. */
export type FencedText = { readonly kind: string; readonly number: number | undefined; readonly text: string }

/** Fenced texts, those of a list one by one, and what stands before each of them and after the last. */
export type Sections = { readonly fences: readonly FencedText[]; readonly outside: readonly string[] }

const OPENING = /<<([\w-]+)(?: (\d{1,9}))?:([0-9a-f]{16})>>\n/y

/** Blocks that are lists, and what each of their lines is. */
const SINGULAR: ReadonlyMap<string, string> = new Map([
  ['comments', 'comment'],
  ['examples', 'example'],
  ['reasons', 'reason'],
  ['precedents', 'precedent'],
  ['turns', 'argument'],
  ['sentences', 'sentence'],
])

/** A list's lines, each with the first text in it, and with what is said before that; empty if it is no list. */
function itemsOf(kind: string, block: string): { fence: FencedText; said: string }[] {
  const items = block.split('\n').map((line) => {
    const [string] = /"(?:[^"\\]|\\.)*"/.exec(line) ?? []
    if (string === undefined) return undefined
    const said = line.slice(0, line.indexOf(string))
    const number = /^\d{1,9}\b/.exec(said)?.[0]
    const text = String(JSON.parse(string))
    return { fence: { kind, number: number === undefined ? undefined : Number(number), text }, said }
  })
  return items.every((item) => item !== undefined) ? items : []
}

/**
 * Splits a prompt into its fenced texts and what stands outside them, in linear time. Whatever looks like a fence
 * inside a fence is text; only the closing line with the opening's own nonce ends it. A fence that is never closed
 * reaches to the end of the prompt, so that untrusted text can't get out.
 */
export function readFences(prompt: string): Sections {
  const fences: FencedText[] = []
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
    const before = prompt.slice(from, at)
    const one = SINGULAR.get(kind)
    const items = one === undefined ? [] : itemsOf(one, text)
    if (items.length === 0) {
      fences.push({ kind, number: number === undefined ? undefined : Number(number), text })
      outside.push(before)
    }
    for (const [index, { fence, said }] of items.entries()) {
      fences.push(fence)
      outside.push(index === 0 ? `${before}${said}` : said)
    }
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
