import { existsSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { commentMessage, postMessage } from '../../src/contracts/facts/messages.ts'
import { byTimeThenId, type Comment, type Snapshot } from '../../src/contracts/facts/thread.ts'
import { fileMessages } from '../../src/data-files/formats.ts'
import type { PinnedContext } from '../../src/judging/engine/script.ts'
import { answer } from '../../src/kit/understudy/answer.ts'
import { withFormat } from '../../src/models/format.ts'
import { utterancesOf, weighComments } from '../../src/protocols/rumor/comment-weights.ts'
import { rumor } from '../../src/protocols/rumor/index.ts'
import { misspeltAlike, sameWords } from '../../src/protocols/rumor/near-identical.ts'
import type { RumorSettings } from '../../src/protocols/rumor/settings.ts'
import { tell } from '../support/pipeline.ts'
import { drive, EVERY_DEBATE, plainRank } from './drive.ts'

const { enabled: _, ...shipped } = loadSettings({}).protocols.rumor as unknown as RumorSettings & { enabled: boolean }
const SPARED = { overloadedRounds: 1, overloadedK: 8, overloadedComments: 20 }
const made = (settings: Partial<RumorSettings> = {}) =>
  rumor.make({
    settings: { ...shipped, ...SPARED, ...settings },
    prompts: promptsOf('rumor'),
    fence: fences('key', 4000),
    samplingRank: plainRank,
    files: () => new Map<string, string>(),
  })

const said = (...texts: string[]): Comment[] => texts.map((text, at) => ({ id: `c${at}`, text, createdAt: at }))
/** Comments that count once, where all of them take one side. */
const nearIdentical = (comments: readonly Comment[]) =>
  misspeltAlike(sameWords(comments)).map((group) => group.flatMap(({ comments: same }) => same).sort(byTimeThenId))
const groupsOf = (...texts: string[]) => nearIdentical(said(...texts)).length

type Switches = Pick<RumorSettings, 'foldNearIdentical' | 'perAuthor'> & Partial<Pick<RumorSettings, 'unnamed'>>
/** Weighed as what the scores say of each text; without any, as if all said the same as strongly. */
const weighedAs = (
  comments: readonly Comment[],
  switches: Switches = shipped,
  scoreOf: (text: string) => number = () => 0.5,
) => {
  const heard = utterancesOf(comments, switches).map((utterance) => ({
    utterance,
    score: scoreOf(utterance.comments[0]?.text ?? ''),
  }))
  return weighComments(heard, { unnamed: shipped.unnamed, ...switches }, byTimeThenId)
}

/** Ten words and more: long enough for decoration and misspellings not to count. */
const LONG = 'The old bridge has fallen into the river this morning and nobody was hurt'

describe('near-identical comments', () => {
  test.each<[string, string, string]>([
    ['case', 'yes', 'YES'],
    ['spaces and line ends', 'It is  true', ' it is\r\ntrue\t'],
    ['full stops, commas and exclamation marks', 'No, never', 'no never!!!'],
    ['invisible characters', 'it is true', 'it\u200b is\u2060 tr\u00adue\ufeff'],
    ['bidirectional marks', 'it is true', '\u202eit is true\u202c'],
    ['wide letters', 'it is true', 'ｉｔ ｉｓ ｔｒｕｅ'],
    ['styled letters', 'it is true', '𝗶𝘁 𝘪𝘴 𝓽𝓻𝓾𝓮'],
    ['look-alike letters', 'we know it is a hoax', 'wе knоw it is а hоаx'],
    ['look-alike letters of Greek', 'we know it is a hoax', 'we knοw it is α hοax'],
    ['accents piled upon letters', 'it is true', 'i̶t̶ i̷s̸ t̴r̵u̶e̷'],
    ['stretched letters', 'so sad', 'soooooo sad'],
    ['mentions', '@ana it is true', 'it is true @bob_2 @c'],
    ['apostrophes', 'I don’t believe it one bit', "I don't believe it one bit"],
    ['how often is asked', 'is it true?', 'is it true???'],
    ['links in a long text', `${LONG} https://a.example/1?x=2`, `${LONG} t.co/XyZ`],
    ['emoji that only decorate a long text', `${LONG} 🔥🔥`, `🚨 ${LONG} ❤️ 🌉`],
    ['a random string in a long text', `${LONG} x7k2p9q`, `${LONG} 4f8a1c9e`],
    ['a letter left out in a long text', LONG, LONG.replace('morning', 'mornng')],
    ['a letter too many in a long text', LONG, LONG.replace('nobody', 'nobbody')],
    ['a wrong letter in a long text', LONG, LONG.replace('fallen', 'fallon')],
    ['two letters swapped in a long text', LONG, LONG.replace('bridge', 'brigde')],
    ['one misspelling in each', LONG.replace('bridge', 'brigde'), LONG.replace('morning', 'mornng')],
    ['marks of another script', '桥没有倒塌，我看见了。', '桥没有倒塌 我看见了！'],
  ])('are those that differ in %s', (_what, a, b) => {
    expect(groupsOf(a, b)).toBe(1)
    expect(groupsOf(b, a)).toBe(1)
  })

  test.each<[string, string, string]>([
    ['yes and no', 'yes', 'no'],
    ['short words a letter apart', 'now', 'not'],
    ['a negation', 'it is true', 'it is not true'],
    ['a negation in a long text', LONG.replace('has', 'has not'), LONG],
    ['a negation in place of a word', LONG.replace('has', "hasn't"), LONG],
    ['nobody and somebody', LONG, LONG.replace('nobody', 'somebody')],
    ['never and ever', `${LONG}, never believe that`, `${LONG}, ever believe that`],
    ['a prefix that negates', `${LONG}, that is legal`, `${LONG}, that is illegal`],
    ['true and untrue', `${LONG}, this is true`, `${LONG}, this is untrue`],
    [
      'a letter of nine words',
      'old bridge is closed today because it has fallen',
      'old brigde is closed today because it has fallen',
    ],
    ['dead and alive in a long text', `${LONG}, the driver is dead`, `${LONG}, the driver is alive`],
    ['dead and deaf', `${LONG}, the driver is dead`, `${LONG}, the driver is deaf`],
    ['a word said about a long quotation', LONG, `${LONG} FAKE`],
    ['two words said about a long quotation', `${LONG}: true`, `${LONG}: false`],
    ['a word in a language that nobody listed', `${LONG} si`, `${LONG} valhetta`],
    ['a statement and a question', 'it is true', 'it is true?'],
    ['a statement and a question, long', LONG, `${LONG}?`],
    ['a question in another alphabet', 'мост упал в реку сегодня утром', 'мост упал в реку сегодня утром?'],
    ['a question in Arabic', 'سقط الجسر في النهر هذا الصباح', 'سقط الجسر في النهر هذا الصباح؟'],
    ['numbers', '12 dead', '13 dead'],
    ['numbers in a long text', `${LONG} at 9`, `${LONG} at 8`],
    ['long numbers a digit apart', `${LONG} 100000`, `${LONG} 1000000`],
    ['where the point of a number stands', 'it was 3.5', 'it was 35'],
    ['the sign of a number', 'it is 5 degrees', 'it is -5 degrees'],
    ['shares and counts', '40% of them', '40 of them'],
    ['currencies', 'it cost $5', 'it cost €5'],
    ['shares and counts in a long text', `${LONG}, 40% of it`, `${LONG}, 40 of it`],
    ['the sign of a number in a long text', `${LONG} at 5 degrees`, `${LONG} at -5 degrees`],
    ['names of planes', `${LONG} MH17`, `${LONG} MH370`],
    ['who did it to whom', 'the police shot the crowd this morning', 'the crowd shot the police this morning'],
    ['thumbs', '👍', '👎'],
    ['thumbs under a long text', `${LONG} 👍`, `${LONG} 👎`],
    ['a long text with a face that doubts it', LONG, `${LONG} 🙄`],
    ['flags', '🇺🇸', '🇷🇺'],
    ['smileys', ':)', ':('],
    ['smileys after a short text', 'sure :)', 'sure :('],
    ['links that are all there is', 'see https://a.example/1', 'see https://a.example/2'],
    ['decoration that is all there is', '🔥', '❤️'],
    ['punctuation that is all there is', '...', '?'],
    ['Chinese negation', '桥倒塌了我今天早上看见了', '桥没倒塌我今天早上看见了'],
    ['Chinese words a sign apart', '这座桥今天早上是真的倒塌了', '这座桥今天早上是假的倒塌了'],
    ['Japanese negation', '橋は今朝崩れました本当です', '橋は今朝崩れません本当です'],
    ['Thai negation', 'สะพานพังแล้วเมื่อเช้านี้', 'สะพานไม่พังแล้วเมื่อเช้านี้'],
    ['Korean negation', '다리가 오늘 아침에 무너졌다', '다리가 오늘 아침에 안 무너졌다'],
    ['Korean words of several signs', '이것은 오늘 아침에 본 것이 맞습니다', '이것은 오늘 아침에 본 것이 맞습니까'],
    ['German negation', 'Das ist eine wahre Nachricht', 'Das ist keine wahre Nachricht'],
    [
      'German negation in a long text',
      'ich habe heute früh an der Brücke gestanden und das ist eine wahre Nachricht',
      'ich habe heute früh an der Brücke gestanden und das ist keine wahre Nachricht',
    ],
    ['Spanish negation', 'es verdad, lo vi', 'no es verdad, lo vi'],
    ['Spanish accents', 'si', 'sí'],
    ['French negation', "c'est vrai", "ce n'est pas vrai"],
    ['Russian negation', 'это правда', 'это неправда'],
    ['Arabic negation', 'هذا صحيح', 'هذا غير صحيح'],
    ['Hindi negation', 'यह सच है', 'यह सच नहीं है'],
    ['Turkish negation within a word', 'köprü yıkılmış', 'köprü yıkılmamış'],
    [
      'Turkish negation within a word of a long text',
      'bugün sabah oradaydım ve kendi gözlerimle gördüm ki eski köprü gerçekten yıkılmış',
      'bugün sabah oradaydım ve kendi gözlerimle gördüm ki eski köprü gerçekten yıkılmamış',
    ],
    ['two languages', 'the bridge', 'die Brücke'],
  ])('are not those that differ in %s', (_what, a, b) => {
    expect(groupsOf(a, b)).toBe(2)
    expect(groupsOf(b, a)).toBe(2)
  })

  test('misspelt in more than one word of five are distinct', () => {
    const words = Array.from({ length: 10 }, (_, at) => `lettersof${'abcdefghij'[at]}`)
    const wrong = (count: number) => words.map((word, at) => (at < count ? `${word}x` : word)).join(' ')
    expect([groupsOf(wrong(0), wrong(2)), groupsOf(wrong(0), wrong(3))]).toEqual([1, 2])
  })

  test('are one group once a text is near to two that are not near to each other', () => {
    const [one, other] = [LONG.replace('morning', 'moorning'), LONG.replace('morning', 'morming')]
    expect(groupsOf(one, other)).toBe(2)
    expect(nearIdentical(said(one, other, `${one}!`, LONG)).map((group) => group.map(({ id }) => id))).toEqual([
      ['c0', 'c1', 'c2', 'c3'],
    ])
  })

  test('stand behind the earliest, then the one with the first id', () => {
    const comments: Comment[] = [
      { id: 'z', text: 'Yes', createdAt: 5 },
      { id: 'b', text: 'yes', createdAt: 3 },
      { id: 'a', text: 'YES', createdAt: 3 },
    ]
    expect(nearIdentical(comments).map((group) => group.map(({ id }) => id))).toEqual([['a', 'b', 'z']])
  })

  test('are the same ones in whatever order they are given', () => {
    const texts = fc.constantFrom(
      'yes',
      'YES',
      'no',
      LONG,
      `${LONG}!`,
      LONG.replace('bridge', 'brigde'),
      `${LONG}?`,
      '👍',
    )
    const one = fc.record({ text: texts, createdAt: fc.integer({ min: 0, max: 5 }), author: fc.constantFrom('x', 'y') })
    fc.assert(
      fc.property(fc.array(one, { maxLength: 30 }), fc.infiniteStream(fc.nat()), (given, lots) => {
        const comments = given.map((comment, at) => ({ id: `c${at}`, ...comment }))
        const shuffled = comments
          .map((comment) => ({ comment, lot: lots.next().value ?? 0 }))
          .sort((a, b) => a.lot - b.lot)
          .map(({ comment }) => comment)
        expect(nearIdentical(shuffled)).toEqual(nearIdentical(comments))
        const byWords = (text: string) => (text.length % 21) / 10 - 1
        expect(weighedAs(shuffled, shipped, byWords)).toEqual(weighedAs(comments, shipped, byWords))
      }),
      { numRuns: 200 },
    )
  })

  test('are each in one group, and no text throws', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 60 }), { maxLength: 20 }), (texts) => {
        const ids = nearIdentical(said(...texts)).flatMap((group) => group.map(({ id }) => id))
        expect(ids.toSorted()).toEqual(
          said(...texts)
            .map(({ id }) => id)
            .toSorted(),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('cost time in proportion to their number, also where somebody makes all of them compare', () => {
    const forms = ['xxoox', 'ppqqp', 'zzyyz', 'rrssr']
    const hostile = (at: number) =>
      [...'abcdefghijkl'].map((letter, place) => `${letter}${forms[(at >> (2 * (place % 8))) % 4]}`)
    const busy = (count: number) => {
      const comments = said(...Array.from({ length: count }, (_, at) => hostile(at).join(' ')))
      const before = process.cpuUsage()
      nearIdentical(comments)
      const { user } = process.cpuUsage(before)
      return user / 1000
    }
    busy(2_000)
    tell(`near-identical: 10,000 comments of 12 words in ${Math.round(busy(10_000))} ms of CPU`)
    expect(nearIdentical(said(...Array.from({ length: 200 }, (_, at) => hostile(at).join(' '))))).toHaveLength(200)
  })
})

describe('texts that say the opposite', () => {
  test.each<[string, string, string]>([
    [
      'a letter of a Turkish verb',
      'bugün sabah saat dokuzda belediye başkanı da oraya geliyor dediler',
      'bugün sabah saat dokuzda belediye başkanı da oraya gelmiyor dediler',
    ],
    ['refuted and reputed', `${LONG}, as refuted here`, `${LONG}, as reputed here`],
    ['infected and injected', `${LONG}, he was infected`, `${LONG}, he was injected`],
    ['two names a letter apart', `${LONG}, says Marten`, `${LONG}, says Martin`],
  ])('are scored apart where they differ in %s, and both weigh on two sides', (_what, a, b) => {
    expect(sameWords(said(a, b))).toHaveLength(2)
    const weighed = weighedAs(said(a, b), shipped, (text) => (text === a ? 0.9 : -0.9))
    expect(weighed.comments.map(({ comment, score }) => [comment.id, score])).toEqual([
      ['c0', 0.9],
      ['c1', -0.9],
    ])
    expect(weighed.folded).toBe(0)
  })

  test('a quotation with a word of its own is scored by itself', () => {
    expect(sameWords(said(LONG, `FALSE: "${LONG}"`, `"${LONG}"`)).map(({ comments }) => comments.length)).toEqual([
      2, 1,
    ])
  })

  test('what somebody decorated with words of their own stands for nobody else, however early', () => {
    const decorated = `${LONG} @this_is_sarcasm.the_claim_is_true https://x.example/the-claim-is-TRUE`
    const [first, ...others] = sameWords(said(decorated, LONG))
    expect(others).toEqual([])
    expect(first?.comments.map(({ text }) => text)).toEqual([LONG, decorated])
  })

  test('a misspelt copy on the same side is folded once both are scored, under the stronger words', () => {
    const copy = LONG.replace('bridge', 'brigde')
    const weighed = weighedAs(said(copy, LONG), shipped, (text) => (text === LONG ? 0.9 : 0.1))
    expect(weighed.comments.map(({ comment, score }) => [comment.text, score])).toEqual([[LONG, 0.9]])
    expect(weighed).toMatchObject({
      folded: 1,
      limitations: ['2 near-identical comments counted once (c1 stands for them)'],
    })
  })
})

/** Small changes of the kinds that copy-paste floods make. */
const changes: readonly ((text: string, salt: number) => string)[] = [
  (text) => text.toUpperCase(),
  (text, salt) => `${text}${'!'.repeat(salt % 7)}`,
  (text, salt) => `@user${salt} ${text}`,
  (text, salt) => `${text} https://t.co/${salt.toString(36)}`,
  (text, salt) => `${text} ${['🔥', '🚨', '❤️', '🙏'][salt % 4]}`,
  (text) => text.replaceAll(' ', '  '),
  (text, salt) => `${text.slice(0, salt % 9)}\u200b${text.slice(salt % 9)}`,
  (text) => text.replaceAll('o', 'о').replaceAll('a', 'а'),
  (text) => text.replace('bridge', 'brigde'),
  (text, salt) => text.replace('morning', ['mornin', 'moorning', 'morming'][salt % 3] ?? ''),
]
const FLOOD = 'The bridge has not fallen at all, I was standing on it this morning with my whole family, stop lying'

const flood = (size: number, seed: number, author: (at: number) => string): Comment[] =>
  Array.from({ length: size }, (_, at) => {
    const salt = (seed + at * 7919) % 100_003
    const picked = [changes[salt % changes.length], changes[Math.floor(salt / 10) % changes.length]]
    const text = picked.reduce((soFar, change) => change?.(soFar, salt) ?? soFar, FLOOD)
    return { id: `f${at}`, text, author: author(at), createdAt: 1_000 + at }
  })

const honest = said('I saw it fall', 'no it stands', 'source?', 'the mayor says it is closed', 'prayers')

describe('a copy-paste flood of 500 comments with small changes', () => {
  test.each<[string, (at: number) => string]>([
    ['many authors', (at) => `author-${at}`],
    ['one author', () => 'author'],
    ['a few authors', (at) => `author-${at % 7}`],
  ])('by %s counts as one comment', (_who, author) => {
    fc.assert(
      fc.property(fc.nat(100_000), (seed) => {
        const { comments } = weighedAs([...honest, ...flood(500, seed, author)])
        expect(comments.map(({ comment }) => comment.id)).toEqual([
          ...honest.map(({ id }) => id),
          expect.stringMatching(/^f\d+$/),
        ])
      }),
      { numRuns: 10 },
    )
  })

  test('moves the sides by at most one comment, and is scored in few calls', () => {
    const snapshot = (comments: Comment[]): Snapshot => ({
      post: { id: 'p', text: 'The bridge has fallen.', createdAt: 0 },
      comments,
      leftOut: 0,
    })
    const judged = (comments: Comment[]) =>
      drive(made().script(snapshot(comments), null), ({ ask }) => JSON.parse(contentFor(ask)) as unknown)
    const without = judged(honest).conclusion.ruling
    const { asked, conclusion } = judged([...honest, ...flood(500, 1, (at) => `author-${at}`)])
    const moved = (side: 'support' | 'oppose') => (conclusion.ruling.scores[side] ?? 0) - (without.scores[side] ?? 0)
    expect(moved('support') + moved('oppose')).toBeLessThanOrEqual(1)
    const scored = asked.flatMap(({ ask }) => (ask.stage === 'stance' ? (ask.about ?? []) : []))
    expect(scored.length).toBeLessThanOrEqual(honest.length + 25)
    expect(conclusion.ruling.degraded).toEqual([
      expect.stringMatching(/^500 near-identical comments counted once \(f\d+ stands for them\)$/),
    ])
    expect(conclusion.ruling.comments).toMatchObject({ judged: honest.length + 1, folded: 499 })
  })
})

describe('one author', () => {
  const by = (author: string | undefined, ...texts: string[]): Comment[] =>
    texts.map((text, at) => ({
      id: `${author}${at}`,
      text,
      createdAt: at,
      ...(author === undefined ? {} : { author }),
    }))
  const nine = Array.from({ length: 9 }, (_, at) => `words ${at}`)
  const ids = (weighed: ReturnType<typeof weighComments>) => weighed.comments.map(({ comment }) => comment.id)
  const ofLength = (text: string) => -text.length / 100

  test('is weighed with the strongest comments, and it is said and counted', () => {
    const texts = ['Hello', 'checking', 'more soon', 'It is fake, I was there and the bridge stands']
    const weighed = weighedAs(by('x', ...texts), shipped, ofLength)
    expect(ids(weighed)).toEqual(['x1', 'x2', 'x3'])
    expect(weighed.limitations).toEqual(['author x: 4 comments, at most 3 weighed'])
    expect(weighed).toMatchObject({ folded: 0, author: 1 })
  })

  test('has no more weight by fifty names that look the same, and each is named as it looks', () => {
    const hidden = ['\u200b', '\u200d', '\u2060', '\u202e', '\u2066', '\ufeff', '\u00ad']
    const fifty = Array.from({ length: 50 }, (_, at): Comment => {
      const author = `x${(hidden[at % 7] ?? '').repeat(Math.floor(at / 7))}`
      return { id: `x${at}`, text: `words ${at}`, createdAt: at, author }
    })
    const weighed = weighedAs([...fifty, ...by('X', 'a')])
    expect(ids(weighed)).toEqual(['X0', 'x0', 'x1', 'x2'])
    expect(weighed).toMatchObject({ author: 47, limitations: ['author x: 50 comments, at most 3 weighed'] })
    // Nor do those count for more who name nobody.
    const nobodys = by(undefined, ...Array.from({ length: 40 }, (_, at) => `nobody ${at}`))
    expect(ids(weighedAs([...fifty, ...nobodys]))).toHaveLength(3 + 20)
  })

  test('is told from another, and nobody is told from nobody', () => {
    expect(ids(weighedAs([...by('x', 'a', 'b'), ...by('y', 'c', 'd')]))).toHaveLength(4)
    expect(ids(weighedAs(by(undefined, ...nine)))).toHaveLength(9)
  })

  test('who repeats a comment has used up one', () => {
    const weighed = weighedAs(by('x', 'a', 'A', 'a!', 'b', 'c'))
    expect(ids(weighed)).toEqual(['x0', 'x3', 'x4'])
    expect(weighed).toMatchObject({ folded: 2, author: 0 })
  })

  test('who has no room leaves the voice to the next who said the same', () => {
    const other: Comment = { id: 'y', text: 'WORDS 7', createdAt: 100, author: 'y' }
    const weighed = weighedAs([...by('x', ...nine), other])
    expect(ids(weighed)).toEqual(['x0', 'x1', 'x2', 'y'])
    expect(weighed.limitations).toContain('2 near-identical comments counted once (y stands for them)')
    expect(weighed).toMatchObject({ folded: 1, author: 5 })
  })

  test('each switch can be off by itself, and `paper` has both off', () => {
    const comments = by('x', 'a', 'A', 'b', 'c', 'd')
    expect(ids(weighedAs(comments, { foldNearIdentical: false, perAuthor: 3 }))).toEqual(['x0', 'x1', 'x2'])
    expect(ids(weighedAs(comments, { foldNearIdentical: true, perAuthor: null }))).toEqual(['x0', 'x2', 'x3', 'x4'])
    const off = weighedAs(comments, { foldNearIdentical: false, perAuthor: null })
    expect(off).toEqual({
      comments: comments.map((comment) => ({ comment, score: 0.5 })),
      folded: 0,
      author: 0,
      limitations: [],
    })
  })

  test('many of them, and many groups, are named as far as three and counted from there', () => {
    const comments = [...'abcde'].flatMap((author, more) =>
      by(author, ...nine.slice(0, 4 + more).map((w) => `${w} ${author}`)),
    )
    expect(weighedAs(comments, { ...shipped, foldNearIdentical: false }).limitations).toEqual([
      'author e: 8 comments, at most 3 weighed',
      'author d: 7 comments, at most 3 weighed',
      'author c: 6 comments, at most 3 weighed',
      '2 more authors: 9 comments, at most 3 weighed of each',
    ])
    const copies = said(...'aabbccddeee')
    expect(weighedAs(copies).limitations).toEqual([
      '3 near-identical comments counted once (c8 stands for them)',
      '2 near-identical comments counted once (c0 stands for them)',
      '2 near-identical comments counted once (c2 stands for them)',
      '4 more near-identical comments in 2 groups: each group counted once',
    ])
  })

  test('of any name is named harmlessly and shortly', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }), (author) => {
        const [line = ''] = weighedAs(by(author, ...nine)).limitations
        expect(line).toMatch(/^author [\p{L}\p{N}@:/_.#~·-]{1,41}…?: 9 comments, at most 3 weighed$/u)
        expect(line.isWellFormed()).toBe(true)
      }),
    )
    expect(weighedAs(by('y'.repeat(99), ...nine)).limitations[0]).toBe(
      `author ${'y'.repeat(40)}…: 9 comments, at most 3 weighed`,
    )
    const evil = '<img src=x>\u202e\nauthor root: all is well'
    expect(weighedAs(by(evil, ...nine)).limitations[0]).toBe(
      'author ·img·src·x···author·root:·all·is·well: 9 comments, at most 3 weighed',
    )
  })
})

