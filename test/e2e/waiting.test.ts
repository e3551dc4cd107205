import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { newApiKey } from '../../src/contracts/facts/api-key.ts'
import { changeKeys } from '../../src/door/server/key-file.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, type Service, send, tell, verdictsOf } from '../support/pipeline.ts'

// Questions over HTTP before a service that has a standing backlog of the stream.

const LATENCY_MS = IN_PROOF ? 2_000 : 50
const POSTS = IN_PROOF ? 2_000 : 160
const SLOTS = IN_PROOF ? 64 : 8
/** Of each tenant, one after the other. */
const QUESTIONS = IN_PROOF ? 20 : 3
const AT_ONCE = IN_PROOF ? 4 : 1
const CREATED = '2026-01-01T10:00:00Z'
const TENANTS = ['acme', 'other'] as const

const folder = ownFolder('waiting')
const test = onServers({ latencyMs: LATENCY_MS }, IN_PROOF ? 'shared' : 'memory')

const portOf = (door: Service) => {
  const line = door.log.find((one) => one.includes('"door:opened"'))
  return (JSON.parse(line ?? '{}') as { doorPort: number }).doorPort
}

const p95 = (ms: readonly number[]) => ms.toSorted((a, b) => a - b)[Math.ceil(0.95 * ms.length) - 1] ?? 0
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`

test('somebody who waits is answered before the backlog of the stream, whose tenant asks too', {
  timeout: 900_000,
}, async ({ stack, start }) => {
  const keys = join(folder, 'keys.json')
  const made = TENANTS.map((tenant) =>
    newApiKey({ tenant, scopes: ['judge'], by: 'ann', createdAt: CREATED, expiresAt: null }),
  )
  await changeKeys(keys, () => ({ keys: made.map(({ kept }) => kept), result: null }))
  const environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    GAVEL_DOOR_KEYS: keys,
    GAVEL_DOOR_PORT: '0',
    GAVEL_MODELS_SLOTS: String(SLOTS),
    GAVEL_STAGES_DEFAULT_CONCURRENCY: String(SLOTS),
    // A known answer takes no time, and each question is to be like the others.
    GAVEL_MEMO_ENABLED: 'false',
  })
  const [door] = await Promise.all([start(environment, 'door'), start(environment, 'intake,judge,publish')])
  let asked = 0

  /** How long each question took, in ms. */
  async function askAll(tenant: (typeof TENANTS)[number]): Promise<number[]> {
    const key = made[TENANTS.indexOf(tenant)]?.key
    let left = QUESTIONS
    const took: number[] = []
    async function askInTurn() {
      while (left-- > 0) {
        const text = `Group ${asked++} should go away, says somebody of ${tenant}.`
        const began = performance.now()
        const answer = await fetch(`http://127.0.0.1:${portOf(door)}/v1/judge`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ post: { text }, protocols: ['hate'], wait: 60 }),
        })
        expect([answer.status, ((await answer.json()) as { done: boolean }).done]).toEqual([200, true])
        took.push(performance.now() - began)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, askInTurn))
    return took
  }

  // What a process does for the first time takes longer.
  await askAll('acme')
  const quiet = await askAll('acme')
  const posts = Array.from({ length: POSTS }, (_, at) => ({
    type: 'post',
    id: `p${at}`,
    tenant: 'acme',
    author: `author ${at}`,
    text: `They are all the same, number ${at}, and should leave.`,
    createdAt: CREATED,
  }))
  const file = join(folder, 'posts.jsonl')
  await writeFile(file, posts.map((post) => `${JSON.stringify(post)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
  await eventually(async () => (await verdictsOf(environment)).length >= SLOTS, 300_000)
  if (IN_PROOF) await sleep(60_000)
  const from = Date.now()
  const behind = await Promise.all(TENANTS.map(askAll))
  const to = Date.now()
  const decided = (await verdictsOf(environment)).map(({ timing }) => Date.parse(timing.decidedAt))
  const rate = (since: number, until: number) =>
    decided.filter((at) => at >= since && at < until).length / ((until - since) / 1000)
  const [before, during] = [rate(from - 45_000, from), rate(from, to)]
  tell(`quiet: p95 ${seconds(p95(quiet))}`)
  const ratios = TENANTS.map((tenant, index) => {
    const ratio = p95(behind[index] ?? []) / p95(quiet)
    tell(`behind ${POSTS} posts, ${tenant}: p95 ${seconds(p95(behind[index] ?? []))}, ${ratio.toFixed(2)} × quiet`)
    return ratio
  })
  tell(`the stream: ${before.toFixed(2)} verdicts a second before, ${during.toFixed(2)} while they were asked`)
  const answeredByThen = decided.filter((at) => at < to).length
  tell(`${answeredByThen} of ${POSTS} posts were judged when the last question was answered`)
  expect(answeredByThen).toBeLessThan(0.75 * POSTS)
  if (!IN_PROOF) return
  expect(Math.max(...ratios)).toBeLessThanOrEqual(1.5)
  expect(during).toBeGreaterThanOrEqual(0.75 * before)
})
