import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NOW, POST, type TestDoorOptions, testDoor } from './door-for-tests.ts'

interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** A door at which time passes as a test says, and a key of its own rate. */
function ratedDoor(rate: Rate, options: TestDoorOptions = {}) {
  let now = NOW
  const door = testDoor({ ...options, clock: () => now })
  const key = { authorization: `Bearer ${door.keyOf('acme', ['send', 'judge'], { rate })}` }
  const post = async (path: string, body: unknown) => {
    const { status, headers } = await door.ask('POST', path, body, key)
    return { status, retryAfter: Number(headers.get('retry-after')) }
  }
  return {
    post,
    pass: (seconds: number) => {
      now += 1_000 * seconds
    },
    /** Sends a list of so many messages. */
    send: (messages: number) => post('/v1/messages', new Array(messages).fill(POST)),
  }
}

const RATES = fc.record({
  perSecond: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.double({ min: 0.05, max: 20, noNaN: true })),
  burst: fc.integer({ min: 1, max: 30 }),
})
/** Lists that are sent at the same time, some time after those before. */
const STEPS = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 0, max: 5_000 }),
    lists: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 12 },
)

describe('the rate of a key', () => {
  test('lets in a list that is longer than its burst, and the next waits until all of it is paid', async () => {
    const { send, pass } = ratedDoor({ perSecond: 1, burst: 10 })
    expect(await send(11)).toMatchObject({ status: 200 })
    expect(await send(1)).toEqual({ status: 429, retryAfter: 2 })
    pass(1)
    expect(await send(1)).toEqual({ status: 429, retryAfter: 1 })
    pass(1)
    expect(await send(11)).toMatchObject({ status: 200 })
    expect(await send(11)).toEqual({ status: 429, retryAfter: 11 })
  })

  test('keeps no long list out where short ones come all the time', async () => {
    const { send, pass } = ratedDoor({ perSecond: 1, burst: 10 })
    const statuses = new Set<number>()
    for (let second = 0; second < 20; second++) {
      await send(1)
      pass(1)
      if (second % 10 === 9) statuses.add((await send(10)).status)
    }
    expect(statuses).toEqual(new Set([200]))
  })

  test('is kept in every window but for the burst and one request, whatever is sent at the same time', async () => {
    await fc.assert(
      fc.asyncProperty(RATES, STEPS, async (rate, steps) => {
        const { send, pass } = ratedDoor(rate)
        const letIn: { at: number; units: number }[] = []
        let at = 0
        for (const { afterMs, lists } of steps) {
          pass(afterMs / 1_000)
          at += afterMs
          const answers = await Promise.all(lists.map(send))
          letIn.push(...lists.flatMap((units, nth) => (answers[nth]?.status === 200 ? [{ at, units }] : [])))
        }
        expect(letIn[0]?.at).toBe(steps[0]?.afterMs)
        for (const [first, { at: from }] of letIn.entries()) {
          let [units, largest] = [0, 0]
          for (const one of letIn.slice(first)) {
            units += one.units
            largest = Math.max(largest, one.units)
            const most = (rate.perSecond * (one.at - from)) / 1_000 + rate.burst + largest
            expect(units).toBeLessThanOrEqual(most + 1e-6)
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  test('is free again after Retry-After, and not a second before', async () => {
    await fc.assert(
      fc.asyncProperty(RATES, STEPS, fc.integer({ min: 1, max: 40 }), async (rate, steps, last) => {
        const { send, pass } = ratedDoor(rate)
        for (const { afterMs, lists } of steps) {
          pass(afterMs / 1_000)
          await Promise.all(lists.map(send))
        }
        const { status, retryAfter } = await send(last)
        fc.pre(status === 429)
        pass(retryAfter - 1)
        if (retryAfter > 1) expect(await send(last)).toEqual({ status: 429, retryAfter: 1 })
        pass(1)
        expect((await send(last)).status).toBe(200)
      }),
      { numRuns: 60 },
    )
  })
})
