import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { type DoorServerSettings, serveDoor } from '../../src/door/server/door-server.ts'
import { shareOf } from '../../src/platform/who-asks.ts'
import { crowd } from '../support/crowd.ts'
import { POST, testDoor } from './door-for-tests.ts'

const SETTINGS: DoorServerSettings = {
  host: '127.0.0.1',
  port: 0,
  hosts: [],
  requestTime: 1_000,
  connections: 100,
  keepAlive: 75_000,
  forwarders: [],
}
const HALF = 'POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1'
const ASK = 'GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** What is waited for comes at once, but for a busy machine. */
vi.setConfig({ testTimeout: 30_000 })
const soon = (holds: () => void) => vi.waitFor(holds, { timeout: 10_000 })

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** A door whose answers come when `answer` is called, or at once. */
async function served(settings: Partial<DoorServerSettings> = {}, { waits = false } = {}) {
  const waiting: (() => void)[] = []
  const own = await serveDoor(
    { ...SETTINGS, ...settings },
    {
      async fetch(request) {
        await request.text()
        if (waits) await new Promise<void>((resolve) => void waiting.push(resolve))
        return new Response('said')
      },
      refuse: () => ({ type: 'text/plain', body: '' }),
    },
  )
  ends.push(() => own.close(0))
  return { ...own, waiting }
}

interface Client {
  readonly socket: Socket
  said: string
  /** When the other side had closed it, on performance's clock; undefined while it is open. */
  closedAt: number | undefined
}

async function client(port: number, bytes = '', localAddress = '127.0.0.1'): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  ends.unshift(() => socket.destroy())
  const own: Client = { socket, said: '', closedAt: undefined }
  socket.on('error', () => {})
  socket.on('data', (data) => {
    own.said += data.toString('latin1')
  })
  socket.on('close', () => {
    own.closedAt = performance.now()
  })
  await once(socket, 'connect')
  if (bytes !== '') socket.write(bytes)
  return own
}

/** A connection on which one request was answered. */
async function idler(port: number, localAddress?: string): Promise<Client> {
  const own = await client(port, ASK, localAddress)
  await soon(() => expect(own.said).toContain('said'))
  return own
}

it('keeps an idle connection for longer than balancers keep theirs, and says for how long', async () => {
  const { port } = await served()
  const own = await idler(port)
  expect(own.said).toContain('Keep-Alive: timeout=75')
  await sleep(7_000)
  own.socket.write(ASK)
  await soon(() => expect(own.said.match(/HTTP\/1\.1 200/g)).toHaveLength(2))
  expect(own.closedAt).toBeUndefined()
})

it('closes an idle connection after its time', async () => {
  const { port } = await served({ keepAlive: 1_000 })
  const own = await idler(port)
  await soon(() => expect(own.closedAt).toBeDefined())
})

it('ends at once although connections are idle, and has asked for nothing yet', async () => {
  const own = await served()
  const clients = [await idler(own.port), await client(own.port)]
  const began = performance.now()
  await own.close(60_000)
  await soon(() => expect(clients.map(({ closedAt }) => closedAt !== undefined)).toEqual([true, true]))
  expect(performance.now() - began).toBeLessThan(1_000)
})

it('answers what was asked before it closes, and keeps no connection for it', async () => {
  const own = await served({}, { waits: true })
  const asking = await client(own.port, ASK)
  await soon(() => expect(own.waiting).toHaveLength(1))
  const closed = own.close(60_000)
  await sleep(100)
  expect(asking.said).toBe('')
  const began = performance.now()
  own.waiting[0]?.()
  await closed
  expect(performance.now() - began).toBeLessThan(1_000)
  await soon(() => expect(asking.said).toMatch(/^HTTP\/1\.1 200.*connection: close.*said/is))
})

it.each([
  ['headers', 'GET /x HTTP/1.1\r\nHost: local'],
  ['a body', `POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n1`],
])(
  'waits for the rest of %s while it closes, and not for ever',
  async (_, bytes) => {
    const own = await served({ requestTime: 3_000 })
    const trickling = await client(own.port, bytes)
    await soon(() => expect(trickling.socket.bytesWritten).toBe(bytes.length))
    await sleep(100)
    const trickle = setInterval(() => trickling.socket.write('1'), 500)
    ends.unshift(() => clearInterval(trickle))
    const began = performance.now()
    await own.close(60_000)
    expect(performance.now() - began).toBeGreaterThan(500)
    expect(performance.now() - began).toBeLessThan(8_000)
  },
  15_000,
)

