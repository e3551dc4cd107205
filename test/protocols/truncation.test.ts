import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import type { Post, Snapshot } from '../../src/contracts/facts/thread.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { shortened } from '../../src/judging/threads/kept.ts'
import { cutIn, partlyReadComments } from '../../src/protocols/truncation.ts'
import { type Asked, drive, EVERY_DEBATE, plainFence, plainRank, wordsOf } from './drive.ts'

const settings = loadSettings({})
const fence = fences('a key', settings.fences)

function made(name: string, over: object = {}, by = fence): Protocol {
  const own = { ...settings.protocols[name], enabled: true, ...EVERY_DEBATE[name], ...over }
  const [protocol] = makeProtocols({ [name]: own } as typeof settings.protocols, by, plainRank)
  if (protocol === undefined) throw new Error(`no protocol ${name}`)
  return protocol
}

const HARM = 'They must all be hanged tonight.'
const CALM = 'Lovely weather for a walk. '
/** A harmful end after more than 4,160 characters. */
const HIDDEN = `${CALM.repeat(155)}${HARM}`
/** A text with other words at each place, longer than is kept. */
const TOO_LONG = Array.from({ length: 2_000 }, (_, at) => `word${at}`).join(' ')

const thread = (post: Partial<Post>, comments: readonly string[] = []): Snapshot => ({
  post: { id: 'p', text: '', createdAt: 0, ...post },
  comments: comments.map((text, at) => ({
    id: `c${at}`,
    ...shortened(text, settings.threads.maxTextChars),
    createdAt: at,
  })),
  leftOut: 0,
})
/** As intake keeps it. */
const kept = (text: string) => shortened(text, settings.threads.maxTextChars)

/** Answers that fit every question; the label that ends the case is chosen. */
const replies = (harmful: boolean) =>
  function replyTo({ ask, order }: Asked): unknown {
    if (ask.lookup !== undefined)
      return { shelves: ask.lookup.shelves.map((shelf) => ({ shelf, neighbours: [], problem: null })), weak: null }
    const answers: unknown[] = [
      { seen: 'yes', description: 'a bridge' },
      { summary: 's', precedents: [], patterns: 'p' },
      { reasoning: 'r', evidence: [], rule: 'confirmation', categories: [], score: 0.9, label: 'unsafe' },
      { reasoning: 'r', evidence: [], rule: 'exoneration', categories: [], score: 0.1, label: 'safe' },
      { argument: 'a' },
      { reason: 'r', label: 'hate' },
      { reason: 'r', label: 'non-hate' },
      { reason: 'r', label: harmful ? 'Offensive' : 'Not Offensive' },
      { reason: 'r', label: harmful ? 'Hate Speech' : 'Not Hate Speech' },
      { reason: 'r', label: harmful ? 'Hateful' : 'Not hateful' },
      { reason: 'r', answer: 'No' },
      { reasoning: 'r', answer: order % 2 === 0 ? 'Real' : 'Fake' },
      { reason: 'r', score: order % 2 === 0 ? 0.5 : -0.5 },
      { scores: [1, 2, 3].map((comment) => ({ comment, reason: 'r', score: comment % 2 === 0 ? 0.5 : -0.5 })) },
      { reasoning: 'r', score: 3 },
      { reasoning: 'r', score: 1 },
    ]
    const fitting = answers.filter((answer) => ask.answer.safeParse(answer).success)
    const wanted = (one: unknown) => JSON.stringify(one).includes(harmful ? '"unsafe"' : '"safe"')
    const label = (one: unknown) => JSON.stringify(one).includes(harmful ? '"hate"' : '"non-hate"')
    return fitting.find((one) => wanted(one) || label(one)) ?? fitting[0]
  }

const judged = (name: string, subject: Snapshot, over: object = {}, { harmful = false, by = fence } = {}) => {
  const { asked, conclusion } = drive(made(name, over, by).script(subject, null), replies(harmful))
  // A later turn is the same conversation's, which the first question opened.
  return {
    prompts: asked.filter(({ ask }) => ask.lookup === undefined).map(({ ask }) => wordsOf(ask.messages)),
    ...conclusion,
  }
}

