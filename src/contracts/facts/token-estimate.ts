/** Characters of one kind, by code units from one to another. */
interface CharacterKind {
  readonly ranges: readonly (readonly [from: number, to: number])[]
  /** In usual texts, in hundredths of a token of the vocabulary o200k; docs/cost.md says how they were measured. */
  readonly mean: number
}

/** Later kinds override earlier ones. A Latin word begins with its space, so that most of its cost stands there. */
const KINDS: Readonly<Record<string, CharacterKind>> = {
  sign: { ranges: [[0x00, 0x7f]], mean: 85 },
  'line end or tab': { ranges: [[0x09, 0x0d]], mean: 20 },
  space: { ranges: [[0x20, 0x20]], mean: 50 },
  digit: { ranges: [[0x30, 0x39]], mean: 52 },
  'capital letter': { ranges: [[0x41, 0x5a]], mean: 40 },
  'small letter': { ranges: [[0x61, 0x7a]], mean: 12 },
  'letter with an accent': { ranges: [[0xa0, 0x24f]], mean: 90 },
  'Vietnamese letter': { ranges: [[0x1e00, 0x1eff]], mean: 60 },
  Greek: {
    ranges: [
      [0x370, 0x3ff],
      [0x1f00, 0x1fff],
    ],
    mean: 32,
  },
  Cyrillic: { ranges: [[0x400, 0x52f]], mean: 25 },
  Hebrew: { ranges: [[0x590, 0x5ff]], mean: 40 },
  Arabic: {
    ranges: [
      [0x600, 0x6ff],
      [0x750, 0x77f],
    ],
    mean: 32,
  },
  Devanagari: { ranges: [[0x900, 0x97f]], mean: 27 },
  Bengali: { ranges: [[0x980, 0x9ff]], mean: 35 },
  Tamil: { ranges: [[0xb80, 0xbff]], mean: 30 },
  Thai: { ranges: [[0xe00, 0xe7f]], mean: 47 },
  'quotation mark, dash': { ranges: [[0x2010, 0x2044]], mean: 90 },
  'sign of East Asia': {
    ranges: [
      [0x3000, 0x303f],
      [0xff00, 0xffef],
    ],
    mean: 80,
  },
  Kana: { ranges: [[0x3040, 0x30ff]], mean: 75 },
  Han: { ranges: [[0x4e00, 0x9fff]], mean: 81 },
  Hangul: {
    ranges: [
      [0x3131, 0x318e],
      [0xac00, 0xd7a3],
    ],
    mean: 71,
  },
  // A pair of code units each, which is four bytes.
  emoji: { ranges: [[0xd800, 0xdfff]], mean: 65 },
}

/** Of an address after its scheme: a word of random letters has more tokens than one of a language. */
const ADDRESS_MEAN = 63
const ADDRESS = /:\/\/\S+/g

/** By code unit. Of a kind that is not listed, a byte of UTF-8 may be a token. */
const MEANS = new Uint16Array(0x10000).fill(300).fill(200, 0, 0x800)
for (const { ranges, mean } of Object.values(KINDS)) for (const [from, to] of ranges) MEANS.fill(mean, from, to + 1)

function hundredthsOf(text: string): number {
  let sum = 0
  for (let at = 0; at < text.length; at++) sum += MEANS[text.charCodeAt(at)] as number
  return sum
}

/**
 * About how many tokens a text has, by its characters' scripts, in time linear in its length. No bound: unusual texts, and other
 * vocabularies, have several times as many. Reservations count bytes (`models/cost.ts`).
 */
export function estimateTokens(text: string): number {
  let hundredths = hundredthsOf(text)
  for (const [address] of text.matchAll(ADDRESS)) hundredths += address.length * ADDRESS_MEAN - hundredthsOf(address)
  return Math.ceil(hundredths / 100)
}
