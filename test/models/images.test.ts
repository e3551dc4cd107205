import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { RetryLaterError } from '../../src/contracts/facts/errors.ts'
import type { BudgetSettings } from '../../src/contracts/ports/budgets.ts'
import type { ModelReply } from '../../src/contracts/ports/model.ts'
import { askContext, type GivenAsk } from '../../src/models/context.ts'
import { gateway } from '../../src/models/gateway.ts'
import { imageLoader } from '../../src/models/images/images.ts'
import type { GatewayParts, GatewaySettings } from '../../src/models/parts.ts'
import { makeCertificates } from '../support/certificates.ts'
import { limitedCall } from '../support/limited-call.ts'
import { GATEWAY, memoryParts } from '../support/parts.ts'
import { png } from '../support/pictures.ts'

// When an image is fetched, and how often: counted by the server that it is fetched from.

const certificates = makeCertificates()
const PNG = png(1, 1)
const fetched: string[] = []
/** Fetches of this test at the same time, and the most there were. */
let open = { now: 0, most: 0 }
let slowMs = 0
const server = createServer(
  certificates === null ? {} : { key: readFileSync(certificates.key), cert: readFileSync(certificates.cert) },
  (request, response) => {
    fetched.push(request.url ?? '')
    const own = open
    own.most = Math.max(own.most, ++own.now)
    setTimeout(() => {
      own.now--
      response.end(PNG)
    }, slowMs)
  },
)
let port = 0
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  fetched.splice(0)
  open = { now: 0, most: 0 }
  slowMs = 0
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const ANSWER = { description: 'a bridge' }
const reply: ModelReply = {
  text: JSON.stringify(ANSWER),
  finish: 'stop',
  model: 'm',
  promptTokens: 10,
  cachedTokens: 0,
  completionTokens: 1,
}
const describing = (...paths: string[]): Ask => ({
  stage: 'describe',
  role: 'describer',
  messages: [{ role: 'user', content: 'Q', images: paths.map((path) => `https://gavel.test:${port}${path}`) }],
  answer: z.object({ description: z.string() }),
  temperature: 0,
  maxTokens: 10,
})

/** A gateway whose model gives these in order, and answers when there are none left. */
function setUp(
  over: Partial<GatewaySettings> = {},
  replies: (Error | ModelReply)[] = [],
  budgets: Partial<BudgetSettings> = {},
  held: () => Promise<void> = async () => {},
  keptImage?: GatewayParts['keptImage'],
) {
  const shown: string[] = []
  const hashes: (readonly string[] | undefined)[] = []
  let now = 0
  let calls = 0
  const parts = memoryParts(() => now, budgets)
  const load = imageLoader({
    maxBytes: 1_000,
    maxPixels: 1_000,
    timeout: 5_000,
    maxRedirects: 0,
    lookup: async () => ['127.0.0.1'],
    mayReach: () => true,
    ...(certificates === null ? {} : { ca: readFileSync(certificates.ca, 'utf8') }),
  })
  const made = gateway({
    model: {
      async complete({ messages }) {
        shown.push(...messages.flatMap(({ images = [] }) => images))
        calls++
        await held()
        const next = replies.shift() ?? reply
        if (next instanceof Error) throw next
        return next
      },
    },
    loadImage: load,
    keptImage,
    ...parts,
    settings: { ...GATEWAY, ...over },
    clock: () => now,
    report: () => {},
  })
  const put = (ask: Ask, asking: Partial<GivenAsk> = {}, failed: (error: unknown) => void = () => {}) =>
    made
      .ask(
        askContext({
          ask,
          protocol: 'safety',
          subject: { tenant: 't', postId: 'p', kind: 'post' },
          caseId: 'c',
          askId: 'c/0/0.0',
          remember: true,
          attempt: 1,
          last: false,
          signal: new AbortController().signal,
          deadline: 10_000_000,
          calls: [],
          ...asking,
        }),
      )
      .then(
        ({ answer, imageHashes }) => {
          hashes.push(imageHashes)
          return answer
        },
        (error: Error & { code?: string }) => {
          failed(error)
          return error.code
        },
      )
  const pass = (ms: number) => {
    now += ms
  }
  return { put, pass, parts, shown, hashes, calls: () => calls }
}

/** With a memo, each question is looked up by its image's data; without one it is not. */
const MEMOS = [
  ['with a memo', { enabled: true, keep: 60_000, lease: 5_000, patience: 1_000, maxBytes: 10_000 }],
  ['without one', GATEWAY.memo],
] as const

