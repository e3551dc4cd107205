import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { rumourEvalFile } from '../e2e/rumoureval.ts'
import { allFinal, environmentOn, send, startService, tell } from '../support/pipeline.ts'
import { startServers } from '../support/servers.ts'

/** A quarter of all calls: 429, errors and odd answers at once, calls that hang, and calls that are ten times as slow. */
const FAULTS = { rate: 0.25, kinds: [], retryAfterSeconds: 1 }
/** Enough that the model, and not the start, is what takes long. */
const LATENCY_MS = 200

it('judges all 155 threads before a model that fails a quarter of its calls within three times the time without', async (context) => {
  const data = rumourEvalFile(155)
  if (data === null) return context.skip('../shared/data is not there')
  const stack = await startServers({ latencyMs: LATENCY_MS })
  try {
    const seconds = async () => {
      const environment = environmentOn(stack)
      const service = await startService(environment)
      try {
        await sleep(1_000)
        const started = performance.now()
        await send(environment, data.file, 'rumoureval2017', { kind: 'recorded', speed: 1e9, maxPauseMs: 1 })
        await allFinal(environment, data.ids.size, 540_000)
        return (performance.now() - started) / 1_000
      } finally {
        await service.kill('SIGTERM')
      }
    }
    const healthy = await seconds()
    stack.understudy?.behave({ faults: FAULTS })
    const unwell = await seconds()
    tell(
      `${data.ids.size} threads: ${healthy.toFixed(1)} s without faults, ${unwell.toFixed(1)} s with ${FAULTS.rate * 100} %: ${(unwell / healthy).toFixed(2)} times`,
    )
    expect(unwell).toBeLessThan(3 * healthy)
  } finally {
    await stack.close()
  }
})
