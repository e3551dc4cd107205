import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PROBLEM_NAMES } from '../../src/door/problem.ts'
import { json } from '../../src/door/route.ts'
import { serveDoor } from '../../src/door/server/door-server.ts'
import { COMMENT, POST, testDoor } from './door-for-tests.ts'

const SETTINGS = {
  host: '127.0.0.1',
  port: 0,
  hosts: ['door.example'],
  requestTime: 1_000,
  connections: 100,
  keepAlive: 5_000,
  forwarders: [],
}
const door = testDoor({ bodyBytes: 50_000, bodies: 120_000 })
let server: Awaited<ReturnType<typeof serveDoor>>

beforeAll(async () => {
  const refuse = (problem: string) => ({ type: 'application/problem+json', body: JSON.stringify({ type: problem }) })
  server = await serveDoor(SETTINGS, { fetch: door.fetch, refuse })
})
afterAll(() => server.close(100))

/** Sends bytes as they are, and reads until the other side closes or falls silent. */
async function raw(bytes: string | Buffer, silentMs = 3_000): Promise<string> {
  const socket = connect(server.port, '127.0.0.1')
  let said = ''
  socket.on('data', (data) => {
    said += data.toString('latin1')
  })
  socket.on('error', () => {})
  socket.setTimeout(silentMs, () => socket.destroy())
  socket.write(bytes)
  await once(socket, 'close')
  return said
}