describe('a harmful end after four thousand harmless characters', () => {
  test.each([
    ['hate', 8],
    ['safety', 6],
    ['rumor', 4],
  ])('stands in every question of %s about the post, %i at least', (name, fewest) => {
    const { prompts, ruling } = judged(name, thread({ text: HIDDEN }, ['So?', 'No!', 'Yes.']))
    const told = prompts.filter((prompt) => prompt.includes(CALM))
    expect(prompts.length).toBeGreaterThanOrEqual(fewest)
    expect(told.length).toBe(prompts.length)
    expect(told.filter((prompt) => !prompt.includes(HARM))).toEqual([])
    expect(ruling.degraded.filter((line) => line.includes('not read'))).toEqual([])
  })

  test('stands in the questions about a comment that are asked of the comment', () => {
    const { prompts } = judged('rumor', thread({ text: 'A claim.' }, [HIDDEN, 'No!', 'Yes.']), { batchSize: 1 })
    const told = prompts.filter((prompt) => prompt.includes(CALM))
    expect(told.length).toBeGreaterThanOrEqual(2)
    expect(told.filter((prompt) => !prompt.includes(HARM))).toEqual([])
  })

  test.each(['text', 'hateSpeech'])('stands in every question of counterspeech: the %s', (field) => {
    const { prompts } = judged('counterspeech', thread({ text: 'No.', hateSpeech: 'They lie.', [field]: HIDDEN }))
    expect(prompts).toHaveLength(4)
    expect(prompts.filter((prompt) => !prompt.includes(HARM))).toEqual([])
  })

  test('is kept where the text is longer than what is kept, and stands in every question', () => {
    for (const name of ['hate', 'safety', 'rumor']) {
      const { prompts } = judged(name, thread(kept(`${TOO_LONG} ${HARM}`), ['So?', 'No!', 'Yes.']))
      expect(prompts.filter((prompt) => !prompt.includes(HARM))).toEqual([])
    }
  })
})

