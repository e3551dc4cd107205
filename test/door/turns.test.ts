import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { type DoorRoute, json } from '../../src/door/route.ts'
import { isAskedFor, readTurns } from '../../src/platform/asked-for.ts'
import { POST, testDoor } from './door-for-tests.ts'

const OPERATION = { operationId: 'large', summary: 'A large answer', response: { status: 200, description: 'It' } }

/** A route whose answers have so many bytes, and are made when they are let in, one after the other. */
function largeAnswers(bytes = 10) {
  const made: string[] = []
  const waiting: (() => void)[] = []
  const route: DoorRoute = {
    method: 'GET',
    path: '/large',
    scope: 'read',
    operation: OPERATION,
    problems: [],
    answer: (call) =>
      call.inTurn(async () => {
        made.push(call.caller.tenant)
        await new Promise<void>((resolve) => waiting.push(resolve))
        return json(200, 'x'.repeat(bytes))
      }),
  }
  const letIn = async () => {
    for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve))
    waiting.shift()?.()
  }
  return { route, made, letIn }
}

function setUp(bytes?: number, more: Partial<Parameters<typeof testDoor>[0]> = {}) {
  const large = largeAnswers(bytes)
  const door = testDoor({ ...more, routes: [large.route] })
  const [acme, other] = [door.keyOf('acme', ['read']), door.keyOf('other', ['read'])]
  const get = (key: string, signal?: AbortSignal) =>
    door.fetch(
      new Request('http://localhost/large', { headers: { authorization: `Bearer ${key}` }, signal: signal ?? null }),
      door.from,
    )
  return { ...large, ...door, acme, other, get }
}

describe('large answers', () => {
  it('are made in turn: who asks for a thousand keeps nobody else waiting', async () => {
    const { made, letIn, get, acme, other } = setUp()
    const flood = Array.from({ length: 200 }, () => get(acme))
    await letIn()
    const asked = get(other)
    let isThere = false
    void asked.then(() => {
      isThere = true
    })
    for (let n = 0; n < 20 && !isThere; n++) await letIn()
    expect((await asked).status).toBe(200)
    expect(made.indexOf('other')).toBeLessThan(6)
    expect(made.length).toBeLessThan(30)
    for (let n = 0; n < 220; n++) await letIn()
    expect((await Promise.all(flood)).every(({ status }) => status === 200)).toBe(true)
  })

  it('are not made for a caller who has left', async () => {
    const { made, letIn, get, acme } = setUp()
    const first = [get(acme), get(acme)]
    const leaving = new AbortController()
    const left = Array.from({ length: 50 }, () => get(acme, leaving.signal))
    for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve))
    leaving.abort()
    for (let n = 0; n < 60; n++) await letIn()
    await Promise.allSettled([...first, ...left])
    expect(made).toEqual(['acme', 'acme'])
  })

  it('cost a unit of rate for each 16 KiB, which is owed: bytes a second are bounded', async () => {
    let now = 1_000_000
    const { letIn, get, acme, other } = setUp(20 * 16_384, { rate: { perSecond: 10, burst: 5 }, clock: () => now })
    const answered = async (key: string) => {
      const response = get(key)
      for (let n = 0; n < 3; n++) await letIn()
      return (await response).status
    }
    expect(await answered(acme)).toBe(200)
    expect(await answered(acme)).toBe(429)
    expect(await answered(other)).toBe(200)
    now += 1_600
    expect(await answered(acme)).toBe(429)
    now += 200
    expect(await answered(acme)).toBe(200)
  })
})

