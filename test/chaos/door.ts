import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { markOf } from './asked.ts'
import type { Dice } from './dice.ts'
import type { TopicRecord } from './reader.ts'

/** How often the client of the doors sends, in ms: beside the stream, which brings the load. */
const EVERY_MS = 700
const ANSWER_WITHIN_MS = 6_000
const START = Date.parse('2025-03-01T00:00:00Z')

/** A client that sends posts by the doors, one after the other, each again by another door until one has acknowledged it. */
export function doorClient(ports: readonly number[], signal: AbortSignal) {
  const acknowledged: string[] = []
  let [tries, isOver, nth] = [0, false, 0]
  const running = (async () => {
    while (!isOver && !signal.aborted) {
      const id = `doored-${nth}`
      const createdAt = new Date(START + nth * 60_000).toISOString()
      const body = JSON.stringify({ type: 'post', id, text: `The ferry is late, they say. ${markOf(id)}`, createdAt })
      for (let door = nth; !signal.aborted; door++) {
        tries++
        if (await isAcknowledged(ports[door % ports.length] ?? 0, body)) break
        await sleep(EVERY_MS)
      }
      acknowledged.push(id)
      nth++
      await sleep(EVERY_MS)
    }
  })()
  return {
    get tries() {
      return tries
    },
    acknowledged,
    /** Sends no more; resolves when the last is acknowledged. */
    async end() {
      isOver = true
      await running
    },
  }
}

async function isAcknowledged(port: number, body: string): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    await response.text()
    return response.status === 200
  } catch {
    return false
  }
}

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** A receiver of webhooks that refuses a fifth of them, cuts some off, and takes some without its sender hearing of it. */
export async function failingReceiver(lots: Dice) {
  /** Each verdict once, in the order in which they were first taken. */
  const taken = new Map<string, Verdict>()
  let requests = 0
  const server = createServer(async (request, response) => {
    try {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      requests++
      const lot = lots.next()
      if (lot < 0.2) return void response.writeHead(500).end()
      if (lot < 0.25) return void request.socket.destroy()
      const { data } = new Webhook(SECRET).verify(body, request.headers as Record<string, string>) as { data: unknown }
      const one = verdict.parse(data)
      if (!taken.has(one.id)) taken.set(one.id, one)
      if (lot < 0.3) return void request.socket.destroy()
      response.writeHead(204).end()
    } catch {
      // The other side died in the middle.
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return {
    taken,
    get requests() {
      return requests
    },
    /** As the settings name it. */
    settings: {
      timeout: '1s',
      retries: Array.from({ length: 20 }, () => '300ms'),
      to: { shop: { url, tenant: 'default', secrets: [SECRET], allowPrivate: true } },
    },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** What doors and receivers promise, held against what stands on the topics; in words what does not hold. */
export function doorBreaches(of: {
  readonly acknowledged: readonly string[]
  readonly posts: readonly TopicRecord[]
  readonly verdicts: readonly TopicRecord[]
  readonly taken: ReadonlyMap<string, Verdict>
  /** From when to when Redis lost what waited in it, ms: what was published then may be on the topic alone. */
  readonly lost: readonly { readonly from: number; readonly to: number }[]
}): string[] {
  const posts = new Set(of.posts.map(({ value }) => idIn(value)))
  const finals = new Set<string>()
  const missing: string[] = []
  const all = of.verdicts.map(({ value, timestamp }) => ({ ...verdict.parse(JSON.parse(value)), timestamp }))
  // What waits to be sent of a subject goes when it is deleted, and its retraction follows.
  const retracted = new Set(
    all.flatMap(({ decidedBy, protocol, subjectId }) => (decidedBy === 'deleted' ? [`${protocol} ${subjectId}`] : [])),
  )
  for (const { id, subjectId, protocol, decidedBy, tenant, final, timestamp } of all) {
    if (final) finals.add(subjectId)
    const isLost = of.lost.some(({ from, to }) => timestamp >= from && timestamp <= to)
    const isErased = decidedBy !== 'deleted' && retracted.has(`${protocol} ${subjectId}`)
    if (tenant === 'default' && !of.taken.has(id) && !isLost && !isErased) missing.push(id)
  }
  const last = new Map<string, number>()
  const inverted: string[] = []
  for (const { id, protocol, subjectId, revision } of of.taken.values()) {
    const lane = `${protocol} ${subjectId}`
    if (revision < (last.get(lane) ?? 0)) inverted.push(id)
    last.set(lane, Math.max(revision, last.get(lane) ?? 0))
  }
  return [
    ['messages that a door acknowledged and that no topic has', of.acknowledged.filter((id) => !posts.has(id))],
    ['messages that a door acknowledged, without an outcome', of.acknowledged.filter((id) => !finals.has(id))],
    ['verdicts that no receiver was brought', missing],
    ['verdicts that a receiver was brought after a newer one', inverted],
  ].flatMap(([what = '', ids = []]) => (ids.length === 0 ? [] : [`${what}: ${ids.length} (${ids.slice(0, 5)})`]))
}

function idIn(value: string): string | undefined {
  try {
    return (JSON.parse(value) as { id?: string }).id
  } catch {
    return undefined
  }
}
