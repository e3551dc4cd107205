import { describe, expect, test } from 'vitest'
import type { Comment } from '../../src/domain/thread.ts'
import { misspeltAlike, sameWords } from '../../src/protocols/rumor/near-identical.ts'

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
