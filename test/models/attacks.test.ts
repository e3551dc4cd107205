import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { withoutEntities } from '../../src/contracts/facts/entities.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { neutralized } from '../../src/contracts/facts/neutralized.ts'
import type { ChatMessage } from '../../src/contracts/facts/verdict.ts'
import { answer } from '../../src/kit/understudy/answer.ts'
import { withFormat } from '../../src/models/format.ts'
import { drive } from '../protocols/drive.ts'
import { ATTACKS, attacksOn } from './attacks.ts'
import { read, tokensIn } from './fenced-blocks.ts'
import {
  APPEALED,
  BENIGN,
  fence,
  IN_PAPER,
  IN_THRIFTY,
  OTHERWISE,
  STAGES,
  type Stage,
  settings,
  type Words,
} from './stages.ts'

const { maxChars: MAX, maxCommentChars: MAX_OF_MANY } = settings.fences

/** Every question to a model in a case, as it is sent. */
function prompts({ script, replies }: Stage, words: Words): ChatMessage[][] {
  const { asked } = drive(script(words), replies(words))
  return asked.map(({ ask }) => withFormat(ask)).filter((messages) => messages.length > 0)
}

/** The same words without any sign that could be structure. */
const mereWords = (text: string) =>
  text
    .normalize('NFD')
    .replace(/\u0338|[<>{}[\]|#`=*_~\\/^$@&%+]/g, ' ')
    .normalize('NFC')

const DECIDES = ['scores', 'comment', 'score', 'label', 'answer', 'rule', 'categories', 'precedents', 'precedent']

/** The understudy's answer, letters only; of a text that is cut what it decides, for what is counted differs with the cut. */
function said(messages: readonly ChatMessage[], cut: boolean): string {
  const content: unknown = JSON.parse(answer({ messages }).content)
  if (cut) return JSON.stringify(content, DECIDES)
  return JSON.stringify(content, (_, value) =>
    typeof value === 'string' ? mereWords(value).replace(/\s/g, '') : value,
  )
}

test('the corpus is in ten languages and more', () => {
  expect(new Set(ATTACKS.map(({ lang }) => lang).filter((lang) => lang !== 'und')).size).toBeGreaterThanOrEqual(10)
})

describe.each(
  [...STAGES, ...OTHERWISE, ...APPEALED, ...IN_PAPER, ...IN_THRIFTY].map((stage, nth) => ({
    stage,
    nth,
    name: stage.name,
  })),
)('an attack on $name', ({ stage, nth }) => {
  const calm = prompts(stage, BENIGN)

  test.each(stage.places)('in the place of the %s stays in its block, and orders nothing', (place) => {
    for (const { text } of attacksOn(nth + place.length)) {
      const attacked = prompts(stage, { ...BENIGN, [place]: text })
      // Under `paper` texts stand as they were written, with their entities.
      const shown = IN_PAPER.includes(stage) ? text : withoutEntities(text)
      const harmless = prompts(stage, { ...BENIGN, [place]: mereWords(neutralized(shown)) })
      expect(attacked.length).toBe(calm.length)
      let reached = 0
      for (const [index, messages] of attacked.entries()) {
        const before = calm[index] ?? []
        expect(messages.map(({ role }) => role)).toEqual(before.map(({ role }) => role))
        for (const [at, { role, content }] of messages.entries()) {
          const other = before[at]?.content ?? ''
          if (content === other) continue
          if (role === 'assistant') {
            expect(tokensIn(content)).toEqual([])
            continue
          }
          const [now, then] = [read(content), read(other)]
          expect(now.outside).toEqual(then.outside)
          expect(now.blocks.map(({ label }) => label)).toEqual(then.blocks.map(({ label }) => label))
          for (const [number, block] of now.blocks.entries()) {
            expect(LISTS.has(block.label) ? block.lines.length : 0).toBe(
              LISTS.has(block.label) ? then.blocks[number]?.lines.length : 0,
            )
            if (block.nonce === then.blocks[number]?.nonce) continue
            reached++
            expectHeld(block, content, text)
          }
        }
        const cut = text.length > MAX
        expect(said(messages, cut)).toBe(said(harmless[index] ?? [], cut))
      }
      expect(reached).toBeGreaterThan(0)
    }
  })
})

/** One beginning and one end, and nothing between them that could be taken for either. */
function expectHeld({ label, nonce, lines }: ReturnType<typeof read>['blocks'][number], prompt: string, text: string) {
  const body = lines.join('\n')
  const opened = [...prompt.matchAll(new RegExp(`^<<(?!end:)[a-z-]+(?: \\d+)?:${nonce}>>$`, 'gm'))].length
  expect(opened).toBeGreaterThan(0)
  expect(prompt.split(nonce).length - 1).toBe(2 * opened)
  expect(prompt.split(`\n<<end:${nonce}>>`).length - 1).toBe(opened)
  expect(text).not.toContain(nonce)
  expect(body).not.toContain(nonce)
  expect(tokensIn(body)).toEqual([])
  expect(body).not.toMatch(/[^\P{Cc}\n\t]|\p{Bidi_Control}|[\r\u2028\u2029\u0085]/u)
  expect(body.isWellFormed()).toBe(true)
  if (LISTS.has(label)) expectListed(lines)
  else expect(body.length).toBeLessThanOrEqual(/^(?:comment|example|precedent)(?: |$)/.test(label) ? MAX_OF_MANY : MAX)
}

const LISTS: ReadonlySet<string> = new Set(['comments', 'examples', 'reasons', 'precedents', 'turns'])

/** Lines of our own words, and of strings that end where JSON says so; no string holds a line's end. */
function expectListed(lines: readonly string[]) {
  for (const line of lines) {
    expect(line).toMatch(/^[\w ,.:()-]+"/)
    const strings = line.match(/"(?:[^"\\]|\\.)*"/g) ?? []
    for (const one of strings) expect((JSON.parse(one) as string).length).toBeLessThanOrEqual(MAX)
    expect(line.replace(/"(?:[^"\\]|\\.)*"/g, '')).toMatch(/^[\w ,.:()-]*$/)
  }
}

describe('the code of a block', () => {
  const nonceOf = (block: string) => /^<<[a-z]+:([0-9a-f]{16})>>/.exec(block)?.[1] ?? ''

  test.each(ATTACKS.map(({ kind, lang, text }, at) => [at + 1, kind, lang, text] as const))(
    'around attack %i (%s, %s) is known to nobody who has not the key',
    (_, _kind, _lang, text) => {
      const nonce = nonceOf(fence('comment', text))
      expect(nonce).toHaveLength(16)
      expect(nonceOf(fences('another key', settings.fences)('comment', text))).not.toBe(nonce)
      expect(nonceOf(fence('claim', text))).not.toBe(nonce)
      for (const algorithm of ['md5', 'sha1', 'sha256'])
        for (const known of [text, `comment\0${text}`, `comment${text}`])
          expect(createHash(algorithm).update(known).digest('hex')).not.toContain(nonce)
    },
  )
})
