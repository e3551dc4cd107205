import { describe, expect, it } from 'vitest'
import { shortened } from '../../src/judging/threads/kept.ts'
import { nearDuplicates, readingOf, sameText, textKey } from '../../src/shelves/same-text.ts'

const same = (a: string, b: string) => [sameText(readingOf(a), readingOf(b)), sameText(readingOf(b), readingOf(a))]
const near = (a: string, b: string) => [
  nearDuplicates(readingOf(a), readingOf(b)),
  nearDuplicates(readingOf(b), readingOf(a)),
]
const words = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `word${from + at}`).join(' ')

describe('two texts are the same', () => {
  it.each([
    ['in another case', 'Bake a Cake', 'bake a CAKE'],
    ['in another width', 'ｂａｋｅ　a cake', 'bake a cake'],
    ['with other white space', ' bake\r\n a\u00a0cake\t', 'bake a cake'],
    ['with what nobody sees', 'ba\u00adke a ca\u200bke\ufe0f', 'bake a cake'],
    ['with half a letter, kept or put right', 'bake \ud83d a cake', 'bake \ufffd a cake'],
    ['as an image', '[image: a cake]', 'a cake'],
    ['as a text with an image', 'bake this\n[image: a cake]', 'bake this\na cake'],
    ['as an image whose words hold brackets', '[image: a [small] cake]', 'a [small] cake'],
  ])('%s', (_what, a, b) => {
    expect(same(a, b)).toEqual([true, true])
    expect(textKey(a)).toBe(textKey(b))
  })

  it.each([
    ['a word more', 'bake a cake', 'bake a big cake'],
    ['another mark', 'bake a cake?', 'bake a cake!'],
    ['another accent', 'du côté', 'du cote'],
    ['a cut that leaves nothing to compare', '[cut: 9 more characters]', 'bake a cake'],
    ['a cut that somebody typed', `bake a cake[cut: 40 more characters]`, 'bake a cake, and all that you need for it'],
    ['one that only holds the other', words(0, 100), words(0, 101)],
  ])('not with %s', (_what, a, b) => {
    expect(same(a, b)).toEqual([false, false])
    expect(textKey(a)).not.toBe(textKey(b))
  })

  const long = words(0, 4_000)
  it('where padding was squeezed out of one of them', () => {
    const padded = `${words(0, 100)}${'!'.repeat(9_000)}${' '.repeat(9_000)}${words(100, 200)}`
    expect(shortened(padded, 8_000).text).toContain('[squeezed: ')
    expect(same(shortened(padded, 8_000).text, padded)).toEqual([true, true])
  })

  it('where one was cut, by intake or by what keeps transcripts short', () => {
    expect(same(shortened(long, 8_000).text, long)).toEqual([true, true])
    expect(same(shortened(long, 8_000).text, shortened(long, 500).text)).toEqual([true, true])
    expect(same(shortened(long, 8_000).text, long.replace('word7 ', 'other '))).toEqual([false, false])
  })

  it('where the text was cut and an image stands after it, or both were cut', () => {
    const whole = `${long}\n[image: a cake]`
    expect(same(`${shortened(long, 8_000).text}\na cake`, whole)).toEqual([true, true])
    expect(same(`${shortened(long, 8_000).text}\na pie`, whole)).toEqual([false, false])
    const seen = words(5_000, 9_000)
    const both = `${shortened(long, 8_000).text}\n[image: ${shortened(seen, 900).text}]`
    expect(same(both, `${long}\n${seen}`)).toEqual([true, true])
    expect(same(both, `${seen}\n${long}`)).toEqual([false, false])
  })

  it.each(['é', '각', '한국어 ', '😀', 'ﬀ', 'Σ'])('however the cut parts the letters of %s', (letter) => {
    const text = letter.normalize('NFD').repeat(400)
    for (let at = 460; at < 468; at++) expect(same(shortened(text, at).text, text), `at ${at}`).toEqual([true, true])
  })
})

describe('two texts are near-duplicates', () => {
  it('above an edit similarity of 0.8 over words: of ten words one may differ, be added or be left out', () => {
    const ten = words(0, 10)
    expect(near(ten, ten.replace('word4', 'other'))).toEqual([true, true])
    expect(near(ten, `${ten} more`)).toEqual([true, true])
    expect(near(ten, ten.replace('word4 ', ''))).toEqual([true, true])
    expect(near(ten, ten.replace('word4', 'other').replace('word8', 'another'))).toEqual([false, false])
    expect(near(ten, ten.split(' ').toReversed().join(' '))).toEqual([false, false])
  })

  it.each([
    ['I hate them all', 'I hate us all', false],
    ['You are just one of them to me', 'You are just one of those to me', true],
    ['이 영화 정말 재밌다 꼭 보세요', '이 영화 정말 재밌다 꼭 봐요', true],
    ['我今天去看了电影', '我今天去看过电影', true],
    ['我今天去看了电影', '他昨天不想吃饭啊', false],
    ['!!!', '???', false],
    ['', '', false],
  ])('of a few words too: %s / %s: %s', (a, b, is) => {
    expect(near(a, b)).toEqual([is, is])
  })

  it('says the same as the whole table of edits would', () => {
    let seed = 1
    const dice = (sides: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % sides
    }
    for (let round = 0; round < 300; round++) {
      const one = Array.from({ length: 1 + dice(25) }, () => `w${dice(12)}`)
      const other = one.flatMap(
        (word) => [[word], [], [`w${dice(12)}`], [word, 'x'], [word], [word], [word], [word]][dice(8)] ?? [],
      )
      if (other.length === 0) continue
      const similarity = 1 - distance(one, other) / Math.max(one.length, other.length)
      // A hair above the bound: 1 - 1 / 5 is no more than 0.8, whatever its last digit says.
      const is = similarity > 0.8 + 1e-9
      expect(near(one.join(' '), other.join(' ')), `${one} / ${other}`).toEqual([is, is])
    }
  })

  it('where one was cut, by what is left of it', () => {
    const long = words(0, 4_000)
    const other = long.replaceAll(/word(\d+)5\b/g, 'other')
    expect(near(shortened(long, 8_000).text, other)).toEqual([true, true])
    expect(near(long.slice(0, 8_000), other)).toEqual([false, false])
    expect(near(shortened(long, 8_000).text, words(1_000, 5_000))).toEqual([false, false])
  })
})

/** Levenshtein's distance, by its definition. */
function distance(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, word] of a.entries()) {
    const next = [i + 1]
    for (const [j, other] of b.entries())
      next.push(Math.min((row[j] ?? 0) + (word === other ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    row = next
  }
  return row.at(-1) ?? 0
}
