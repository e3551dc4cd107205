import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { patchKafkaJs } from '../../src/stream/kafkajs-patches.ts'

const load = createRequire(import.meta.url)
const RequestQueue = load('kafkajs/src/network/requestQueue/index.js')
const Broker = load('kafkajs/src/broker/index.js')

beforeAll(() => {
  patchKafkaJs()
})

describe('the requests of a connection', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const silent = { debug: () => {}, warn: () => {} }
  const told = { maxInFlightRequests: 1, requestTimeout: 1_000, enforceRequestTimeout: false, logger: silent }
  const queue = () => new RequestQueue({ ...told, clientId: 'c', broker: 'b' })
  const request = (correlationId: number, sent: number[]) => ({
    entry: { correlationId, resolve: () => {}, reject: () => {} },
    expectResponse: true,
    requestTimeout: 1_000,
    sendRequest: () => void sent.push(correlationId),
  })

  it('are not looked for where none waits', () => {
    const own = queue()
    own.push(request(1, []))
    own.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('wait for their turn, and for as long as the broker wants none', async () => {
    const [own, sent]: [typeof RequestQueue, number[]] = [queue(), []]
    own.push(request(1, sent))
    own.push(request(2, sent))
    expect(sent).toEqual([1])
    own.maybeThrottle(500)
    own.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 })
    await vi.advanceTimersByTimeAsync(400)
    expect(sent).toEqual([1])
    await vi.advanceTimersByTimeAsync(200)
    expect(sent).toEqual([1, 2])
  })
})

describe('a fetch', () => {
  /** A consumer's broker: what it was asked for, and what it answers. */
  function broker() {
    const asked: { maxWaitTime: number; minBytes: number }[] = []
    const next: { messages: unknown[] } = { messages: [] }
    const own = Object.create(Broker.prototype)
    own.lookupRequest = () => (request: { maxWaitTime: number; minBytes: number }) => request
    own.connectionPool = {
      async send({ maxWaitTime, minBytes }: { maxWaitTime: number; minBytes: number }) {
        asked.push({ maxWaitTime, minBytes })
        return { responses: [{ partitions: [{ messages: next.messages }] }] }
      },
    }
    return { asked, next, fetch: (wants: object) => own.fetch({ topics: [], ...wants }) }
  }
  const MANY = { maxWaitTime: 50, minBytes: 16_384 }
  const FIRST = { maxWaitTime: 250, minBytes: 1 }

  it('waits for the first byte after one that found nothing, and for many after messages', async () => {
    const { asked, next, fetch } = broker()
    await fetch(MANY)
    await fetch(MANY)
    next.messages = ['a message']
    await fetch(MANY)
    await fetch(MANY)
    next.messages = []
    await fetch(MANY)
    await fetch(MANY)
    expect(asked).toEqual([MANY, FIRST, FIRST, MANY, MANY, FIRST])
  })

  it('is left alone where it waits for the first byte anyway, or for longer', async () => {
    const { asked, fetch } = broker()
    const ones = [
      { maxWaitTime: 50, minBytes: 1 },
      { maxWaitTime: 5_000, minBytes: 16_384 },
    ]
    for (const wants of ones) for (let time = 0; time < 2; time++) await fetch(wants)
    expect(asked).toEqual([ones[0], ones[0], ones[1], ones[1]])
  })
})

describe('the fetchers of a consumer that has stopped', () => {
  /** In a process of its own: fetchers that go on let nothing else happen in theirs. */
  const ends = (patch: string) => {
    const program = `
      import { createRequire } from 'node:module'
      ${patch}
      const Runner = createRequire(import.meta.url)('kafkajs/src/consumer/runner.js')
      const logger = { namespace: () => logger, debug() {}, info() {}, warn() {}, error() {} }
      const consumerGroup = { getNodeIds: () => ['1', '2', '3'], fetch: async () => [] }
      const runner = new Runner({ logger, consumerGroup, heartbeatInterval: 1000 })
      await runner.fetchManager.start()
      process.stdout.write('ended')`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: PROJECT,
      encoding: 'utf8',
      timeout: 10_000,
      killSignal: 'SIGKILL',
    })
    return stdout === 'ended'
  }

  it('end, though they were made anew after it', () => {
    const patches = JSON.stringify(join(PROJECT, 'src/stream/kafkajs-patches.ts'))
    expect(ends(`import { patchKafkaJs } from ${patches}\npatchKafkaJs()`)).toBe(true)
  })
})