it('has room for who asks while somebody holds all connections idle: their oldest give way', async () => {
  const { port } = await served({ connections: 5 })
  const ours = await idler(port)
  const theirs: Client[] = []
  for (let nth = 0; nth < 4; nth++) theirs.push(await idler(port, '127.0.0.2'))
  const isOpen = () => theirs.map(({ closedAt }) => closedAt === undefined)
  await idler(port, '127.0.0.3')
  await soon(() => expect(isOpen()).toEqual([false, true, true, true]))
  // Who asked again is younger.
  theirs[1]?.socket.write(ASK)
  await soon(() => expect(theirs[1]?.said.match(/HTTP\/1\.1 200/g)).toHaveLength(2))
  // And so is who asked by a body that came later than its head.
  theirs[2]?.socket.write(HALF)
  await sleep(50)
  theirs[2]?.socket.write('23456789')
  await soon(() => expect(theirs[2]?.said.match(/HTTP\/1\.1 200/g)).toHaveLength(2))
  // One that has asked nothing gives way, too.
  await client(port, '', '127.0.0.2')
  await soon(() => expect(isOpen()).toEqual([false, true, true, false]))
  await idler(port)
  await soon(() => expect(isOpen()).toEqual([false, false, true, false]))
  expect(ours.closedAt).toBeUndefined()
})

it('never takes a connection on which an answer is waited for', async () => {
  const { port, waiting } = await served({ connections: 2 }, { waits: true })
  const asking = [await client(port, ASK), await client(port, ASK)]
  await soon(() => expect(waiting).toHaveLength(2))
  const third = await client(port, ASK)
  await soon(() => expect(third.closedAt).toBeDefined())
  for (const answer of waiting) answer()
  await soon(() => expect(asking.every(({ said }) => said.endsWith('said'))).toBe(true))
})

it('half a request gives way to who asks, the longest waiting first, however it dribbles', async () => {
  const { port } = await served({ connections: 4, requestTime: 30_000 })
  const all = [await client(port), await client(port), await client(port), await client(port)] as const
  const [body, head, last, next] = all
  const sent = [`${ASK}GET /x`, HALF, 'GET /x HTTP/1.1\r\nHost: loc', HALF]
  for (const [at, { socket }] of [next, last, head, body].entries()) {
    socket.write(sent[at] ?? '')
    // They come in this order.
    await sleep(50)
  }
  await soon(() => expect(next.said).toContain('said'))
  for (let nth = 0; nth < all.length; nth++) {
    for (const { socket } of all.slice(nth)) socket.write('1')
    await idler(port)
    await soon(() => expect(all.map(({ closedAt }) => closedAt === undefined)).toEqual(all.map((_, at) => at > nth)))
  }
})

it.each([
  ['and was read', '/x', ''],
  ['and was not read', '/unread', ''],
  ['and half of the next', '/x', HALF],
])('never takes a connection whose body has arrived %s', async (_, path, next) => {
  const waiting: (() => void)[] = []
  const own = await serveDoor(
    { ...SETTINGS, connections: 1 },
    {
      async fetch(request) {
        if (!request.url.endsWith('/unread')) await request.text()
        await new Promise<void>((resolve) => void waiting.push(resolve))
        return new Response('said')
      },
      refuse: () => ({ type: 'text/plain', body: '' }),
    },
  )
  ends.push(() => own.close(0))
  const asking = await client(own.port, HALF.replace('/x', path))
  asking.socket.write(`23456789${next}`)
  await soon(() => expect(waiting).toHaveLength(1))
  await sleep(100)
  const other = await client(own.port, ASK)
  await soon(() => expect(other.closedAt).toBeDefined())
  waiting[0]?.()
  await soon(() => expect(asking.said).toMatch(/said$/))
  // Now it does wait for its client.
  await client(own.port, ASK)
  await soon(() => expect(waiting).toHaveLength(2))
})

/** A door that counts each request for the tenant in its path, and answers when `answer` is called. */
async function shared(connections: number) {
  const waiting: (() => void)[] = []
  const own = await serveDoor(
    { ...SETTINGS, connections, requestTime: 30_000 },
    {
      async fetch(request, { countFor }) {
        const tenant = new URL(request.url).pathname
        if (!countFor({ network: '', tenant, key: '' })) return new Response('refused', { status: 429 })
        await request.text()
        await new Promise<void>((resolve) => void waiting.push(resolve))
        return new Response('said')
      },
      refuse: () => ({ type: 'text/plain', body: '' }),
    },
  )
  ends.push(() => own.close(0))
  return { ...own, waiting }
}

