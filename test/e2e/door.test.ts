import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { newApiKey } from '../../src/contracts/facts/api-key.ts'
import { changeKeys } from '../../src/door/server/key-file.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { allFinal, environmentOn, eventually, type Service, tell, verdictsOf } from '../support/pipeline.ts'

// The door on real Kafka and Redis: what it has acknowledged is judged, though it be killed; keys, and a stop.

const POSTS = 30
const AT = '2026-01-01T10:00:00Z'
const test = onServers({ latencyMs: 0 }, 'apache')

const portOf = (door: Service) => {
  const line = door.log.find((one) => one.includes('"door:opened"'))
  return (JSON.parse(line ?? '{}') as { doorPort: number }).doorPort
}

test('answers what is asked apart from the stream; judges what the door has acknowledged, though it be killed; a revoked key is refused within 10 s; a stop answers what was asked', {
  timeout: 300_000,
}, async ({ stack, start }) => {
  const path = join(ownFolder('door'), 'keys.json')
  const made = newApiKey({
    tenant: 'acme',
    scopes: ['send', 'judge', 'read', 'decide'],
    by: 'ann',
    createdAt: AT,
    expiresAt: null,
  })
  await changeKeys(path, () => ({ keys: [made.kept], result: null }))
  const environment = environmentOn(stack, { GAVEL_DOOR_KEYS: path, GAVEL_DOOR_PORT: '0' })
  const [door] = await Promise.all([start(environment, 'door'), start(environment, 'intake,judge,publish')])
  const post = (port: number, body: unknown) =>
    fetch(`http://127.0.0.1:${port}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const about = (at: number) => [
    { type: 'post', id: `p${at}`, text: `The bridge number ${at} is closed.`, createdAt: AT },
    { type: 'comment', id: `c${at}`, postId: `p${at}`, text: 'That is not true.', createdAt: AT },
  ]

  const judge = await fetch(`http://127.0.0.1:${portOf(door)}/v1/judge`, {
    method: 'POST',
    headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      post: { id: 'asked', text: 'The bridge is closed.' },
      comments: [{ text: 'No.' }],
      wait: 60,
    }),
  })
  const judged = (await judge.json()) as {
    done: boolean
    url: string
    verdicts: { protocol: string; subject: string; final: boolean }[]
  }
  expect([judge.status, judged.done]).toEqual([200, true])
  expect(judged.verdicts).toMatchObject([{ protocol: 'rumor', subject: 'asked', final: true }])
  const again = await fetch(judged.url, { headers: { authorization: `Bearer ${made.key}` } })
  expect(((await again.json()) as typeof judged).verdicts).toEqual(judged.verdicts)

  const acknowledged = new Set<number>()
  const asked = Array.from({ length: POSTS }, async (_, at) => {
    const response = await post(portOf(door), about(at)).catch(() => null)
    if (response?.status === 200) acknowledged.add(at)
  })
  await eventually(async () => acknowledged.size > 0, 20_000)
  await door.kill('SIGKILL')
  await Promise.all(asked)

  // Nobody knows what became of the others: they are sent again.
  const second = await start(environment, 'door')
  const port = portOf(second)
  const lost = Array.from({ length: POSTS }, (_, at) => at).filter((at) => !acknowledged.has(at))
  expect((await post(port, lost.length === 0 ? about(0) : lost.flatMap(about))).status).toBe(200)
  await allFinal(environment, POSTS, 120_000)
  const verdicts = await verdictsOf(environment)
  expect(new Set(verdicts.map(({ tenant }) => tenant))).toEqual(new Set(['acme']))
  // What was asked apart from the stream is on no topic.
  expect(JSON.stringify(verdicts)).not.toMatch(/asked/)
  expect(new Set(verdicts.filter(({ final }) => final).map(({ subjectId }) => subjectId)).size).toBe(POSTS)
  const texts = new Map(verdicts.map((verdict) => [verdict.id, JSON.stringify(verdict)]))
  for (const verdict of verdicts) expect(JSON.stringify(verdict)).toBe(texts.get(verdict.id))

  // What stands is in the record alone, which nobody keeps here; a person's verdict is the next revision.
  const asKey = { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' }
  const subject = async (query = '') => fetch(`http://127.0.0.1:${port}/v1/subjects/p0${query}`, { headers: asKey })
  const known = (await (await subject()).json()) as { final: boolean; revisions: { rumor: { revision: number } } }
  expect(known.final).toBe(true)
  expect((await subject('?standing=true')).status).toBe(501)
  const decision = { subjectId: 'p0', protocol: 'rumor', label: 'rumor', against: known.revisions.rumor.revision }
  const decided = await fetch(`http://127.0.0.1:${port}/v1/human-verdicts`, {
    method: 'POST',
    headers: asKey,
    body: JSON.stringify({ ...decision, why: 'The city has denied it.' }),
  })
  expect([decided.status, await decided.json()]).toMatchObject([200, { by: 'ann', outcome: 'stands' }])
  await eventually(
    async () =>
      (await verdictsOf(environment)).some(({ decidedBy, subjectId }) => decidedBy === 'human' && subjectId === 'p0'),
    20_000,
  )

  const revokedAt = new Date().toISOString()
  await changeKeys(path, (keys) => ({ keys: keys.map((key) => ({ ...key, revokedAt })), result: null }))
  await eventually(async () => (await post(port, about(0))).status === 401, 10_000)

  await changeKeys(path, (keys) => ({ keys: keys.map((key) => ({ ...key, revokedAt: null })), result: null }))
  await eventually(async () => (await post(port, about(0))).status === 200, 10_000)
  // What the door is asked and what watches it have a port each.
  const statusOf = async (at: number, path: string) => (await fetch(`http://127.0.0.1:${at}${path}`)).status
  expect(await Promise.all(['/metrics', '/health/live'].map((path) => statusOf(port, path)))).toEqual([404, 404])
  expect(await Promise.all(['/metrics', '/health/live'].map((path) => statusOf(second.httpPort, path)))).toEqual([
    200, 200,
  ])
  expect(await statusOf(second.httpPort, '/v1/subjects/p0')).toBe(404)

  // An emptied Redis takes no key with it: answers are gone, nothing is taken to be judged, and strangers stay strangers.
  const client = new Redis(stack.settings.REDIS_URL ?? '')
  await client.flushall()
  client.disconnect()
  const told = await fetch(`http://127.0.0.1:${port}${new URL(judged.url).pathname}`, { headers: asKey })
  const judging = async (key: string) => {
    const headers = { ...asKey, authorization: `Bearer ${key}` }
    const body = JSON.stringify({ post: { text: 'The bridge is closed.' }, wait: 0 })
    return (await fetch(`http://127.0.0.1:${port}/v1/judge`, { method: 'POST', headers, body })).status
  }
  const stranger = newApiKey({ tenant: 'acme', scopes: ['judge'], by: 'eve', createdAt: AT, expiresAt: null }).key
  expect([told.status, await judging(made.key), await judging(stranger)]).toEqual([404, 503, 401])

  const last = Array.from({ length: 20 }, (_, at) =>
    post(port, about(at)).then(
      ({ status }) => status,
      () => 'closed',
    ),
  )
  await second.kill('SIGTERM')
  // Whoever was not let in any more is told so, and nobody is left without an answer to what was taken.
  for (const status of await Promise.all(last)) expect([200, 503, 'closed']).toContain(status)
  expect(second.log.join('\n')).not.toContain(made.key.slice(15))
})

