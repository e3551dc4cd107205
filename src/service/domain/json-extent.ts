/** What JSON has more of than it may; null if nothing. `depth` counts nested lists and objects, `parts` all of them. */
export type Excess = 'depth' | 'parts' | null

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COLON] = [...'"\\[]{}:'].map((character) =>
  character.charCodeAt(0),
)

/**
 * Whether JSON has more than it may, told before it is parsed: a megabyte of brackets takes V8 a hundred times as long as a
 * megabyte of text. `fields` counts every field of an object as a part, too: each name of its own costs as much as a list.
 * Linear in the text, and not beyond the first excess; any result for what is not JSON.
 */
export function excessOf(
  json: string,
  most: { readonly depth: number; readonly parts: number; readonly fields?: boolean },
): Excess {
  let [depth, parts] = [0, 0]
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at + 1)
        break
      case OPEN_LIST:
      case OPEN_OBJECT:
        if (++depth > most.depth) return 'depth'
        parts++
        break
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth--
        break
      case COLON:
        if (most.fields === true) parts++
    }
    if (parts > most.parts) return 'parts'
  }
  return null
}

/** Where the string that begins before `from` ends. */
function endOfString(json: string, from: number): number {
  let at = from
  while (at < json.length && json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}