describe.skipIf(certificates === null).each(MEMOS)('%s, an image', (_, memo) => {
  test('is fetched once for an ask that is answered', async () => {
    const { put } = setUp({ memo })
    expect(await put(describing('/a', '/b'))).toEqual(ANSWER)
    expect(fetched.sort()).toEqual(['/a', '/b'])
  })

  test('is named by the hash of its bytes beside the answer, so that people can tell later whether they see the same', async () => {
    const { put, hashes } = setUp({ memo })
    await put(describing('/a', '/b'))
    await put(describing('/a', '/b'), { askId: 'again' })
    const own = createHash('sha256').update(PNG).digest('hex')
    expect(hashes).toEqual([
      [own, own],
      [own, own],
    ])
    const { messages: _, ...wordsAlone } = describing()
    await put({ ...wordsAlone, messages: [{ role: 'user', content: 'Q' }] })
    expect(hashes.at(-1)).toBeUndefined()
  })

  test('that can not be looked at is named by its place among those of its question', async () => {
    const { put } = setUp({ memo })
    const { messages: _, ...question } = describing()
    const sound = `data:image/png;base64,${PNG.toString('base64')}`
    const images = [sound, sound, 'data:image/png;base64,AAAA', sound]
    let why: unknown
    await put({ ...question, messages: [{ role: 'user', content: 'Q', images }] }, {}, (error) => {
      why = error
    })
    expect(why).toMatchObject({ code: 'image', message: expect.stringMatching(/^not a PNG/), imageAt: 2 })
  })

  test('is not fetched while the tenant’s limit has no room, however often the ask comes again, and then once', async () => {
    const limits = { models: {}, tenants: { t: { callsPerMinute: 1 } } }
    const { put, pass, calls } = setUp({ memo, limits })
    expect(await put(describing('/first'), { askId: 'first' })).toEqual(ANSWER)
    for (let again = 0; again < 20; again++) {
      expect(await put(describing('/second'))).toBe('limited')
      pass(1_000)
    }
    expect(fetched).toEqual(['/first'])
    pass(60_000)
    expect(await put(describing('/second'))).toEqual(ANSWER)
    expect(fetched).toEqual(['/first', '/second'])
    expect(calls()).toBe(2)
  })

  test('that is kept beside its post is shown as its data, and one that is kept there no longer is not', async () => {
    const data = `data:image/png;base64,${PNG.toString('base64')}`
    const asked: unknown[] = []
    const { put, calls, shown } = setUp({ memo }, [], {}, undefined, async (subject, hash) => {
      asked.push([subject, hash])
      return hash === 'there' ? data : null
    })
    const kept = (url: string): Ask => ({ ...describing(), messages: [{ role: 'user', content: 'Q', images: [url] }] })
    expect(await put(kept('kept:there'))).toEqual(ANSWER)
    expect(shown).toEqual([data])
    expect(asked).toEqual([[{ tenant: 't', postId: 'p', kind: 'post' }, 'there']])
    const failed: unknown[] = []
    expect(await put(kept('kept:gone'), { askId: 'c/0/0.1' }, (error) => failed.push(error))).toBe('image')
    expect(String(failed)).toContain('edited')
    expect(calls()).toBe(1)
  })

  test('is not fetched where no budget pays for the call', async () => {
    const budgets = { tenant: { tokens: 5, usd: null, per: 3_600_000 } }
    for (const whenSpent of ['hold', 'degrade'] as const) {
      const { put, calls } = setUp({ memo, whenSpent }, [], budgets)
      for (let again = 0; again < 5; again++) expect(await put(describing('/a'))).toBe('budget')
      expect(calls()).toBe(0)
    }
    expect(fetched).toEqual([])
  })

  test('is not fetched while no model of the role answers', async () => {
    const breaker = { ...GATEWAY.breaker, minCalls: 1, coolDown: 30_000 }
    const { put, pass } = setUp({ memo, breaker }, [new RetryLaterError('unavailable', 'down')])
    expect(await put(describing('/a'))).toBe('unavailable')
    expect(fetched).toEqual(['/a'])
    for (let again = 0; again < 5; again++) {
      expect(await put(describing('/other'), { askId: 'other' })).toBe('unavailable')
      pass(1_000)
    }
    expect(fetched).toEqual(['/a'])
  })

  test('is not fetched after the deadline', async () => {
    const { put, pass } = setUp({ memo })
    pass(1_000)
    expect(await put(describing('/a'), { deadline: 500 })).toBe('deadline')
    expect(fetched).toEqual([])
  })

  test('is fetched once for an ask that the model turns away again and again', async () => {
    const busy = () => new RetryLaterError('rate-limited', 'busy', { delayMs: 1_000, costsAttempt: false })
    const { put, pass, calls } = setUp({ memo }, [busy(), busy(), busy(), busy()])
    for (let again = 0; again < 4; again++) {
      expect(await put(describing('/a'))).toBe('rate-limited')
      pass(1_000)
    }
    expect(await put(describing('/a'))).toEqual(ANSWER)
    expect([fetched, calls()]).toEqual([['/a'], 5])
  })

  test('is given its own ask alone, and gone when that has ended', async () => {
    const { put } = setUp({ memo: GATEWAY.memo }, [new RetryLaterError('rate-limited', 'busy', { delayMs: 1 })])
    expect(await put(describing('/a'))).toBe('rate-limited')
    expect(await put(describing('/a'), { askId: 'another' })).toEqual(ANSWER)
    expect(await put(describing('/a'))).toEqual(ANSWER)
    expect(fetched).toEqual(['/a', '/a'])
    expect(await put(describing('/a'))).toEqual(ANSWER)
    expect(fetched).toEqual(['/a', '/a', '/a'])
  })

  test('is kept no longer and no more of it than the settings say', async () => {
    const busy = () => new RetryLaterError('rate-limited', 'busy', { delayMs: 1_000, costsAttempt: false })
    const old = setUp({ memo, images: { ...GATEWAY.images, keepFor: 5_000, keepBytes: 10_000 } }, [busy(), busy()])
    await old.put(describing('/a'))
    old.pass(5_000)
    await old.put(describing('/a'))
    expect(fetched.splice(0)).toEqual(['/a', '/a'])
    // Room for two images of four.
    const small = setUp({ memo, images: { ...GATEWAY.images, keepBytes: 300 } }, [busy(), busy(), busy(), busy()])
    for (const one of ['/1', '/2', '/3', '/4']) await small.put(describing(one), { askId: one })
    expect(fetched.splice(0)).toEqual(['/1', '/2', '/3', '/4'])
    for (const one of ['/4', '/3', '/2', '/1']) expect(await small.put(describing(one), { askId: one })).toEqual(ANSWER)
    expect(fetched).toEqual(['/2', '/1'])
  })

  test('is one of so many that are fetched at a time, half of them for one tenant', async () => {
    slowMs = 30
    const asks = ['/1', '/2', '/3', '/4']
    const { put } = setUp({ memo, images: { ...GATEWAY.images, fetches: 4 } })
    const answers = await Promise.all(asks.map((one) => put(describing(one), { askId: one, author: one })))
    expect(answers).toEqual(asks.map(() => ANSWER))
    expect(fetched).toHaveLength(4)
    expect(open.most).toBeLessThanOrEqual(2)
    Object.assign(open, { now: 0, most: 0 })
    const subjects = ['t', 'u', 'v'].map((tenant) => ({ tenant, postId: 'p', kind: 'post' as const }))
    await Promise.all(
      subjects.flatMap((subject) =>
        asks.map((one) => put(describing(one), { askId: `${subject.tenant}${one}`, subject, author: one })),
      ),
    )
    expect(open.most).toBeLessThanOrEqual(4)
  })

  test('takes no place of a model’s calls and none of a limit while it comes: who asks without images is not held up', async () => {
    const limits = { models: {}, tenants: { t: { inFlight: 1 } } }
    const { put, calls } = setUp({ memo, slots: 1, limits })
    const stop = new AbortController()
    slowMs = 1_000
    const slow = put(describing('/slow'), { askId: 'slow', signal: stop.signal })
    while (open.now === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    const words: Ask = { ...describing(), messages: [{ role: 'user', content: 'words' }] }
    expect(await put(words, { askId: 'words' })).toEqual(ANSWER)
    expect([open.now, calls()]).toEqual([1, 1])
    stop.abort()
    await slow
  })

  test('at a host that is silent holds up nobody else of its tenant, however many one account posts', async () => {
    const { put } = setUp({ memo, images: { ...GATEWAY.images, fetches: 4 } })
    const stop = new AbortController()
    slowMs = 1_000
    const hung = ['/1', '/2', '/3', '/4', '/5', '/6'].map((one) =>
      put(describing(one), { askId: one, author: 'mallory', signal: stop.signal }),
    )
    while (open.now === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    slowMs = 0
    expect(await put(describing('/7'), { askId: '/7', author: 'ann' })).toEqual(ANSWER)
    const unnamed = { tenant: 't', postId: 'q', kind: 'post' as const }
    expect(await put(describing('/8'), { askId: '/8', subject: unnamed })).toEqual(ANSWER)
    expect(fetched.toSorted()).toEqual(['/1', '/7', '/8'])
    stop.abort()
    expect((await Promise.all(hung)).filter((end) => end === 'limited')).toHaveLength(4)
  })

  test('fails at once where those of its author have taken a minute within a minute: its post waits for no deadline', async () => {
    const { put, pass } = setUp({ memo })
    slowMs = 200
    const slow = put(describing('/slow'), { askId: 'slow', author: 'mallory' })
    while (open.now === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    pass(59_999)
    slowMs = 0
    expect(await put(describing('/1'), { askId: '/1', author: 'mallory' })).toEqual(ANSWER)
    pass(1)
    await slow
    for (const [one, author] of [
      ['/2', 'mallory'],
      ['/3', 'mallory'],
      ['/6', 'mal\u200blory'],
    ] as const)
      expect(await put(describing(one), { askId: one, author })).toBe('image')
    expect(await put(describing('/4'), { askId: '/4', author: 'ann' })).toEqual(ANSWER)
    expect(fetched).toEqual(['/slow', '/1', '/4'])
    pass(60_000)
    expect(await put(describing('/5'), { askId: '/5', author: 'mallory' })).toEqual(ANSWER)
  })

  test('that is deferred with many of its author comes back after the others', async () => {
    const { put } = setUp({ memo, images: { ...GATEWAY.images, fetches: 4 } })
    const stop = new AbortController()
    slowMs = 1_000
    const waits: number[] = []
    const ask = (nth: number) =>
      put(describing(`/${nth}`), { askId: `${nth}`, author: 'mallory', signal: stop.signal }, (error) => {
        if (error instanceof RetryLaterError && error.delayMs !== undefined && error.code === 'limited')
          waits.push(error.delayMs)
      })
    const hung = Array.from({ length: 102 }, (_, nth) => ask(nth))
    while (open.now === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    stop.abort()
    await Promise.all(hung)
    expect(waits.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, nth) => 1_000 + 50 * nth))
  })

  test('is deferred, at no attempt’s cost, where as many of its tenant wait as may be fetched, and those of others are not', async () => {
    const { put } = setUp({ memo, images: { ...GATEWAY.images, fetches: 4 } })
    const stop = new AbortController()
    slowMs = 1_000
    const hung = ['/1', '/2', '/3', '/4', '/a', '/b'].map((one) =>
      put(describing(one), { askId: one, signal: stop.signal, author: one }),
    )
    while (open.now < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await put(describing('/5'), { askId: '/5', author: '/5' })).toBe('limited')
    slowMs = 0
    const other = { tenant: 'u', postId: 'p', kind: 'post' as const }
    expect(await put(describing('/6'), { askId: '/6', subject: other })).toEqual(ANSWER)
    expect(fetched.toSorted()).toEqual(['/1', '/2', '/6'])
    stop.abort()
    await Promise.all(hung)
  })

  test('that had to wait is not fetched if its ask may not be asked any more', async () => {
    const { put, pass } = setUp({ memo, images: { ...GATEWAY.images, fetches: 1 } })
    slowMs = 50
    const first = put(describing('/1'), { askId: '/1' })
    while (open.now === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    const second = put(describing('/2'), { askId: '/2', deadline: 500 })
    await new Promise((resolve) => setTimeout(resolve, 5))
    pass(1_000)
    expect(await Promise.all([first, second])).toEqual([ANSWER, 'deadline'])
    expect(fetched).toEqual(['/1'])
  })

  test('is not fetched while those of asks that wait for their calls take all of keepBytes', async () => {
    const longest = 110
    const held = Promise.withResolvers<void>()
    const waiting = setUp(
      { memo, images: { ...GATEWAY.images, keepBytes: 400, maxBytes: longest } },
      [],
      {},
      () => held.promise,
    )
    // Questions of their own: the memo answers none by another.
    const asked = (one: string): Ask => {
      const [message] = describing(one).messages
      return { ...describing(one), messages: [{ role: 'user', content: one, images: message?.images ?? [] }] }
    }
    const two = ['/1', '/2'].map((one) => waiting.put(asked(one), { askId: one }))
    while (waiting.calls() < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await waiting.put(asked('/3'), { askId: '/3' })).toBe('limited')
    held.resolve()
    expect(await Promise.all(two)).toEqual([ANSWER, ANSWER])
    expect(await waiting.put(asked('/3'), { askId: '/3' })).toEqual(ANSWER)
    expect(fetched).toEqual(['/1', '/2', '/3'])
  })

  test('leaves all that was set aside for it as it was', async () => {
    const limits = { models: { m: { callsPerMinute: 1 } }, tenants: { t: { callsPerMinute: 1, inFlight: 1 } } }
    const { put, parts } = setUp({ memo, limits })
    expect(await put(describing('/a'))).toEqual(ANSWER)
    const scopes = [{ name: 'tenant:t', limits: { callsPerMinute: 2, inFlight: 1 } }]
    expect(await parts.limits.reserve(scopes, limitedCall({ tokens: 1 }))).toMatchObject({ granted: true })
  })
})
