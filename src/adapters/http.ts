import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { OperatorError } from '../domain/errors.ts'

/** What a health question is answered with: 200 if `ok`, else 503, and the reasons either way. */
export interface Health {
  readonly ok: boolean
  readonly checks: Readonly<Record<string, string>>
}

export interface HttpParts {
  readonly metrics: () => Promise<string>
  readonly metricsType: string
  readonly live: () => Health
  readonly ready: () => Promise<Health>
}

/** Serves `/metrics`, `/health/live` and `/health/ready`; resolves once the port is open. */
export async function serveHttp(
  address: { host: string; port: number },
  parts: HttpParts,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const send = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' }).end(body)
    const health = ({ ok, checks }: Health) =>
      send(ok ? 200 : 503, 'application/json', `${JSON.stringify({ status: ok ? 'ok' : 'failing', checks })}\n`)
    const answer = async () => {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return send(405, 'text/plain', 'only GET is answered\n')
      switch ((request.url ?? '').split('?', 1)[0]) {
        case '/metrics':
          return send(200, parts.metricsType, await parts.metrics())
        case '/health/live':
          return health(parts.live())
        case '/health/ready':
          return health(await parts.ready())
        default:
          return send(404, 'text/plain', 'see /metrics, /health/live and /health/ready\n')
      }
    }
    answer().catch(() => send(500, 'text/plain', 'failed\n'))
  })
  server.requestTimeout = 10_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? 'is taken; set GAVEL_HTTP_PORT to another, or to 0 for a free one'
          : String(error.code)
      reject(new OperatorError(`Port ${address.port} on ${address.host} ${why}.`, { cause: error }))
    })
    server.listen(address.port, address.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
