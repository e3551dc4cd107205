import { normalized, withoutLongRuns } from './normalized.ts'

/**
 * Text without anything that a model could take for structure, and otherwise unchanged for a reader: control and format
 * characters (among them bidirectional marks and zero-width characters) are removed, as are combining marks beyond 30 in a
 * row, line ends become one kind, and whatever
 * looks like a fence line, a fence's nonce, or a token or a role's head of a chat template ({@link TEMPLATES}) gets a space
 * inside. What a person or a model has said is handed to a model in this form only. Idempotent.
 *
 * What looks like a token is decided after folding look-alikes and compatible forms (NFKD) and dropping marks and invisible
 * characters, so that no server's normalisation can make a token of it.
 */
export function neutralized(text: string): string {
  const visible = text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(/[^\P{Cc}\n\t]|(?!\u200d)\p{Cf}/gu, '')
    .replace(SELECTORS, '')
  // Canonical forms can be longer: some marks are two.
  const shown = withoutLongRuns(normalized(visible, 'NFC'))
  return SUSPECT.test(folded(shown)) ? spaced(shown) : shown
}

/**
 * One variation selector after a character chooses its appearance; further ones change nothing visible, and can carry
 * hidden text.
 */
const SELECTORS = /(?<=[\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu

/** HTML elements that people write and no template uses. Without `<s>`, which begins a text for many models, and `<img>`. */
const HTML =
  'a|abbr|b|blockquote|br|code|dd|del|div|dl|dt|em|font|h[1-6]|hr|i|ins|kbd|li|mark|ol|p|pre|q|small|span|strike|strong|sub|sup|table|tbody|td|th|thead|tr|tt|u|ul'
const TAG = String.raw`(?=[\p{N}_:!=-]{0,200}\p{L})[\p{L}\p{N}_:!=-]{1,400}`
const ATTRIBUTE = String.raw`\s{1,9}[\p{L}_:-]{1,40}\s?=[^<>\n]{0,200}`
/** Role names at the start of a line, for templates made of plain words. */
const ROLES =
  '(?:human|user|assistant|system|developer|bot|ai|instruct(?:ion)?|gpt-?4 correct (?:user|assistant)|问|答)'
const HEADS = 'instructions?|input|output|response|human|user|assistant|system|bot|ai|end'
const BRACKETED =
  'gmask|smask|bos|eos|sep|cls|pad|unk|mask|eot|eod|eop|sop|inst|system|assistant|user|human|bot|developer|think|unused\\d{1,6}|round \\d{1,4}'

/** Tokens of chat templates by family, to be found in folded text: a space is inserted at the end of each match. */
const TEMPLATES: Readonly<Record<string, RegExp>> = {
  'angle brackets that double, as fence lines begin and end: <<SYS>>': /[<‹](?=[<‹])|[>›](?=[>›])/g,
  'bars in angle brackets: <|im_start|>': /[<‹](?=\|)|\|(?=[>›])/g,
  'bars in square brackets: [|system|]': /\[(?=\|)|\|(?=\])/g,
  'bars around a word: |ENDOFTEXT|': /\|(?=[a-z][a-z_]{2,40}\|)/gi,
  'triangles around a word: ◁think▷': /◁(?=\/?[\p{L}\p{N}_-]{1,40}▷)/gu,
  'tildes in square brackets: ]~b]': /\](?=~)|~(?=\[)/g,
  'a word in angle brackets: </s>, <end_of_turn>, <seed:eos>, <fim-prefix>': new RegExp(
    String.raw`<(?=\/?(?!(?:${HTML})(?:\s|\/?>))${TAG}(?:${ATTRIBUTE})?\s?\/?>)`,
    'gu',
  ),
  'short capitals in square brackets: [INST], [SEP]': /\[(?=\/?\p{Lu}[\p{Lu}\p{N}]{1,5}\])/gu,
  'joined words in square brackets: [TOOL_CALLS]': /\[(?=\/?[\p{L}\p{N}]{1,40}(?:_[\p{L}\p{N}]{1,40}){1,8}\])/gu,
  'known words in square brackets: [gMASK], [unused9]': new RegExp(String.raw`\[(?=\/?(?:${BRACKETED})\])`, 'gi'),
  "a role's head: Human:": new RegExp(String.raw`^[ \t>*_#-]{0,8}${ROLES}[*_]{0,2}(?=:)`, 'gim'),
  "a section's head: ###Instruction": new RegExp(String.raw`^[ \t]{0,8}#(?=#{1,5} ?(?:${HEADS})\b)`, 'gim'),
}
/** A fence's nonce gets a space in its middle. */
const NONCE_LENGTH = 16
const NONCES = new RegExp(`[0-9a-f]{${NONCE_LENGTH},}`, 'gi')

/** A text that does not match this matches no family: most texts need no further check. */
const SUSPECT = new RegExp(
  String.raw`[<[|~◁]|[<‹>›]{2}|##|[0-9a-f]{${NONCE_LENGTH}}|^[ \t>*_#-]{0,8}${ROLES}[*_]{0,2}:`,
  'im',
)

/** The text with a space inside each match of {@link TEMPLATES} and each possible nonce. */
function spaced(text: string): string {
  // The position in the text of each character of the folded text: folding may change a character's length.
  let plain = ''
  const from: number[] = []
  let at = 0
  for (const character of text) {
    const read = folded(character)
    plain += read
    for (let unit = 0; unit < read.length; unit++) from.push(at)
    at += character.length
  }
  const places = new Set<number>()
  for (const family of Object.values(TEMPLATES))
    for (const { index, 0: match } of plain.matchAll(family)) {
      const place = from[index + match.length]
      if (place !== undefined) places.add(place)
    }
  for (const { index, 0: run } of plain.matchAll(NONCES)) {
    // A run of digits only counts if it has exactly a nonce's length: others are ids and numbers.
    if (run.length !== NONCE_LENGTH && !/[a-f]/i.test(run)) continue
    for (let half = NONCE_LENGTH / 2; half < run.length; half += NONCE_LENGTH / 2) places.add(from[index + half] ?? 0)
  }
  let made = ''
  let done = 0
  for (const place of [...places].sort((a, b) => a - b)) {
    made += `${text.slice(done, place)} `
    done = place
  }
  return made + text.slice(done)
}

/** The text with look-alikes and compatible forms folded, without marks and invisible characters. */
function folded(text: string): string {
  if (ASCII.test(text)) return text
  return normalized(text, 'NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(LOOK_ALIKE, (character) => LOOK_ALIKES.get(character) ?? character)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const ASCII = /^[\u0000-\u007f]*$/

/**
 * Brackets, bars and letters of other scripts by what they look like, where Unicode's own folding does not say so. Angle
 * brackets of other scripts serve as quotation marks too, so they count only where they double or hold a bar, not around a word.
 */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [
    ['‹', '\u00ab\u300a\u3008\u226a\u27e8\u27ea\u276c\u276e\u2770\u29fc\u02c2\u1438'],
    ['›', '\u00bb\u300b\u3009\u226b\u27e9\u27eb\u276d\u276f\u2771\u29fd\u02c3\u1433'],
    ['◁', '\u25c0\u25c2\u25c3\u22b2'],
    ['▷', '\u25b6\u25b8\u25b9\u22b3'],
    ['[', '\u27e6\u301a\u2045\u2772'],
    [']', '\u27e7\u301b\u2046\u2773'],
    ['|', '\u00a6\u01c0\u2016\u2223\u2225\u2502\u2503\u2758\u2759\u275a\u23d0'],
    [':', '\u02d0\u0589\u2236\ua789'],
    ['~', '\u223c\u301c'],
    ['_', '\u2581'],
    ...Object.entries({
      a: '\u0430\u03b1',
      c: '\u0441',
      d: '\u0501',
      e: '\u0435',
      h: '\u04bb',
      i: '\u0456\u03b9\u0131',
      j: '\u0458',
      n: '\u0578',
      o: '\u043e\u03bf',
      p: '\u0440\u03c1',
      s: '\u0455',
      u: '\u057d',
      v: '\u03bd',
      x: '\u0445',
      y: '\u0443',
      A: '\u0410\u0391',
      B: '\u0412\u0392',
      C: '\u0421',
      E: '\u0415\u0395',
      H: '\u041d\u0397',
      I: '\u0406\u0399\u04c0',
      K: '\u041a\u039a',
      M: '\u041c\u039c',
      N: '\u039d',
      O: '\u041e\u039f',
      P: '\u0420\u03a1',
      S: '\u0405',
      T: '\u0422\u03a4',
      U: '\u054d',
      X: '\u0425\u03a7',
      Y: '\u04ae\u03a5',
    }),
  ].flatMap(([plain = '', those = '']) => [...those].map((one): [string, string] => [one, plain])),
)
const LOOK_ALIKE = new RegExp(`[${[...LOOK_ALIKES.keys()].join('')}]`, 'gu')
