import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** What a proxy does with the bytes of its connections. */
export type Weather =
  | { readonly kind: 'clear' }
  /** Every byte comes this much later, in ms, each way. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** A black hole: connections stay, new ones are taken, and nothing passes until the weather changes. Nothing is lost. */
  | { readonly kind: 'hold' }
  /** The same from the moment on at which a client sends this. */
  | { readonly kind: 'hold-at'; readonly sent: RegExp }
  /** The port is closed. */
  | { readonly kind: 'refuse' }

export interface Way {
  /** HOST:PORT */
  readonly address: string
  set(weather: Weather): Promise<void>
  readonly weather: Weather
  /** Resets every connection that is open now. */
  cut(): void
  close(): Promise<void>
}

/** Reads along what a client sends on one connection. */
export type Tap = (chunk: Buffer) => void

/** More than this is not read from a side whose bytes are held back. */
const MOST_HELD_BYTES = 4 * 1024 * 1024

/** A TCP proxy on 127.0.0.1 in front of `target` (asked at each connection), whose network can be made bad. */
export async function startProxy(port: number, target: () => string, tap?: () => Tap): Promise<Way> {
  let weather: Weather = { kind: 'clear' }
  const links = new Set<{ flow(): void; cut(): void }>()
  let server: Server | undefined

  function accept(client: Socket): void {
    const [host = '', at = ''] = target().split(':')
    const upstream = connect(Number(at), host)
    const read = tap?.()
    const cut = () => {
      links.delete(link)
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
    client.on('data', (chunk: Buffer) => {
      if (weather.kind === 'hold-at' && weather.sent.test(chunk.toString('latin1'))) weather = { kind: 'hold' }
    })
    const flows = [pump(client, upstream, () => weather, read), pump(upstream, client, () => weather)]
    const link = { cut, flow: () => flows.forEach((flow) => void flow()) }
    links.add(link)
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true)
      socket.on('error', cut)
      socket.on('close', () => client.closed && upstream.closed && links.delete(link))
    }
  }

  async function listen(): Promise<void> {
    server = createServer({ allowHalfOpen: true }, accept)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const cutAll = () => {
    for (const link of [...links]) link.cut()
  }
  const unlisten = () => {
    server?.close()
    server = undefined
    cutAll()
  }

  await listen()
  return {
    address: `127.0.0.1:${port}`,
    async set(changed) {
      weather = changed
      if (weather.kind === 'refuse') return unlisten()
      if (server === undefined) await listen()
      for (const link of links) link.flow()
    },
    get weather() {
      return weather
    },
    cut: cutAll,
    async close() {
      unlisten()
    },
  }
}

/** Hands bytes from one side to the other, in order, as the weather lets them. Returns what looks at the weather again. */
function pump(from: Socket, to: Socket, weather: () => Weather, tap?: Tap): () => void {
  const held: { readonly chunk: Buffer | null; readonly at: number }[] = []
  let bytes = 0
  let timer: NodeJS.Timeout | undefined

  function flow(): void {
    clearTimeout(timer)
    for (let first = held[0]; first !== undefined; first = held[0]) {
      const now = weather()
      if (now.kind === 'hold' || to.destroyed) return
      const late = first.at + (now.kind === 'delay' ? now.ms : 0) - Date.now()
      if (late > 0) {
        timer = setTimeout(flow, late)
        return
      }
      held.shift()
      if (first.chunk === null) to.end()
      else {
        bytes -= first.chunk.length
        tap?.(first.chunk)
        to.write(first.chunk)
      }
    }
    if (bytes < MOST_HELD_BYTES) from.resume()
  }

  from.on('data', (chunk: Buffer) => {
    held.push({ chunk, at: Date.now() })
    bytes += chunk.length
    if (bytes >= MOST_HELD_BYTES) from.pause()
    flow()
  })
  from.on('end', () => {
    held.push({ chunk: null, at: Date.now() })
    flow()
  })
  from.on('close', () => clearTimeout(timer))
  return flow
}
