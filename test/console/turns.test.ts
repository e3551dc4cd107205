import { gunzipSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { isAskedFor } from '../../src/platform/asked-for.ts'
import { aConsole, tokenIn, WELL } from './console-for-tests.ts'

const nextTurns = async (turns: number) => {
  for (let n = 0; n < turns; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** Work that goes on when it is let in. */
function held() {
  const waiting: (() => void)[] = []
  return {
    waiting,
    hold: () => new Promise<void>((resolve) => void waiting.push(resolve)),
    async letIn(many = 1) {
      for (let n = 0; n < many; n++) {
        waiting.shift()?.()
        await nextTurns(20)
      }
    },
  }
}

/** A console whose record tells of a subject when it is let in, and two people who ask for pages of it. */
async function large() {
  const { waiting, hold, letIn } = held()
  const console = await aConsole()
  const { id } = await console.judged({ verdict: { tenant: 'acme' } })
  const [anna, ben] = [await console.signedIn(), await console.signedIn('ben')]
  const { verdict } = console.record
  vi.spyOn(console.record, 'verdict').mockImplementation(async (...of) => {
    await hold()
    return verdict.apply(console.record, of)
  })
  const get = async (path: string, cookie: string, signal?: AbortSignal) =>
    (await console.ask(`${path}?id=${id}`, { headers: { cookie }, signal: signal ?? null })).status
  return { anna, ben, waiting, letIn, get }
}

describe.each(['/verdict', '/verdict/file', '/thread'])('pages of %s', (path) => {
  it('are made in turn: who asks for a hundred keeps nobody else waiting', async () => {
    const { anna, ben, waiting, letIn, get } = await large()
    const flood = Array.from({ length: 100 }, () => get(path, anna))
    await nextTurns(50)
    expect(waiting).toHaveLength(2)
    let isThere = false
    const asked = get(path, ben).finally(() => {
      isThere = true
    })
    await nextTurns(50)
    for (let n = 0; n < 4 && !isThere; n++) await letIn()
    expect(isThere).toBe(true)
    await letIn(100)
    expect(new Set(await Promise.all([asked, ...flood]))).toEqual(new Set([200]))
  })

  it('are not made for who has gone', async () => {
    const { anna, waiting, letIn, get } = await large()
    const first = [get(path, anna), get(path, anna)]
    const leaving = new AbortController()
    const left = Array.from({ length: 50 }, () => get(path, anna, leaving.signal))
    await nextTurns(50)
    expect(waiting).toHaveLength(2)
    leaving.abort()
    await letIn(4)
    expect(await Promise.all(first)).toEqual([200, 200])
    await Promise.all(left)
    expect(waiting).toEqual([])
  })
})

describe('of each other page one person has few at a time, and nobody else waits for it', () => {
  it.each([
    // Of a large post one is read at a time.
    ['/picture', 1],
    ['/picture/news', 1],
    ['/uncovered', 1],
    ['/verdict/news', 2],
  ] as const)('%s', async (path, atOnce) => {
    const { anna, ben, waiting, letIn, get } = await large()
    const flood = Array.from({ length: 100 }, () => get(path, anna))
    await nextTurns(50)
    expect(waiting).toHaveLength(atOnce)
    let isThere = false
    const asked = get(path, ben).finally(() => {
      isThere = true
    })
    await nextTurns(50)
    for (let n = 0; n < 6 && !isThere; n++) await letIn()
    expect(isThere).toBe(true)
    await letIn(100)
    await Promise.all([asked, ...flood])
  })
})

describe('what one person asks for a hundred times keeps nobody else waiting', () => {
  it.each([
    ['/live', 2, [200]],
    ['/search', 1, [200, 503]],
    ['/health', 2, [200]],
    ['/review/next', 2, [303]],
  ])('%s', async (path, atOnce, answers) => {
    const { waiting, hold, letIn } = held()
    const heldThen = async <Made>(made: Made): Promise<Made> => {
      await hold()
      return made
    }
    const console = await aConsole({ look: () => heldThen(WELL) })
    vi.spyOn(console.record, 'find').mockImplementation(() => heldThen([]))
    vi.spyOn(console.record.review, 'list').mockImplementation(() => heldThen({ items: [], waiting: 0 }))
    const people = await Promise.all(
      ['anna', 'ben'].map(async (by) => {
        const cookie = await console.signedIn(by)
        const token = tokenIn((await console.page('/covers', cookie)).text)
        const isForm = path === '/review/next'
        return async () =>
          (await (isForm ? console.post(path, { token }, { cookie }) : console.ask(path, { headers: { cookie } })))
            .status
      }),
    )
    const [anna, ben] = [people[0] ?? expect.unreachable(), people[1] ?? expect.unreachable()]
    const flood = Array.from({ length: 100 }, anna)
    await nextTurns(50)
    expect(waiting).toHaveLength(atOnce)
    let isThere = false
    const asked = ben().finally(() => {
      isThere = true
    })
    await nextTurns(50)
    for (let n = 0; n < 4 && !isThere; n++) await letIn()
    expect(isThere).toBe(true)
    await letIn(100)
    expect(await asked).toBe(answers[0])
    expect(new Set(await Promise.all(flood))).toEqual(new Set(answers))
  })
})

/** Pages that take no turn among the others, and why. */
const WITHOUT_TURN = {
  '/audit': 'in turns of its own',
  '/live/stream': 'open for hours',
  '/picture': 'hosts may take seconds',
  '/picture/news': 'hosts may take seconds',
  '/search': 'in turns of their own',
  '/uncovered': 'hosts may take seconds',
}

/** Whether each reading was for somebody who asks. */
function readings(of: object): boolean[] {
  const all: boolean[] = []
  for (const name of Object.keys(of)) {
    const method = of[name as keyof typeof of] as unknown
    if (typeof method !== 'function' || name === 'close') continue
    vi.spyOn(of as Record<string, () => unknown>, name).mockImplementation((...given: unknown[]) => {
      all.push(isAskedFor())
      return method.apply(of, given)
    })
  }
  return all
}

describe('whatever is read for a page', () => {
  const all = async () => {
    const log = { find: async () => ({ entries: [], next: null }) }
    const casework = { tell: async () => {} }
    const console = await aConsole({
      auditLog: log,
      casework,
      trials: { ramps: async () => ({ trials: [], isCut: false }), shadows: null, whatIfs: async () => [] },
    })
    const { id } = await console.judged({ verdict: { tenant: 'acme' } })
    return { console, id }
  }

  it('is read in a turn of who asks: of each page that there is but these', async () => {
    const { console } = await all()
    const without = console.pages.flatMap(({ path, withoutTurn }) =>
      withoutTurn === undefined ? [] : [[path, withoutTurn]],
    )
    expect(Object.fromEntries(without)).toEqual(
      Object.fromEntries(Object.entries(WITHOUT_TURN).map(([path, why]) => [path, expect.stringContaining(why)])),
    )
  })

  it('is read for them, whichever page it is', async () => {
    const { console, id } = await all()
    const cookie = await console.signedIn()
    const token = tokenIn((await console.page('/covers', cookie)).text)
    const [record, queue] = [readings(console.record), readings(console.record.review)]
    for (const { method, path } of console.pages) {
      const leaving = new AbortController()
      if (method === 'POST') await console.post(path, { token, id, once: path }, { cookie })
      else await console.ask(`${path}?id=${id}&q=x&days=1`, { headers: { cookie }, signal: leaving.signal })
      leaving.abort()
    }
    await nextTurns(50)
    expect(record.length + queue.length).toBeGreaterThan(20)
    // What several wait for is read for nobody: names, sums, and what the strip of Live counts.
    const forNobody = [...record, ...queue].filter((isAsked) => !isAsked)
    expect(forNobody.length).toBeLessThan(12)
  })
})

describe('a file that pages are made with', () => {
  it('is compressed once, kept for ever, and told by its tag to who has it', async () => {
    const console = await aConsole()
    const page = await (await console.ask('/sign-in')).text()
    const path = /href="(\/assets\/[^"]+console\.css)"/.exec(page)?.[1] ?? ''
    const get = (headers: Record<string, string> = {}, method = 'GET') => console.ask(path, { headers, method })
    const plain = await get()
    expect(await plain.text()).toBe('/* console.css */')
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const small = await get({ 'accept-encoding': 'br, gzip' })
    expect([small.headers.get('content-encoding'), small.headers.get('vary')]).toEqual(['gzip', 'accept-encoding'])
    expect(gunzipSync(Buffer.from(await small.arrayBuffer())).toString()).toBe('/* console.css */')
    const again = await get({ 'if-none-match': plain.headers.get('etag') ?? '' })
    expect([again.status, await again.text()]).toEqual([304, ''])
    expect((await get({}, 'HEAD')).headers.get('content-type')).toBe('text/css')
  })
})
