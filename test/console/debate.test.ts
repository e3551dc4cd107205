import { expect, it, vi } from 'vitest'
import { debateOf } from '../../src/console/debate.ts'
import type { ReadingGuide } from '../../src/contracts/facts/reading.ts'
import { aTurn } from './console-for-tests.ts'

const reading: ReadingGuide = {
  debate: {
    stages: ['debate'],
    opening: 'opening',
    sides: [
      { speaker: 'for', title: 'For' },
      { speaker: 'against', title: 'Against' },
    ],
    showsComments: true,
  },
}

const none = { support: [], oppose: [], precedents: [] }

it('looks at the words of each comment once for a page, however many turns were shown it', () => {
  const ids = Array.from({ length: 50 }, (_, n) => `c${n}`)
  const comments = ids.map((id, n) => ({ id, text: `the harbour was closed at ${n} o’clock`, createdAt: n }))
  const turns = Array.from({ length: 16 }, (_, n) =>
    aTurn('debate', n % 2 === 0 ? 'debater (for)' : 'debater (against)', {
      argument: 'One says: the harbour was closed at 7 o’clock',
    }),
  )
  const evidence = { support: ids, oppose: ids, precedents: [] }
  const looks = vi.spyOn(String.prototype, 'match')
  const { rounds } = debateOf({ turns }, reading, { evidence, comments: comments as never })
  expect(looks.mock.calls.length).toBeLessThanOrEqual(ids.length + turns.length)
  looks.mockRestore()
  expect(rounds).toHaveLength(8)
  expect(rounds[7]?.sides[1]?.quotes).toContain('c7')
})

it('shows the last of several rulings as the judge’s, and those before it among what came before', () => {
  const ruling = (label: string) => ({ reasoning: 'r', score: 0.5, label })
  const turns = [
    aTurn('arbitrate', 'strict (small arbiter)', ruling('safe')),
    aTurn('arbitrate', 'arbiter', ruling('unsafe')),
  ]
  const { judge, rest } = debateOf({ turns }, { ...reading, judge: 'arbitrate' }, { evidence: none, comments: [] })
  expect(judge).toMatchObject({ turn: 1, says: 'unsafe' })
  expect(rest).toMatchObject([{ role: 'strict (small arbiter)', speech: { turn: 0, says: 'safe' } }])
})