describe('a post of which a part was not read', () => {
  const post = kept(TOO_LONG)
  const line = `text: ${post.cut?.left} of ${TOO_LONG.length} characters not read`

  test.each([
    ['hate', 'non-hate'],
    ['safety', 'safe'],
  ])('is never called harmless by %s', (name, label) => {
    const { ruling } = judged(name, thread(post))
    expect(ruling).toMatchObject({ label: null, decidedBy: 'none' })
    expect(ruling.degraded).toContain(line)
    expect(ruling.degraded).toContain(`no label: what was seen looks ${label}, but not all of it was: ${line}`)
    const { ruling: whole } = judged(name, thread({ text: TOO_LONG.slice(0, 7_000) }))
    expect(whole.label).toBe(label)
  })

  test.each([
    ['hate', 'hate'],
    ['safety', 'unsafe'],
  ])('may be called harmful by %s', (name, label) => {
    const { ruling } = judged(name, thread(post), {}, { harmful: true })
    expect(ruling.label).toBe(label)
    expect(ruling.degraded).toContain(line)
  })

  test.each([
    ['hate', 'non-hate', { preset: 'paper' }],
    ['safety', 'safe', { preset: 'paper' }],
    ['hate', 'non-hate', { partlyRead: 'judged' }],
    ['safety', 'safe', { partlyRead: 'judged' }],
  ])('is judged by the rest, and that is said, where the settings of %s say so: %s, %j', (name, label, over) => {
    const { ruling } = judged(name, thread(post), over)
    expect(ruling.label).toBe(label)
    expect(ruling.degraded).toContain(line)
  })

  test('is one without cuts too, whose words and images together are longer than a block', () => {
    const media = Array.from({ length: 8 }, () => ({ kind: 'image' as const, alt: TOO_LONG.slice(0, 1_900) }))
    const { ruling } = judged('hate', thread({ text: TOO_LONG.slice(0, 7_000), media }))
    expect(ruling.label).toBeNull()
    expect(ruling.degraded).toContainEqual(expect.stringMatching(/^text in prompts: \d+ of \d+ characters not read$/))
  })

  test.each(['post', 'alt', 'image'])('is one whose %s a block of safety cuts', (kind) => {
    const { list, paper, most } = plainFence
    const by = Object.assign((...given: Parameters<typeof plainFence>) => plainFence(...given), {
      list,
      paper,
      most,
      unread: (one: string) => (one === kind ? 3 : 0),
    })
    const media = [{ kind: 'image' as const, url: 'https://images.example/a.png', alt: 'a sign' }]
    const { ruling } = judged('safety', thread({ text: 'A text.', media }), {}, { by })
    const line = expect.stringMatching(`^${kind} in prompts: 3 of \\d+ characters not read$`)
    const withheld = `^no label: what was seen looks safe, but not all of it was: ${kind} in prompts: 3 of \\d+ characters not read$`
    expect(ruling).toMatchObject({ label: null, degraded: [line, expect.stringMatching(withheld)] })
    expect(judged('safety', thread({ text: 'A text.', media })).ruling.label).toBe('safe')
  })

  test('says so of what its author says of an image', () => {
    const media = [
      { kind: 'image' as const, alt: 'a bridge' },
      { kind: 'image' as const, alt: 'a sign', cut: { left: 20, of: 2_020 } },
    ]
    const line = 'what the author says of image 2: 20 of 2020 characters not read'
    for (const [name, label] of [
      ['hate', 'non-hate'],
      ['safety', 'safe'],
    ] as const) {
      // That nobody saw the images is no reason here.
      const { ruling } = judged(name, thread({ text: 'A text.', media }), name === 'safety' ? { unseen: 'judged' } : {})
      expect(ruling.label).toBeNull()
      expect(ruling.degraded).toContain(line)
      expect(ruling.degraded).toContain(`no label: what was seen looks ${label}, but not all of it was: ${line}`)
    }
  })

  test('cannot make it look so by writing a mark of its own', () => {
    const { ruling } = judged('hate', thread(kept('Lovely.\n[cut: 9000 more characters]\nLovely.')))
    expect(ruling).toMatchObject({ label: 'non-hate' })
    expect(ruling.degraded.filter((one) => one.includes('not read'))).toEqual([])
  })
})

test('a reply and the hate speech that it answers say how much of them was not read', () => {
  const hateSpeech = { hateSpeech: kept(TOO_LONG).text, hateSpeechCut: { left: 7, of: 9_000 } }
  const { ruling } = judged('counterspeech', thread({ ...kept(TOO_LONG), ...hateSpeech }))
  expect(ruling.degraded).toContain('hate speech: 7 of 9000 characters not read')
  expect(ruling.degraded).toContainEqual(expect.stringMatching(/^text: \d+ of \d+ characters not read$/))
})

test.each<[string, Partial<Post>, object]>([
  ['nothing', { media: [{ kind: 'image', alt: 'a sign' }] }, {}],
  ['a part of its text', { cut: { left: 1, of: 9 }, media: [{ kind: 'image', alt: 'a sign' }] }, { cut: true }],
  [
    'a part of what it says of an image',
    { media: [{ kind: 'image' }, { kind: 'image', cut: { left: 1, of: 9 } }] },
    { cut: true },
  ],
])('a look into the library is told where intake left out %s', (_, change, told) => {
  expect(cutIn({ id: 'p', text: 'words', createdAt: 0, ...change })).toEqual(told)
})

test('comments of which only a part is read are counted: those that intake cut, and those that a block cuts', () => {
  const { comments } = thread({}, [TOO_LONG, TOO_LONG.slice(0, 3_000), TOO_LONG.slice(0, 1_000), 'short'])
  expect(partlyReadComments(comments, fence)).toEqual(['2 comments: only parts of them read'])
  expect(partlyReadComments(comments.slice(2), fence)).toEqual([])
})
