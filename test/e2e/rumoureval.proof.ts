import { expect, it } from 'vitest'
import { startServers } from '../support/servers.ts'
import { countThreads, replayThreads, rumourEvalFile } from './rumoureval.ts'

it('judges all 155 threads to the same final snapshots at two speeds, and all 2,327 comments', async (context) => {
  const data = rumourEvalFile(155)
  if (data === null) return context.skip('../shared/data is not there')
  const stack = await startServers({ latencyMs: 100 })
  try {
    const slow = await replayThreads(stack, data, { kind: 'recorded', speed: 20_000, maxPauseMs: 1_000 })
    const fast = await replayThreads(stack, data, { kind: 'recorded', speed: 200_000, maxPauseMs: 200 })
    expect(fast).toEqual(slow)
    await countThreads(stack, data, { kind: 'recorded', speed: 200_000, maxPauseMs: 200 })
  } finally {
    await stack.close()
  }
})
