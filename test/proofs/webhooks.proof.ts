import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { ownFolder } from '../support/own-folder.ts'
import { allFinal, environmentOn, recordsOf, type Service, send, startService, tell } from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

// A receiver that fails, hangs and is cut off, and a service that is killed again and again: it is sent every verdict on the topic,
// in order of revision.

const [KILLS, POSTS] = [8, 18]
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
let stack: Servers
let service: Service | undefined
/** Verdicts that the receiver has taken, in the order in which it answered. */
const taken: Verdict[] = []
let requests = 0
const receiver = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  requests++
  const lot = Math.random()
  if (lot < 0.2) return void response.writeHead(500).end()
  if (lot < 0.25) return void request.socket.destroy()
  const { data } = new Webhook(SECRET).verify(body, request.headers as Record<string, string>) as { data: unknown }
  // Some are taken, and the sender never hears of it.
  taken.push(verdict.parse(data))
  if (lot < 0.3) return void request.socket.destroy()
  response.writeHead(204).end()
})
beforeAll(async () => {
  stack = await startServers({ latencyMs: 100 })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
}, 240_000)
afterAll(async () => {
  await service?.kill('SIGKILL')
  await stack?.close()
  receiver.closeAllConnections()
  receiver.close()
})

it(`brings a receiver that fails every verdict, in order, though the service is killed ${KILLS} times`, {
  timeout: 400_000,
}, async () => {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const file = join(ownFolder('webhooks'), 'gavel.yaml')
  const to = { shop: { url, tenant: 'default', secrets: [SECRET], allowPrivate: true } }
  const retries = Array.from({ length: 20 }, () => '200ms')
  writeFileSync(file, JSON.stringify({ webhooks: { timeout: '1s', retries, to } }))
  const environment = environmentOn(stack)
  const start = () => startService(environment, 'intake,judge,publish', PROJECT, ['--config', file])
  service = await start()
  const pace = { kind: 'recorded', speed: 300, maxPauseMs: 300 } as const
  const sent = send(environment, join(PROJECT, 'config', 'demo', 'event.jsonl'), 'gavel', pace)
  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((resolve) => setTimeout(resolve, 1_500 + Math.random() * 2_500))
    await service.kill('SIGKILL')
    service = await start()
  }
  await sent
  await allFinal(environment, POSTS, 120_000)
  const published = new Set(
    (await recordsOf(environment, 'verdicts')).map((json) => verdict.parse(JSON.parse(json)).id),
  )
  const missing = () => [...published].filter((id) => !taken.some((one) => one.id === id))
  await expect.poll(missing, { timeout: 120_000, interval: 500 }).toEqual([])
  const inverted = taken.filter((one, at) => {
    const before = taken
      .slice(0, at)
      .filter(({ subjectId, protocol }) => subjectId === one.subjectId && protocol === one.protocol)
    return before.some(({ revision }) => revision > one.revision)
  })
  tell(
    `${KILLS} kills; ${published.size} verdicts on the topic, ${requests} requests, ${taken.length} taken, ${inverted.length} inverted`,
  )
  expect(inverted.map(({ id }) => id)).toEqual([])
})
