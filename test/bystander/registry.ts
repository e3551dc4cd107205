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
