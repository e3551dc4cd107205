import { describe, expect, test } from 'vitest'
import { loadFiles, loadSettings } from '../../config/load.ts'
import { posts } from '../../consumers/posts.ts'
import { readMessage } from '../../consumers/read-message.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import { postMessage } from '../../src/contracts/facts/messages.ts'
import type { Post, Snapshot } from '../../src/contracts/facts/thread.ts'
import type { Ruling } from '../../src/contracts/facts/verdict.ts'
import { hate } from '../../src/protocols/hate/index.ts'
import { safety } from '../../src/protocols/safety/index.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { intakeContext } from '../support/intake-context.ts'
import { type Asked, drive, EVERY_DEBATE, Failed, plainFence, plainRank, type Replies } from './drive.ts'

// What a benign label needs: nothing that nobody saw or heard is called safe, or no hate.

const { protocols } = loadSettings({})
const made = (kind: typeof safety | typeof hate, over: object) => {
  const { enabled: _, ...shipped } = protocols[kind.name] ?? {}
  const given = {
    settings: { ...shipped, ...EVERY_DEBATE[kind.name], ...over },
    prompts: promptsOf(kind.name),
    files: loadFiles,
  }
  return kind.make({ ...given, fence: plainFence, samplingRank: plainRank })
}

const WORDS = 'Soup at seven, bring a bowl.'
const at = '2025-05-01T12:00:00Z'
const context = intakeContext(memoryStores(() => 0))
/** A post as intake keeps it, from the message as it comes; null if there is nothing in it to judge. */
function kept(message: object): Post | null {
  const value = Buffer.from(JSON.stringify({ id: 'p', createdAt: at, ...message }))
  const from = { topic: 'posts', partition: 0, offset: '0', key: 'p', value, headers: {}, timestamp: 0 }
  const read = readMessage(from, postMessage, { maxMessageBytes: 1 << 20, maxAhead: 0 }, Date.parse(at))
  return read.ok ? (posts.postOf(context, read.message) as Post) : null
}
const read = (message: object): Post => {
  const post = kept(message)
  if (post === null) throw new Error('it was not read')
  return post
}
const alone = (post: Post): Snapshot => ({ post, comments: [], leftOut: 0 })

const https = (n: number) => ({ kind: 'image', url: `https://images.example/${n}.png` })
const CODES = ['refused', 'content-filter', 'unreadable', 'timeout', 'deadline', 'rejected'] as const

