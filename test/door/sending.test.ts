import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { BrokerRefused } from '../../src/contracts/facts/broker-refusal.ts'
import { sending } from '../../src/door/sending.ts'

const hanging = { send: () => new Promise<void>(() => {}) }
const record = (value: string) => ({ topic: 'posts', key: 'a', value })

test('what waits is counted in bytes', async () => {
  const { send } = sending({ writer: hanging, timeoutMs: 100, report: () => {} })
  const first = send('acme', [record('漢'.repeat(11 * 2 ** 20))])
  await expect(send('other', [record('a')])).rejects.toMatchObject({ problem: 'back-pressure' })
  await expect(first).rejects.toMatchObject({ problem: 'kafka-away' })
})

test('what was given up is not held while Kafka hangs', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { send } = sending({ writer: hanging, timeoutMs: 50, report: () => {} })
  send('acme', [record('on its way')]).catch(() => {})
  // In a function of its own, whose frame holds nothing when it is collected.
  const behindIt = () => {
    const records = [record('behind it')]
    send('acme', records).catch(() => {})
    return new WeakRef(records)
  }
  const held = behindIt()
  await vi.waitFor(
    async () => {
      collect()
      expect(held.deref() === undefined).toBe(true)
    },
    { timeout: 3_000, interval: 100 },
  )
  // The writer hangs on, and what waits for it lives.
  await expect(send('acme', [record('later')])).rejects.toMatchObject({ problem: 'kafka-away' })
})

test('what waits of one tenant leaves room for others', async () => {
  const { send } = sending({ writer: hanging, timeoutMs: 100, report: () => {} })
  const all = [send('acme', [record('a'.repeat(10 * 2 ** 20))]), send('other', [record('a'.repeat(10 * 2 ** 20))])]
  const ends = Promise.all(all.map((one) => expect(one).rejects.toMatchObject({ problem: 'kafka-away' })))
  await expect(send('acme', [record('a'.repeat(7 * 2 ** 20))])).rejects.toMatchObject({ problem: 'back-pressure' })
  await expect(send('third', [record('a'.repeat(7 * 2 ** 20))])).rejects.toMatchObject({ problem: 'kafka-away' })
  await ends
})

test('a topic that a broker refuses fails its own requests, and no others that went with them', async () => {
  const taken: string[] = []
  // The first batch keeps the next ones together.
  let isFirst = true
  const { send } = sending({
    timeoutMs: 5_000,
    report: () => {},
    writer: {
      async send(records) {
        if (isFirst) await new Promise((resolve) => setTimeout(resolve, 50))
        isFirst = false
        if (records.some(({ topic }) => topic === 'feedback'))
          throw new BrokerRefused('rights', ['feedback'], 'the user may not write to it')
        taken.push(...records.map(({ value }) => String(value)))
      },
    },
  })
  const to = (topic: string, value: string) => ({ ...record(value), topic })
  const first = send('acme', [record('first')])
  const mixed = send('acme', [to('comments', 'one'), to('feedback', 'two')])
  const whole = send('other', [to('comments', 'three'), to('posts', 'four'), to('comments', 'five')])
  await expect(mixed).rejects.toMatchObject({
    problem: 'kafka-away',
    message: expect.stringContaining('until a setting is changed (rights)'),
  })
  await expect(whole).resolves.toEqual(['acknowledged', 'acknowledged', 'acknowledged'])
  await first
  expect(taken.toSorted()).toEqual(['first', 'five', 'four', 'one', 'three'].toSorted())
})

test('tenants take turns, and each one’s own stays in order', async () => {
  const batches: string[][] = []
  const { send } = sending({
    timeoutMs: 5_000,
    report: () => {},
    writer: {
      async send(records) {
        batches.push(records.map(({ value }) => String(value).slice(0, 2)))
        await new Promise((resolve) => setTimeout(resolve, 20))
      },
    },
  })
  const large = (name: string) => record(name.padEnd(400_000, '.'))
  const all = [
    send('acme', [record('a0')]),
    send('acme', [large('a1'), large('a2'), large('a3')]),
    send('acme', [large('a4')]),
    send('other', [record('o1')]),
    send('other', [record('o2')]),
  ]
  await Promise.all(all)
  expect(batches).toEqual([['a0'], ['a1', 'o1', 'a2', 'o2'], ['a3', 'a4']])
})
