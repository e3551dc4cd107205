import { expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { longestCaseMs } from '../../src/judging/engine/deadline.ts'
import { keepTimes } from '../../src/operations/keep-times.ts'

test.each([
  { memo: '24h', answers: '1h' },
  { memo: '1m', answers: '2h' },
])(
  'what was asked is known for as long as its answer, or what the memo has of it, may be erased: $memo, $answers',
  (of) => {
    const settings = loadSettings({ GAVEL_MEMO_KEEP: of.memo, GAVEL_DOOR_KEEP_ANSWERS: of.answers })
    const { keepAskedMs } = keepTimes(settings)
    const longest = longestCaseMs(settings.cases)
    expect(keepAskedMs).toBeGreaterThanOrEqual(longest + settings.memo.keep)
    expect(keepAskedMs).toBeGreaterThanOrEqual(longest + settings.door.keepAnswers)
  },
)