describe('the document', () => {
  const document = async (headers: Record<string, string> = {}) => {
    const { fetch, from } = testDoor()
    const get = (more: Record<string, string>) =>
      fetch(new Request('http://localhost/openapi.json', { headers: more }), from)
    const plain = await get({})
    return {
      plain,
      again: await get({ ...headers, 'if-none-match': headers['if-none-match'] ?? plain.headers.get('etag') ?? '' }),
      get,
    }
  }

  it('has a tag, by which who has it gets none', async () => {
    const { plain, again, get } = await document()
    expect(plain.headers.get('etag')).toMatch(/^W\/"[\w-]{22}"$/)
    expect([again.status, await again.text()]).toEqual([304, ''])
    expect((await get({ 'if-none-match': '"other"' })).status).toBe(200)
    expect((await get({ 'if-none-match': '"other", *' })).status).toBe(304)
  })

  it('is compressed for who takes that, with a length', async () => {
    const { plain, get } = await document()
    const text = await plain.text()
    expect(Number(plain.headers.get('content-length'))).toBe(Buffer.byteLength(text))
    for (const accepts of ['gzip', 'br, gzip;q=0.5', '*']) {
      const small = await get({ 'accept-encoding': accepts })
      expect(small.headers.get('content-encoding')).toBe('gzip')
      const bytes = Buffer.from(await small.arrayBuffer())
      expect(bytes.length).toBeLessThan(text.length / 4)
      expect(gunzipSync(bytes).toString()).toBe(text)
    }
    for (const accepts of ['br', 'gzip;q=0', 'gzip; q=0.000', 'xgzip'])
      expect((await get({ 'accept-encoding': accepts })).headers.get('content-encoding')).toBeNull()
  })
})

describe('requests that are worked on', () => {
  /** Of each request the steps: it begins, waits for others, goes on and ends. */
  function steps() {
    const begun: string[] = []
    const works: (() => void)[] = []
    const waits: (() => void)[] = []
    const route: DoorRoute = {
      method: 'GET',
      path: '/steps',
      scope: 'read',
      operation: OPERATION,
      problems: [],
      async answer({ caller, waiting }) {
        begun.push(caller.tenant)
        await new Promise<void>((resolve) => works.push(resolve))
        await waiting(new Promise<void>((resolve) => waits.push(resolve)))
        return json(200, {})
      },
    }
    const door = testDoor({ routes: [route] })
    const get = (key: string, signal?: AbortSignal) => {
      const headers = { authorization: `Bearer ${key}` }
      return door.fetch(new Request('http://localhost/steps', { headers, signal: signal ?? null }), door.from)
    }
    const settle = async () => {
      for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve))
    }
    const all = (some: (() => void)[]) => {
      for (const one of some.splice(0)) one()
    }
    return {
      begun,
      works,
      waits,
      get,
      settle,
      all,
      acme: door.keyOf('acme', ['read']),
      other: door.keyOf('other', ['read']),
    }
  }

  it('are a bounded number of one tenant at a time, and another’s begin at once', async () => {
    const { begun, works, waits, get, settle, all, acme, other } = steps()
    const flood = Array.from({ length: 300 }, () => get(acme))
    await settle()
    expect(begun).toHaveLength(128)
    const asked = get(other)
    await settle()
    expect(begun.at(-1)).toBe('other')
    for (let n = 0; n < 10; n++) {
      all(works)
      await settle()
      all(waits)
      await settle()
    }
    expect((await Promise.all([asked, ...flood])).every(({ status }) => status === 200)).toBe(true)
  })

  it('do not count while they wait for others', async () => {
    const { begun, works, waits, get, settle, all, acme } = steps()
    const flood = Array.from({ length: 300 }, () => get(acme))
    for (const count of [128, 256, 300]) {
      await settle()
      expect(begun).toHaveLength(count)
      all(works)
    }
    await settle()
    expect(waits).toHaveLength(300)
    all(waits)
    expect((await Promise.all(flood)).every(({ status }) => status === 200)).toBe(true)
  })

  /** Timers that pass when they are told to, until the work is done. */
  async function inOwnTime(work: (pass: (ms: number) => Promise<unknown>) => Promise<void>) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      await work((ms) => vi.advanceTimersByTimeAsync(ms))
    } finally {
      vi.useRealTimers()
    }
  }

  it.each([
    ['after', 0],
    ['before', 700],
  ])('hold no place once they are given up, whoever has left: %s they were worked on again', async (_, othersMs) => {
    const hung: DoorRoute = {
      method: 'GET',
      path: '/hung',
      scope: 'read',
      operation: OPERATION,
      needs: { dependency: 'redis', withinMs: 0 },
      problems: [],
      answer: ({ waiting }) =>
        waiting(new Promise((resolve) => setTimeout(resolve, othersMs))).then(() => new Promise(() => {})),
    }
    await inOwnTime(async (pass) => {
      const { ask, fetch, from, key } = testDoor({ alsoRoutes: [hung] })
      const leaving = new AbortController()
      const headers = { authorization: `Bearer ${key}` }
      const polls = Array.from({ length: 128 }, (_, at) =>
        fetch(new Request('http://localhost/hung', { headers, signal: at % 2 ? leaving.signal : null }), from),
      )
      await pass(0)
      leaving.abort()
      await pass(othersMs)
      const message = ask('POST', '/v1/messages', POST)
      await pass(600)
      expect(new Set((await Promise.all(polls)).map(({ status }) => status))).toEqual(new Set([503]))
      expect((await message).status).toBe(200)
    })
  })

  it('are refused that have waited long for others to be done, and those that had a place go on', async () => {
    const { works, waits, get, settle, all, acme } = steps()
    await inOwnTime(async (pass) => {
      const first = Array.from({ length: 128 }, () => get(acme))
      await pass(1_000)
      const next = get(acme)
      await pass(20_600)
      const refused = await next
      expect([refused.status, await refused.json()]).toMatchObject([429, { type: '/problems/back-pressure' }])
      all(works)
      await settle()
      all(waits)
      expect((await Promise.all(first)).every(({ status }) => status === 200)).toBe(true)
    })
  })

  it('are not begun for who has left', async () => {
    const { begun, works, waits, get, settle, all, acme } = steps()
    const first = Array.from({ length: 128 }, () => get(acme))
    const leaving = new AbortController()
    const left = Array.from({ length: 50 }, () => get(acme, leaving.signal))
    await settle()
    leaving.abort()
    all(works)
    await settle()
    all(waits)
    await Promise.allSettled([...first, ...left])
    expect(begun).toHaveLength(128)
  })
})

