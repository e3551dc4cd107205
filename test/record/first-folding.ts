import { normalized } from '../../src/contracts/facts/normalized.ts'

const MARKS =
  /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]/g
const ALIKE: ReadonlyMap<string, string> = new Map(
  ['أا', 'إا', 'آا', 'ٱا', 'ىي', 'یي', 'ئي', 'ةه', 'کك', 'ؤو', 'ςσ', 'ıi'].map(([one = '', as = '']) => [one, as]),
)

/** A text as the first version of the record's rules folded it: a record that was written by it is read by later ones. */
export function firstFolded(text: string): string {
  const bare = normalized(text.toWellFormed(), 'NFKD')
    .toLowerCase()
    .replace(/[\p{Cf}\u0640]/gu, '')
    .replace(MARKS, '')
  const whole = normalized(bare, 'NFC').replace(/./gu, (one) => (one === 'ß' ? 'ss' : (ALIKE.get(one) ?? one)))
  return whole.replace(/[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}]+/gu, ' ').trim()
}

/** Texts whose letters the first rules kept apart, each with a query that finds it by today's. */
export const LETTERS: Readonly<Record<string, readonly [text: string, query: string]>> = {
  vi: ['Tôi được đi học ở thành phố', 'toi duoc di hoc'],
  hi: ['वे सब बुरे लोग हैं क़लम', 'कलम'],
  fa: ['می\u200cخواهم بروم', 'می خواهم'],
  uk: ['п\u02bcять обʼєктів', "об'єктів"],
  no: ['smørrebrød', 'smorrebrod'],
}
