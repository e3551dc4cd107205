import { describe, expect, it, test } from 'vitest'
import { samplingRanks } from '../../../src/contracts/facts/sampling-rank.ts'
import type { Post } from '../../../src/contracts/facts/thread.ts'
import { storyIds } from '../../../src/judging/threads/story-id.ts'
import { storyWords } from '../../../src/protocols/same-words.ts'
import { postOf, thread } from '../../contracts/samples.ts'
import { CHANGES, COPIES, type PlantedPost, plantedPost } from '../../support/planted-stories.ts'

const P1 = thread('p1')
const storyOf = storyIds(samplingRanks('a key'), storyWords)
const idOf = (change: Partial<Post>, tenant = 'default') => storyOf(thread('p1', tenant), postOf(P1, change))
const planted = ({ text, pictures }: PlantedPost) =>
  idOf({ text, ...(pictures.length === 0 ? {} : { media: pictures.map((url) => ({ kind: 'image' as const, url })) }) })

const TEXT = 'Police confirm that nine people were hurt in the harbor this morning'
const image = (url: string) => ({ media: [{ kind: 'image' as const, url }] })

describe('the story of a post', () => {
  it('is found for 2,000 copies of 200 posts, and joins no other of them', () => {
    const stories = Array.from({ length: 200 }, (_, nth) => planted(plantedPost(nth)))
    expect(new Set(stories).size).toBe(200)
    const ways = Object.entries(COPIES)
    const found = Array.from({ length: 2_000 }, (_, at) => {
      const [nth, [way = '', copied] = []] = [at % 200, ways[at % ways.length]]
      const { text, pictures } = plantedPost(nth)
      const story = planted({ text: copied?.(text, at) ?? '', pictures })
      return { way, isOwn: story === stories[nth], isOther: story !== stories[nth] && stories.includes(story) }
    })
    const lost = found.filter(({ isOwn }) => !isOwn)
    expect(1 - lost.length / found.length).toBeGreaterThanOrEqual(0.95)
    // In Turkish capitals two letters are one.
    expect([...new Set(lost.map(({ way }) => way))]).toEqual(['shouted'])
    expect(found.filter(({ isOther }) => isOther)).toEqual([])
  })

  test.each(Object.entries(CHANGES))('is another one of 500 that are %s', (_, change) => {
    const joined = Array.from({ length: 500 }, (__, nth) => nth).filter(
      (nth) => planted(plantedPost(nth)) === planted(change(nth)),
    )
    expect(joined).toEqual([])
  })

  it('tells links apart that differ in their letters alone, in any spelling of their host', () => {
    const link = (url: string) => idOf({ text: `${TEXT} ${url}` })
    expect(link('https://T.example/AbC')).toBe(link('https://t.example/AbC.'))
    expect(link('https://t.example/AbC')).not.toBe(link('https://t.example/aBc'))
    expect(link('https://t.example/a1b2c3d4')).not.toBe(link('https://t.example/a1b2c3d5'))
    expect(link('ｈttps://t.example/a1b2c3d4')).not.toBe(link('ｈttps://t.example/a1b2c3d5'))
    expect(link('hxxps://t[.]example/a1b2c3d4')).not.toBe(link('hxxps://t[.]example/a1b2c3d5'))
  })

  it('reads a text to its end, also what its thread does not keep', () => {
    const long = `${TEXT}, `.repeat(60)
    expect(idOf({ text: `${long} it is so ${long}` })).not.toBe(idOf({ text: `${long} it is not so ${long}` }))
    const cut = postOf(P1, { text: TEXT, cut: { left: 6, of: TEXT.length + 6 } })
    const ids = [`${TEXT} is so`, `${TEXT} is no`, `${TEXT} is so`].map((text) => storyOf(P1, cut, text))
    expect(ids[0]).toBe(ids[2])
    expect(new Set([...ids, idOf({ text: TEXT })]).size).toBe(3)
  })

  it('tells pictures apart by their addresses, and by their bytes where these came', () => {
    const bytes = (text: string) => Buffer.from(text).toString('base64')
    const none = idOf({ text: TEXT })
    expect(idOf({ text: TEXT, ...image('https://a.example/1.jpg') })).not.toBe(none)
    expect(idOf({ text: TEXT, ...image(`data:image/png;base64,${bytes('one')}`) })).toBe(
      idOf({ text: TEXT, ...image(`data:image/jpeg;base64,${bytes('one')}`) }),
    )
    expect(idOf({ text: TEXT, ...image(`data:image/png;base64,${bytes('one')}`) })).not.toBe(
      idOf({ text: TEXT, ...image(`data:image/png;base64,${bytes('two')}`) }),
    )
  })

  test.each<[string, Partial<Post>]>([
    ['few words', { text: 'Fire at the harbor!' }],
    ['emoji', { text: '👍 👍 👍 👍 👍 👍 👍 👍' }],
    ['a picture that nothing tells apart', { text: TEXT, media: [{ kind: 'image', alt: 'a fire' }] }],
    ['a clip', { text: TEXT, clips: [{ kind: 'video', transcript: 'a fire' }] }],
  ])('is none for %s', (_, change) => {
    expect(idOf(change)).toBeNull()
  })

  it('is a tenant’s own, and nobody’s without the key', () => {
    expect(idOf({ text: TEXT })).toMatch(/^[0-9a-z]{20}$/)
    expect(idOf({ text: TEXT }, 't2')).not.toBe(idOf({ text: TEXT }))
    expect(storyIds(samplingRanks('another key'), storyWords)(P1, postOf(P1, { text: TEXT }))).not.toBe(
      idOf({ text: TEXT }),
    )
    expect(storyOf(thread('p1', 'default', 'reply'), postOf(P1, { text: TEXT }))).toBeNull()
  })

  it('takes time in proportion to its text', () => {
    const costly = [
      'a.'.repeat(50_000),
      'RT @a: '.repeat(20_000),
      'ab-'.repeat(40_000),
      '@'.repeat(100_000),
      '\u0301'.repeat(90_000),
    ]
    for (const text of costly) expect(() => idOf({ text: `${TEXT} ${text}` })).not.toThrow()
  }, 5_000)
})