describe('safe', () => {
  type Label = 'safe' | 'unsafe'
  type Say = (asked: Asked, nth: number) => unknown
  const report = (label: Label) => ({
    reasoning: 'r',
    evidence: [],
    categories: [],
    label,
    ...(label === 'safe' ? { rule: 'exoneration', score: 0.1 } : { rule: 'confirmation', score: 0.9 }),
  })
  const SEEN = { seen: 'yes', description: 'A pot on a stove.' }
  /** Everything is answered; `say` answers some questions otherwise, by the question and how often its stage was asked. */
  const cast = (label: Label, say: Say = () => undefined): Replies => {
    const times = new Map<string, number>()
    const plain: Record<string, unknown> = {
      describe: SEEN,
      retrieve: { shelves: [{ shelf: 'precedents', neighbours: [], problem: null }], weak: null },
      brief: { summary: 's', precedents: [], patterns: 'p' },
      strict: { reasoning: 'r', score: 0.2 },
      loose: { reasoning: 'r', score: 0.1 },
      arbitrate: report(label),
    }
    return (asked) => {
      const nth = (times.get(asked.ask.stage) ?? 0) + 1
      times.set(asked.ask.stage, nth)
      return say(asked, nth) ?? plain[asked.ask.stage]
    }
  }
  const ruled = (post: Post, { label = 'safe', say, over = {} }: { label?: Label; say?: Say; over?: object } = {}) =>
    drive(made(safety, over).script(alone(post), null), cast(label, say)).conclusion.ruling
  const withheld = (ruling: Ruling) => {
    expect(ruling).toMatchObject({ label: null, decidedBy: 'none' })
    return ruling.degraded.at(-1) ?? ''
  }
  const lost =
    (stage: string, reply: unknown, which?: number): Say =>
    ({ ask }, nth) =>
      ask.stage === stage && (which === undefined || which === nth) ? reply : undefined

  interface Unseen {
    readonly media: unknown
    readonly say?: Say
    readonly over?: object
    /** What the verdict says of it. */
    readonly told: RegExp
    /** Without words there is nothing of it in words. */
    readonly nothing?: true
    /** Without words it is no post. */
    readonly none?: true
  }
  const failing = (code: string): Unseen => ({
    media: [https(1)],
    say: lost('describe', new Failed(code, 'why')),
    nothing: true,
    told: new RegExp(`^describe \\(image 1\\) failed: ${code}`),
  })
  const UNSEEN: Record<string, Unseen> = {
    'refused by the model': failing('refused'),
    'refused by the filter': failing('content-filter'),
    'described in what can’t be read': failing('unreadable'),
    'described too late': failing('timeout'),
    'gone from its host': failing('image'),
    'not seen by the model': {
      media: [https(1)],
      nothing: true,
      told: /^describe \(image 1\): the model did not see it/,
      say: lost('describe', { seen: 'no', description: 'A harmless pot, by the words of its author.' }),
    },
    'one of two that was refused': {
      media: [https(1), https(2)],
      told: /^describe \(image 2\) failed: refused/,
      say: lost('describe', new Failed('refused'), 2),
    },
    'refused, with words by its author': {
      media: [{ ...https(1), alt: 'a pot' }],
      told: /^describe \(image 1\) failed: refused/,
      say: lost('describe', new Failed('refused')),
    },
    'a video': {
      media: [{ kind: 'video', seconds: 12, frames: [https(1)] }],
      told: /^media\.0\.transcript: what is said in this video was not given/,
    },
    'an audio clip beside an image': {
      media: [https(1), { kind: 'audio' }],
      told: /^media\.1\.transcript: what is said in this audio was not given/,
    },
    'of a kind that nobody knows': { media: [{ kind: 'gifv' }], told: /^media\.0: /, none: true },
    'of such a kind beside an image': {
      media: [https(1), { kind: 'gifv', url: 'https://x.example/a.gif' }],
      told: /^media\.1: /,
    },
    'behind an http address': {
      media: [{ kind: 'image', url: 'http://x.example/a.png' }],
      told: /^media\.0\.url: /,
      nothing: true,
    },
    'behind a relative address, with words by its author': {
      media: [{ kind: 'image', url: '/a.png', alt: 'a pot' }],
      told: /^media\.0\.url: /,
    },
    'the seventeenth': {
      media: Array.from({ length: 17 }, (_, n) => https(n)),
      told: /^media: 1 beyond the first 16 left out/,
      over: { maxImages: 20 },
    },
    'beyond the set number': {
      media: Array.from({ length: 9 }, (_, n) => https(n)),
      told: /^1 images beyond the first 8 left out/,
    },
    'known by its author’s words alone': {
      media: [{ kind: 'image', alt: 'a pot' }],
      told: /^image 1 has no URL; only alt text is available/,
    },
    'of nothing': { media: [{ kind: 'image' }], told: /^media\.0: /, nothing: true },
    'no list': { media: https(1), told: /^media: not a list/, none: true },
    'seen, with words that are none': { media: [{ ...https(1), alt: ['a pot'] }], told: /^media\.0\.alt: / },
    'not looked at, since images are off': {
      media: [https(1)],
      over: { images: false },
      told: /^images are off: 1 not looked at/,
      nothing: true,
    },
  }
  const rows = Object.entries(UNSEEN).flatMap(([what, row]) =>
    [WORDS, undefined].map(
      (text) => [what, text === undefined ? 'alone' : 'beside harmless words', row, text] as const,
    ),
  )

  test('is tried with thirty posts and more', () => {
    expect(rows.length).toBeGreaterThanOrEqual(30)
  })

  test.each(rows)('is no post with an image that is %s, %s', (_what, _beside, row, text) => {
    const { media, say, over = {}, told, nothing, none } = row
    const post = kept({ text, media })
    if (text === undefined && none === true) return expect(post).toBeNull()
    if (post === null) throw new Error('it was not read')
    const given = { over, ...(say === undefined ? {} : { say }) }
    const ruling = ruled(post, given)
    expect(ruling.degraded).toContainEqual(expect.stringMatching(told))
    const why = withheld(ruling)
    const harmful = ruled(post, { ...given, label: 'unsafe' })
    const paper = ruled(post, { ...given, over: { ...over, preset: 'paper' } })
    const judged = ruled(post, { ...given, over: { ...over, unseen: 'judged' } })
    if (text === undefined && nothing === true) {
      expect(why).toBe('nothing to judge: no text, and no image in words')
      // Under `paper` the describer is not asked whether it saw anything: what it says stands for the image.
      for (const other of [harmful, judged]) expect(other.label).toBeNull()
      return
    }
    expect(why).toMatch(/^no label: what was seen looks safe, but not all of it was: /)
    expect(harmful).toMatchObject({ label: 'unsafe', decidedBy: 'arbiter' })
    for (const other of [paper, judged]) expect(other).toMatchObject({ label: 'safe', decidedBy: 'arbiter' })
    expect(judged.degraded).toContainEqual(expect.stringMatching(told))
  })

  test.each([
    ['words alone', { text: WORDS }],
    ['an image alone', { media: [https(1)] }],
    [
      'words and eight images',
      { text: WORDS, media: Array.from({ length: 8 }, (_, n) => ({ ...https(n), alt: 'a pot' })) },
    ],
    ['words and an empty list', { text: WORDS, media: [] }],
    [
      'words and odd fields that are no part of what it says',
      { text: WORDS, author: ['a'], lang: 7, authorSince: 'then' },
    ],
  ])('is a post all of which was seen: %s', (_, message) => {
    const ruling = ruled(read(message))
    expect(ruling).toMatchObject({ label: 'safe', decidedBy: 'arbiter' })
    expect(ruling.degraded.filter((line) => line.startsWith('no label'))).toEqual([])
  })

  test('is a post whose image comes with what a vision model saw in it', () => {
    const described: Post = { id: 'p', text: '', createdAt: 0, media: [{ kind: 'image', description: 'A pot.' }] }
    expect(ruled(described).label).toBe('safe')
    expect(ruled(described, { over: { images: false } }).label).toBeNull()
    expect(ruled({ ...described, text: WORDS }, { over: { images: false } }).label).toBeNull()
  })

  test('is no post whose words could not be taken in', () => {
    const post = read({ text: { say: 'something' }, media: [https(1)] })
    expect(withheld(ruled(post))).toMatch(/text: not a text, left out$/)
    expect(ruled(post, { label: 'unsafe' }).label).toBe('unsafe')
  })

  test('says how many images were not seen, and each reason once', () => {
    const post = read({ text: WORDS, media: [https(1), { kind: 'image', alt: 'a pot' }, https(3), { kind: 'video' }] })
    const why = withheld(ruled(post, { say: lost('describe', new Failed('refused'), 2) }))
    expect(why).toBe(
      'no label: what was seen looks safe, but not all of it was: 2 of 3 images not seen; media.3.transcript: what is said in this video was not given; media.3.frames: no picture of this video was given',
    )
  })

  const sides = ['strict', 'loose'] as const
  const turns = sides.flatMap((side) => [1, 2].flatMap((n) => CODES.map((code) => [side, n, code] as const)))
  test.each(turns)('is no post of whose debate one turn was lost: %s, round %i, %s', (side, n, code) => {
    const say = lost(side, new Failed(code), n)
    const ruling = ruled(read({ text: WORDS }), { say })
    expect(withheld(ruling)).toBe(
      'no label: what was seen looks safe, but not all of it was: 1 of 4 turns of the debate lost',
    )
    expect(ruling.scores.final).toBe(0.1)
    expect(ruled(read({ text: WORDS }), { say, label: 'unsafe' })).toMatchObject({ label: 'unsafe' })
    expect(ruled(read({ text: WORDS }), { say, over: { preset: 'paper' } }).label).toBe('safe')
  })

  test.each([
    [{ rounds: 1 }, 2],
    [{ rounds: 3 }, 6],
    [{ loose: false }, 2],
    [{ loose: false, rounds: 3 }, 3],
  ])('asks for the turns that the settings ask for, and no others: %j', (over, asked) => {
    expect(ruled(read({ text: WORDS }), { over }).label).toBe('safe')
    const why = withheld(ruled(read({ text: WORDS }), { over, say: lost('strict', new Failed(), 1) }))
    expect(why).toMatch(new RegExp(`: 1 of ${asked} turns of the debate lost$`))
  })

  test('needs no debate where none is asked for', () => {
    expect(ruled(read({ text: WORDS }), { over: { strict: false, loose: false } }).label).toBe('safe')
  })

  test.each([
    ['the brief', lost('brief', new Failed('content-filter'))],
    ['a strict turn', lost('strict', new Failed('content-filter'), 1)],
    ['a loose turn', lost('loose', new Failed('content-filter'), 2)],
    ['an image’s description', lost('describe', new Failed('content-filter'), 1)],
  ])('is no post about which the filter refused %s', (_, say) => {
    const post = read({ text: WORDS, media: [https(1)] })
    withheld(ruled(post, { say }))
    expect(ruled(post, { say, label: 'unsafe' })).toMatchObject({ label: 'unsafe', decidedBy: 'arbiter' })
    expect(ruled(post, { say, over: { preset: 'paper' } }).label).toBe('safe')
    expect(ruled(post, { say, over: { unseen: 'judged' } }).label).toBe('safe')
  })

  test('says that it was the filter, where nothing else is missing', () => {
    const arbiter = ruled(read({ text: WORDS }), { say: lost('arbitrate', new Failed('content-filter')) })
    expect(withheld(arbiter)).toMatch(/^arbitrate failed: content-filter/)
  })

  test('needs the brief that the settings ask for, and no precedents', () => {
    for (const code of CODES)
      expect(withheld(ruled(read({ text: WORDS }), { say: lost('brief', new Failed(code)) }))).toContain(
        'the brief lost',
      )
    expect(ruled(read({ text: WORDS }), { say: lost('retrieve', new Failed('library')) }).label).toBe('safe')
  })
})

