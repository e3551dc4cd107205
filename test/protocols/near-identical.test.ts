import { describe, expect, test } from 'vitest'
import { byTimeThenId, type Comment } from '../../src/contracts/facts/thread.ts'
import { weighComments } from '../../src/protocols/rumor/comment-weights.ts'
import { misspeltAlike, sameWords } from '../../src/protocols/rumor/near-identical.ts'
import { bare } from '../../src/protocols/rumor/words.ts'

const said = (...texts: string[]): Comment[] => texts.map((text, at) => ({ id: `c${at}`, text, createdAt: at }))

const groupsOf = (...texts: string[]) => misspeltAlike(sameWords(said(...texts)))

const FORMS = ['xxoox', 'ppqqp', 'zzyyz', 'rrssr']
/** Texts of twelve words with the same first letters, no two of them near: each must be compared with all before it. */
const alike = (at: number) =>
  [...'abcdefghijkl'].map((letter, place) => `${letter}${FORMS[(at >> (2 * (place % 8))) % 4]}`).join(' ')
const misspelt = (text: string) => text.replace('a', 'aa')

describe('a text is compared with the first 32 that it may be a misspelling of, and no more', () => {
  const texts = Array.from({ length: 60 }, (_, at) => alike(at))

  test('so that its cost is bounded: a copy of the 33rd with a typo is not found', () => {
    expect(groupsOf(...texts, misspelt(alike(32)))).toHaveLength(61)
    expect(groupsOf(...texts, misspelt(alike(59)))).toHaveLength(61)
  })

  test('which is enough for the floods that come first: a copy of the 32nd with a typo is found', () => {
    expect(groupsOf(...texts, misspelt(alike(0)))).toHaveLength(60)
    expect(groupsOf(...texts, misspelt(alike(31)))).toHaveLength(60)
  })

  test('while equal texts are found among any number', () => {
    expect(groupsOf(...texts, alike(59).toUpperCase())).toHaveLength(60)
  })
})

describe('what docs/rumor.md says of near-identical comments is so', () => {
  const words = (count: number) => Array.from({ length: count }, (_, at) => `${'abcdefghijklmnop'[at]}letters`)
  const typo = (text: readonly string[], count: number) =>
    text.map((word, at) => (at < count ? `${word}s` : word)).join(' ')

  test.each([
    [5, 2],
    [6, 1],
  ])('of %i words with two different links they are %i utterances', (count, utterances) => {
    const text = words(count).join(' ')
    expect(sameWords(said(`${text} https://a.example/1`, `${text} https://b.example/2`))).toHaveLength(utterances)
  })

  test.each([
    [9, 1, 2],
    [10, 1, 1],
    [10, 2, 1],
    [10, 3, 2],
    [14, 3, 2],
    [15, 3, 1],
  ])('of %i words, %i of them misspelt, they are %i groups', (count, wrong, groups) => {
    expect(groupsOf(words(count).join(' '), typo(words(count), wrong))).toHaveLength(groups)
  })

  test.each([
    ['dead', 'deat', 2],
    ['fears', 'feart', 1],
  ])('%s is misspelt as %s in %i groups', (one, other, groups) => {
    expect(groupsOf(`${words(12).join(' ')} ${one}`, `${words(12).join(' ')} ${other}`)).toHaveLength(groups)
  })
})

const SAID = 'They confirmed that the old ferry went down off the northern pier at dawn'
const ARABIC = 'رأيت العبارة القديمة تغرق قرب الرصيف الشمالي عند الفجر بنفسي'
const POINTS = ['\u064e', '\u064f', '\u0650', '\u0651', '\u0652', '\u064b']
const PILES = ['\u0315', '\u0323', '\u0334', '\u0345', '\u0301', '\u0327', '\u0308', '\u0302', '\u030a']
const piled = (text: string, salt: number, height: number) =>
  [...text]
    .map((letter, at) => letter + Array.from({ length: height }, (_, n) => PILES[(salt * 7 + at + n * 4) % 9]).join(''))
    .join('')
