import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { neutralized } from '../../../src/contracts/facts/neutralized.ts'
import { ATTACKS } from '../../models/attacks.ts'
import { TOKENS, tokensIn } from '../../models/fenced-blocks.ts'

/** Pieces of tokens, and what hides between them. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(...TOKENS),
      fc.constantFrom('<', '>', '[', ']', '|', '~', '/', '#', ':', '_', '‹', '»', '＜', '｜', '［', '］', '：', '＃'),
      fc.constantFrom(
        '\u200b',
        '\u200d',
        '\ufe0f',
        '\u034f',
        '\u115f',
        '\u0338',
        '\u0301',
        '\ufeff',
        '\0',
        '\r',
        '\u2028',
      ),
      fc.constantFrom('s', 'INST', 'im_start', 'Human', 'end of', '0123456789abcdef', 'ｅｏｓ', '\n', ' ', 'seed'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
    { maxLength: 30 },
  )
  .map((pieces) => pieces.join(''))

describe('a neutralized text', () => {
  test('holds no token of a template, whole or after a server has normalised it', () => {
    for (const token of TOKENS)
      for (const text of [
        token,
        `a${token}b`,
        `${token}${token}`,
        [...token].join('\u200b'),
        [...token].join('\ufe0f'),
      ])
        expect(tokensIn(neutralized(text)), text).toEqual([])
    fc.assert(
      fc.property(hostile, (text) => {
        expect(tokensIn(neutralized(text))).toEqual([])
      }),
      { numRuns: 5_000 },
    )
  })

  test('has the same characters as before, in the same order, but for spaces and what nobody sees', () => {
    const shown = (text: string) =>
      text.replace(/[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '').normalize('NFC')
    for (const { text } of ATTACKS) expect(shown(neutralized(text))).toBe(shown(text.toWellFormed()))
    fc.assert(
      fc.property(hostile, (text) => {
        expect(shown(neutralized(text))).toBe(shown(text.toWellFormed()))
      }),
    )
  })

  test('stays as it is when it is neutralized again', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(neutralized(neutralized(text))).toBe(neutralized(text))
      }),
      { numRuns: 5_000 },
    )
  })

  test('takes linear time', () => {
    for (const piece of [
      '<',
      '<a',
      '<a:',
      '[A',
      '[a_',
      '|a',
      '0a',
      '#',
      '\n#',
      '>> Human',
      '＜a',
      '~[',
      ' '.repeat(9),
    ]) {
      const began = performance.now()
      neutralized(piece.repeat(200_000 / piece.length))
      expect(performance.now() - began).toBeLessThan(5_000)
    }
  })

  test.each([
    'A < B, C > D, and 3 <> nothing? <3 x<y',
    '„nichts“, «rien», ‹rien›, 《人民日报》, 「橋」, 【速報】, (c), [1], [12], [sic], [BREAKING]',
    '<b>bold</b><br/><a href="https://a.example/b_c">x</a> [text](https://a.example/?a=b|c) <https://a.example/b_c>',
    'user name: ana; the assistant said: no. System failure! # hashtag #tag ## Heading',
    '0123456789 https://social.example/status/123456789012345678 deadbeef',
    '{"answer": "Fake", "list": ["a", "b"], "scores": [{"comment": 1}]} {{claim}} `a|b` a || b',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u2764\ufe0f ¯\\_(ツ)_/¯ (╯°□°)╯︵ ┻━┻ ~~struck~~ |x| = 3',
  ])('is the text itself where it is ordinary: %s', (text) => {
    expect(neutralized(text)).toBe(text.normalize('NFC'))
  })
})

const DATA = join(PROJECT, '..', 'shared', 'data')
const rows = (file: string) =>
  readFileSync(join(DATA, file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string> & { comments?: { text: string }[] })

describe.skipIf(!existsSync(DATA))('of what people really wrote (public data beside the project)', () => {
  test.each([
    ['rumoureval2017/threads.jsonl', 0],
    ['covid19-rumor/threads.jsonl', 0],
    ['hatecheck/cases.jsonl', 0],
    ['kodoli/comments.jsonl', 10],
  ])('hardly any is changed: %s', (file, most) => {
    const texts = rows(file).flatMap(({ claim, test_case: said, text, comments = [] }) => [
      ...[claim, said, text].filter((one) => one !== undefined),
      ...comments.map((comment) => comment.text),
    ])
    const plain = (text: string) =>
      text
        .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
        .replace(/[^\P{Cc}\n\t]|(?!\u200d)\p{Cf}/gu, '')
        .normalize('NFC')
    expect(texts.filter((text) => neutralized(text) !== plain(text)).length).toBeLessThanOrEqual(most)
  })
})
