import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { fences } from '../../src/domain/fence.ts'
import { lots } from '../../src/domain/lot.ts'
import type { Snapshot } from '../../src/domain/thread.ts'
import type { ChatMessage } from '../../src/domain/verdict.ts'
import type { Protocol } from '../../src/engine/script.ts'
import { withFormat } from '../../src/gateway/format.ts'
import { makeProtocols } from '../../src/protocols/make.ts'
import { answer } from '../../src/stack/understudy/answer.ts'
import { type Asked, drive, type Replies } from '../protocols/drive.ts'
import { ATTACKS } from './attacks.ts'

const settings = loadSettings({})
const { maxChars: MAX, maxCommentChars: MAX_OF_MANY } = settings.fences
const fence = fences('a key', settings.fences)

function made(name: string, over: object = {}): Protocol {
  const given = { ...settings.protocols, [name]: { ...settings.protocols[name], enabled: true, ...over } }
  const protocol = makeProtocols(given as typeof settings.protocols, fence, lots('key')).find(
    (one) => one.name === name,
  )
  if (protocol === undefined) throw new Error(`no protocol ${name}`)
  return protocol
}

/** Everything in a case that a stranger may have written, or a model after a stranger's words. */
const BENIGN = {
  text: 'The bridge is closed.',
  alt: 'a bridge',
  comment: 'I was there.',
  hateSpeech: 'They all lie.',
  argument: 'It is likely.',
  reason: 'It names a group.',
  example: 'Go home.',
  precedent: 'An old case.',
  precedentLabel: 'safe',
  summary: 'A summary.',
  keyCues: 'cues',
  description: 'A bridge over water.',
  briefSummary: 'In short.',
  differences: 'It differs.',
  patterns: 'None recur.',
}
type Place = keyof typeof BENIGN
type Words = typeof BENIGN

const snapshot = (words: Words): Snapshot => ({
  post: {
    id: 'p',
    text: words.text,
    createdAt: 0,
    media: [{ kind: 'image', url: 'https://images.example/a.png', alt: words.alt }],
  },
  comments: [words.comment, 'No, it is open.', 'Closed since noon.'].map((text, at) => ({
    id: `c${at}`,
    text,
    createdAt: at,
  })),
  leftOut: 0,
})
const reply = (words: Words): Snapshot => ({
  post: { id: 'p', text: words.text, hateSpeech: words.hateSpeech, createdAt: 0 },
  comments: [],
  leftOut: 0,
})

const rumorReplies =
  (words: Words): Replies =>
  ({ ask, order }: Asked) => {
    if (ask.stage === 'subjectivity') return { reason: 'r', answer: 'No' }
    if (ask.stage !== 'stance') return { reasoning: words.argument, answer: ask.part === 'oppose' ? 'Fake' : 'Real' }
    const score = (comment: number) => ({ comment, reason: 'r', score: comment % 2 === 1 ? 0.5 : -0.5 })
    return ask.part === undefined
      ? { reason: 'r', score: order % 2 === 0 ? 0.5 : -0.5 }
      : { scores: [1, 2, 3].map(score) }
  }

const hateReplies =
  (words: Words): Replies =>
  ({ ask }: Asked) => {
    if (ask.lookup !== undefined) {
      const labels: Record<string, string> = { 'k-haters': 'normal', 'k-mhas': 'not_hate_speech', unsmile: 'clean' }
      const shelves = ask.lookup.shelves.map((shelf) => ({
        shelf,
        neighbours: [{ id: shelf, text: words.example, label: labels[shelf] ?? 'NOT', similarity: 0.9, metadata: {} }],
        problem: null,
      }))
      return { shelves, weak: null }
    }
    if (ask.stage === 'debate') return { argument: words.argument }
    if (ask.stage === 'judge') return { reason: words.reason, label: 'hate' }
    const label = ['Offensive', 'Hate Speech'].find((one) => ask.answer.safeParse({ reason: 'r', label: one }).success)
    return { reason: words.reason, label }
  }

const safetyReplies =
  (words: Words): Replies =>
  ({ ask }: Asked) => {
    switch (ask.stage) {
      case 'describe':
        return { description: words.description }
      case 'retrieve': {
        const metadata = { keyCues: words.keyCues, summary: words.summary }
        const neighbour = { id: 'n', text: words.precedent, label: words.precedentLabel, similarity: 0.9, metadata }
        return { shelves: [{ shelf: 'precedents', neighbours: [neighbour], problem: null }], weak: null }
      }
      case 'brief': {
        const compared = { precedent: 1, keyCues: [words.keyCues], differences: words.differences }
        return { summary: words.briefSummary, precedents: [compared], patterns: words.patterns }
      }
      case 'arbitrate':
        return { reasoning: 'r', evidence: [], rule: 'default-safe', categories: [], score: 0.2, label: 'safe' }
      default:
        return { reasoning: words.argument, score: 0.5 }
    }
  }

interface Stage {
  readonly name: string
  readonly protocol: Protocol
  readonly subject: (words: Words) => Snapshot
  readonly replies: (words: Words) => Replies
  readonly places: readonly Place[]
}