const spelt = (text: string, digits: Readonly<Record<string, string>>) =>
  text.replace(/[a-z]/gi, (letter) => digits[letter.toLowerCase()] ?? letter)

/** Twelve copies of a text, each in another disguise of one kind. */
const DISGUISES: readonly (readonly [string, (salt: number) => string])[] = [
  ['hashtags', (salt) => `${SAID} #ferry${salt} #${(salt * 7919).toString(36)}x`],
  ['hashtags before it', (salt) => `#breaking${salt} ${SAID}`],
  ['hashtags in another script', (salt) => `${SAID} #속보${salt} #ニュース${salt}`],
  ['accents piled upon letters', (salt) => (salt === 0 ? SAID : piled(SAID, salt, 1 + (salt % 6)))],
  [
    'digits for letters',
    (salt) =>
      spelt(
        SAID,
        Object.fromEntries(
          [...'oeatis'].slice(0, salt % 7).map((letter) => [letter, '034715'.charAt('oeatis'.indexOf(letter))]),
        ),
      ),
  ],
  [
    'digits for i and for l',
    (salt) => SAID.replace(salt % 2 === 0 ? 'old' : 'confirmed', salt % 2 === 0 ? 'o1d' : 'conf1rmed'),
  ],
  [
    'signs for letters',
    (salt) =>
      [SAID, SAID.replace('that', 'th@t'), SAID.replace('pier', 'p!er'), SAID.replace('old', 'o1d')][salt % 4] ?? '',
  ],
  [
    'tags',
    (salt) =>
      [SAID, `<b>${SAID}</b>`, `<p class="x${salt}">${SAID}<br/></p>`, SAID.replace('old', '<i>o</i>ld')][salt % 4] ??
      '',
  ],
  [
    'entities',
    (salt) =>
      [
        `${SAID} & sank`,
        `${SAID} &amp; sank`,
        `${SAID} &#38; sank`,
        `${SAID} &amp;amp; sank`,
        `${SAID}&nbsp;&#x26; sank`,
      ][salt % 5] ?? '',
  ],
  ['tags as entities', (salt) => (salt % 2 === 0 ? `&lt;b&gt;${SAID}&lt;/b&gt;` : SAID)],
  [
    'Arabic points',
    (salt) =>
      [...ARABIC]
        .map((letter, at) => letter + (letter !== ' ' && (at + salt) % 3 === 0 ? POINTS[(at + salt) % 6] : ''))
        .join(''),
  ],
  ['Arabic letters drawn out', (salt) => ARABIC.replace('القديمة', `القد${'\u0640'.repeat(salt)}يمة`)],
  ['spaces between letters', (salt) => (salt % 2 === 0 ? SAID : SAID.replaceAll('', ' ').trim())],
  [
    'how long somebody laughs',
    (salt) => `옛 여객선이 새벽에 북쪽 부두 앞에서 가라앉는 것을 봤습니다${'ㅋ'.repeat(1 + (salt % 4))}`,
  ],
  ['two kinds at once', (salt) => `<b>${SAID.replace('confirmed', 'c0nfirmed')}</b> #x${salt}y`],
  [
    'a text of thousands of words',
    (salt) =>
      `@someone${10 ** (salt % 5)} ${SAID}. ${'So it was and so it is and so we said all along. '.repeat(200)}${SAID} #tag${salt}x`,
  ],
  ['accents piled upon a short text', (salt) => (salt === 0 ? 'All lies' : piled('All lies', salt, 4))],
]

