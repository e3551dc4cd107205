import { crowd } from '../support/crowd.ts'
import type { ServedPort } from './served-ports.ts'

/** In which a connection is held. */
export const STATES = ['nothing sent', 'half a head', 'half a body', 'half an answer read', 'pipelined'] as const
export type HeldState = (typeof STATES)[number]
export const FILLERS = ['a stranger', 'one tenant'] as const
export type Filler = (typeof FILLERS)[number]

/** Requests on one connection: together more than the system keeps for who does not read. */
const PIPELINED = 12

/** What is sent on each connection, and how much of the answers is taken. */
export interface Holding {
  readonly port: number
  readonly bytes: string
  readonly reads: 'all' | 'a part' | 'nothing'
}

export function holdingOf({ port, filler, open, large, sent }: ServedPort, by: Filler, state: HeldState): Holding {
  const isStranger = by === 'a stranger'
  const who = isStranger ? '' : `${filler.name}: ${filler.value}\r\n`
  const get = `GET ${isStranger ? open : large} HTTP/1.1\r\nHost: localhost\r\n${who}\r\n`
  const form = `Sec-Fetch-Site: same-origin\r\nContent-Type: ${sent.type}\r\nContent-Length: 1000\r\n\r\n{`
  switch (state) {
    case 'nothing sent':
      return { port, bytes: '', reads: 'all' }
    case 'half a head':
      return { port, bytes: get.slice(0, -3), reads: 'all' }
    case 'half a body':
      return { port, bytes: `POST ${sent.path} HTTP/1.1\r\nHost: localhost\r\n${who}${form}`, reads: 'all' }
    case 'half an answer read':
      return { port, bytes: get, reads: 'a part' }
    case 'pipelined':
      return { port, bytes: get.repeat(PIPELINED), reads: 'nothing' }
  }
}

/** Holds so many connections, all from one address: what ends them. */
export async function fill({ port, bytes, reads }: Holding, count: number): Promise<() => void> {
  const held = await crowd(port, count, bytes, '127.0.0.2', reads)
  return () => held.forEach((socket) => void socket.destroy())
}

/** The statuses of the answers to who asks beside them, `times` of each kind. */
export async function askedBeside({ port, open, other, asks }: ServedPort, times: number): Promise<number[]> {
  const ask = async (path: string, headers: Record<string, string> = {}, body = ''): Promise<number> => {
    const init = body === '' ? {} : { method: 'POST', body }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      redirect: 'manual',
      headers: { connection: 'close', ...headers },
    })
    await response.arrayBuffer()
    return response.status
  }
  const statuses: number[] = []
  for (let nth = 0; nth < times; nth++) {
    statuses.push(await ask(open))
    for (const { path, body } of asks) {
      const json = body === '' ? {} : { 'content-type': 'application/json' }
      statuses.push(await ask(path, { [other.name]: other.value, ...json }, body))
    }
  }
  return statuses
}
