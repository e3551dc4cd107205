import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { judgeRoutes } from '../../src/door/judge.ts'
import { router } from '../../src/judging/engine/routes.ts'
import { givenAround } from '../../src/judging/engine/surroundings.ts'
import { verdictRequests } from '../../src/judging/engine/verdict-requests.ts'
import { messageKeeper } from '../../src/judging/threads/kept.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { HOUR, RULES } from '../contracts/samples.ts'
import { plainFence, plainRank } from '../protocols/drive.ts'
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

  test('is charged for each 4 KiB of a body, also of a refused one, and no request is refused for its own', async () => {
    let now = NOW
    const door = testDoor({ rate: { perSecond: 1, burst: 5 }, clock: () => now })
    const pad = ' '.repeat(6 * 4_096)
    const two = JSON.stringify([POST, { ...POST, id: 'p2' }])
    const ask = async (body: string) => {
      const { status, headers } = await door.ask('POST', '/v1/messages', body)
      return [status, headers.get('retry-after')]
    }
    expect(await ask(`[${pad}`)).toEqual([400, null])
    expect(await ask(two)).toEqual([429, '3'])
    now += 7_000
    expect(await ask(two + pad)).toEqual([200, null])
    expect(await ask(two)).toEqual([429, '4'])
  })

  test('is charged for what a refusal says', async () => {
    const { post } = ratedDoor({ perSecond: 1, burst: 301 })
    const refused = await post('/v1/messages', new Array(300).fill({ type: 'post', id: 'p1' }))
    expect(refused.status).toBe(422)
    // The first unit was left: the answer names each of the messages, and is some units long.
    expect(await post('/v1/messages', POST)).toMatchObject({ status: 429 })
  })

  test('is charged for a body that does not come, too', async () => {
    const door = testDoor()
    const key = door.keyOf('acme', ['send'], { rate: { perSecond: 1, burst: 2 } })
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const slow = async () => {
      const leaving = new AbortController()
      const body = new ReadableStream({
        start: (stream) => leaving.signal.addEventListener('abort', () => stream.error(new Error('left'))),
      })
      const init = { method: 'POST', headers, body, duplex: 'half' as const }
      const answered = door.fetch(new Request('http://localhost/v1/messages', init), door.from)
      leaving.abort()
      return (await answered).status
    }
    expect([await slow(), await slow(), await slow()]).toEqual([500, 500, 429])
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

/** Questions to the protocols of the settings. */
function askingRoutes() {
  const settings = loadSettings({})
  const { threads, answers } = memoryStores(() => NOW)
  const protocols = makeProtocols(settings.protocols, plainFence, plainRank)
  const kept = messageKeeper(settings.threads)
  return judgeRoutes({
    asking: verdictRequests({
      threads,
      answers,
      protocols,
      routes: router(protocols, {}, plainRank),
      rules: RULES,
      clock: () => NOW,
      mostKept: () => null,
      wake: () => {},
      memo: { forget: async () => 0 },
      settings: { keepAnswers: HOUR, keepMemo: HOUR, maxReplies: 9 },
    }),
    answers,
    sending: { withinMs: 1_000, send: async (_, all) => all.map(() => 'acknowledged' as const) },
    topics: { post: 'posts', comment: 'comments', counterspeech: 'counterspeech', feedback: 'feedback' },
    limits: settings.intake,
    items: 100,
    kept: { ...kept, around: givenAround },
    waiting: 9_999,
    waitingPerTenant: 9_999,
    pressure: () => null,
    isOverDue: () => false,
    clock: () => NOW,
    report: () => {},
  })
}

/** How many units such a question takes: of a burst, so many are missing afterwards. */
async function unitsOf(question: object): Promise<number> {
  const { post } = ratedDoor({ perSecond: 1, burst: 1 }, { routes: askingRoutes() })
  expect((await post('/v1/judge', { wait: 0, ...question })).status).toBe(202)
  const { status, retryAfter } = await post('/v1/judge', { wait: 0, ...question })
  return status === 429 ? retryAfter : 0
}

describe('a question', () => {
  const text = 'The bridge is closed.'
  const media = Array.from({ length: 8 }, (_, nth) => ({ kind: 'image', url: `https://images.example/${nth}.png` }))

  test('takes a unit for each message, and for each call that its protocols may make', async () => {
    // rumor 9, hate 2, safety 3, and one for each image.
    expect(await unitsOf({ post: { text } })).toBe(1 + 9 + 2 + 3)
    expect(await unitsOf({ post: { text, media } })).toBe(1 + 9 + 2 + 3 + 8)
    expect(await unitsOf({ post: { text }, protocols: ['hate'] })).toBe(1 + 2)
    expect(await unitsOf({ reply: { text: 'They do not.', hateSpeech: 'They lie.' } })).toBe(1 + 4)
  })

  test('that is as dear as can be by default comes as often at once as may wait for a tenant', async () => {
    const { door } = loadSettings({})
    expect(door.rate.burst).toBeGreaterThanOrEqual(door.waitingPerTenant * (await unitsOf({ post: { text, media } })))
  })
})
