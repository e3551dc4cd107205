/** A worst case that a stranger may send: `make` gives about as many characters as asked for. */
export interface WorstCase {
  readonly name: string
  readonly make: (characters: number) => string
}

const repeated = (piece: string) => (characters: number) =>
  piece
    .repeat(Math.ceil(characters / piece.length))
    .slice(0, characters)
    .toWellFormed()

/** Marks of six classes, in an order that no normal form leaves as it is. */
const MARKS = '\u0315\u0323\u0334\u0345\u0301\u0327'

/** Ordinary texts in ten scripts, and what is only long. */
export const ORDINARY: readonly WorstCase[] = [
  ['Latin', 'Confirmed I saw the bridge fall into the harbor. '],
  ['Vietnamese', 'Tôi đã tận mắt nhìn thấy cây cầu sập xuống cảng. '],
  ['Cyrillic', 'Я своими глазами видел, как мост упал в гавань. '],
  ['Greek', 'Είδα με τα μάτια μου τη γέφυρα να πέφτει στο λιμάνι. '],
  ['Arabic', 'رَأَيْتُ الجِسْرَ يَسْقُطُ فِي المِينَاءِ بِأُمِّ عَيْنَيَّ. '],
  ['Hebrew', 'רָאִיתִי בְּמוֹ עֵינַי אֶת הַגֶּשֶׁר נוֹפֵל. '],
  ['Devanagari', 'मैंने अपनी आँखों से पुल को बंदरगाह में गिरते देखा। '],
  ['Thai', 'ฉันเห็นสะพานพังลงในท่าเรือด้วยตาตัวเอง '],
  ['Han', '我亲眼看到大桥掉进港口里了，确认无误。'],
  ['Japanese', '橋が港に落ちるのをこの目で見ました。ﾊﾞｶ '],
  ['Hangul', '다리가 무너지는 것을 제 눈으로 직접 봤습니다. '],
].map(([name = '', piece = '']) => ({ name, make: repeated(piece) }))

export const TEXTS: readonly WorstCase[] = [
  { name: 'marks of mixed classes', make: repeated(MARKS) },
  { name: 'marks behind each letter of a word', make: (characters) => repeated(`c${MARKS.repeat(9)}`)(characters) },
  { name: 'marks with joiners between them', make: repeated(`${MARKS.repeat(4)}\u034f`) },
  { name: 'marks with invisible characters between them', make: repeated(`${MARKS.repeat(4)}\u200d`) },
  { name: 'marks with format characters between them', make: repeated(`${MARKS.repeat(4)}\u2060`) },
  { name: 'marks that are two', make: repeated('\u0344\u0323\u0344\u0315') },
  { name: 'halfwidth marks', make: repeated('\uff9e\u0323\u0315') },
  { name: 'letters of many marks', make: repeated('\u01d5\u0323\u0334') },
  { name: 'a host that goes on and on', make: (characters) => `/${repeated('ab.')(characters)}` },
  { name: 'a label that goes on and on', make: (characters) => `/${repeated('a')(characters)}` },
  { name: 'labels of digits', make: (characters) => `/${repeated('1.')(characters)}` },
  { name: 'mentions', make: repeated('@a') },
  { name: 'hashtags of digits', make: repeated(`#${'1'.repeat(40)}`) },
  { name: 'tags that never end', make: repeated('<a ') },
  { name: 'tags with long attributes', make: repeated(`<a ${'b'.repeat(300)}`) },
  { name: 'entities', make: repeated('&amp;') },
  { name: 'entities of entities', make: (characters) => `&${repeated('amp;')(characters)}` },
  { name: 'brackets', make: repeated('[A') },
  { name: 'bars', make: repeated('|a') },
  { name: 'hexadecimal digits', make: repeated('0123456789abcdef0') },
  { name: 'letters and digits by turns', make: repeated('a1') },
  { name: 'white space', make: repeated(' ') },
  { name: 'spaces and stops', make: repeated('. ') },
  { name: 'one letter', make: repeated('a') },
  { name: 'capital sigmas and apostrophes', make: repeated("Σ'''") },
  { name: 'look-alike letters', make: repeated('аеорсa ') },
  { name: 'letters spaced out', make: repeated('a b c ') },
  { name: 'questions', make: repeated('?') },
  { name: 'emoji', make: repeated('👍🏽') },
  { name: 'variation selectors', make: repeated('\ufe0f') },
  { name: 'half characters', make: repeated('\ud83d') },
  { name: 'roles', make: repeated('\nHuman:') },
  { name: 'marks of a cut', make: repeated('[cut: 1 more characters]') },
  { name: 'letters that become long', make: repeated('\ufdfa') },
]