type Dependency = 'redis' | 'kafka'

/** A request, what it needs, how long it may take, and the statuses that it has otherwise. */
interface Asked {
  readonly at: readonly [method: string, path: string, body?: object]
  readonly needs: readonly Dependency[]
  /** While this is known to be away nothing is begun; what has begun is answered without it. */
  readonly begunWith?: Dependency
  readonly withinMs: number
  readonly statuses: readonly number[]
}

/** Who asks waits no longer, in ms. */
const GIVEN_UP_MS = 65_000
/** Longest waits of the door for a score and for Kafka; and how much later an answer is with the client, in ms. */
const [SCORE_MS, PRODUCE_MS, SPARE_MS] = [2_000, 2_000, 1_000]

test('while Redis or Kafka stands still, each route that needs it says so in time, and at once when that is known; the others answer; nothing is lost or doubled', {
  timeout: 400_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, {
    GAVEL_DOOR_PORT: '0',
    GAVEL_DOOR_OPEN_ON_LOOPBACK: 'true',
    GAVEL_DOOR_SCORES_TIMEOUT: `${SCORE_MS}ms`,
    GAVEL_DOOR_PRODUCE_TIMEOUT: `${PRODUCE_MS}ms`,
  })
  const service = await start(environment, 'door,intake,judge,publish')
  const base = `http://127.0.0.1:${portOf(service)}`
  const ask = async (method: string, path: string, body?: object) => {
    const began = performance.now()
    const headers = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) }
    const signal = AbortSignal.timeout(GIVEN_UP_MS)
    const response = await fetch(`${base}${path}`, { method, signal, ...sent }).catch(() => Response.error())
    const text = await response.text()
    // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of an answer.
    const said: any = text === '' ? null : JSON.parse(text)
    const { status, headers: its } = response
    return { status, said, waits: its.has('retry-after'), ms: performance.now() - began }
  }
  const post = (id: string) => ({ type: 'post', id, text: `The bridge ${id} is closed.`, createdAt: AT })
  const first = await ask('POST', '/v1/judge', { post: { text: 'The bridge is closed.' }, wait: 60 })
  expect([first.status, first.said.done]).toEqual([200, true])
  expect((await ask('POST', '/v1/messages', post('known'))).status).toBe(200)
  await eventually(async () => (await ask('GET', '/v1/subjects/known')).status === 200, 30_000)

  const routes = (round: string): readonly Asked[] => {
    const [redis, kafka]: [Dependency[], Dependency[]] = [['redis'], ['kafka']]
    const judgement = `/v1/judgements/${first.said.id}`
    const question = { post: { text: `The road is closed (${round}).` }, wait: 1 }
    const streamed = { ...question, post: { ...post(`${round}-streamed`), type: undefined }, stream: true }
    const scored = { comment: { text: `What a stupid idea (${round}).` }, requestedAttributes: { TOXICITY: {} } }
    const score = { comment: { text: 'No.' }, attributeScores: { TOXICITY: { summaryScore: { value: 0.9 } } } }
    const decision = { subjectId: 'known', protocol: 'rumor', label: 'rumor', against: 99, why: round }
    const row = (needs: Dependency[], withinMs: number, statuses: number[], ...at: Asked['at']) => ({
      at,
      needs,
      withinMs,
      statuses,
    })
    return [
      row(redis, 1_000, [200, 202], 'POST', '/v1/judge', question),
      row(['redis', 'kafka'], 1_000, [200, 202], 'POST', '/v1/judge', streamed),
      row(redis, 1_000, [200], 'GET', `${judgement}?wait=1`),
      row(redis, 0, [200], 'GET', judgement),
      row(redis, 3_000, [404], 'DELETE', `/v1/judgements/${'0'.repeat(32)}`),
      row(redis, 3_000, [200], 'GET', '/v1/subjects/known'),
      row(redis, SCORE_MS, [200], 'POST', '/v1/moderations', { input: `You idiots (${round}).` }),
      row(redis, SCORE_MS, [200], 'POST', '/v1alpha1/comments:analyze', scored),
      row(kafka, PRODUCE_MS, [200], 'POST', '/v1alpha1/comments:suggestscore', score),
      row(kafka, PRODUCE_MS, [200], 'POST', '/v1/messages', post(round)),
      { ...row(kafka, PRODUCE_MS, [202, 409], 'POST', '/v1/human-verdicts', decision), begunWith: 'redis' },
      ...['/openapi.json', '/problems/store-away', '/$discovery/rest'].map((path) => row([], 0, [200], 'GET', path)),
    ]
  }
  /** Asks all routes together, of which those that need `stopped` are refused in time, with the reason. */
  const askAll = async (round: string, stopped: Dependency | null, isKnown = false) => {
    const reason = { redis: /store-away|the store/, kafka: /kafka-away|Kafka/ }
    const answers = await Promise.all(
      routes(round).map(async ({ at, needs, begunWith, withinMs, statuses }) => {
        const { status, said, waits, ms } = await ask(...at)
        const name = `${round}: ${at[0]} ${at[1]}`
        tell(`${name}: ${status} ${said?.type ?? said?.error?.message ?? ''} after ${(ms / 1_000).toFixed(1)} s`)
        const isAway = stopped !== null && (needs.includes(stopped) || (isKnown && begunWith === stopped))
        const asIs = isAway
          ? { status, says: reason[stopped].test(JSON.stringify(said)), waits }
          : { isUsual: statuses.includes(status) }
        const isInTime = ms < (isKnown ? 0 : withinMs) + SPARE_MS
        return [
          { name, ...asIs, ...(isAway && { isInTime }) },
          { name, ...(isAway ? { status: 503, says: true, waits: true, isInTime: true } : { isUsual: true }) },
        ]
      }),
    )
    expect(answers.map(([is]) => is)).toEqual(answers.map(([, expected]) => expected))
  }
  const standsStill = async (dependency: Dependency, pid: number) => {
    process.kill(pid, 'SIGSTOP')
    try {
      await askAll(`${dependency}-stopped`, dependency)
      await eventually(async () => (await checks())[dependency] !== 'answers', 30_000)
      await askAll(`${dependency}-known`, dependency, true)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await eventually(async () => (await checks())[dependency] === 'answers', 60_000)
    // A broker that stood still is behind for a while yet: what it does not acknowledge in time is to be sent again.
    await eventually(
      () =>
        askAll(`${dependency}-back`, null).then(
          () => true,
          () => false,
        ),
      60_000,
    )
  }
  const checks = async () => {
    const page = await fetch(`http://127.0.0.1:${service.httpPort}/health/ready`)
    return ((await page.json()) as { checks: Readonly<Record<Dependency, string>> }).checks
  }

  const client = new Redis(stack.settings.REDIS_URL ?? '')
  const redisPid = Number(/^process_id:(\d+)/m.exec(await client.info('server'))?.[1])
  const kafkaPid = stack.kafka?.pid
  expect(redisPid > 1 && kafkaPid !== undefined && kafkaPid > 1).toBe(true)
  await askAll('before', null)
  await standsStill('redis', redisPid)
  await standsStill('kafka', kafkaPid ?? 0)

  // What was acknowledged is judged once; what was not is the same when it is sent again.
  const sent = [
    'before',
    ...['redis', 'kafka'].flatMap((one) => ['stopped', 'known', 'back'].map((when) => `${one}-${when}`)),
  ]
  const again = sent.filter((round) => round.startsWith('kafka-')).map(post)
  // As its 503 says where it comes to that: Kafka may be behind for a while yet.
  await eventually(async () => (await ask('POST', '/v1/messages', again)).said?.accepted === again.length, 60_000)
  const finals = async () =>
    (await verdictsOf(environment)).filter(({ final, subjectId }) => final && sent.includes(subjectId))
  await eventually(async () => new Set((await finals()).map(({ subjectId }) => subjectId)).size === sent.length, 60_000)
  const verdicts = await verdictsOf(environment)
  expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
  expect((await finals()).map(({ subjectId }) => subjectId).sort()).toEqual([...sent].sort())
  client.disconnect()
})
