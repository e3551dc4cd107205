import { expect, test } from 'vitest'
import { postMessage } from '../../../src/contracts/facts/messages.ts'
import { keptPost } from '../../../src/judging/threads/kept.ts'

const RULES = { maxTextChars: 10_000, isPlaceholder: () => false }
const kept = (media: readonly object[]) =>
  keptPost(postMessage.parse({ id: 'p', text: 'words', media, createdAt: '2026-05-01T10:00:00Z' }), RULES)
const WORDS = 'so it is said, '.repeat(4_000)
const frame = { kind: 'image', alt: WORDS }

test('a clip keeps its words, as long as a text may be, with those of its frames', () => {
  const { clips = [] } = kept([{ kind: 'video', transcript: WORDS.slice(0, 9_999), frames: [frame] }])
  expect(clips).toMatchObject([{ transcript: WORDS.slice(0, 9_999), frames: [{ cut: { of: WORDS.length } }] }])
  expect(clips[0]?.frames?.[0]?.alt?.length).toBeGreaterThan(3_500)
})

test('as many clips as there may be, each as long as may be, are kept with the words of one text and a line of each frame', () => {
  const clip = { kind: 'audio', transcript: WORDS, frames: Array.from({ length: 16 }, () => frame) }
  const { clips = [] } = kept(Array.from({ length: 16 }, () => clip))
  expect(clips).toHaveLength(16)
  const words = clips.flatMap(({ transcript = '', frames = [] }) => [transcript, ...frames.map(({ alt = '' }) => alt)])
  expect(words).toHaveLength(16 * 17)
  expect(words.join('').length).toBeLessThanOrEqual(10_000 + 16 * 16 * 100)
  for (const { cut } of clips) expect(cut?.of).toBe(WORDS.length)
})
