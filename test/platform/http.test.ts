import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { OperatorError } from '../../src/contracts/facts/errors.ts'
import type { MetricsPage } from '../../src/operations/metrics/metrics.ts'
import { exposure, type HttpParts, type HttpSettings, serveHttp } from '../../src/platform/http.ts'
import { crowd } from '../support/crowd.ts'

const WELL = { ok: true, checks: {} }
const TOKEN = 'a-token-of-this-test-0123456789'
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function served(
  change: Partial<HttpSettings> = {},
  parts: { metrics?: HttpParts['metrics']; ready?: HttpParts['ready']; ok?: boolean } = {},
) {
  const { metrics = async () => ({ type: 'text/plain', text: 'gavel_up 1\n' }), ok = true } = parts
  const health = { ok, checks: { redis: ok ? 'answers' : 'does not answer' } }
  const server = await serveHttp(
    // A token that is read at each request stays one.
    Object.defineProperties(
      { host: '127.0.0.1', port: 0, hosts: [], token: '', forwarders: [] },
      Object.getOwnPropertyDescriptors(change),
    ),
    { metrics, live: async () => health, ready: parts.ready ?? (async () => health) },
  )
  closing.push(server.close)
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { headers, method })
  return { port: server.port, get, tokenTaken: server.tokenTaken }
}