describe('whatever a route reads', () => {
  it('it reads for who asks, and reading costs a unit for each ms, owed', async () => {
    const inTurn = readTurns()
    const asked: boolean[] = []
    const reading = (method: DoorRoute['method'], path: string): DoorRoute => ({
      method,
      path,
      scope: 'read',
      ...(method === 'POST' ? { takesBody: true } : {}),
      operation: OPERATION,
      problems: [],
      async answer() {
        await inTurn(async () => {
          asked.push(isAskedFor())
          await new Promise((resolve) => setTimeout(resolve, 30))
        })
        return json(200, {})
      },
    })
    const routes = [reading('GET', '/one'), reading('POST', '/two'), reading('DELETE', '/three')]
    const door = testDoor({ routes, rate: { perSecond: 1, burst: 25 } })
    const statuses = []
    for (const { method, path } of routes)
      statuses.push((await door.ask(method, path, method === 'POST' ? {} : undefined)).status)
    expect([asked, statuses]).toEqual([[true], [200, 429, 429]])
  })

  it('no route is answered but by the door, and no page but by the console', () => {
    const answered = globSync('src/{door,console}/**/*.ts', { cwd: PROJECT }).filter((file) =>
      /\b(?:route|found|page)\.answer\(/.test(readFileSync(join(PROJECT, file), 'utf8')),
    )
    expect(answered.sort()).toEqual([
      'src/console/console.ts',
      // The earlier path of a route, which answers as that does.
      'src/door/decisions.ts',
      'src/door/door.ts',
    ])
  })
})
