import { expect, test, vi } from 'vitest'
import { promptsOf } from '../../../src/app/composition/make-protocols.ts'
import { fences } from '../../../src/contracts/facts/fence.ts'
import { CATEGORIES } from '../../../src/door/scoring/attributes.ts'
import { SCORE_PROMPTS, scorer } from '../../../src/door/scoring/score-text.ts'
import { gateway } from '../../../src/models/gateway.ts'
import { readPrompts } from '../../../src/protocols/prompts.ts'
import { GATEWAY, memoryParts, noImages } from '../../support/parts.ts'

const SCORES = Object.fromEntries(Object.values(CATEGORIES).map((name) => [name, 10]))

/** A scorer whose model may be called once at a time. `answer` ends the call in flight. */
function setUp(timeout: number) {
  const answers: (() => void)[] = []
  const refused = vi.fn()
  const made = scorer({
    gateway: gateway({
      model: {
        async complete() {
          await new Promise<void>((resolve) => answers.push(resolve))
          const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 }
          return { text: JSON.stringify(SCORES), finish: 'stop', model: 'm', ...usage }
        },
      },
      loadImage: noImages,
      ...memoryParts(Date.now),
      settings: { ...GATEWAY, callTimeout: 60_000, limits: { models: { m: { inFlight: 1 } }, tenants: {} } },
      clock: Date.now,
      report: (name) => void (name === 'call:limited' && refused()),
    }),
    prompts: readPrompts(promptsOf('score'), SCORE_PROMPTS),
    fence: fences('key', 1_000),
    maxChars: 1_000,
    settings: { timeout, atOnce: 8 },
    clock: Date.now,
  })
  const score = (tenant: string, gone = new AbortController().signal) =>
    made.categories({
      text: tenant,
      pieces: [tenant],
      tenant,
      part: 'key',
      remember: false,
      gone,
      signal: new AbortController().signal,
    })
  return { score, refused, answers }
}

test.each(['left', 'late'])(
  'a score that nobody waits for any more keeps no place in a limit’s line: %s',
  async (how) => {
    const { score, refused, answers } = setUp(how === 'late' ? 400 : 60_000)
    const first = score('first')
    first.catch(() => {})
    await vi.waitFor(() => expect(answers).toHaveLength(1))
    const left = new AbortController()
    const second = score('second', left.signal)
    second.catch(() => {})
    await vi.waitFor(() => expect(refused).toHaveBeenCalled())
    if (how === 'left') left.abort()
    await expect(second).rejects.toThrow()
    answers[0]?.()
    await first.catch(() => {})
    refused.mockClear()
    const third = score('third')
    await vi.waitFor(() => expect(answers).toHaveLength(2))
    answers[1]?.()
    expect((await third).scores).toEqual(SCORES)
    expect(refused).not.toHaveBeenCalled()
  },
)
