import { expect, it } from 'vitest'
import { splitRedis } from './split.ts'

it('a process that is cut off from its sentinels publishes nothing of what it concludes on a master that was replaced', {
  timeout: 240_000,
}, async () => {
  const { contested, missing, log } = await splitRedis({ minReplicas: 0, cutBeforeMs: 0 })
  expect({ contested, missing }).toEqual({ contested: [], missing: [] })
  expect(log.filter((line) => line.includes('"sentinels:silent"'))).not.toEqual([])
})
