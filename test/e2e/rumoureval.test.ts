import { expect, it } from 'vitest'
import { startServers } from '../support/servers.ts'
import { countThreads, replayThreads, rumourEvalFile } from './rumoureval.ts'

it('judges real threads to the same final snapshots at any replay speed, and every comment of them', {
  timeout: 240_000,
}, async (context) => {
  const data = rumourEvalFile(30)
  if (data === null) return context.skip('../shared/data is not there')
  const stack = await startServers({ latencyMs: 20 })
  try {
    const slow = await replayThreads(stack, data, { kind: 'recorded', speed: 200_000, maxPauseMs: 50 })
    const fast = await replayThreads(stack, data, { kind: 'flat-out' })
    expect(fast).toEqual(slow)
    await countThreads(stack, data, { kind: 'flat-out' })
  } finally {
    await stack.close()
  }
})