/** What comes back for these bytes, until the other side hangs up. */
async function said(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  // A reset is one way to hang up.
  socket.on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

describe('the port', () => {
  it('is bound to loopback and asks for no token unless set', () => {
    expect(loadSettings({}).http).toMatchObject({ host: '127.0.0.1', token: '' })
    expect(loadSettings({ GAVEL_HTTP_TOKEN: TOKEN }).http.token).toBe(TOKEN)
    for (const weak of ['short', 'has spaces in its middle', `${TOKEN}\n`])
      expect(() => loadSettings({ GAVEL_HTTP_TOKEN: weak })).toThrow(/http\.token: at least 16 visible/)
    try {
      loadSettings({ GAVEL_HTTP_TOKEN: 'my secret' })
    } catch (error) {
      expect(String(error)).not.toContain('my secret')
    }
  })

  it('can’t be reached from another address than the one it is bound to', async () => {
    const { port } = await served({ host: '127.0.0.1' })
    const elsewhere = connect(port, '127.0.0.2')
    await expect(once(elsewhere, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it.each([
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['localhost', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['localhost.example.org', false],
    ['127.0.0.1.example.org', false],
  ])('is warned of where others reach it and no token is set: %s', (host, only) => {
    const told = only ? null : { host, advice: expect.stringContaining('http.token') }
    expect(exposure({ host, token: '' })).toEqual(told)
    expect(exposure({ host, token: TOKEN })).toBeNull()
  })

  it('says which setting to change where it is taken', async () => {
    const { port } = await served()
    const second = serveHttp(
      { host: '127.0.0.1', port, hosts: [], token: '', forwarders: [] },
      {
        metrics: async () => ({ type: 'text/plain', text: '' }),
        live: async () => ({ ok: true, checks: {} }),
        ready: async () => ({ ok: true, checks: {} }),
      },
    )
    await expect(second).rejects.toThrow(OperatorError)
    await expect(second).rejects.toThrow(/GAVEL_HTTP_PORT/)
  })
})

describe('connections beyond the bound, of which', () => {
  it.each([
    ['nothing was heard', ''],
    ['half a request was heard', 'GET /health/live HTTP/1.1\r\nhost: local'],
    ['a request was heard, and half of the next', 'GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\nGET /he'],
  ])('%s keep no probe from its answer', async (_, bytes) => {
    const { port } = await served()
    const silent = await crowd(port, 200, bytes)
    closing.push(async () => {
      for (const socket of silent) socket.destroy()
    })
    const answers: string[] = []
    for (let probe = 0; probe < 15; probe++)
      answers.push(await said(port, 'GET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'))
    expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 200 '))).toHaveLength(15)
  })
})

it('refuses more headers than a proxy sends', async () => {
  const { port } = await served()
  const asked = (count: number) =>
    said(port, `GET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${'a: b\r\n'.repeat(count)}\r\n`)
  expect(await asked(98)).toMatch(/^HTTP\/1\.1 200 /)
  expect(await asked(99)).toMatch(/^HTTP\/1\.1 431 /)
})

describe('on loopback, asked for by another name (DNS rebinding)', () => {
  const asked = async (port: number, path: string, headers: string) =>
    said(port, `GET ${path} HTTP/1.1\r\n${headers}connection: close\r\n\r\n`)

  it.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'notlocalhost',
    '10.0.0.5',
    '0.0.0.0',
    '[::2]',
    '[2001:db8::1]:9464',
    'host.docker.internal.evil.example',
    '',
  ])('nothing is told: %s', async (name) => {
    const { port } = await served({ hosts: ['host.docker.internal'] })
    for (const path of ['/metrics', '/health/live', '/health/ready', '/']) {
      const answer = await asked(port, path, `host: ${name}\r\n`)
      expect(answer).toMatch(/^HTTP\/1\.1 421 /)
      expect(answer).toContain('http.hosts')
      expect(answer).not.toMatch(/gavel_up|answers"|evil/)
    }
  })

  it('nothing is answered if two names are given', async () => {
    const { port } = await served()
    for (const names of [
      ['localhost', 'evil.example'],
      ['evil.example', 'localhost'],
    ])
      expect(await asked(port, '/metrics', names.map((name) => `host: ${name}\r\n`).join(''))).toMatch(
        /^HTTP\/1\.1 4(?:21|00) /,
      )
  })

  it.each(['localhost', 'LOCALHOST:9464', 'localhost.', 'gavel.localhost', '127.0.0.1:1', '127.1.2.3', '[::1]:9464'])(
    'a name of loopback is answered: %s',
    async (name) => {
      const { port } = await served()
      expect(await asked(port, '/metrics', `host: ${name}\r\n`)).toContain('gavel_up 1')
    },
  )

  it('it is the address that counts, not by which name it was bound', async () => {
    const { port } = await served({ host: 'localhost' })
    const local = (bytes: string) =>
      new Promise<string>((resolve) => {
        const socket = connect(port, 'localhost')
        let text = ''
        socket.on('data', (chunk: Buffer) => {
          text += chunk.toString('latin1')
        })
        socket.on('close', () => resolve(text))
        socket.end(bytes)
      })
    expect(await local('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n')).toContain('gavel_up 1')
    expect(await local('GET /metrics HTTP/1.1\r\nhost: evil.example\r\n\r\n')).toMatch(/^HTTP\/1\.1 421 /)
  })

  it('a name that the settings know is answered, and a client too old to give one', async () => {
    const { port } = await served({ hosts: ['Gavel.example', '10.0.0.5'] })
    for (const name of ['gavel.EXAMPLE', 'gavel.example:9464', '10.0.0.5:80'])
      expect(await asked(port, '/metrics', `host: ${name}\r\n`)).toContain('gavel_up 1')
    expect(await said(port, 'GET /metrics HTTP/1.0\r\n\r\n')).toContain('gavel_up 1')
  })

  it('Docker Desktop’s name for its machine is known unless set otherwise', async () => {
    expect(loadSettings({}).http.hosts).toEqual(['host.docker.internal'])
    expect(loadSettings({ GAVEL_HTTP_HOSTS: 'a.example, b.example' }).http.hosts).toEqual(['a.example', 'b.example'])
    expect(() => loadSettings({ GAVEL_HTTP_HOSTS: 'a.example:80' })).toThrow(/http\.hosts\.0: a host name/)
  })

  it('any name is answered where the port is not on loopback: of pods, containers and services', async () => {
    const { port } = await served({ host: '0.0.0.0' })
    for (const name of ['10.1.2.3:9464', 'gavel', 'gavel-7d9f.monitoring.svc:9464', '[2001:db8::1]:9464'])
      expect(await asked(port, '/metrics', `host: ${name}\r\n`)).toContain('gavel_up 1')
  })
})

describe('with a token set', () => {
  it('the minute of a replaced one begins when the change is taken, not at the next request', async () => {
    const clock = vi.spyOn(performance, 'now')
    const settings = { token: TOKEN }
    const { get, tokenTaken } = await served({
      get token() {
        return settings.token
      },
    })
    settings.token = `${TOKEN}-two`
    tokenTaken()
    const now = performance.now() + 61_000
    clock.mockImplementation(() => now)
    const status = async (token: string) => (await get('/metrics', { authorization: `Bearer ${token}` })).status
    expect([await status(TOKEN), await status(settings.token)]).toEqual([401, 200])
    clock.mockRestore()
  })

  it.each([
    ['nothing', {}],
    ['another', { authorization: `Bearer ${TOKEN.slice(0, -1)}x` }],
    ['its beginning', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ['more than it', { authorization: `Bearer ${TOKEN}x` }],
    ['none after the word', { authorization: 'Bearer ' }],
    ['it in another scheme', { authorization: `Basic ${TOKEN}` }],
    ['it without a scheme', { authorization: TOKEN }],
    ['two', { authorization: `Bearer x ${TOKEN}` }],
  ])('metrics are refused to who brings %s', async (_, headers) => {
    const { get } = await served({ token: TOKEN })
    const response = await get('/metrics', headers as Record<string, string>)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    expect(await response.text()).not.toContain('gavel_up')
    expect((await get(`/metrics?token=${TOKEN}`)).status).toBe(401)
  })

  it('metrics are shown to who brings it, and health to everybody', async () => {
    const { get } = await served({ token: TOKEN })
    for (const scheme of ['Bearer', 'bearer']) {
      const response = await get('/metrics', { authorization: `${scheme} ${TOKEN}` })
      expect([response.status, await response.text()]).toEqual([200, 'gavel_up 1\n'])
    }
    expect((await get('/health/live')).status).toBe(200)
    expect((await get('/health/ready')).status).toBe(200)
  })
})

it('wrong tokens in a row are told to wait, by who a forwarder says they are of, and shut nobody out who has it', async () => {
  const { get } = await served({ token: TOKEN, forwarders: ['127.0.0.1'] })
  const as = (network: string, token: string) =>
    get('/metrics', { authorization: `Bearer ${token}`, 'x-forwarded-for': network })
  const told = await Promise.all(Array.from({ length: 60 }, (_, nth) => as('192.0.2.1', `wrong-${nth}`)))
  const answers = told.map(({ status, headers }) => `${status} ${headers.get('retry-after')}`)
  expect(new Set(answers)).toEqual(new Set(['401 null', '429 1']))
  expect((await as('192.0.2.1', TOKEN)).status).toBe(200)
  expect((await as('192.0.2.2', 'wrong')).status).toBe(401)
  expect((await get('/metrics')).status).toBe(401)
})

describe('a request', () => {
  it('is answered by the page, by 404, or by 405 for anything but GET and HEAD', async () => {
    const { get } = await served()
    expect(await (await get('/metrics')).text()).toBe('gavel_up 1\n')
    expect((await get('/metrics', {}, 'HEAD')).status).toBe(200)
    expect((await get('/')).status).toBe(404)
    expect((await get('/metrics/../../etc/passwd')).status).toBe(404)
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
      expect((await get('/metrics', {}, method)).status).toBe(405)
  })

  it('is answered with 503 and the reasons where health fails', async () => {
    const { get } = await served({}, { ok: false })
    const response = await get('/health/ready')
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({ status: 'failing', checks: { redis: 'does not answer' } })
  })

  it('that fails inside says nothing of why', async () => {
    const { get } = await served({}, { metrics: () => Promise.reject(new Error(`SECRET ${TOKEN}`)) })
    const response = await get('/metrics')
    expect([response.status, await response.text()]).toEqual([500, 'failed\n'])
  })

  it.each([
    ['headers of 9 KB', `GET /metrics HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(9_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
    ['no HTTP', '\u0016\u0003\u0001\u0002\u0000\r\n\r\n', /^HTTP\/1\.1 400 /],
    [
      'two lengths',
      'GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a body without end',
      `POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n${'a'.repeat(99)}`,
      /^HTTP\/1\.1 405 /,
    ],
  ])('with %s is refused, and hung up on', async (_, bytes, answer) => {
    const { port } = await served()
    expect(await said(port, bytes)).toMatch(answer)
  })

  it('that never ends is hung up on, and holds up nobody meanwhile', { timeout: 20_000 }, async () => {
    const { port, get } = await served()
    const dawdlers = [said(port, 'GET /metrics HTTP/1.1\r\nhost: x\r\nx: '), said(port, '')]
    expect((await get('/health/live')).status).toBe(200)
    for (const heard of await Promise.all(dawdlers)) expect(heard).toMatch(/^(?:HTTP\/1\.1 408 |$)/)
  })

  it('whose answer is awaited gives way to nobody: beyond the most connections others are refused', async () => {
    const looking: (() => void)[] = []
    const { port } = await served({}, { ready: () => new Promise((resolve) => void looking.push(() => resolve(WELL))) })
    const ask = (path: string) => said(port, `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
    const answers = Array.from({ length: 128 }, () => ask('/health/ready'))
    await vi.waitFor(() => expect(looking).toHaveLength(128))
    expect(await ask('/health/live')).toBe('')
    for (const look of looking) look()
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(await ask('/health/live')).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('the page of metrics', () => {
  const GET = 'GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'

  /** A port whose pages are made when they are let through. */
  async function slow() {
    const making: { accept: string | undefined; end: () => void }[] = []
    const metrics = (accept: string | undefined) =>
      new Promise<MetricsPage>((resolve) => {
        const page = { type: 'text/plain', text: `page ${making.length}\n` }
        making.push({ accept, end: () => resolve(page) })
      })
    return { making, ...(await served({}, { metrics })) }
  }

  it('is made once for all who ask while another is made', async () => {
    const { making, port } = await slow()
    const first = said(port, GET)
    await vi.waitFor(() => expect(making).toHaveLength(1))
    const others = Array.from({ length: 60 }, (_, nth) =>
      said(port, GET.replace('connection', `accept: text/plain;n=${nth}\r\nconnection`)),
    )
    const open = said(
      port,
      GET.replace('connection', 'accept: application/openmetrics-text; version=1.0.0\r\nconnection'),
    )
    // What was sent before a probe has been heard when the probe is answered, but for a busy machine: once more.
    for (let probe = 0; probe < 5; probe++) await said(port, GET.replace('metrics', 'health/live'))
    expect(making).toHaveLength(1)
    for (let nth = 0; nth < 3; nth++) {
      await vi.waitFor(() => expect(making).toHaveLength(nth + 1), 10_000)
      making[nth]?.end()
    }
    expect(await first).toContain('page 0')
    const pages = (await Promise.all([...others, open])).map((one) => /page \d/.exec(one)?.[0])
    expect(new Set(pages.slice(0, -1)).size).toBe(1)
    expect(new Set(pages)).toEqual(new Set(['page 1', 'page 2']))
    expect(new Set(making.map(({ accept }) => accept))).toEqual(new Set(['', 'application/openmetrics-text']))
  })

  it('is refused to who asks for so many that they hold half of the connections, and probes are answered', async () => {
    const { making, port } = await slow()
    const asked = Array.from({ length: 128 }, () => said(port, GET))
    const [refused] = await Promise.all(asked.slice(64))
    expect(refused).toMatch(/^HTTP\/1\.1 429 .*retry-after: 1/is)
    expect(await said(port, GET.replace('metrics', 'health/live'))).toMatch(/^HTTP\/1\.1 200 /)
    for (let nth = 0; nth < 2; nth++) {
      await vi.waitFor(() => expect(making).toHaveLength(nth + 1), 10_000)
      making[nth]?.end()
    }
    for (const answer of await Promise.all(asked.slice(0, 64))) expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })
})
