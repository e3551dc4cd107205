import { connect, createServer, type Socket } from 'node:net'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'

/** A way to a server on this machine that can turn into a black hole: it goes on accepting, takes all and brings nothing. */
export interface BlackHole {
  readonly port: number
  /** From now on nothing passes, in connections that are open as in new ones; these never pass anything again. */
  swallow(): void
  /** New connections pass again. */
  pass(): void
  /** What was sent to the server and swallowed reaches it after all, as packets that were long under way do. */
  deliverLate(): void
  close(): Promise<void>
}

export async function blackHoleBefore(port: number): Promise<BlackHole> {
  let swallowing = false
  const pairs = new Set<{ near: Socket; far: Socket; dead: boolean; swallowed: Buffer[] }>()
  const server = createServer((near) => {
    const pair = { near, far: connect(port, '127.0.0.1'), dead: swallowing, swallowed: [] as Buffer[] }
    pairs.add(pair)
    const passOn = (from: Socket, to: Socket) => {
      from.on('data', (data) => {
        if (!pair.dead) to.write(data)
        else if (from === near) pair.swallowed.push(data)
      })
      from.on('error', () => {})
      from.on('close', () => {
        if (pair.dead) return
        to.destroy()
        pairs.delete(pair)
      })
    }
    passOn(near, pair.far)
    passOn(pair.far, near)
  })
  const own = await freePort()
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve))
  return {
    port: own,
    swallow() {
      swallowing = true
      for (const pair of pairs) pair.dead = true
    },
    pass() {
      swallowing = false
    },
    deliverLate() {
      for (const { far, swallowed } of pairs) for (const data of swallowed.splice(0)) far.write(data)
    },
    async close() {
      for (const { near, far } of pairs) {
        near.destroy()
        far.destroy()
      }
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
