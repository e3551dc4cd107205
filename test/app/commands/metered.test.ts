import { expect, it } from 'vitest'
import { metered } from '../../../src/app/commands/judging/metered.ts'
import type { ModelRequest } from '../../../src/contracts/ports/model.ts'

const model = {
  complete: async () => ({
    text: 'so',
    finish: 'stop' as const,
    model: 'local',
    promptTokens: 10,
    cachedTokens: 0,
    completionTokens: 5,
  }),
}
const request = { model: 'local', messages: [], maxTokens: 5 } as unknown as ModelRequest

it('asks no model without a price where money is limited, and says which; one that is free by its price it asks', async () => {
  let stopped = 0
  const limited = metered(model, { prices: {}, imageTokens: 1 }, 1, () => stopped++)
  await expect(limited.model.complete(request)).rejects.toThrow('local has no price')
  expect([limited.unpriced(), limited.spent.calls, stopped]).toEqual(['local', 0, 1])
  const free = metered(
    model,
    { prices: { local: { prompt: 0, cached: 0, completion: 0 } }, imageTokens: 1 },
    1,
    () => stopped++,
  )
  await free.model.complete(request)
  const unlimited = metered(model, { prices: {}, imageTokens: 1 }, Number.POSITIVE_INFINITY, () => stopped++)
  await unlimited.model.complete(request)
  expect([free.spent.calls, unlimited.spent.calls, unlimited.unpriced(), stopped]).toEqual([1, 1, null, 1])
})

it('tells how long answers took, and how many calls wait', async () => {
  let now = 0
  const ends: (() => void)[] = []
  const slow = {
    async complete() {
      await new Promise<void>((resolve) => void ends.push(resolve))
      return model.complete()
    },
  }
  const meter = metered(
    slow,
    { prices: {}, imageTokens: 1 },
    Number.POSITIVE_INFINITY,
    () => {},
    () => now,
  )
  const both = [meter.model.complete(request), meter.model.complete(request)]
  expect([meter.inFlight(), meter.spent.ms]).toEqual([2, 0])
  now = 3_000
  ends[0]?.()
  await both[0]
  expect([meter.inFlight(), meter.spent.ms]).toEqual([1, 3_000])
  now = 5_000
  ends[1]?.()
  await both[1]
  expect([meter.inFlight(), meter.spent.calls, meter.spent.ms]).toEqual([0, 2, 8_000])
})

it('counts an estimate for an answer that does not say what it used, and takes room for thoughts for no mistake', async () => {
  const settings = { prices: { local: { prompt: 1, cached: 1, completion: 1 } }, imageTokens: 1 }
  const spentOn = async (reply: object, thinkingTokens: number) => {
    const said = { complete: async () => ({ ...(await model.complete()), ...reply }) }
    const meter = metered(said, settings, 1, () => {})
    await meter.model.complete({ ...request, thinkingTokens })
    return meter.spent.tokens
  }
  // Two bytes of an answer.
  expect(await spentOn({ unreported: true }, 0)).toBe(1)
  expect(await spentOn({ completionTokens: 990 }, 1000)).toBe(1000)
  expect(await spentOn({ completionTokens: 990 }, 0)).toBe(1)
})
