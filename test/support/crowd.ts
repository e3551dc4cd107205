import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Why so many connections can't be tried here, each with two ends in this process; null if they can. */
export function whyNoCrowd(count: number): string | null {
  const report = process.report.getReport() as unknown as {
    userLimits?: { open_files?: { soft?: number | 'unlimited' } }
  }
  const most = Number(report.userLimits?.open_files?.soft ?? Number.POSITIVE_INFINITY)
  return most < 2 * count + 200 ? `SKIPPED: ${count} connections need more open files than ${most} (ulimit -n)` : null
}

/** So many connections, on each of which these bytes were sent, and nothing else will be. */
export async function crowd(port: number, count: number, bytes = '', localAddress = '127.0.0.1'): Promise<Socket[]> {
  const sockets: Socket[] = []
  while (sockets.length < count) {
    // Fewer than wait to be accepted.
    const some = Array.from({ length: Math.min(100, count - sockets.length) }, () =>
      connect({ port, host: '127.0.0.1', localAddress })
        .on('error', () => {})
        .resume(),
    )
    for (const socket of some) socket.write(bytes)
    await Promise.all(some.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
    sockets.push(...some)
  }
  return sockets
}