it('one tenant has half of the connections at most, until its requests are answered', async () => {
  const { port, waiting } = await shared(6)
  const theirs = [await client(port, ASK), await client(port, ASK), await client(port, ASK)]
  await soon(() => expect(waiting).toHaveLength(3))
  const more = await client(port, ASK)
  await soon(() => expect(more.said).toMatch(/^HTTP\/1\.1 429.*refused$/s))
  const other = await client(port, ASK.replace('/x', '/y'))
  await soon(() => expect(waiting).toHaveLength(4))
  for (const answer of waiting) answer()
  await soon(() => expect([...theirs, other].every(({ said }) => said.endsWith('said'))).toBe(true))
  more.socket.write(ASK)
  await soon(() => expect(waiting).toHaveLength(5))
  expect(theirs.map(({ closedAt }) => closedAt)).toEqual([undefined, undefined, undefined])
})

it('of a tenant that has half of the connections the longest half request gives way to its next', async () => {
  const { port, waiting } = await shared(8)
  const whole = await client(port, ASK)
  await soon(() => expect(waiting).toHaveLength(1))
  const halves = [await client(port, HALF), await client(port, HALF), await client(port, HALF)]
  const isOpen = () => halves.map(({ closedAt }) => closedAt === undefined)
  for (const { socket } of halves) socket.write('2')
  for (let nth = 1; nth <= 3; nth++) {
    await client(port, ASK)
    await soon(() => expect(isOpen()).toEqual(halves.map((_, at) => at >= nth)))
  }
  const more = await client(port, ASK)
  await soon(() => expect(more.said).toMatch(/^HTTP\/1\.1 429/))
  expect(whole.closedAt).toBeUndefined()
})