/** The understudy's answer to an ask. */
function contentFor(ask: Parameters<typeof withFormat>[0]): string {
  const schema = ask.answer.toJSONSchema() as Record<string, unknown>
  const format = { type: 'json_schema', json_schema: { name: ask.stage, schema } }
  return answer({ messages: withFormat(ask), response_format: format }).content
}

/** The threads of a file as their last checkpoint sees them. */
async function threadsOf(file: string, format: 'gavel' | 'rumoureval2017', most: number): Promise<Snapshot[]> {
  const threads = new Map<string, Snapshot & { comments: Comment[] }>()
  for await (const { type, key, value } of fileMessages(file, format, () => {})) {
    if (type === 'post' && threads.size < most) {
      const { id, text = '', createdAt } = postMessage.parse(value)
      threads.set(id, { post: { id, text, createdAt }, comments: [], leftOut: 0 })
    } else if (type === 'comment') {
      const { id, text = '', author, createdAt } = commentMessage.parse(value)
      threads.get(key)?.comments.push({ id, text, createdAt, ...(author === undefined ? {} : { author }) })
    }
  }
  for (const { comments } of threads.values()) comments.sort(byTimeThenId)
  return [...threads.values()]
}

describe('what each switch saves', () => {
  const off: Partial<RumorSettings> = {
    ...EVERY_DEBATE.rumor,
    foldNearIdentical: false,
    perAuthor: null,
    stopAtConsensus: false,
    batchSize: 1,
  }
  const rows: [string, Partial<RumorSettings>, PinnedContext][] = [
    ['preset paper', { preset: 'paper' }, { overloaded: false }],
    ['all off', off, { overloaded: false }],
    ['stopAtConsensus', { ...off, stopAtConsensus: true }, { overloaded: false }],
    ['batchSize 20', { ...off, batchSize: 20 }, { overloaded: false }],
    ['foldNearIdentical', { ...off, foldNearIdentical: true }, { overloaded: false }],
    ['perAuthor 3', { ...off, perAuthor: 3 }, { overloaded: false }],
    ['debateWhen contested', { ...off, debateWhen: 'contested' }, { overloaded: false }],
    ['overloadedRounds 1', { ...off, overloadedK: null, overloadedComments: null }, { overloaded: true }],
    ['overloadedK 8', { ...off, overloadedRounds: null, overloadedComments: null }, { overloaded: true }],
    ['overloadedComments 20', { ...off, overloadedRounds: null, overloadedK: null }, { overloaded: true }],
    ['as shipped', {}, { overloaded: false }],
    ['as shipped, under load', {}, { overloaded: true }],
  ]

  function spent(threads: readonly Snapshot[], settings: Partial<RumorSettings>, context: PinnedContext) {
    const asked = threads.flatMap(
      (thread) =>
        drive(made(settings).script(thread, null, context), ({ ask }) => JSON.parse(contentFor(ask)) as unknown).asked,
    )
    const characters = asked.flatMap(({ ask }) => ask.messages.map(({ content }) => content.length))
    return {
      calls: asked.length / threads.length,
      tokens: characters.reduce((sum, length) => sum + length, 0) / 4 / threads.length,
    }
  }

  test.each([
    ['the demo event', join(PROJECT, 'config', 'demo', 'event.jsonl'), 'gavel'],
    [
      '20 RumourEval threads',
      join(PROJECT, '..', 'shared', 'data', 'rumoureval2017', 'threads.jsonl'),
      'rumoureval2017',
    ],
  ] as const)('in calls and prompt tokens a verdict, on %s', async (name, file, format) => {
    if (!existsSync(file)) return tell(`SKIPPED: ${file} is not there; nothing was counted on ${name}.`)
    const threads = await threadsOf(file, format, 20)
    const table = new Map(rows.map(([row, settings, context]) => [row, spent(threads, settings, context)]))
    tell(`${name}: ${threads.length} threads, ${threads.flatMap(({ comments }) => comments).length} comments`)
    for (const [row, { calls, tokens }] of table)
      tell(`  ${row.padEnd(24)}${calls.toFixed(1).padStart(6)} calls${tokens.toFixed(0).padStart(8)} prompt tokens`)
    const calls = (row: string) => table.get(row)?.calls ?? 0
    expect(calls('all off')).toBe(calls('preset paper'))
    for (const [row] of rows) expect(calls(row), row).toBeLessThanOrEqual(calls('all off'))
    expect(calls('as shipped')).toBeLessThan(calls('all off') / 2)
    expect(calls('as shipped, under load')).toBeLessThanOrEqual(calls('as shipped'))
    expect(calls('debateWhen contested')).toBeLessThan(calls('all off'))
  })
})
