import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { askedBeside, FILLERS, fill, holdingOf, STATES } from './filled.ts'
import { servedPorts } from './served-ports.ts'

// Full size, and what of memory it takes meanwhile: npm run proof -- ports.

/** Some hundred connections with two ends each take long on a busy machine. */
vi.setConfig({ testTimeout: 120_000 })

const CONNECTIONS = 200
const HELD = 230
const TIMES = 3
/** With those that are pipelined more than a system keeps for who does not read. */
const LARGE_BYTES = 300_000
let served: Awaited<ReturnType<typeof servedPorts>>
beforeAll(async () => {
  served = await servedPorts({ door: CONNECTIONS, console: CONNECTIONS, metrics: CONNECTIONS }, LARGE_BYTES)
})
afterAll(() => served.close())

describe.each(['door', 'console', 'metrics'] as const)('the port of %s, filled', (name) => {
  describe.each(FILLERS)('by %s', (by) => {
    it.each(STATES)('with connections in the state: %s, answers everybody else', async (state) => {
      const empty = await fill(holdingOf(served.ports[name], by, state), HELD)
      try {
        const statuses = await askedBeside(served.ports[name], TIMES)
        expect(statuses.filter((status) => status !== 200)).toEqual([])
      } finally {
        empty()
      }
    })
  })
})
