import { expect, test } from 'vitest'
import { promptsOf } from '../../../src/app/composition/make-protocols.ts'
import { type Fence, fences } from '../../../src/contracts/facts/fence.ts'
import { moderationsRoute } from '../../../src/door/moderations.ts'
import { CATEGORIES } from '../../../src/door/scoring/attributes.ts'
import { SCORE_PROMPTS, scorer } from '../../../src/door/scoring/score-text.ts'
import type { AskResult } from '../../../src/models/context.ts'
import { readPrompts } from '../../../src/protocols/prompts.ts'
import { testDoor } from '../door-for-tests.ts'

const SCORES = Object.fromEntries(Object.values(CATEGORIES).map((name) => [name, 10]))

test('/v1/moderations cuts a long text once, for its price and for its scores', async () => {
  const fence = fences('key', 1_000)
  let cuts = 0
  let calls = 0
  const counting: Fence = Object.assign((...given: Parameters<Fence>) => fence(...given), {
    list: fence.list,
    paper: fence.paper,
    most: fence.most,
    unread(kind: string, text: string) {
      cuts++
      return fence.unread(kind, text)
    },
  })
  const made = scorer({
    gateway: {
      async ask() {
        calls++
        return { answer: SCORES, model: 'm' } as AskResult // the parts that a scorer reads
      },
    },
    prompts: readPrompts(promptsOf('score'), SCORE_PROMPTS),
    fence: counting,
    maxChars: 1_000,
    settings: { timeout: 5_000, atOnce: 8 },
    clock: Date.now,
  })
  const door = testDoor({ routes: [moderationsRoute({ scorer: made, flagAt: 0.5, promptsHash: 'p' })] })
  const { status } = await door.ask('POST', '/v1/moderations', { input: 'Nothing to see here. '.repeat(500) })
  expect(status).toBe(200)
  expect(calls).toBeGreaterThan(10)
  expect(cuts).toBe(calls)
})
