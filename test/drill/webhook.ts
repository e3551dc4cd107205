import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

const body = z.object({
  status: z.enum(['firing', 'resolved']),
  alerts: z.array(
    z.object({ status: z.string(), labels: z.object({ alertname: z.string(), reason: z.string().optional() }) }),
  ),
})

/** One notification, as somebody on call gets it. */
export interface Notification {
  readonly at: number
  readonly to: 'page' | 'ticket'
  readonly status: 'firing' | 'resolved'
  /** The names of its alerts that fire; of those that ended, where it is resolved. */
  readonly alerts: readonly string[]
  /** Their labels `reason`. */
  readonly reasons: readonly string[]
}

/** Stands for a pager and a tracker: keeps what Alertmanager sends to `/page` and `/ticket`. */
export async function startWebhook() {
  const heard: Notification[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { status, alerts } = body.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')))
    const to = request.url === '/page' ? 'page' : 'ticket'
    const told = alerts.filter((alert) => alert.status === status)
    const names = told.map(({ labels }) => labels.alertname)
    const reasons = told.flatMap(({ labels }) => labels.reason ?? [])
    heard.push({
      at: Date.now(),
      to,
      status,
      alerts: [...new Set(names)].sort(),
      reasons: [...new Set(reasons)].sort(),
    })
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    heard: heard as readonly Notification[],
    close: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