/** What a model, or who speaks in its place, may answer. */
export const ANSWERS: readonly WorstCase[] = [
  { name: 'braces', make: repeated('{') },
  { name: 'objects', make: repeated('{"a":1}') },
  { name: 'keys', make: repeated('"answer":') },
  { name: 'lines with labels', make: repeated('\nAnswer: Real') },
  { name: 'a label behind marks', make: repeated('\n> **_`"A') },
  { name: 'lines that end in two ways', make: repeated('a: b\r') },
  { name: 'quotes and backslashes', make: repeated('\\"') },
  { name: 'comments', make: repeated('{/*') },
  { name: 'thoughts', make: repeated('<think>') },
]

const filled =
  (before: string, piece: string, after = '') =>
  (characters: number) =>
    `${before}${piece.repeat(Math.floor((characters - before.length - after.length) / piece.length))}${after}`

/** Addresses of images. */
export const HOSTS: readonly WorstCase[] = [
  { name: 'a host of many labels', make: filled('https://', 'a.') },
  { name: 'a host of one label', make: filled('https://', 'a') },
  { name: 'a host in another script', make: filled('https://', 'ä.') },
  { name: 'a host that folds to more', make: filled('https://', '\ufdfa') },
  { name: 'a host of escapes', make: filled('https://', '%61') },
  { name: 'marks in a host', make: filled('https://a', MARKS) },
  { name: 'an address in brackets', make: filled('https://[', '0:') },
  { name: 'numbers for a host', make: filled('https://', '0.') },
  { name: 'a path that goes up', make: filled('https://a.example/', '../') },
  { name: 'credentials', make: filled('https://', 'a:', '@a.example/') },
  { name: 'line ends in an address', make: filled('https://a.example/', '\n\t') },
]

/** Images that are in their message. */
export const IMAGES: readonly WorstCase[] = [
  { name: 'base64', make: filled('data:image/png;base64,', 'AAAA') },
  { name: 'what is no base64', make: filled('data:image/png;base64,', '!?') },
  { name: 'padding', make: filled('data:image/png;base64,', '=') },
  { name: 'parameters', make: filled('data:image/png', ';base64') },
  { name: 'no comma', make: filled('data:', 'a') },
  { name: 'beginnings of a PNG', make: filled('data:image/png;base64,', 'iVBORw0KGgoA') },
  { name: 'ends of a PNG that are none', make: filled('data:image/png;base64,iVBORw0KGgoA', 'SUVORK5C') },
]

/** What stands on a topic in the place of a message. */
export const MESSAGES: readonly WorstCase[] = [
  { name: 'lists in lists', make: (characters) => '['.repeat(characters / 2) + ']'.repeat(characters / 2) },
  { name: 'objects in objects', make: filled('', '{"a":') },
  { name: 'a list of lists', make: filled('[', '[],', '[]]') },
  { name: 'many fields', make: (characters) => `{${numbered(characters, (nth) => `"a${nth}":0`)}}` },
  { name: 'one field many times', make: filled('{', '"id":"a",', '"id":"a"}') },
  { name: 'media that are none', make: filled('{"id":"a","createdAt":"2026-01-01T00:00:00Z","media":[', '0,', '0]}') },
  {
    name: 'media without anything',
    make: filled('{"id":"a","createdAt":"2026-01-01T00:00:00Z","media":[', '{},', '{}]}'),
  },
  { name: 'a long number', make: filled('{"id":', '9', '}') },
  { name: 'a long fraction', make: filled('{"id":0.', '9', 'e308}') },
  { name: 'escapes', make: filled('{"id":"', '\\u0000', '"}') },
  { name: 'a long id', make: filled('{"id":"', 'a', '"}') },
  { name: 'a long time', make: filled('{"id":"a","text":"a","createdAt":"2026-01-01T00:00:00.', '0', 'Z"}') },
  { name: 'quotes', make: filled('', '"') },
  { name: 'white space before nothing', make: filled('', ' ') },
]