const head = (more: string[], { method = 'POST', path = '/v1/messages', host = 'localhost' } = {}) =>
  [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${door.key}`,
    'Connection: close',
    ...more,
    '',
    '',
  ].join('\r\n')
const statusOf = (said: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1])
const JSON_TYPE = 'Content-Type: application/json'

describe('over a socket', () => {
  test('messages are taken', async () => {
    const body = JSON.stringify([POST, COMMENT])
    const said = await raw(head([JSON_TYPE, `Content-Length: ${body.length}`]) + body)
    expect(statusOf(said)).toBe(200)
    expect(said).toContain('"accepted":2')
    expect(said).toMatch(/x-request-id: req_/i)
  })

  test.each([
    ['two Hosts', `GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n`, 400],
    ['no Host', 'GET /openapi.json HTTP/1.1\r\n\r\n', 400],
    ['a Host that is none', 'GET /openapi.json HTTP/1.1\r\nHost: a b/../c@d\r\nConnection: close\r\n\r\n', 400],
    [
      'a name that a web page has pointed here',
      'GET /openapi.json HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
      421,
    ],
    ['a name of the settings', 'GET /openapi.json HTTP/1.1\r\nHost: door.example:1\r\nConnection: close\r\n\r\n', 200],
    [
      'an address in place of a path',
      'GET http://evil.example/openapi.json HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
      421,
    ],
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a header with a line of its own', 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nX: a\n b: c\r\n\r\n', 400],
    ['both lengths', `${head([JSON_TYPE, 'Content-Length: 4', 'Transfer-Encoding: chunked'])}0\r\n\r\n`, 400],
    ['more headers than fit', head([`X-Long: ${'x'.repeat(9_000)}`]), 431],
    ['an escape that is none', head([], { method: 'GET', path: '/problems/%zz' }), 400],
    ['a method that is not taken', head([], { method: 'DELETE' }), 405],
    ['a segment of two dots', head([], { method: 'GET', path: '/x/../openapi.json' }), 400],
    ['a segment of dots that is escaped', head([], { method: 'GET', path: '/x/%2e%2E/openapi.json' }), 400],
    ['a segment of dots behind a backslash', head([], { method: 'GET', path: '/x\\..\\openapi.json' }), 400],
    ['an asterisk', head([], { method: 'OPTIONS', path: '*' }), 400],
    ['a port that is none', head([], { method: 'GET', path: '/openapi.json', host: 'localhost:99999' }), 400],
    ['an address of another kind', head([], { method: 'GET', path: 'ftp://x/' }), 400],
    ['an expectation', head(['Expect: miracles'], { method: 'GET', path: '/openapi.json' }), 417],
    ['a tunnel', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['a path that leads nowhere', head([], { method: 'GET', path: '/v2/messages' }), 404],
  ])('%s', async (_, bytes, status) => {
    const said = await raw(bytes)
    expect(statusOf(said)).toBe(status)
    if (status >= 400) expect(said).toMatch(/content-type: application\/problem\+json/i)
  })

  test('an answer whose bytes are at hand is written without being read as a stream, with each of its headers', async () => {
    const response = json(201, { said: 'é' })
    for (const one of ['a=1', 'b=2']) response.headers.append('set-cookie', one)
    const own = await serveDoor(SETTINGS, { fetch: async () => response, refuse: () => ({ type: '', body: '' }) })
    const answer = await fetch(own.url)
    expect(answer.status).toBe(201)
    expect(await answer.text()).toBe('{"said":"é"}\n')
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(answer.headers.get('content-length')).toBe('14')
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(response.bodyUsed).toBe(false)
    expect(await (await fetch(own.url, { method: 'HEAD' })).text()).toBe('')
    await own.close(100)
  })

  test('what can’t be read takes no answer’s place', async () => {
    const body = JSON.stringify([POST])
    const good = head([JSON_TYPE, `Content-Length: ${body.length}`]).replace('Connection: close\r\n', '') + body
    const behind = await raw(`${good}GARBAGE\r\n\r\n`)
    expect(behind.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
    const unended = await raw(`GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n`, 6_000)
    expect(unended.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  }, 15_000)

  test('bodies that wait for their last byte have room, half of it for one tenant, and none beyond', async () => {
    const other = door.keyOf('other', ['send'])
    const unended = (key: string) => {
      const socket = connect(server.port, '127.0.0.1').on('error', () => {})
      const headers = head([JSON_TYPE, 'Content-Length: 40000']).replace(door.key, key)
      socket.write(`${headers}${' '.repeat(39_999)}`)
      return socket
    }
    const ended = async (key: string) => {
      const body = ' '.repeat(40_000)
      return statusOf(await raw(head([JSON_TYPE, 'Content-Length: 40000']).replace(door.key, key) + body))
    }
    const first = unended(door.key)
    await vi.waitFor(async () => expect(await ended(door.key)).toBe(429))
    const second = unended(other)
    await vi.waitFor(async () => expect(await ended(other)).toBe(429))
    // One message of so many bytes is too large, once it is read.
    expect(await ended(door.keyOf('third', ['send']))).toBe(413)
    expect(statusOf(await raw(`${head([JSON_TYPE, 'Transfer-Encoding: chunked'])}7530\r\n${' '.repeat(30_000)}`))).toBe(
      429,
    )
    first.destroy()
    second.destroy()
    await vi.waitFor(async () => expect(await ended(door.key)).toBe(413))
  }, 15_000)

  test('a body that is longer than may be is refused before it is read, however its length is told', async () => {
    expect(statusOf(await raw(head([JSON_TYPE, 'Content-Length: 999999999'])))).toBe(413)
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`
    expect(statusOf(await raw(head([JSON_TYPE, 'Transfer-Encoding: chunked']) + chunk.repeat(8)))).toBe(413)
  })

  test('a body that does not arrive is given up', async () => {
    const said = await raw(`${head([JSON_TYPE, 'Content-Length: 1000'])}[`, 10_000)
    expect([408, Number.NaN]).toContain(statusOf(said))
  })

  test('without JSON’s type a body is refused with the option of curl that sets it', async () => {
    const said = await raw(`${head(['Content-Length: 2', 'Content-Type: application/x-www-form-urlencoded'])}{}`)
    expect(statusOf(said)).toBe(415)
    expect(said).toContain("curl -H 'content-type: application/json'")
  })
})

