import { describe, expect, test } from 'vitest'
import { loadFiles, loadSettings } from '../../config/load.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import { postMessage } from '../../src/contracts/facts/messages.ts'
import type { Post } from '../../src/contracts/facts/thread.ts'
import { messageKeeper } from '../../src/judging/threads/kept.ts'
import { withClips } from '../../src/protocols/clips.ts'
import { hate } from '../../src/protocols/hate/index.ts'
import { safety } from '../../src/protocols/safety/index.ts'
import { drive, EVERY_DEBATE, Failed, plainFence, plainRank, type Replies } from './drive.ts'

const { protocols } = loadSettings({})
function protocolOf(kind: typeof safety | typeof hate) {
  const { enabled: _, ...shipped } = protocols[kind.name] ?? {}
  const settings = { ...shipped, ...(kind.name === 'hate' ? { controlShare: 0, cites: false } : EVERY_DEBATE.safety) }
  const parts = { prompts: promptsOf(kind.name), files: loadFiles, fence: plainFence, samplingRank: plainRank }
  return kind.make({ settings, ...parts })
}

const labelsOf = (kind: typeof safety | typeof hate) => kind.labels ?? { harmful: '', harmless: '' }

const keeper = messageKeeper({ maxTextChars: 200, placeholders: [] })
function postWith(media: readonly object[], text = 'Soup at seven.'): Post {
  const message = postMessage.parse({ id: 'p', createdAt: '2026-05-01T12:00:00Z', text, media })
  return keeper.post(message)
}

/** All that was asked, and the ruling, where everything that is asked looks harmless, or harmful. */
function judged(kind: typeof safety | typeof hate, post: Post, { isHarmful = false, unseen = false } = {}) {
  const label = labelsOf(kind)[isHarmful ? 'harmful' : 'harmless']
  const report = { reasoning: 'r', evidence: [], categories: [], label, score: isHarmful ? 0.9 : 0.1 }
  const plain: Record<string, unknown> = {
    describe: unseen ? new Failed('image', 'gone') : { seen: 'yes', description: 'A pot.' },
    retrieve: { shelves: [{ shelf: 'precedents', neighbours: [], problem: null }], weak: null },
    brief: { summary: 's', precedents: [], patterns: 'p' },
    strict: { reasoning: 'r', score: 0.2 },
    loose: { reasoning: 'r', score: 0.1 },
    arbitrate: { ...report, rule: isHarmful ? 'confirmation' : 'exoneration' },
    judge: { reason: 'r', label },
  }
  const reply: Replies = ({ ask }) => plain[ask.stage]
  const driven = drive(protocolOf(kind).script({ post, comments: [], leftOut: 0 }, null), reply)
  const asked = driven.asked.flatMap(({ ask }) => ask.messages)
  return { ruling: driven.conclusion.ruling, words: asked.map(({ content }) => content).join('\n'), asked }
}

const FRAME = { kind: 'image', url: 'https://images.example/1.png', alt: 'a pot', at: 3.5 }
const SAID = 'They say that soup is served.'
const VIDEO = { kind: 'video', transcript: SAID, frames: [FRAME], seconds: 12.5 }

/** What a message gives of a clip, and what a verdict says is missing; null: nothing is. */
const KINDS: readonly (readonly [string, object, RegExp | null])[] = [
  [
    'a video of which nothing is given',
    { kind: 'video' },
    /what is said in this video was not given.*no picture of this video was given/,
  ],
  ['an audio clip of which nothing is given', { kind: 'audio' }, /what is said in this audio was not given/],
  [
    'a video with its transcript alone',
    { kind: 'video', transcript: SAID },
    /media\.0\.frames: no picture of this video was given/,
  ],
  [
    'a video with pictures alone',
    { kind: 'video', frames: [FRAME] },
    /media\.0\.transcript: what is said in this video was not given/,
  ],
  ['an audio clip with its transcript', { kind: 'audio', transcript: SAID }, null],
  ['a video with its transcript and pictures', VIDEO, null],
  ['a video in which nothing is said', { ...VIDEO, transcript: '' }, null],
  ['a video whose pictures are an empty list', { ...VIDEO, frames: [] }, /no picture of this video was given/],
  ['a video whose transcript is none', { ...VIDEO, transcript: 7 }, /what is said in this video was not given/],
  [
    'a video with a longer transcript than is kept',
    { ...VIDEO, transcript: SAID.repeat(20) },
    /media\.0\.transcript: \d+ of \d+ characters not read/,
  ],
  [
    'a video with odd times',
    { ...VIDEO, seconds: -1, frames: [FRAME, { ...FRAME, at: 'soon' }, { ...FRAME, at: 1e9 }] },
    null,
  ],
  ['a video with other words of its own', { ...VIDEO, alt: 'more words' }, /media\.0\.alt: words of a clip/],
]

describe.each([safety, hate])('$name', (kind) => {
  test.for(KINDS)('has a benign label beside %s only if all of it is there', ([, clip, missing]) => {
    const { ruling } = judged(kind, postWith([clip]))
    expect(ruling.label).toBe(missing === null ? labelsOf(kind).harmless : null)
    if (missing !== null) expect(ruling.degraded.join('; ')).toMatch(missing)
    expect(judged(kind, postWith([clip]), { isHarmful: true }).ruling.label).toBe(labelsOf(kind).harmful)
  })

  test('is shown what is said, and by pictures their places', () => {
    const { words } = judged(kind, postWith([{ kind: 'audio', transcript: 'a song', seconds: 4 }, VIDEO]))
    expect(words).toContain('[said in audio 1 of 4 s: a song]')
    expect(words).toContain(`[said in video 2 of 12.5 s: ${SAID}]`)
    expect(words).toContain('a picture of video 2 at 3.5 s')
  })

  test('judges a post that has nothing but what is said in a clip', () => {
    const post = postWith([{ kind: 'audio', transcript: SAID }], '')
    expect(protocolOf(kind).accepts(post)).toBe(true)
    expect(judged(kind, post).ruling.label).toBe(labelsOf(kind).harmless)
  })
})

test('pictures of a clip that no model could see leave nothing benign', () => {
  const { ruling } = judged(safety, postWith([VIDEO]), { unseen: true })
  expect(ruling.degraded.at(-1)).toMatch(/1 of 1 images not seen/)
})

test('pictures of a clip without words leave hate nothing benign, for it reads words only', () => {
  const { alt: _, ...bare } = FRAME
  const { ruling } = judged(hate, postWith([{ ...VIDEO, frames: [bare] }]))
  expect(ruling.degraded.at(-1)).toMatch(/1 pictures of clips not seen/)
})

test('a post without clips is asked about as it was', () => {
  const post = postWith([{ kind: 'image', url: 'https://images.example/1.png' }])
  expect(withClips(post)).toBe(post)
})
