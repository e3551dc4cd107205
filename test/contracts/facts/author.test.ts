import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { authorOf, visibleName } from '../../../src/contracts/facts/author.ts'
import { shareOf } from '../../../src/contracts/facts/share.ts'
import { placeholders } from '../../../src/judging/threads/rules.ts'

const INVISIBLE = [
  ['a zero-width space', '\u200b'],
  ['a zero-width joiner', '\u200d'],
  ['a word joiner', '\u2060'],
  ['a byte order mark', '\ufeff'],
  ['a soft hyphen', '\u00ad'],
  ['a variation selector', '\ufe0f'],
  ['a tag', '\u{e0061}'],
  ['a Hangul filler', '\u3164'],
  ['a grapheme joiner', '\u034f'],
  ['a control', '\u0007'],
  ['an anchor of an annotation', '\ufff9'],
  ['a mark of direction', '\u200f'],
  ['an Arabic mark of direction', '\u061c'],
  ['an override of direction', '\u202e'],
  ['an isolate', '\u2066'],
] as const

describe('an author', () => {
  test.each(INVISIBLE)('is the same with %s in the name, wherever it stands', (_, hidden) => {
    const named = fc.tuple(fc.constantFrom('ann', 'Zoë', '안나', 'ann lee', '🦩 of the pond'), fc.nat(20), fc.nat(20))
    fc.assert(
      fc.property(named, ([name, first, second]) => {
        const letters = [...name]
        for (const at of [first, second]) letters.splice(at % (letters.length + 1), 0, hidden)
        expect(authorOf({ author: letters.join('') })).toBe(name)
      }),
    )
  })

  test.each([
    ['case', 'ann', 'Ann'],
    ['width', 'ann', 'ａｎｎ'],
    ['a look-alike letter', 'ann', '\u0430nn'],
    ['an accent', 'zoe', 'zoë'],
    ['a mark before it', 'ann', '@ann'],
    ['a space between words', 'ann lee', 'annlee'],
  ])('is another by %s', (_, one, other) => {
    expect(authorOf({ author: one })).not.toBe(authorOf({ author: other }))
  })

  test.each([
    ['an accent as a mark of its own', 'Zoe\u0308', 'Zoë'],
    ['blanks around it', ' ann\u00a0', 'ann'],
    ['other blanks between words', 'ann \u2003\u2800lee', 'ann lee'],
  ])('is the same by %s', (_, given, name) => {
    expect(authorOf({ author: given })).toBe(name)
  })

  test.each(['', ' ', '\u200b', '\u3164\u2800', '\u202e\u202c\n', '@\u200b'])('is not named by %j', (author) => {
    expect(placeholders([])(author)).toBe(true)
  })

  test('is none by a placeholder in which something is invisible', () => {
    expect(
      ['[deleted]', '\u202e[dele\u00adted]', '[Deleted]\ufff9', 'u/[deleted] '].map(placeholders(['[deleted]'])),
    ).toEqual([true, true, true, true])
    expect(placeholders(['[deleted]'])('deleted')).toBe(false)
  })

  test('has one name, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (given) => {
        expect(visibleName(visibleName(given))).toBe(visibleName(given))
      }),
    )
  })

  test('has one share of the service, by whatever of these names', () => {
    const share = (author: string) =>
      shareOf({ tenant: 't', kind: 'post', postId: author }, { id: author, text: '', createdAt: 0, author })
    expect(share('a\u200bnn')).toBe(share('ann'))
    expect(share('Ann')).not.toBe(share('ann'))
  })
})