describe('a client that', () => {
  const fetchOf = (answer: () => Promise<Response>) => ({ fetch: answer, refuse: () => ({ type: 'x/y', body: '' }) })
  const ask = 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'

  test('sends requests faster than they are answered is cut off at a bound', async () => {
    let asked = 0
    const never = fetchOf(() => {
      asked++
      return new Promise(() => {})
    })
    const own = await serveDoor(SETTINGS, never)
    const socket = connect(own.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(ask.repeat(300))
    await once(socket.resume(), 'close')
    expect(asked).toBeLessThanOrEqual(16)
    await own.close(0)
  })

  test('sends many requests at once, and reads the answers, gets all of them', async () => {
    const said = await raw(ask.repeat(15) + head([], { method: 'GET', path: '/openapi.json' }))
    expect(said.match(/HTTP\/1\.1 200/g)).toHaveLength(16)
  })

  test('does not take its answer loses its connection, and one whose answer is long in coming does not', async () => {
    const answers = [
      async () => new Response('x'.repeat(64 * 2 ** 20)),
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 2_500))
        return new Response('late')
      },
    ]
    const own = await serveDoor(
      { ...SETTINGS, connections: 1 },
      fetchOf(() => (answers.shift() as () => Promise<Response>)()),
    )
    const idle = connect(own.port, '127.0.0.1').on('error', () => {})
    idle.pause()
    idle.write(ask)
    const late = async () => {
      const socket = connect(own.port, '127.0.0.1').on('error', () => {})
      let said = ''
      socket.on('data', (data) => {
        said += data.toString('latin1')
        socket.end()
      })
      socket.write(ask)
      await once(socket, 'close')
      return said
    }
    await vi.waitFor(async () => expect(await late()).toContain('late'), { timeout: 15_000, interval: 200 })
    idle.destroy()
    await own.close(0)
  }, 20_000)

  /** A server whose requests take a while: what became of each, by its path. */
  async function slowServer(requestTime: number) {
    const became = new Map<string, 'begun' | 'answered' | 'left'>()
    const answer = async (request: Request) => {
      const { pathname } = new URL(request.url)
      became.set(pathname, 'begun')
      request.signal.addEventListener('abort', () => became.set(pathname, 'left'))
      await request.arrayBuffer()
      await sleep(1_500)
      if (!request.signal.aborted) became.set(pathname, 'answered')
      return new Response(pathname)
    }
    const own = await serveDoor(
      { ...SETTINGS, requestTime },
      { fetch: answer, refuse: () => ({ type: 'x/y', body: '' }) },
    )
    /** A client that goes on whatever the other side says, as one does whose request is on its way by then. */
    const client = () => {
      const socket = connect({ port: own.port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
      let said = ''
      socket.on('data', (data) => {
        said += data.toString('latin1')
      })
      return { socket, said: () => said.match(/HTTP\/1\.1 \d+/g) ?? [] }
    }
    return { ...own, became, client }
  }
  const post = (path: string, body = '{}') =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n${body}`

  test('stays is not taken for one that left, and is told nothing of a connection on which nothing was begun', async () => {
    const own = await slowServer(30_000)
    const all = await Promise.all(
      Array.from({ length: 60 }, async (_, at) => {
        const { socket, said } = own.client()
        const isReused = at % 2 === 0
        if (isReused) {
          socket.write(post(`/first-${at}`))
          await vi.waitFor(() => expect(said()).toHaveLength(1), 10_000)
        }
        const before = said().length
        // The last ones send when the connection is closed: as late as can be.
        const isOver = new Promise((resolve) => socket.once('end', resolve).once('close', resolve))
        await (at < 50 ? Promise.race([sleep(5_000 + at * 36), isOver]) : isOver)
        socket.write(post(`/one-${at}`) + post(`/two-${at}`))
        let isLate = false
        void isOver.then(() => sleep(2_500)).then(() => (isLate = true))
        // No wait outlives its test: it would turn the mocked clock of the next one in this process.
        await vi.waitFor(() => expect(isLate || said().length === before + 2).toBe(true), 20_000).catch(() => {})
        socket.destroy()
        const [one, two] = [own.became.get(`/one-${at}`), own.became.get(`/two-${at}`)]
        return { at, one, two, said: said().slice(before) }
      }),
    )
    const good = { one: 'answered', two: 'answered', said: ['HTTP/1.1 200', 'HTTP/1.1 200'] }
    const unbegun = { one: undefined, two: undefined, said: [] }
    for (const { at, ...one } of all)
      expect({ at, ...one }).toEqual({ at, ...(one.one === undefined ? unbegun : good) })
    expect(new Set(all.slice(0, 50).map(({ one }) => one))).toContain('answered')
    expect(new Set(all.slice(50).map(({ one }) => one))).toEqual(new Set([undefined]))
    await own.close(0)
  }, 30_000)

  test('was refused because its body did not arrive has nothing carried out when it arrives', async () => {
    const own = await slowServer(1_500)
    const { socket, said } = own.client()
    socket.write(post('/late', '{'))
    await vi.waitFor(() => expect(said()).toEqual(['HTTP/1.1 408']), 10_000)
    socket.write('}')
    await sleep(1_800)
    expect(own.became.get('/late')).toBe('left')
    socket.destroy()
    await own.close(0)
  }, 20_000)

  test('ends its side of the connection has left', async () => {
    const own = await slowServer(30_000)
    const { socket, said } = own.client()
    socket.end(post('/halved'))
    await vi.waitFor(() => expect(own.became.get('/halved')).toBe('left'))
    expect(said()).toEqual([])
    socket.destroy()
    await own.close(0)
  })
})

describe('every answer', () => {
  test.each([
    ['gzip', { 'content-encoding': 'gzip' }, 415],
    ['br in capitals', { 'content-encoding': 'BR' }, 415],
    ['utf-16', { 'content-type': 'application/json; charset=utf-16' }, 415],
    ['text', { 'content-type': 'text/plain' }, 415],
    ['a kind of JSON', { 'content-type': 'application/vnd.api+json; charset=UTF-8' }, 200],
  ])('to a body in %s', async (_, headers, status) => {
    expect((await door.ask('POST', '/v1/messages', [POST], headers)).status).toBe(status)
  })

  test('has an id: the client’s own where it may stand in a header', async () => {
    const { headers } = await door.ask('GET', '/openapi.json', undefined, { 'x-request-id': 'mine-1' })
    expect(headers.get('x-request-id')).toBe('mine-1')
    const { headers: others } = await door.ask('GET', '/nowhere', undefined, { 'x-request-id': '"quoted" <b>' })
    expect(others.get('x-request-id')).not.toContain('quoted')
  })

  test.each([
    ['/messages', 'no route has this path. Did you mean "/v1/messages"?'],
    ['/v1/mesages', 'no route has this path. Did you mean "/v1/messages"?'],
    [`/${'m'.repeat(5_000)}`, 'no route has this path.'],
  ])('for a path that there is not names the one that was meant: %.20s', async (path, detail) => {
    const { status, body } = await door.ask('GET', path)
    expect([status, body.detail]).toEqual([404, detail])
  })

  test('that is a refusal is told with its id, its problem and the key’s id, and never with its address', async () => {
    const own = testDoor()
    await own.ask('GET', '/secret-path?key=secret', undefined, { 'x-request-id': 'mine-2' })
    await own.ask('POST', '/v1/messages', '[', { 'x-request-id': 'mine-3' })
    await own.ask('POST', '/v1/messages', [POST])
    const [key] = own.keyIds
    expect(own.events.filter(([name]) => name === 'door:refused').map(([, event]) => event)).toEqual([
      { requestId: 'mine-2', route: 'none', status: 404, problem: 'not-found', key: '', network: '127.0.0.1' },
      { requestId: 'mine-3', route: '/v1/messages', status: 400, problem: 'not-json', key, network: '127.0.0.1' },
    ])
    const answered = own.events.filter(([name]) => name === 'door:answered').map(([, event]) => event)
    expect(answered).toMatchObject([
      { route: 'none', outcome: 'refused' },
      { route: '/v1/messages', outcome: 'refused' },
      { route: '/v1/messages', outcome: 'answered' },
    ])
    expect(JSON.stringify(own.events)).not.toContain('secret')
  })

  test('that is a stranger’s refusal is told once in a while, and that of a known key each time, but for its rate', async () => {
    const own = testDoor({ rate: { perSecond: 1, burst: 1 } })
    for (const _ of [1, 2, 3]) {
      await own.ask('GET', '/nowhere')
      await own.ask('POST', '/v1/messages', [POST], { authorization: 'Bearer wrong' })
      await own.ask('POST', '/v1/messages', '[')
    }
    const [key] = own.keyIds
    const told = own.events.flatMap(([name, event]) => (name === 'door:refused' ? [event] : []))
    expect(told).toMatchObject([
      { key: '', problem: 'not-found' },
      { key, problem: 'not-json' },
      { key, problem: 'rate' },
    ])
    expect(told).toHaveLength(3)
    expect(own.events.filter(([name]) => name === 'door:answered')).toHaveLength(9)
  })

  test('may be read by web pages of named origins alone', async () => {
    const open = testDoor({ origins: ['https://app.example'] })
    const asked = (origin: string) => open.ask('POST', '/v1/messages', [POST], { origin })
    expect((await asked('https://app.example')).headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect((await asked('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
    expect(
      (await door.ask('POST', '/v1/messages', [POST], { origin: 'https://app.example' })).headers.get('vary'),
    ).toBeNull()
    const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
    expect((await open.ask('OPTIONS', '/v1/messages', undefined, preflight)).status).toBe(204)
    expect((await door.ask('OPTIONS', '/v1/messages', undefined, preflight)).status).toBe(405)
  })

  test('is a 503 while the door closes', async () => {
    const closing = testDoor()
    closing.closing.abort()
    const { status, headers } = await closing.ask('POST', '/v1/messages', [POST])
    expect([status, headers.get('connection'), headers.get('retry-after')]).toEqual([503, 'close', '1'])
  })

  test('to what fails here says so, and quotes nothing', async () => {
    const failing = testDoor({
      pressure: () => {
        throw new Error('secret of the house')
      },
    })
    const { status, body } = await failing.ask('POST', '/v1/messages', [POST])
    expect([status, body.type, JSON.stringify(body)]).toEqual([
      500,
      '/problems/failed',
      expect.not.stringContaining('secret'),
    ])
    expect(failing.events.map(([name]) => name)).toContain('error')
  })
})

test('each problem has a page, and no other', async () => {
  for (const name of PROBLEM_NAMES) expect((await door.ask('GET', `/problems/${name}`)).body.todo).toMatch(/\.$/)
  expect((await door.ask('GET', '/problems/constructor')).status).toBe(404)
})

describe('the document', () => {
  test('is OpenAPI 3.1', async () => {
    const { body } = await door.ask('GET', '/openapi.json')
    const result = await new Validator().validate(body)
    expect(result).toMatchObject({ valid: true })
    expect(body.openapi).toBe('3.1.0')
  })

  test('has examples that are answered as it says', async () => {
    const { body } = await door.ask('GET', '/openapi.json')
    let tried = 0
    for (const [path, methods] of Object.entries<
      Record<string, { requestBody?: { content: Record<string, { example: unknown }> } }>
    >(body.paths))
      for (const [method, { requestBody }] of Object.entries(methods)) {
        if (requestBody === undefined) continue
        const example = requestBody.content['application/json']?.example
        expect((await door.ask(method.toUpperCase(), path, example)).status).toBe(200)
        tried++
      }
    expect(tried).toBeGreaterThan(0)
  })
})
