import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { type App, startApp } from '../../src/app/composition/service.ts'
import { UnavailableError } from '../../src/kit/stack/servers/local-server.ts'
import { startPrometheus } from '../../src/kit/stack/servers/prometheus.ts'
import { type Stack, startStack } from '../../src/kit/stack/stack.ts'
import { clientOf, environmentOn, eventually, settingsOf, tell, verdictsOf } from '../support/pipeline.ts'

/** Two deployments on the same servers; the north has two processes. */
const POSTS = { north: 3, south: 2 }
type Name = keyof typeof POSTS
/** How long Prometheus may take to have scraped what is asked for. */
const ANSWER_MS = 30_000
const NAMES = Object.keys(POSTS) as Name[]

let stack: Stack
const environments = {} as Record<Name, Record<string, string>>
const apps: { readonly name: Name; readonly app: App }[] = []
const closing: (() => Promise<unknown>)[] = []
let prometheus = ''
let unavailable: string | undefined

beforeAll(async () => {
  stack = await startStack({}, { kafka: 'memory', say: () => {}, understudy: { latencyMs: 5 } })
  closing.push(() => stack.close())
  for (const name of NAMES) environments[name] = environmentOn(stack, { GAVEL_NAME: name, GAVEL_LOG_LEVEL: 'silent' })
  for (const name of ['north', 'north', 'south'] as const)
    apps.push({ name, app: await startApp(settingsOf(environments[name]), ['intake', 'judge', 'publish']) })
  closing.push(() => Promise.all(apps.map(({ app }) => app.stop())))
  try {
    const scrape = apps.map(({ app }) => `127.0.0.1:${app.httpPort}`)
    const server = await startPrometheus({ say: () => {}, scrape })
    closing.push(() => server.close())
    prometheus = server.settings.PROMETHEUS_URL ?? ''
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    unavailable = error.message
    tell(`SKIPPED two deployments on one Prometheus: ${error.message}`)
  }
}, 300_000) // where Prometheus or Redis has to be installed first
afterAll(async () => {
  for (const close of closing.reverse()) await close()
}, 60_000)
beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable)
})

/** What Prometheus answers to a query now: `LABEL VALUE`, by the value of one label. */
async function ask(expr: string, label: string): Promise<string[]> {
  const body = new URLSearchParams({ query: expr })
  const answer = await (await fetch(`${prometheus}/api/v1/query`, { method: 'POST', body })).json()
  const { result } = (answer as { data: { result: { metric: Record<string, string>; value: [number, string] }[] } })
    .data
  return result.map(({ metric, value }) => `${metric[label]} ${value[1]}`).sort()
}

/** Asked until it answers just this: a scrape that a busy machine misses leaves a series stale for a moment. */
async function answers(expr: string, label: string, expected: string[]): Promise<void> {
  let last: string[] = []
  await eventually(async () => {
    last = await ask(expr, label)
    return last.join() === expected.join()
  }, ANSWER_MS).catch(() => undefined)
  expect(last, expr).toEqual(expected)
}

it('two deployments on one Kafka, one Redis and one Prometheus never mix', { timeout: 240_000 }, async () => {
  for (const name of NAMES) {
    const settings = settingsOf(environments[name])
    const writer = await kafkaWriter(clientOf(environments[name]), settings.kafka.compression)
    // The same ids in both.
    const posts = Array.from({ length: POSTS[name] }, (_, at) => ({
      id: `p${at}`,
      author: 'a',
      createdAt: '2026-05-01T10:00:00Z',
      text: `The bridge in the ${name} has fallen.`,
    }))
    await writer.send(
      posts.map((post) => ({ topic: topicsOf(settings).posts, key: post.id, value: JSON.stringify(post) })),
    )
    await writer.close()
  }
  const finals = async (name: Name) => (await verdictsOf(environments[name])).filter(({ final }) => final)
  for (const name of NAMES) await eventually(async () => (await finals(name)).length >= POSTS[name], 40_000)
  for (const name of NAMES)
    expect((await finals(name)).map(({ subjectId }) => subjectId).sort()).toEqual(
      Array.from({ length: POSTS[name] }, (_, at) => `p${at}`),
    )

  await answers('sum by (gavel) (gavel_messages_total{outcome="judged"})', 'gavel', [
    `north ${POSTS.north}`,
    `south ${POSTS.south}`,
  ])
  await answers('count by (gavel) (gavel_build_info)', 'gavel', ['north 2', 'south 1'])
  await answers('count by (gavel) (up * on (instance) group_left (gavel) gavel_build_info)', 'gavel', [
    'north 2',
    'south 1',
  ])
  expect(await ask('count({__name__=~"gavel_.+", gavel!~"north|south"})', 'gavel')).toEqual([])
  for (const name of NAMES) {
    const lag = async () => [
      ...new Set((await ask(`gavel_kafka_lag_messages{gavel="${name}"}`, 'topic')).map((one) => one.split(' ')[0])),
    ]
    const { posts, comments, counterspeech } = topicsOf(settingsOf(environments[name]))
    await eventually(async () => {
      const topics = await lag()
      return [posts, comments, counterspeech].every((topic) => topics.includes(topic))
    }, ANSWER_MS)
    const prefix = environments[name].GAVEL_KAFKA_TOPIC_PREFIX ?? '!'
    expect((await lag()).filter((topic) => !topic?.startsWith(prefix))).toEqual([])
  }
})

it('shared metrics of a deployment are exported by one process, and by the other when that one ends', {
  timeout: 180_000,
}, async () => {
  const open = 'count by (gavel) (gavel_backlog{what="open-cases"})'
  await answers('sum by (gavel) (gavel_state_exporter)', 'gavel', ['north 1', 'south 1'])
  await answers(open, 'gavel', ['north 1', 'south 1'])
  const exporter = async () => {
    const [one = ''] = await ask('gavel_state_exporter{gavel="north"} == 1', 'instance')
    return one.split(' ')[0]
  }
  await eventually(async () => (await exporter()) !== '', ANSWER_MS)
  const instance = await exporter()
  const at = apps.findIndex(({ app }) => instance === `127.0.0.1:${app.httpPort}`)
  expect(at).not.toBe(-1)
  const [ending] = apps.splice(at, 1)
  await ending?.app.stop()
  await answers(`gavel_state_exporter{gavel="north", instance!="${instance}"} == 1`, 'gavel', ['north 1'])
  await answers(open, 'gavel', ['north 1', 'south 1'])
})
