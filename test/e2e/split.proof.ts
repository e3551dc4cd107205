import { expect, it } from 'vitest'
import { tell } from '../support/pipeline.ts'
import { splitRedis } from './split.ts'

const SEEDS = Array.from({ length: 10 }, (_, at) => at + 1)

it('a process that is cut off from its sentinels publishes nothing of what it concludes on a master that was replaced', async () => {
  const { contested, missing, log } = await splitRedis({ minReplicas: 0, cutBeforeMs: 0 })
  expect({ contested, missing }).toEqual({ contested: [], missing: [] })
  expect(log.filter((line) => line.includes('"sentinels:silent"'))).not.toEqual([])
})

it.each(SEEDS)('no id gets two contents where no master takes writes without a replica: seed %i', async (seed) => {
  const { contested, missing } = await splitRedis({ minReplicas: 1, cutBeforeMs: (seed * 370) % 2_500 })
  expect({ contested, missing }).toEqual({ contested: [], missing: [] })
})

it.each(SEEDS)('nor where one does, and who is cut off from the sentinels publishes nothing: seed %i', async (seed) => {
  const { contested, missing } = await splitRedis({ minReplicas: 0, cutBeforeMs: (seed * 370) % 2_500 })
  tell(`seed ${seed}: ${contested.length} with two contents`)
  expect({ contested, missing }).toEqual({ contested: [], missing: [] })
})
