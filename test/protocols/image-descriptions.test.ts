import { expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import type { Post } from '../../src/contracts/facts/thread.ts'
import { describeImages } from '../../src/protocols/image-descriptions.ts'
import { drive, EVERY_DEBATE, Failed, plainFence, plainRank, wordsOf } from './drive.ts'

const post = (...alts: (string | undefined)[]): Post => ({
  id: 'p',
  text: 'Look at them.',
  createdAt: 0,
  media: alts.map((alt) => ({ kind: 'image', ...(alt === undefined ? {} : { alt }) })),
})

test('an author can’t pass words of the text off as an image’s: it is said how many are, and how many images nobody has seen', () => {
  expect(describeImages(post())).toBe('')
  expect(describeImages(post('a sign'))).toMatch(/^\nIn it, the last "\[image: …\]" is what .*nobody has checked\.$/)
  expect(describeImages(post('a sign', 'a dog'))).toContain('the last 2 "[image: …]" are')
  expect(describeImages(post(undefined))).toMatch(/^\nThe post also has an image that nobody has looked at: .*\.$/)
  expect(
    describeImages(post('a sign', ' ', undefined))
      .split('\n')
      .at(-1),
  ).toContain('2 images')
})

test.each(['hate', 'rumor'])('%s says so after the words themselves', (name) => {
  const { protocols } = loadSettings({})
  const [made] = makeProtocols(
    { [name]: { ...protocols[name], enabled: true, ...EVERY_DEBATE[name] } } as typeof protocols,
    plainFence,
    plainRank,
  )
  const subject = { post: post('a sign', undefined), comments: [], leftOut: 0 }
  if (made === undefined) throw new Error('not made')
  const { asked } = drive(made.script(subject, null), () => new Failed())
  const words = wordsOf(asked[0]?.ask.messages ?? [])
  expect(words).toContain(`\n[image: a sign]>${describeImages(subject.post)}\n`)
})