const STAGES: readonly Stage[] = [
  {
    name: 'rumor',
    protocol: made('rumor'),
    subject: snapshot,
    replies: rumorReplies,
    places: ['text', 'alt', 'comment', 'argument'],
  },
  {
    name: 'rumor, a comment at a time',
    protocol: made('rumor', { batchSize: 1 }),
    subject: snapshot,
    replies: rumorReplies,
    places: ['text', 'comment'],
  },
  {
    name: 'hate',
    protocol: made('hate'),
    subject: snapshot,
    replies: hateReplies,
    places: ['text', 'alt', 'example', 'reason', 'argument'],
  },
  {
    name: 'hate, by its published code',
    protocol: made('hate', { history: 'code' }),
    subject: snapshot,
    replies: hateReplies,
    places: ['reason', 'argument'],
  },
  {
    name: 'safety',
    protocol: made('safety'),
    subject: snapshot,
    replies: safetyReplies,
    places: [
      ...(['text', 'alt', 'description', 'precedent', 'precedentLabel', 'summary', 'keyCues'] as const),
      ...(['briefSummary', 'differences', 'patterns', 'argument'] as const),
    ],
  },
  {
    name: 'counterspeech',
    protocol: made('counterspeech'),
    subject: reply,
    replies: () => () => ({ reasoning: 'r', score: 1 }),
    places: ['text', 'hateSpeech'],
  },
]

/** The same in the papers' wording. */
const IN_PAPER = ['rumor', 'hate', 'safety', 'counterspeech'].flatMap((name) =>
  STAGES.filter((stage) => stage.name === name).map((stage) => ({
    ...stage,
    name: `${name}, preset paper`,
    protocol: made(name, { preset: 'paper' }),
  })),
)

/** Every question to a model in a case, as it is sent. */
function prompts({ protocol, subject, replies }: Stage, words: Words): ChatMessage[][] {
  const { asked } = drive(protocol.script(subject(words), null), replies(words))
  return asked.map(({ ask }) => withFormat(ask)).filter((messages) => messages.length > 0)
}

interface Block {
  readonly label: string
  readonly nonce: string
  readonly lines: readonly string[]
}

/** The blocks of a message, and the lines outside them, by the rule that the prompts tell the model. */
function read(content: string): { blocks: Block[]; outside: string[] } {
  const lines = content.split('\n')
  const blocks: Block[] = []
  const outside: string[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const [, label, nonce] = /^<<([a-z-]+(?: \d+)?):([0-9a-f]{16})>>$/.exec(line) ?? []
    if (label === undefined || nonce === undefined) {
      outside.push(line)
      continue
    }
    const end = lines.indexOf(`<<end:${nonce}>>`, at)
    if (end === -1) throw new Error('a block without an end')
    blocks.push({ label, nonce, lines: lines.slice(at + 1, end) })
    at = end
  }
  return { blocks, outside }
}

/** As a reader sees it who folds look-alikes and does not see what is invisible. */
const seen = (text: string) => text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')

/** The same words without any sign that could be structure. */
const mereWords = (text: string) => text.replace(/[<>{}[\]|#`=*_~\\/^$@&%+]/g, ' ')

const DECIDES = ['scores', 'comment', 'score', 'label', 'answer', 'rule', 'categories', 'precedents', 'precedent']

/** The understudy's answer, letters only; of a text that is cut what it decides, for what is counted differs with the cut. */
function said(messages: readonly ChatMessage[], cut: boolean): string {
  const content: unknown = JSON.parse(answer({ messages }).content)
  if (cut) return JSON.stringify(content, DECIDES)
  return JSON.stringify(content, (_, value) =>
    typeof value === 'string' ? mereWords(value).replace(/\s/g, '') : value,
  )
}

test('the corpus has a hundred attacks and more, each another, in ten languages and more', () => {
  expect(ATTACKS.length).toBeGreaterThanOrEqual(100)
  expect(new Set(ATTACKS.map(({ text }) => text)).size).toBe(ATTACKS.length)
  expect(new Set(ATTACKS.map(({ lang }) => lang).filter((lang) => lang !== 'und')).size).toBeGreaterThanOrEqual(10)
})

describe.each([...STAGES, ...IN_PAPER])('an attack on $name', (stage) => {
  const calm = prompts(stage, BENIGN)

  test.each(stage.places)('in the place of the %s stays in its block, and orders nothing', (place) => {
    for (const { text } of ATTACKS) {
      const attacked = prompts(stage, { ...BENIGN, [place]: text })
      const harmless = prompts(stage, { ...BENIGN, [place]: mereWords(text) })
      expect(attacked.length).toBe(calm.length)
      let reached = 0
      for (const [index, messages] of attacked.entries()) {
        const before = calm[index] ?? []
        expect(messages.map(({ role }) => role)).toEqual(before.map(({ role }) => role))
        for (const [at, { role, content }] of messages.entries()) {
          const other = before[at]?.content ?? ''
          if (content === other || role === 'assistant') continue
          const [now, then] = [read(content), read(other)]
          expect(now.outside).toEqual(then.outside)
          expect(now.blocks.map(({ label }) => label)).toEqual(then.blocks.map(({ label }) => label))
          for (const [number, block] of now.blocks.entries()) {
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
function expectHeld({ label, nonce, lines }: Block, prompt: string, text: string) {
  const body = lines.join('\n')
  const opened = [...prompt.matchAll(new RegExp(`^<<(?!end:)[a-z-]+(?: \\d+)?:${nonce}>>$`, 'gm'))].length
  expect(opened).toBeGreaterThan(0)
  expect(prompt.split(nonce).length - 1).toBe(2 * opened)
  expect(prompt.split(`\n<<end:${nonce}>>`).length - 1).toBe(opened)
  expect(text).not.toContain(nonce)
  expect(body).not.toContain(nonce)
  expect(seen(body)).not.toMatch(/<<|>>|<\||\|>|<\/?(?:start|end)_of_turn>|\[\/?INST\]/)
  expect(body).not.toMatch(/[^\P{Cc}\n\t]|\p{Bidi_Control}|[\r\u2028\u2029\u0085]/u)
  expect(body.isWellFormed()).toBe(true)
  expect(body.length).toBeLessThanOrEqual(/^(?:comment|example|precedent)(?: |$)/.test(label) ? MAX_OF_MANY : MAX)
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
