import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Why so many connections can't be tried here, each with two ends in this process; null if they can. */
export function whyNoCrowd(count: number): string | null {
  // The names of those who are connected take seconds each.
  Object.assign(process.report, { excludeNetwork: true })
  const report = process.report.getReport() as unknown as {
    userLimits?: { open_files?: { soft?: number | 'unlimited' } }
  }
  const most = Number(report.userLimits?.open_files?.soft ?? Number.POSITIVE_INFINITY)
  return most < 2 * count + 200 ? `SKIPPED: ${count} connections need more open files than ${most} (ulimit -n)` : null
}

/** So many connections, on each of which these bytes were sent, and nothing else will be; `reads`: how much of the answers is taken. */
export async function crowd(
  port: number,
  count: number,
  bytes = '',
  localAddress = '127.0.0.1',
  reads: 'all' | 'a part' | 'nothing' = 'all',
): Promise<Socket[]> {
  const sockets: Socket[] = []
  while (sockets.length < count) {
    // Fewer than wait to be accepted.
    const some = Array.from({ length: Math.min(100, count - sockets.length) }, () =>
      connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {}),
    )
    for (const socket of some) {
      socket.write(bytes)
      if (reads === 'all') socket.resume()
      else if (reads === 'nothing') socket.pause()
      else socket.once('data', () => socket.pause())
    }
    await Promise.all(some.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
    sockets.push(...some)
  }
  return sockets
}