// With as many as the door has: npm run proof -- door-attacks.
it('half bodies by one key, more than there may be connections, shut out no other tenant, nor its own', async () => {
  const door = testDoor()
  const own = await serveDoor(
    { ...SETTINGS, connections: 200, requestTime: 30_000 },
    { fetch: door.fetch, refuse: () => ({ type: 'text/plain', body: '' }) },
  )
  ends.push(() => own.close(0))
  const head = (key: string, length: number) =>
    `POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
  const silent = await crowd(own.port, 230, `${head(door.key, 1_000)}[`)
  ends.unshift(() => silent.forEach((socket) => void socket.destroy()))
  const body = JSON.stringify([POST])
  for (const key of [door.keyOf('other', ['send']), door.key]) {
    const clients: Client[] = []
    for (let nth = 0; nth < 30; nth++) clients.push(await client(own.port, head(key, body.length) + body))
    await soon(() => expect(clients.filter(({ said }) => said.startsWith('HTTP/1.1 200 '))).toHaveLength(30))
  }
})

it('what a tenant asks beyond its half of the connections is told to wait', async () => {
  const door = testDoor()
  const request = new Request('http://localhost:8420/v1/messages', {
    method: 'POST',
    body: '[]',
    headers: { authorization: `Bearer ${door.key}`, 'content-type': 'application/json' },
  })
  const asked: string[] = []
  const response = await door.fetch(request, {
    ...door.from,
    countFor: (asker) => asked.push(shareOf(asker).name) === 0,
  })
  expect(asked).toEqual(['acme'])
  expect([response.status, response.headers.get('retry-after'), response.headers.get('connection')]).toEqual([
    429,
    '1',
    'close',
  ])
  expect(await response.text()).toContain('/problems/back-pressure')
})

it('behind a forwarder those who ask give way, not all of its connections', async () => {
  const { port } = await served({ connections: 4, forwarders: ['127.0.0.2'] })
  const askFor = (address: string) => ASK.replace('\r\n\r\n', `\r\nX-Forwarded-For: ${address}\r\n\r\n`)
  const behind = async (address: string) => {
    const own = await client(port, askFor(address), '127.0.0.2')
    await soon(() => expect(own.said).toContain('said'))
    return own
  }
  const all = [await behind('192.0.2.1'), await behind('2001:db8::1'), await behind('2001:db8::2')]
  await idler(port)
  await behind('192.0.2.9')
  await soon(() => expect(all.map(({ closedAt }) => closedAt === undefined)).toEqual([true, false, true]))
})

/** A door whose answers have so many bytes. */
async function heavy(bytes: number) {
  const answer = Buffer.alloc(bytes, 'x')
  const asked: string[] = []
  const own = await serveDoor(
    { ...SETTINGS, requestTime: 30_000 },
    {
      async fetch(request) {
        asked.push(request.url)
        return new Response(answer)
      },
      refuse: () => ({ type: 'text/plain', body: '' }),
    },
  )
  ends.push(() => own.close(0))
  const deaf = async (sent: string, localAddress: string) => {
    const one = await client(own.port, '', localAddress)
    one.socket.pause().write(sent)
    return one
  }
  return { ...own, asked, deaf }
}

it('makes the next answer on a connection once its client has taken those before', async () => {
  const { asked, deaf } = await heavy(8_000_000)
  const own = await deaf(ASK.repeat(3), '127.0.0.1')
  await soon(() => expect(asked).toHaveLength(1))
  await sleep(300)
  expect(asked).toHaveLength(1)
  own.socket.resume()
  await soon(() => expect(asked).toHaveLength(3))
  await soon(() => expect(own.said.match(/HTTP\/1\.1 200/g)).toHaveLength(3))
})

it('keeps a bounded part of answers that are not taken: the longest waiting of who holds most give way', async () => {
  const { asked, deaf } = await heavy(8_000_000)
  const ours = await deaf(ASK, '127.0.0.1')
  const theirs: Client[] = []
  for (let nth = 0; nth < 16; nth++) {
    theirs.push(await deaf(ASK, '127.0.0.2'))
    await soon(() => expect(asked).toHaveLength(nth + 2))
  }
  // Of 64 MiB eight answers are there, one of them ours.
  for (const { socket } of [ours, ...theirs]) socket.resume()
  await soon(() => expect(theirs.slice(0, 9).every(({ closedAt }) => closedAt !== undefined)).toBe(true))
  for (const { said } of theirs.slice(0, 9)) expect(said.length).toBeLessThan(8_000_000)
  await soon(() => expect([ours, ...theirs.slice(9)].map(({ said }) => said.length > 8_000_000)).not.toContain(false))
})

it('joins what is sent byte by byte to pieces of some kilobytes', async () => {
  const pieces: number[] = []
  const own = await serveDoor(SETTINGS, {
    async fetch(request) {
      for await (const piece of request.body ?? []) pieces.push(piece.length)
      return new Response('said')
    },
    refuse: () => ({ type: 'text/plain', body: '' }),
  })
  ends.push(() => own.close(0))
  const head = ASK.replace('GET', 'POST').replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n')
  const large = `1388\r\n${'y'.repeat(5_000)}\r\n`
  const { said } = await soonSaid(
    own.port,
    `${head}${'1\r\nx\r\n'.repeat(10_000)}${large}${'1\r\nx\r\n'.repeat(3)}0\r\n\r\n`,
  )
  expect(said).toContain('said')
  expect(pieces.reduce((sum, bytes) => sum + bytes)).toBe(15_003)
  expect(pieces.length).toBeLessThan(10)
})

/** A request with so many headers, each of some bytes. */
const withHeaders = (count: number) =>
  ASK.replace('\r\n\r\n', `\r\n${Array.from({ length: count }, (_, nth) => `h${nth}: v${nth}\r\n`).join('')}\r\n`)

it('refuses more headers than a proxy sends', async () => {
  const { port } = await served()
  expect((await soonSaid(port, withHeaders(99))).said).toContain('HTTP/1.1 200')
  expect((await soonSaid(port, withHeaders(100))).said).toContain('HTTP/1.1 431')
})

it('lets small requests wait behind one that is not answered, and no large ones', async () => {
  const { port, waiting } = await served({}, { waits: true })
  const small = await client(port, ASK.repeat(12))
  const large = await client(port, ASK + withHeaders(90).repeat(12))
  const bodies = await client(port, ASK + `${HALF.slice(0, -1).replace('9', '9000')}${'x'.repeat(9_000)}`.repeat(4))
  await soon(() => expect([large.closedAt, bodies.closedAt]).not.toContain(undefined))
  for (let nth = 0; nth < 12; nth++) {
    await soon(() => expect(waiting.length).toBeGreaterThan(0))
    for (const answer of waiting.splice(0)) answer()
  }
  await soon(() => expect(small.said.match(/said/g)).toHaveLength(12))
})

async function soonSaid(port: number, bytes: string): Promise<Client> {
  const own = await client(port, bytes)
  await soon(() => expect(own.said).not.toBe(''))
  return own
}