describe('non-hate', () => {
  const NAMES = ['k-haters', 'k-mhas', 'kodoli', 'kold', 'unsmile']
  const LABELS: Record<string, readonly [string, string]> = {
    'k-haters': ['Not Offensive', 'Offensive'],
    'k-mhas': ['Not Hate Speech', 'Hate Speech'],
    kodoli: ['Not Offensive', 'Offensive'],
    kold: ['Not Offensive', 'Offensive'],
    unsmile: ['Not Hate Speech', 'Hate Speech'],
  }
  const ABSTAINS = "I don't know"
  interface Said {
    readonly label?: 'hate' | 'non-hate'
    /** What a perspective says in place of a stance, by its place among them. */
    readonly stance?: (nth: number) => unknown
    readonly turn?: (nth: number) => unknown
    readonly over?: object
    readonly post?: Post
  }
  const ruled = ({ label = 'non-hate', stance, turn, over = {}, post = read({ text: WORDS }) }: Said = {}) => {
    let turns = 0
    const replies: Replies = ({ ask }) => {
      if (ask.stage === 'retrieve')
        return {
          shelves: ask.lookup?.shelves.map((shelf) => ({ shelf, neighbours: [], problem: null })),
          weak: null,
        }
      if (ask.stage === 'perspective') {
        const nth = NAMES.indexOf(ask.label ?? '')
        if (nth === -1) return stance?.(nth) ?? { reason: 'r', label }
        return stance?.(nth) ?? { reason: 'r', label: LABELS[ask.label ?? '']?.[label === 'hate' ? 1 : 0] }
      }
      if (ask.stage === 'debate') return turn?.(++turns) ?? { argument: 'a' }
      return { reason: 'r', label }
    }
    return drive(made(hate, { perspectives: NAMES, ...over }).script(alone(post), null), replies).conclusion.ruling
  }
  const withheld = (ruling: Ruling) => {
    expect(ruling).toMatchObject({ label: null, decidedBy: 'none' })
    return ruling.degraded.at(-1) ?? ''
  }
  const first = (count: number, reply: unknown) => (nth: number) => (nth < count ? reply : undefined)

  const failures = { fail: new Failed('timeout'), abstain: { reason: 'r', label: ABSTAINS } }
  const counts = Object.entries(failures).flatMap(([how, reply]) =>
    [0, 1, 2, 3, 4, 5].map((count) => [count, how, reply] as const),
  )
  test.each(counts)('needs more than half of the perspectives: %i of 5 %s', (count, how, reply) => {
    const stance = first(count, reply)
    const ruling = ruled({ stance })
    // Where none answered there is no debate, whatever a judge would say.
    const allLost = how === 'fail' && count === 5
    if (allLost) {
      for (const over of [{}, { unheard: 'judged' }])
        expect(withheld(ruled({ stance, label: 'hate', over }))).toBe('no perspective answered: nothing was debated')
      expect(ruled({ stance, over: { preset: 'paper' } })).toMatchObject({ label: 'non-hate', decidedBy: 'judge' })
      return
    }
    if (count <= 2) expect(ruling).toMatchObject({ label: 'non-hate', decidedBy: 'judge' })
    else
      expect(withheld(ruling)).toBe(
        `no label: what was seen looks non-hate, but not all of it was: ${5 - count} of 5 perspectives took a side`,
      )
    expect(ruled({ stance, label: 'hate' })).toMatchObject({ label: 'hate', decidedBy: 'judge' })
    for (const over of [{ preset: 'paper' }, { unheard: 'judged' }])
      expect(ruled({ stance, over })).toMatchObject({ label: 'non-hate', decidedBy: 'judge' })
  })

  test('counts those that fail with those that abstain', () => {
    const mixed = (nth: number) => [failures.fail, failures.abstain, failures.fail][nth]
    expect(withheld(ruled({ stance: mixed }))).toMatch(/: 2 of 5 perspectives took a side$/)
  })

  test.each([
    [0, 4, 5],
    [0.3, 3, 4],
    [0.6, 1, 2],
    [0.8, 0, 1],
  ])(
    'needs more than the set share of them: %d, so %i may be lost and %i may not',
    (minPerspectives, most, tooMany) => {
      const over = { minPerspectives }
      expect(ruled({ over, stance: first(most, failures.fail) }).label).toBe('non-hate')
      withheld(ruled({ over, stance: first(tooMany, failures.fail) }))
    },
  )

  test('goes by the perspectives that are asked: one of two is no more than half', () => {
    const over = { perspectives: ['k-haters', 'kold'] }
    expect(ruled({ over }).label).toBe('non-hate')
    expect(withheld(ruled({ over, stance: first(1, failures.fail) }))).toMatch(/: 1 of 2 perspectives took a side$/)
  })

  test('takes an abstention for a side where the settings file it under non-hate, and a failure never', () => {
    const over = { abstentions: 'else' }
    expect(ruled({ over, stance: first(5, failures.abstain) }).label).toBe('non-hate')
    withheld(ruled({ over, stance: first(3, failures.fail) }))
  })

  const turns = [1, 2, 3, 4].flatMap((n) => CODES.map((code) => [n, code] as const))
  test.each(turns)('needs every turn of the debate: turn %i lost, %s', (n, code) => {
    const turn = (nth: number) => (nth === n ? new Failed(code) : undefined)
    expect(withheld(ruled({ turn }))).toBe(
      'no label: what was seen looks non-hate, but not all of it was: 1 turns of the debate lost',
    )
    expect(ruled({ turn, label: 'hate' }).label).toBe('hate')
    for (const over of [{ preset: 'paper' }, { unheard: 'judged' }])
      expect(ruled({ turn, over }).label).toBe('non-hate')
  })

  test.each([1, 2])('needs the turns of one round where one is asked for: turn %i lost', (n) => {
    expect(ruled({ over: { rounds: 1 } }).label).toBe('non-hate')
    withheld(ruled({ over: { rounds: 1 }, turn: (nth) => (nth === n ? new Failed() : undefined) }))
  })

  test('is no post about which the filter refused a question', () => {
    const filtered = new Failed('content-filter')
    const one = { stance: first(1, filtered) }
    expect(withheld(ruled(one))).toMatch(/: .*filter refused 1 /)
    expect(ruled({ ...one, label: 'hate' }).label).toBe('hate')
    for (const over of [{ preset: 'paper' }, { unheard: 'judged' }])
      expect(ruled({ ...one, over }).label).toBe('non-hate')
    withheld(ruled({ ...one, over: { decide: 'majority' } }))
  })

  test.each(CODES)('is nothing that a base agent did not say: %s', (code) => {
    const over = { decide: 'zero-shot' }
    expect(ruled({ over }).label).toBe('non-hate')
    expect(ruled({ over, label: 'hate' }).label).toBe('hate')
    expect(ruled({ over, stance: () => new Failed(code) })).toMatchObject({ label: null, decidedBy: 'none' })
    expect(ruled({ over: { ...over, preset: 'paper' }, stance: () => new Failed(code) }).label).toBeNull()
  })

  test('by majority is what it was: more than half of all that were asked say so', () => {
    const over = { decide: 'majority' }
    for (const reply of Object.values(failures)) {
      for (const count of [0, 1, 2])
        expect(ruled({ over, stance: first(count, reply) })).toMatchObject({ label: 'non-hate', decidedBy: 'majority' })
      for (const count of [3, 4, 5]) {
        const ruling = ruled({ over, stance: first(count, reply) })
        expect(withheld(ruling)).toMatch(/^majority: /)
      }
    }
  })

  test.each<[string, object]>([
    ['a text that is none', { text: ['x'], media: [{ kind: 'image', alt: 'a pot' }] }],
    ['what its author says of an image, where that is no text', { text: WORDS, media: [{ ...https(1), alt: 7 }] }],
    ['what its author says of a video', { text: WORDS, media: [{ kind: 'video', alt: 'more words' }] }],
    ['what is said in an audio clip, and nobody wrote down', { text: WORDS, media: [{ kind: 'audio', seconds: 9 }] }],
    ['what is said in a video, and nobody wrote down', { text: WORDS, media: [{ kind: 'video', frames: [https(1)] }] }],
    [
      'what its author says of the seventeenth image',
      { text: WORDS, media: Array.from({ length: 17 }, () => ({ kind: 'image', alt: 'more words' })) },
    ],
    [
      'what is said in the seventeenth, a video',
      { text: WORDS, media: [...Array.from({ length: 16 }, () => https(1)), { kind: 'video', transcript: 'more' }] },
    ],
    ['what is said in a video that stands in no list', { text: WORDS, media: { kind: 'video', transcript: 'more' } }],
    ['what is written down of a clip of no known kind', { text: WORDS, media: [{ kind: 'gifv', transcript: 'more' }] }],
    [
      'what its author says of an image that stands in no list',
      { text: WORDS, media: { kind: 'image', alt: 'words' } },
    ],
  ])('is no post of whose words a part was left out: %s', (_, message) => {
    const post = read(message)
    expect(withheld(ruled({ post }))).toMatch(/^no label: what was seen looks non-hate, but not all of it was: /)
    expect(withheld(ruled({ post, over: { decide: 'zero-shot' } }))).toMatch(/^no label: /)
    expect(ruled({ post, label: 'hate' }).label).toBe('hate')
    for (const over of [{ preset: 'paper' }, { unheard: 'judged' }])
      expect(ruled({ post, over }).label).toBe('non-hate')
  })

  test.each<[string, object]>([
    ['an author', { author: ['a'] }],
    ['a language', { lang: ['en', 'de'] }],
    ['a time', { authorSince: 'then' }],
    ['an image that nobody can look at', { media: [{ kind: 'image', url: 'http://x.example/a.png' }] }],
    ['an image that the protocol does not look at', { media: [https(1)] }],
  ])('may be a post whose words are all there: odd is %s', (_, message) => {
    expect(ruled({ post: read({ text: WORDS, ...message }) }).label).toBe('non-hate')
  })
})
