import fc from 'fast-check'
import { expect, it } from 'vitest'
import { folded, gramsOf, termsOf } from '../../src/record/grams.ts'

const finds = (text: string, query: string) => {
  const terms = termsOf(query)
  return terms.length > 0 && holdsTerms(folded(text), terms)
}

/** Whether all terms stand in a folded text, by the rule of every store's search: anywhere in its words, those of less than three letters as words of their own. */
function holdsTerms(text: string, terms: readonly string[]): boolean {
  const grams = gramsOf(text)
  return terms.every((term) => text.includes(term) && [...gramsOf(term)].every((gram) => grams.has(gram)))
}

it.each([
  ['경찰이 시위대를 막았다', '경찰', 'a Korean word of two syllables, with a particle'],
  ['서울경찰청', '경찰', 'inside a Korean compound'],
  ['경찰', '찰', 'one syllable'],
  ['الشُّرْطِيُّ قال', 'شرطي', 'Arabic without its vowel signs, behind an article'],
  ['الشرطي قال', 'الشُّرْطِيُّ', 'Arabic with vowel signs, in a text without'],
  ['والكتاب على', 'كتاب', 'behind two Arabic prefixes'],
  ['مدرسة', 'مدرسه', 'ta marbuta as ha'],
  ['على', 'علي', 'alif maqsura as ya'],
  ['أحمد', 'احمد', 'hamza on alif'],
  ['العـــربية', 'العربية', 'a stretched word'],
  ['کتاب فارسی', 'كتاب', 'Persian kaf'],
  ['Das Flüchtlingsheim brennt', 'heim', 'inside a German compound'],
  ['Das Flüchtlingsheim brennt', 'fluchtling', 'without the umlaut'],
  ['STRASSE', 'Straße', 'ß as ss'],
  ['東京の橋が落ちた', '橋', 'one Han character'],
  ['東京の橋が落ちた', '東京', 'two'],
  ['ﾊﾞｽが', 'バス', 'halfwidth Kana'],
  ['ตำรวจมาแล้ว', 'ตำรวจ', 'Thai, which writes no spaces'],
  ['die EU sagt', 'EU', 'a word of two letters'],
  ['שָׁלוֹם', 'שלום', 'Hebrew points'],
  ['naïve café', 'NAIVE cafe', 'accents, two words'],
  ['z\u200bero width', 'zero', 'a character that nobody sees'],
  ['it is 🔥 now', '🔥', 'a picture'],
  ['हिन्दी में', 'हिन्दी', 'Devanagari'],
])('%s is found by %s: %s', (text, query) => {
  expect(finds(text, query)).toBe(true)
})

it.each([
  ['Europa', 'EU', 'a word of two letters inside another'],
  ['the dam is broken', 'damage', 'a longer word'],
  ['a b', '"b a"', 'another order, in quotation marks'],
  ['anything', '', 'no term'],
  ['anything', '"" … ---', 'signs alone'],
])('%s is not found by %s: %s', (text, query) => {
  expect(finds(text, query)).toBe(false)
})

it('whatever stands in a text is found by its words', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { maxLength: 8 }), (parts) => {
      const text = parts.join(' ')
      const words = folded(text).split(' ')
      for (const word of words) if (word !== '') expect(holdsTerms(folded(text), [word])).toBe(true)
      expect(folded(folded(text))).toBe(folded(text))
      expect([...gramsOf(folded(text))].every((gram) => !/[\s"]/.test(gram))).toBe(true)
    }),
  )
})
