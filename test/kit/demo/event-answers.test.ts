import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { judgeFileSubjects } from '../../../src/app/commands/judging/file-judging.ts'
import { BY_HAND } from '../../../src/contracts/facts/by-hand.ts'
import type { Verdict } from '../../../src/contracts/facts/verdict.ts'
import { fileMessages } from '../../../src/data-files/formats.ts'
import { DEMO_DEBATES, DEMO_KEY, RECORDED } from '../../../src/kit/demo/demo.ts'
import { EVENT } from '../../../src/kit/demo/event.ts'
import { readRecordedAnswers, recordedModel } from '../../../src/kit/demo/recorded-answers.ts'

const recorded = readRecordedAnswers(RECORDED)
const messages = (bad: Parameters<typeof fileMessages>[2]) => fileMessages(EVENT, 'gavel', bad)

// Of the last revisions: before, an answer stands only where just what it answers was shown, and else the understudy's does.
test.each([
  ['hate', 21],
  ['rumor', 21],
  ['safety', 21],
  ['counterspeech', 2],
])('all questions about the whole event by %s are answered by hand', async (protocol, subjects) => {
  const verdicts: Verdict[] = []
  const others: string[] = []
  const model = recordedModel(recorded, {
    async complete({ of, signal }) {
      others.push(JSON.stringify(of))
      throw signal.reason ?? new Error('nobody answers here')
    },
  })
  const settings = loadSettings({ GAVEL_FENCES_KEY: DEMO_KEY, ...DEMO_DEBATES })
  const file = { protocol, file: EVENT, format: 'gavel' as const, finalAge: Number.POSITIVE_INFINITY, model, messages }
  await judgeFileSubjects(
    settings,
    { ...file, secret: DEMO_KEY },
    {
      signal: new AbortController().signal,
      judged: (verdict) => verdicts.push(verdict),
      refused() {},
      corrected() {},
      unrouted() {},
      failed() {},
    },
  )
  expect(others).toEqual([])
  expect(verdicts).toHaveLength(subjects)
  const named = verdicts.flatMap(({ models }) => Object.entries(models).filter(([role]) => role !== 'library'))
  expect(new Set(named.map(([, answered]) => answered))).toEqual(new Set([BY_HAND]))
})
