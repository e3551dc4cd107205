import { expect, it } from 'vitest'
import { aVerdict } from '../support/verdicts.ts'
import { DEAD_HEADER } from './expected.ts'
import type { TopicRecord } from './reader.ts'
import { storyBreaches } from './stories.ts'

const on = (values: readonly object[]): TopicRecord[] =>
  values.map((value, offset) => ({
    partition: 0,
    offset: String(offset),
    timestamp: 0,
    key: '',
    headers: {},
    value: JSON.stringify(value),
  }))
const TEXT = 'The dam is under water now, they say.'
const POSTS = [
  { id: 'a', text: `${TEXT} @zqpostx1qz` },
  { id: 'b', text: `${TEXT} @zqpostx2qz` },
  { id: 'c', text: 'The bridge is under water now, they say.' },
]
/** What nobody can read, and is a dead letter. */
const POISON = {
  partition: 0,
  offset: '9',
  timestamp: 0,
  key: '',
  headers: { [DEAD_HEADER]: 'x' },
  value: '{"id":"half"!',
}
const story = (id: string, members: number, labels = { rumor: members }) => ({ id, members, reach: 0, labels })

function breaches(stories: readonly ReturnType<typeof story>[], losses = 0) {
  const verdicts = stories.map((one, nth) =>
    aVerdict('2025-03-01T00:00:00Z', { id: `rumor~${POSTS[nth]?.id}~r1`, subjectId: POSTS[nth]?.id ?? '', story: one }),
  )
  const transcripts = POSTS.map(({ id, text }) => ({
    verdictId: `rumor~${id}~r1`,
    subject: { post: { id, text, createdAt: 0 }, comments: [], leftOut: 0 },
  }))
  const evidence = { posts: [...on(POSTS), POISON], verdicts: on(verdicts), transcripts: on(transcripts), losses }
  return storyBreaches(evidence, [])
}

it('posts that say the same have one id, and are no more than the topic has', () => {
  expect(breaches([story('s', 1), story('s', 2), story('t', 1)])).toEqual([])
  expect(breaches([story('s', 1), story('u', 1), story('t', 1)])).toHaveLength(1)
  expect(breaches([story('s', 1), story('u', 1), story('t', 1)], 1)).toEqual([])
  // A post that is read again counts for its second life beside its first.
  expect(breaches([story('s', 1), story('s', 4), story('t', 2)], 1)).toEqual([])
  expect(breaches([story('s', 1), story('s', 5), story('t', 3)], 1)).toHaveLength(2)
  expect(breaches([story('s', 1), story('s', 2), story('s', 1)])).toHaveLength(1)
  expect(breaches([story('s', 1), story('s', 3), story('t', 1)])).toHaveLength(1)
  expect(breaches([story('s', 1), story('s', 2, { rumor: 3 }), story('t', 1)])).toHaveLength(1)
})

it('counts are those of the threads that stay', () => {
  const none = { posts: [], verdicts: [], transcripts: [], losses: 0 }
  const counted = (fields: Record<string, string>) =>
    storyBreaches(none, [{ key: 'k', fields, staying: [['rumor non-rumor'], []] }])
  expect(counted({ '0 posts': '2', '0 label rumor non-rumor': '1', '17 posts': '4' })).toEqual([])
  expect(counted({ '0 posts': '3', '0 label rumor non-rumor': '1' })).toHaveLength(1)
  expect(counted({ '0 posts': '2' })).toHaveLength(1)
  expect(counted({ '0 posts': '2', '0 label rumor non-rumor': '1', '17 posts': '-1' })).toHaveLength(1)
})
