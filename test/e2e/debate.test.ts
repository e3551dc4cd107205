import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect } from 'vitest'
import { newApiKey } from '../../src/contracts/facts/api-key.ts'
import { changeKeys } from '../../src/door/server/key-file.ts'
import { commandIn } from '../support/command-in.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, verdictsOf } from '../support/pipeline.ts'

// A debate that is ordered with a score, on real Kafka and Redis: its verdict comes to a receiver, signed.

const [SECRET, OTHER] = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_3Zp0mB6g0V3v5m1nQqYc8eN7uR2tXaKd']
const AT = '2026-01-01T10:00:00Z'

interface Delivery {
  readonly headers: Record<string, string>
  readonly body: string
}
interface Ordered {
  readonly attributeScores: { readonly TOXICITY: { readonly summaryScore: { readonly value: number } } }
  readonly gavel: { readonly debate: { readonly id: string; readonly url: string; readonly protocols: string[] } }
}

const received: Delivery[] = []
let isRefusing = false
const receiver = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  received.push({ headers: request.headers as Record<string, string>, body })
  // The first try fails.
  response.writeHead(received.length === 1 || isRefusing ? 503 : 204).end()
})
const test = onServers({ latencyMs: 0 })
beforeAll(async () => {
  await once(receiver.listen(0, '127.0.0.1'), 'listening')
})
afterAll(async () => {
  receiver.closeAllConnections()
  receiver.close()
})

test('a debate that is ordered with a score: its verdict comes to the receiver of its tenant, signed, and is at its address', {
  timeout: 300_000,
}, async ({ stack, start }) => {
  const folder = ownFolder('debate')
  const keys = join(folder, 'keys.json')
  const made = newApiKey({ tenant: 'acme', scopes: ['judge'], by: 'shop', createdAt: AT, expiresAt: null })
  await changeKeys(keys, () => ({ keys: [made.kept], result: null }))
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/gavel`
  const config = join(folder, 'gavel.yaml')
  const to = {
    shop: { url, tenant: 'acme', secrets: [SECRET], allowPrivate: true },
    // Another tenant hears nothing of it.
    other: { url: `${url}/other`, tenant: 'other', secrets: [OTHER], allowPrivate: true },
  }
  writeFileSync(config, JSON.stringify({ webhooks: { to, retries: ['1s'] } }))
  const environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    GAVEL_DOOR_KEYS: keys,
    GAVEL_DOOR_PORT: '0',
  })
  const run = (roles: string) => start(environment, roles, undefined, ['--config', config])
  const [door] = await Promise.all([run('door'), run('judge,publish')])
  const line = door.log.find((one) => one.includes('"door:opened"'))
  const { doorPort } = JSON.parse(line ?? '{}') as { doorPort: number }

  const response = await fetch(`http://127.0.0.1:${doorPort}/v1alpha1/comments:analyze?key=${made.key}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      comment: { text: 'They should all be sent home.' },
      requestedAttributes: { TOXICITY: {} },
      languages: ['en'],
      debate: ['hate'],
    }),
  })
  const ordered = (await response.json()) as Ordered
  expect([response.status, ordered]).toMatchObject([200, { gavel: { debate: { protocols: ['hate'] } } }])
  expect(ordered.attributeScores.TOXICITY.summaryScore.value).toBeGreaterThanOrEqual(0)

  await eventually(async () => received.length >= 2, 60_000)
  const { debate } = ordered.gavel
  const [first, second] = received
  expect(second).toMatchObject({ body: first?.body, headers: { 'webhook-id': first?.headers['webhook-id'] } })
  const told = new Webhook(SECRET).verify(second?.body ?? '', second?.headers ?? {}) as { type: string; data: object }
  expect(told).toMatchObject({
    type: 'verdict.published',
    data: { subjectId: debate.id, tenant: 'acme', protocol: 'hate', final: true, revision: 1 },
  })
  expect(() => new Webhook(OTHER).verify(second?.body ?? '', second?.headers ?? {})).toThrow('No matching signature')
  const altered = second?.body.replace('"hate"', '"rumor"') ?? ''
  expect(() => new Webhook(SECRET).verify(altered, second?.headers ?? {})).toThrow('No matching signature')

  const at = await fetch(debate.url, { headers: { authorization: `Bearer ${made.key}` } })
  const { done, verdicts } = (await at.json()) as { done: boolean; verdicts: { id: string; label: string }[] }
  const { id, label } = told.data as { id: string; label: string }
  expect([done, verdicts]).toMatchObject([true, [{ id, label }]])
  expect(label).toMatch(/^(?:non-)?hate$/)
  // It is taken: nobody sends it again, and nothing of it is on a topic.
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  expect(received).toHaveLength(2)
  expect(await verdictsOf(environment)).toEqual([])

  // One that no try brings is parked, until a person has it tried again.
  isRefusing = true
  const asked = await fetch(`http://127.0.0.1:${doorPort}/v1/judge`, {
    method: 'POST',
    headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ post: { text: 'The lift is broken.' }, protocols: ['hate'], wait: 0, webhook: true }),
  })
  const { id: request } = (await asked.json()) as { id: string }
  const webhooks = (...args: string[]) => commandIn(folder, ['webhooks', ...args, '--json'], environment)
  const parked = async () =>
    (await webhooks('list')).out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).id as string]))
  await eventually(async () => received.length === 4, 60_000)
  await eventually(async () => (await parked()).length === 1, 30_000)
  const [delivery = ''] = await parked()
  isRefusing = false
  expect(JSON.parse((await webhooks('retry', delivery)).out)).toEqual({ id: delivery, became: 'queued' })
  await eventually(async () => received.length === 5, 30_000)
  expect(received.slice(2).map(({ body, headers }) => [body.includes(request), headers['webhook-id']])).toEqual(
    Array(3).fill([true, delivery]),
  )
  expect(JSON.parse((await webhooks('retry', delivery)).out)).toEqual({ id: delivery, became: 'unknown' })
  expect(await parked()).toEqual([])
})
