import fc from 'fast-check'
import { expect, it } from 'vitest'
import { questionKeys } from '../../src/models/questions.ts'
import { sameWords } from '../../src/protocols/rumor/near-identical.ts'
import { folded, gramsOf, readingsOf } from '../../src/record/grams.ts'

const finds = (text: string, query: string) =>
  readingsOf(query).some((terms) => terms.length > 0 && holdsTerms(folded(text), terms))

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
  ['Tôi được đi học ở thành phố', 'toi duoc di hoc', 'Vietnamese without its marks, đ too'],
  ['toi duoc di hoc', 'Tôi được đi học', 'Vietnamese with marks, in a text without'],
  ['smørrebrød på Østerbro', 'smorrebrod osterbro', 'ø as o'],
  ['Wałęsa w Łodzi', 'walesa lodzi', 'ł as l'],
  ['il-Ħamrun', 'hamrun', 'ħ as h'],
  ['Diyarbakır ISPARTA', 'diyarbakir ısparta', 'ı as i'],
  ['maŋŋel', 'mannel', 'ŋ as n'],
  ['Ærø og œuvre', 'aero oeuvre', 'æ as ae, œ as oe'],
  ['Þór Guðmundsson', 'thor gudmundsson', 'þ as th, ð as d'],
  ['STRAẞE', 'strasse', 'the capital ß'],
  ['ɗan ƙasa, ɓera', 'dan kasa bera', 'hooks of Hausa'],
  ['Əliyev Ɛ́kɔ́', 'aliyev eko', 'schwa, open e and o'],
  ['Қазақстан, ұлт, өмір, ңғ', 'казакстан улт омір нг', 'Cyrillic letters with descenders and bars'],
  ['ґанок і їжак', 'ганок іжак', 'an upturn'],
  ['वे सब बुरे लोग हैं क़लम', 'कलम', 'Hindi without its nukta'],
  ['कलम', 'क\u093cलम', 'a nukta of its own, in a text without'],
  ['ਜ਼ਮੀਨ', 'ਜਮੀਨ', 'the nukta of Gurmukhi'],
  ['می\u200cخواهم بروم', 'می خواهم', 'a non-joiner, typed as a space'],
  ['می\u200cخواهم بروم', 'میخواهم', 'a non-joiner, typed as nothing'],
  ['می\u200cخواهم بروم', '"می\u200cخواهم بروم"', 'a phrase with a non-joiner'],
  ['می خواهم بروم', 'می\u200cخواهم', 'a space, typed as a non-joiner'],
  ['میخواهم بروم', 'می\u200cخواهم', 'nothing, typed as a non-joiner'],
  ['z\u200cero', 'zero', 'a non-joiner that hides a word'],
  ['п’ять об’єктів', 'обʼєктів', 'U+02BC, the apostrophe of Ukrainian'],
  ['п\u02bcять обʼєктів', "п'ять об’єктів", 'other apostrophes, in a text with U+02BC'],
  ['Oʻzbekiston', 'O‘zbekiston', 'the turned comma of Uzbek'],
  ['قیمت ۱۲۳', 'قيمت 123', 'Persian digits'],
  ['رقم ٤٥٦', '456', 'Arabic digits'],
  ['साल २०२६', '2026', 'Devanagari digits'],
  ['بہت', 'بهت', 'the heh of Urdu as the Arabic one'],
  ['گاڑے', 'گاڑي', 'the yeh barree as yeh'],
  ['ﻣﺪﺭﺳﺔ', 'مدرسة', 'Arabic presentation forms'],
  ['ｈａｒｂｏｕｒ １２', 'harbour 12', 'full width'],
  ['한국', '한국', 'conjoining jamo'],
  ['ㅎㅏㄴ', '하ㄴ', 'compatibility jamo'],
  ['ﾊﾟﾝ', 'パン', 'halfwidth Kana with its ring'],
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

it.each([
  ['ma', 'má'],
  ['đan', 'dan'],
  ['øre', 'ore'],
  ['łaska', 'laska'],
  ['क़मर', 'कमर'],
  ['ұлт', 'улт'],
  ['كتابة', 'كتابه'],
  ['þing', 'thing'],
])('%s and %s, which a search takes for one, are two words to near-identity and to the memo', (one, other) => {
  expect(finds(one, other)).toBe(true)
  expect(finds(other, one)).toBe(true)
  expect(sameWords([one, other].map((text, at) => ({ id: `${at}`, text, createdAt: at })))).toHaveLength(2)
  const keyOf = (content: string) =>
    questionKeys('secret')('model', 'tenant', { stage: 'ask', temperature: 0, maxTokens: 1 }, [
      { role: 'user', content },
    ])[0]
  expect(keyOf(one)).not.toBe(keyOf(other))
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