describe('copies in disguise', () => {
  const shipped = { foldNearIdentical: true, perAuthor: 3, unnamed: 3 }
  const heard = (texts: readonly string[], scoreOf: (at: number) => number, settings = shipped) => {
    const comments = texts.map((text, at): Comment => ({ id: `c${at}`, text, author: `a${at}`, createdAt: at }))
    const utterances = settings.foldNearIdentical
      ? sameWords(comments)
      : comments.map((comment) => ({ comments: [comment], key: comment.id }))
    const scored = utterances.map((utterance) => ({
      utterance,
      score: scoreOf(comments.findIndex(({ id }) => id === utterance.comments[0]?.id)),
    }))
    return weighComments(scored, settings, byTimeThenId)
  }
  const copies = (of: (salt: number) => string) => Array.from({ length: 12 }, (_, salt) => of(salt))

  test.each(DISGUISES)('by %s weigh once on one side, and are accounted for', (_kind, of) => {
    const weighed = heard(copies(of), () => 0.8)
    expect(weighed.comments).toHaveLength(1)
    expect(weighed.folded).toBe(11)
  })

  test.each(DISGUISES)('by %s weigh on each side on which they were scored, and once there', (_kind, of) => {
    const texts = copies(of)
    const signs = new Map(sameWords(said(...texts)).map(({ comments }, at) => [comments[0]?.id, at % 2 === 0 ? 1 : -1]))
    const weighed = heard(texts, (at) => signs.get(`c${at}`) ?? 0)
    expect(weighed.comments.map(({ score }) => score).toSorted()).toEqual([...new Set(signs.values())].toSorted())
  })

  test.each([
    ['hashtags', `${SAID} #hoax`, `${SAID} #confirmed`],
    ['a number', `${SAID}, 4 dead`, `${SAID}, 5 dead`],
    ['a digit that is a letter elsewhere', `${SAID}, say 4`, `${SAID}, say a`],
    ['an accent', `${SAID}, papa`, `${SAID}, papá`],
    ['a tag', `${SAID} <s>true</s>`, `${SAID} true`],
  ])('that say the opposite by %s weigh on both sides', (_what, one, other) => {
    expect(sameWords([one, other].map((text, at) => ({ id: `${at}`, text, createdAt: at })))).toHaveLength(2)
    const weighed = heard([one, other], (at) => (at === 0 ? 0.9 : -0.9))
    expect(weighed.comments.map(({ comment, score }) => [comment.text, score])).toEqual([
      [one, 0.9],
      [other, -0.9],
    ])
  })

  test.each([
    ['numbers', `${SAID}, 4 dead`, `${SAID}, 5 dead`],
    ['numbers of one sign more', `${SAID}, 14 dead`, `${SAID}, 140 dead`],
    ['numbered hashtags', `${SAID} #1`, `${SAID} #2`],
    ['hashtags that are all there is', '#hoax', '#confirmed'],
    ['short texts by their hashtags', 'no way #hoax', 'no way #confirmed'],
    ['accents of short texts', 'si', 'sí'],
    ['planes', `${SAID}, it was MH17`, `${SAID}, it was MH370`],
    ['tone marks of a short text', 'ma bạn', 'mà bạn'],
    ['Devanagari vowel signs', 'मैंने अपनी आँखों से पुल को गिरते देखा कल', 'मैंने अपनी आँखों से पुल को गिरते देखो कल'],
    ['Japanese voiced sounds', '橋がきのう港に落ちた', '橋かきのう港に落ちた'],
  ])('are not those that differ in %s', (_what, one, other) => {
    expect(heard([one, other], () => 0.8).comments).toHaveLength(2)
  })

  test('fold nowhere where folding is off, as under the preset `paper`', () => {
    for (const [, of] of DISGUISES)
      expect(heard(copies(of), () => 0.8, { ...shipped, foldNearIdentical: false }).comments).toHaveLength(12)
  })

  test('without a link are told from hosts in linear time: in quadratic time this would take minutes', () => {
    const host = `/${'ab.'.repeat(70_000)}`
    expect(bare(host)).toBe(host)
    const label = `/${'a'.repeat(200_000)}`
    expect(bare(label)).toBe(label)
    expect(bare('see a..b.example/x and c.example/y, ..d.e.example/z').replace(/ +/g, ' ').trim()).toBe(
      'see a.. and ..',
    )
  })
})
