import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { networkOf } from '../../src/service/adapters/door-connections.ts'
import { serveDoor } from '../../src/service/adapters/door-server.ts'

const SETTINGS = { host: '127.0.0.1', port: 0, hosts: [], requestTime: 1_000, connections: 100, keepAlive: 75_000 }
const ASK = 'GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** What is waited for comes at once, but for a busy machine. */
vi.setConfig({ testTimeout: 30_000 })
const soon = (holds: () => void) => vi.waitFor(holds, { timeout: 10_000 })

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** A door whose answers come when `answer` is called, or at once. */
async function served(settings: Partial<typeof SETTINGS> = {}, { waits = false } = {}) {
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
  // One that has asked nothing gives way, too.
  await client(port, '', '127.0.0.2')
  await soon(() => expect(isOpen()).toEqual([false, true, false, true]))
  await idler(port)
  await soon(() => expect(isOpen()).toEqual([false, true, false, false]))
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

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('takes %s for one of %s', (address, network) => expect(networkOf(address)).toBe(network))
