import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
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
