import { servedAs } from '../../src/console/request-guard.ts'
import type { DoorRoute } from '../../src/door/route.ts'
import { serveDoor } from '../../src/door/server/door-server.ts'
import { serveHttp } from '../../src/platform/http.ts'
import { aConsole } from '../console/console-for-tests.ts'
import { testDoor } from '../door/door-for-tests.ts'

/** How a port may be asked. */
export interface ServedPort {
  readonly port: number
  /** What anybody may ask for, at once. */
  readonly open: string
  /** What makes a large answer for whoever may ask, and a form or body that is taken. */
  readonly large: string
  readonly sent: { readonly path: string; readonly type: string }
  /** The header of whoever fills the port, and of others. */
  readonly filler: Who
  readonly other: Who
  /** What the other may ask for, with the body that is sent; empty: none. */
  readonly asks: readonly { readonly path: string; readonly body: string }[]
}

interface Who {
  readonly name: string
  readonly value: string
}

/** A route whose answers are large, and take turns. */
const largeRoute = (bytes: number): DoorRoute => ({
  method: 'GET',
  path: '/v1/large',
  scope: 'read',
  operation: { operationId: 'large', summary: 'A large answer', response: { status: 200, description: 'It' } },
  problems: [],
  answer: (call) => call.inTurn(async () => new Response(Buffer.alloc(bytes, 'x'))),
})

const LISTENING = { host: '127.0.0.1', port: 0, hosts: [], forwarders: [] }
const refuse = () => ({ type: 'text/plain', body: '' })
const bearer = (value: string): Who => ({ name: 'Authorization', value: `Bearer ${value}` })

/** The three ports, as a service opens them, with so many connections each, and large answers of so many bytes. */
export async function servedPorts(connections: { door: number; console: number; metrics: number }, largeBytes: number) {
  const rate = { perSecond: 1_000_000, burst: 1_000_000 }
  const door = testDoor({ rate, alsoRoutes: [largeRoute(largeBytes)] })
  const times = { requestTime: 30_000, keepAlive: 75_000 }
  const doorServer = await serveDoor({ ...LISTENING, ...times, connections: connections.door }, { ...door, refuse })

  const pages = await aConsole()
  const comments = Array.from({ length: 400 }, (_, nth) => ({ id: `c${nth}`, text: `A comment, ${nth}. `.repeat(40) }))
  const { id } = await pages.judged({ comments })
  const own = servedAs({ host: '127.0.0.1', hosts: [], port: 0, publicUrl: '' })
  const consoleServer = await serveDoor(
    { ...own, ...LISTENING, connections: connections.console },
    { ...pages, refuse },
  )
  const cookie = (by: string): Who => {
    const session = pages.sessions.open({ by, grants: [{ role: 'admin' }] })
    return { name: 'Cookie', value: `gavel-console-${consoleServer.port}=${session}` }
  }

  const token = 'a-token-of-this-test-0123456789'
  const health = async () => ({ ok: true, checks: {} })
  const page = 'gavel_up 1\n'.repeat(largeBytes / 11)
  const metrics = async () => ({ type: 'text/plain', text: page })
  const metricsServer = await serveHttp(
    { ...LISTENING, token },
    { metrics, live: health, ready: health },
    connections.metrics,
  )

  const post = { type: 'post', id: 'p1', text: 'The bridge is closed.', createdAt: '2026-01-01T10:00:00Z' }
  const file = `/verdict/file?id=${encodeURIComponent(id)}`
  const form = 'application/x-www-form-urlencoded'
  const ports: Record<'door' | 'console' | 'metrics', ServedPort> = {
    door: {
      port: doorServer.port,
      open: '/openapi.json',
      large: '/v1/large',
      sent: { path: '/v1/messages', type: 'application/json' },
      filler: bearer(door.key),
      other: bearer(door.keyOf('other', ['send', 'read'])),
      asks: [
        { path: '/v1/messages', body: JSON.stringify([post]) },
        { path: '/v1/large', body: '' },
      ],
    },
    console: {
      port: consoleServer.port,
      open: '/sign-in',
      large: file,
      sent: { path: '/decide', type: form },
      filler: cookie('anna'),
      other: cookie('ben'),
      asks: [
        { path: '/live', body: '' },
        { path: file, body: '' },
      ],
    },
    metrics: {
      port: metricsServer.port,
      open: '/health/live',
      large: '/metrics',
      sent: { path: '/metrics', type: form },
      filler: bearer(token),
      other: bearer(token),
      asks: [{ path: '/metrics', body: '' }],
    },
  }
  return {
    ports,
    async close() {
      pages.close()
      await Promise.all([doorServer.close(0), consoleServer.close(0), metricsServer.close()])
    },
  }
}
