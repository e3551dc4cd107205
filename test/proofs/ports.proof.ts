import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { servedAs } from '../../src/console/request-guard.ts'
import { askedBeside, FILLERS, type Holding, holdingOf, STATES } from '../ports/filled.ts'
import { servedPorts } from '../ports/served-ports.ts'
import { whyNoCrowd } from '../support/crowd.ts'

// Every port with as many connections as it may have, filled by one address in every state, and what of memory that takes.

const { door, console: pages } = loadSettings({})
const CONNECTIONS = {
  door: door.connections,
  console: servedAs({ ...pages, publicUrl: '' }).connections,
  metrics: 128,
}
const LARGE_BYTES = 1_000_000
/** Most megabytes that this process may grow by: the answers that it keeps for who does not read, and what they are made of. */
const MOST_GROWN = 400
const MB = 2 ** 20
let served: Awaited<ReturnType<typeof servedPorts>>
beforeAll(async () => {
  served = await servedPorts(CONNECTIONS, LARGE_BYTES)
})
afterAll(() => served.close())

/** Connections that another process holds: what ends them. */
async function heldElsewhere(holding: Holding, count: number): Promise<() => Promise<unknown>> {
  const crowd = fork(join(import.meta.dirname, '..', 'ports', 'crowd-process.ts'))
  crowd.send({ holding, count })
  await once(crowd, 'message')
  return () => {
    crowd.disconnect()
    return once(crowd, 'exit')
  }
}

/** The most that this process has grown by while this was done, in megabytes. */
async function grownDuring(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss()
  let most = before
  const look = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 50)
  await work().finally(() => clearInterval(look))
  return Math.round((most - before) / MB)
}

describe.each(['door', 'console', 'metrics'] as const)('the port of %s, full', (name) => {
  describe.each(FILLERS)('of %s', (by) => {
    it.each(STATES)('with connections in the state: %s, answers everybody else, in bounded memory', async (state) => {
      const count = Math.round(1.15 * CONNECTIONS[name])
      expect(whyNoCrowd(count)).toBeNull()
      const grown = await grownDuring(async () => {
        const empty = await heldElsewhere(holdingOf(served.ports[name], by, state), count)
        const statuses = await askedBeside(served.ports[name], 15)
        await empty()
        expect(statuses.filter((status) => status !== 200)).toEqual([])
      })
      process.stderr.write(`${name}, ${by}, ${count} with ${state}: grown by ${grown} MB\n`)
      expect(grown).toBeLessThan(MOST_GROWN)
    })
  })
})
