import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { type Asked, tapRequests } from './asked.ts'
import { startProxy, type Way } from './proxy.ts'

let echo: Server
let proxy: Way
const clients: Socket[] = []
/** To be reset is what these connections are for. */
const reset = () => {}
beforeEach(async () => {
  echo = createServer((socket) => {
    socket.on('error', reset).pipe(socket)
  })
  const port = await freePort()
  echo.listen(port, '127.0.0.1')
  await once(echo, 'listening')
  proxy = await startProxy(await freePort(), () => `127.0.0.1:${port}`)
})
afterEach(async () => {
  for (const socket of clients.splice(0)) socket.destroy()
  await proxy.close()
  echo.close()
})

/** A connection through the proxy, and everything that has come back on it. */
async function through(): Promise<{ socket: Socket; heard: () => string }> {
  const socket = connect(Number(proxy.address.split(':')[1]), '127.0.0.1')
  clients.push(socket)
  socket.on('error', reset)
  let heard = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text
  })
  await once(socket, 'connect')
  return { socket, heard: () => heard }
}

async function hears({ heard }: { heard: () => string }, words: string): Promise<void> {
  await expect.poll(heard, { timeout: 5_000, interval: 5 }).toBe(words)
}

it('delays bytes each way and keeps their order', async () => {
  const one = await through()
  await proxy.set({ kind: 'delay', ms: 100 })
  const began = performance.now()
  one.socket.write('first ')
  await sleep(20)
  await proxy.set({ kind: 'delay', ms: 60 })
  one.socket.write('second')
  await hears(one, 'first second')
  expect(performance.now() - began).toBeGreaterThanOrEqual(115)
})

it('holds everything back, takes connections all the same, and loses nothing', async () => {
  const one = await through()
  await proxy.set({ kind: 'hold' })
  one.socket.write('held')
  const another = await through()
  another.socket.write('too')
  await sleep(100)
  expect([one.heard(), another.heard()]).toEqual(['', ''])
  await proxy.set({ kind: 'clear' })
  await Promise.all([hears(one, 'held'), hears(another, 'too')])
})

it('holds from the moment on at which a client sends what is waited for', async () => {
  const [one, another] = [await through(), await through()]
  await proxy.set({ kind: 'hold-at', sent: /verdict/ })
  one.socket.write('ask')
  await hears(one, 'ask')
  one.socket.write(' verdict')
  await expect.poll(() => proxy.weather.kind).toBe('hold')
  another.socket.write('later')
  await sleep(50)
  expect([one.heard(), another.heard()]).toEqual(['ask', ''])
  await proxy.set({ kind: 'clear' })
  await Promise.all([hears(one, 'ask verdict'), hears(another, 'later')])
})

it('cuts what is open, and takes the next connection', async () => {
  const one = await through()
  const cut = once(one.socket, 'error')
  proxy.cut()
  expect((await cut)[0]).toMatchObject({ code: 'ECONNRESET' })
  const next = await through()
  next.socket.write('again')
  await hears(next, 'again')
})

it('refuses connections until the weather is better', async () => {
  await proxy.set({ kind: 'refuse' })
  await expect(through()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await proxy.set({ kind: 'clear' })
  const next = await through()
  next.socket.write('open')
  await hears(next, 'open')
})

it('reads requests along, however they are cut into chunks', () => {
  const seen: Asked[] = []
  const tap = tapRequests('worker-1', (asked) => seen.push(asked))
  const request = (call: string, text: string) => {
    const body = JSON.stringify({ text })
    return `POST /v1 HTTP/1.1\r\nx-gavel-call: ${call}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  }
  const bytes = Buffer.from(request('a', 'zqpostx12qz ä') + request('b', 'nothing') + request('c', 'zqpostx12qz ä'))
  for (let at = 0; at < bytes.length; at += 7) tap(bytes.subarray(at, at + 7))
  expect(seen.map(({ call, by, subject }) => ({ call, by, subject }))).toEqual([
    { call: 'a', by: 'worker-1', subject: 'post-12' },
    { call: 'b', by: 'worker-1', subject: null },
    { call: 'c', by: 'worker-1', subject: 'post-12' },
  ])
  expect(seen[0]?.question).toBe(seen[2]?.question)
  expect(seen[0]?.question).not.toBe(seen[1]?.question)
})
