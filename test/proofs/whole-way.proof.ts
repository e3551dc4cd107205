import { afterAll, beforeAll, expect, it } from 'vitest'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { type RecordedService, recordedService, wholeWay } from '../e2e/whole-way.ts'
import { aPostgres } from '../support/postgres-server.ts'
import { type Servers, startServers } from '../support/servers.ts'

const SEEDS = Number(process.env.WHOLE_WAY_SEEDS ?? 10)
const CASES = Number(process.env.WHOLE_WAY_CASES ?? 2_000)
const LENGTH = {
  cases: CASES,
  threads: Math.ceil(CASES / 10),
  posts: 40,
  kills: { recorded: 2, whatIf: 2, between: 1 },
}

const postgres = await aPostgres({ password: 'canary4whole-way' })
const stores = {
  SQLite: {},
  PostgreSQL: postgres?.variables() ?? {},
}
let stack: Servers
const services = new Map<string, RecordedService>()

beforeAll(async () => {
  stack = await startServers({ latencyMs: 5 })
})
afterAll(async () => {
  for (const service of services.values()) await service.close()
  await stack.close()
  await postgres?.close()
})

// Seeds take turns in the two stores.
for (const [turn, [name, store]] of Object.entries(stores).entries()) {
  const isThere = name !== 'PostgreSQL' || postgres !== null
  it.skipIf(!isThere)(
    `records ${CASES} cases of each protocol in ${name}, through kills`,
    { timeout: 1_800_000 },
    async () => {
      services.set(name, await recordedService(stack, LENGTH, { random: seededRandom(`way ${name}`), store }))
    },
  )
  for (let seed = turn + 1; seed <= SEEDS; seed += 2)
    it.skipIf(!isThere)(
      `goes the whole way with a record in ${name}, seed ${seed}`,
      { timeout: 1_800_000 },
      async () => {
        const service = services.get(name)
        expect(service).toBeDefined()
        if (service !== undefined) await wholeWay(service, seed, LENGTH)
      },
    )
}