const FIRST = '"createdAt":"2026-01-01T00:00:00Z","postId":"p","text":"t"'
/** Messages that are worst where they are as large as a message may be. */
export const LARGE_MESSAGES: readonly WorstCase[] = [
  { name: 'numbers beside an id that is one', make: filled(`{"id":1,${FIRST},"x":[`, '0,', '0]}') },
  { name: 'fractions beside an id that is a number', make: filled(`{"id":1,${FIRST},"x":[`, '1e300,', '0]}') },
  { name: 'an author that is a list of numbers', make: filled(`{"id":"1",${FIRST},"author":[`, '0,', '0]}') },
  {
    name: 'an author of many fields',
    make: (characters) => `{"id":"1",${FIRST},"author":{${numbered(characters - 100, (nth) => `"a${nth}":0`)}}}`,
  },
  {
    name: 'many fields',
    make: (characters) => `{"id":1,${FIRST},${numbered(characters - 100, (nth) => `"a${nth}":0`)}}`,
  },
]

/** What comments of a giant thread may be like, each its number's. */
export const ALIKE: readonly { readonly name: string; readonly make: (nth: number) => string }[] = [
  {
    name: 'each misspells other words of one text',
    make: (nth) =>
      Array.from({ length: 330 }, (_, at) =>
        at > 280 ? `zzzz${nth}` : at < 66 ? `ab${letter(7 * nth + at)}d${letter(at)}` : `abcd${letter(at)}`,
      )
        .join(' ')
        .slice(0, 2_000),
  },
  { name: 'the same but for its end', make: (nth) => `${'abcde '.repeat(320)}zz${nth}zz` },
  { name: 'no spaces between words', make: (nth) => `${'我亲眼看到大桥掉进港口里了'.repeat(38)}${nth}`.slice(-499) },
]

function letter(nth: number): string {
  return String.fromCharCode(97 + (nth % 26))
}

/** What an endpoint may say of its usage. */
export const USAGES: readonly WorstCase[] = [
  { name: 'usage of many names', make: (characters) => `{${numbered(characters, (nth) => `"a${nth}":0`)}}` },
  { name: 'usage that is a long number', make: filled('{"prompt_tokens":', '9', '}') },
  { name: 'usage in lists', make: filled('{"prompt_tokens":1,"completion_tokens":[', '[],', '[]]}') },
  { name: 'usage in a text', make: filled('{"prompt_tokens":"', '1', '"}') },
  { name: 'a tier in a text', make: filled('{"service_tier":"', 'a', '"}') },
]

function numbered(characters: number, make: (nth: number) => string): string {
  const made: string[] = []
  for (let [nth, length] = [0, 0]; length < characters; nth++) {
    const one = make(nth)
    made.push(one)
    length += one.length + 1
  }
  return made.join(',')
}

/** Files of settings, from whoever may write them. */
export const SETTINGS: readonly WorstCase[] = [
  { name: 'settings in a list of lists', make: filled('limits: [', '[],', '[]]\n') },
  {
    name: 'settings that nobody knows',
    make: (characters) => numbered(characters, (nth) => `a${nth}: 0\n`).replaceAll(',', ''),
  },
  { name: 'a long name', make: filled('', 'a', ': 0\n') },
  { name: 'aliases', make: filled('limits: {a: &a [0], b: [', '*a,', '*a]}\n') },
  { name: 'anchors', make: (characters) => `limits: [${numbered(characters, (nth) => `&a${nth} 0`)}]\n` },
  { name: 'comments', make: filled('', '# a\n') },
  { name: 'a long text', make: filled('openai: {baseUrl: "', 'a', '"}\n') },
  { name: 'escapes in a text', make: filled('openai: {baseUrl: "', '\\x41', '"}\n') },
  { name: 'tags', make: filled('limits: [', '!!str a,', 'a]\n') },
  { name: 'indents', make: (characters) => indented(Math.floor(Math.sqrt(2 * characters))) },
]

/** So many lines, each below the one before. */
function indented(lines: number): string {
  return Array.from({ length: lines }, (_, nth) => `${' '.repeat(nth)}a:\n`).join('')
}
