import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import kafkajs, { type Admin, type Producer } from 'kafkajs'
import { afterAll, expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { command as doctor } from '../../src/app/commands/doctor.ts'
import { findOnPath, runCommand } from '../../src/kit/stack/servers/command.ts'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { sumOf } from '../../src/operations/metrics/samples.ts'
import { invocation } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  settingsOf,
  silent,
  verdictsOf,
} from '../support/pipeline.ts'
import { type RefusedSettingCase, refusedSettings } from '../support/refused-settings.ts'
import { type RefusingKafka, refusingKafka } from '../support/refusing-kafka.ts'

// Each topic that Gavel writes to, refused in each way: each is named, paged and mended, and nothing is lost.

const it = onServers({ latencyMs: 20 })
const folder = ownFolder('refusals-by-topic')
let kafka: RefusingKafka
let admin: Admin
let environment: Record<string, string>
/** Others send as the broker takes it. */
let beside: Record<string, string>
let producer: Producer
let service: Service
let consolePort: number
let calls: () => number
it.beforeAll(async ({ stack, startForFile }) => {
  const brokers = [stack.settings.KAFKA_BROKERS ?? '']
  kafka = await refusingKafka(brokers[0] ?? '')
  admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin()
  await admin.connect()
  consolePort = await freePort()
  environment = environmentOn(
    { settings: { ...stack.settings, KAFKA_BROKERS: kafka.address } },
    {
      GAVEL_CLOCK_IDLE_AFTER: '1s',
      GAVEL_KAFKA_COMPRESSION: 'lz4',
      GAVEL_DOOR_PORT: '0',
      GAVEL_DOOR_OPEN_ON_LOOPBACK: 'true',
      GAVEL_RECORD_PATH: join(folder, 'record.sqlite'),
      GAVEL_CONSOLE_PORT: String(consolePort),
      GAVEL_CONSOLE_SIGN_IN: 'proxy',
      GAVEL_CONSOLE_PROXY_PEERS: '127.0.0.1',
      GAVEL_CONSOLE_PROXY_PERSON: 'x-user',
      GAVEL_CONSOLE_PEOPLE: '[{"who":"person:anna","role":"moderator"}]',
    },
  )
  beside = { ...environment, KAFKA_BROKERS: brokers[0] ?? '' }
  producer = clientOf(beside).producer({ allowAutoTopicCreation: false })
  await producer.connect()
  service = await startForFile(environment, 'intake,judge,publish,door,record,console')
  calls = () => stack.understudy?.calls().length ?? 0
})
afterAll(async () => {
  await producer?.disconnect()
  await admin?.disconnect()
  await kafka?.close()
})

const lines = () => service.log.slice(-10).join('\n')
const topics = () => topicsOf(settingsOf(environment))
type Written = keyof ReturnType<typeof topics>
const place = (topic: 'posts' | 'decisions', key: string, value: string | object) =>
  producer.send({
    topic: topics()[topic],
    messages: [{ key, value: typeof value === 'string' ? value : JSON.stringify(value) }],
  })
const at = '2025-03-01T10:00:00Z'
const post = (id: string, text = `The dam above ${id} has burst.`) => ({ id, createdAt: at, text })
const metrics = async () => (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
const hasVerdict = async (id: string) => (await verdictsOf(beside)).some(({ subjectId }) => subjectId === id)
async function judged(id: string): Promise<void> {
  await place('posts', id, post(id))
  await eventually(() => hasVerdict(id), 20_000, lines)
}
const decision = (subjectId: string) => ({
  subjectId,
  protocol: 'rumor',
  label: 'non-rumor',
  against: 1,
  by: 'ann',
  why: 'Seen.',
  at,
})
async function decided(id: string): Promise<void> {
  await judged(id)
  await place('decisions', id, decision(id))
  await eventually(
    async () => (await verdictsOf(beside)).some((one) => one.subjectId === id && one.decidedBy === 'human'),
    20_000,
    lines,
  )
}
async function ask(path: string, body: object) {
  const opened = service.log
    .map((line) => JSON.parse(line) as { event: string; doorPort: number })
    .find(({ event }) => event === 'door:opened')
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`http://127.0.0.1:${opened?.doorPort}${path}`, init)
  return { status: response.status, text: await response.text() }
}
const shown = async () => {
  const response = await fetch(`http://127.0.0.1:${consolePort}/live`, { headers: { 'x-user': 'anna' } })
  return { status: response.status, text: await response.text() }
}

interface WrittenTopic {
  readonly topic: Written
  /** As the metric names it. */
  readonly what: string
  /** What there has to be before. */
  readonly before?: (id: string) => Promise<void>
  /** Has a record written about this; what clients are told, where somebody waits. */
  readonly write: (id: string) => Promise<{ status: number; text: string } | undefined>
}
const sent = (type: string, more: (id: string) => object) => (id: string) =>
  ask('/v1/messages', { type, createdAt: at, ...more(id) })
const edit = (id: string) => place('posts', id, post(id, `The dam above ${id} has not burst, they say now.`))
const WRITTEN: readonly WrittenTopic[] = [
  { topic: 'verdicts', what: 'verdict', write: async (id) => void (await place('posts', id, post(id))) },
  { topic: 'transcripts', what: 'verdict', write: async (id) => void (await place('posts', id, post(id))) },
  { topic: 'proposals', what: 'verdict', before: decided, write: async (id) => void (await edit(id)) },
  { topic: 'deadLetters', what: 'dead-letter', write: async (id) => void (await place('posts', id, `no JSON: ${id}`)) },
  { topic: 'reviews', what: 'decision', before: decided, write: async (id) => void (await edit(id)) },
  {
    topic: 'decisionOutcomes',
    what: 'decision',
    before: judged,
    write: async (id) => void (await place('decisions', id, decision(id))),
  },
  { topic: 'posts', what: 'door-record', write: sent('post', post) },
  {
    topic: 'comments',
    what: 'door-record',
    before: judged,
    write: sent('comment', (postId) => ({ id: `of-${postId}`, postId, text: 'So it is.' })),
  },
  {
    topic: 'counterspeech',
    what: 'door-record',
    write: sent('counterspeech', (id) => ({ id, hateSpeech: 'x', text: 'So it is not.' })),
  },
  {
    topic: 'feedback',
    what: 'door-record',
    write: sent('feedback', (subjectId) => ({ subjectId, protocol: 'rumor', label: 'rumor', by: 'ann', at })),
  },
  {
    topic: 'decisions',
    what: 'door-record',
    before: judged,
    write: (subjectId) =>
      ask('/v1/human-verdicts', { subjectId, protocol: 'rumor', label: 'rumor', against: 1, why: 'Seen.' }),
  },
  { topic: 'audit', what: 'console-record', before: judged, write: shown },
]
const KINDS = refusedSettings(() => ({ kafka, admin }))
const CASES: readonly (WrittenTopic & { kind: RefusedSettingCase })[] = WRITTEN.flatMap((one) =>
  KINDS.map((kind) => ({ ...one, kind, setting: kind.setting })),
)

const seen: { what: string; setting: string }[] = []
it.for(CASES)('$topic, refused by $setting', { timeout: 180_000 }, async ({ topic, what, kind, before, write }) => {
  const { setting, names } = kind
  const id = `${topic}-${setting}`
  const arrived = async () =>
    (await recordsOf(beside, topic)).filter((json) =>
      json.includes(topic === 'deadLetters' ? Buffer.from(`no JSON: ${id}`).toString('base64') : id),
    )
  await before?.(id)
  const others = (await recordsOf(beside, 'deadLetters')).length
  const known = (await recordsOf(beside, topic)).length
  await kind.begin(topics()[topic])
  let told: { status: number; text: string } | undefined
  try {
    told = await write(id)
    await eventually(
      async () => sumOf(await metrics(), 'gavel_publication_closed', { what, setting }) === 1,
      20_000,
      lines,
    )
    seen.push({ what, setting })
    expect(service.log.filter((line) => line.includes('"publication:closed"')).at(-1)).toContain(names)
    if (told !== undefined) expect([told.status, topic === 'audit' || told.text.includes(setting)]).toEqual([503, true])
    const found = await doctor.run(
      invocation(settingsOf(environment), [], {}, { terminal: silent, signal: new AbortController().signal }),
    )
    expect(found.filter(({ state, detail }) => state !== 'ok' && detail.includes(names))).not.toEqual([])
    if (what === 'verdict') {
      const paid = calls()
      await place('posts', `${id}-next`, post(`${id}-next`))
      await eventually(
        async () => (sumOf(await metrics(), 'gavel_backlog', { what: 'due-threads' }) ?? 0) > 0,
        20_000,
        lines,
      )
      expect(calls()).toBe(paid)
    }
  } finally {
    await kind.end(topics()[topic])
  }
  // Whoever was refused sends it again.
  if (told !== undefined) await eventually(async () => (await write(id))?.status === 200, 30_000, lines)
  if (topic === 'audit') await eventually(async () => (await recordsOf(beside, 'audit')).length > known, 30_000, lines)
  else await eventually(async () => (await arrived()).length > 0, 30_000, lines)
  if (what === 'verdict') await eventually(() => hasVerdict(`${id}-next`), 30_000, lines)
  await eventually(async () => sumOf(await metrics(), 'gavel_publication_closed') === 0, 30_000, lines)
  expect((await recordsOf(beside, 'deadLetters')).length - others).toBe(topic === 'deadLetters' ? 1 : 0)
})

it('each pages within two minutes, by promtool’s clock', async ({ skip }) => {
  const all = [...new Map(seen.map((one) => [JSON.stringify(one), one])).values()]
  expect(all).toHaveLength(new Set(WRITTEN.map(({ what }) => what)).size * KINDS.length)
  const promtool = await findOnPath('promtool')
  if (promtool === undefined) return skip('there is no promtool on the PATH')
  const labels = ({ what, setting }: (typeof all)[number]) => `what="${what}", setting="${setting}"`
  const test = {
    rule_files: [join(PROJECT, 'config', 'prometheus', 'alerts.yml')],
    evaluation_interval: '15s',
    tests: [
      {
        interval: '15s',
        // Refused from the end of the first minute on.
        input_series: all.map((one) => ({
          series: `gavel_publication_closed{instance="a", ${labels(one)}}`,
          values: '0x3 1x36',
        })),
        promql_expr_test: [
          {
            eval_time: '3m',
            expr: 'sum by (alertname, what, setting) (ALERTS{alertstate="firing", severity="page", what!=""})',
            exp_samples: all.map((one) => ({
              labels: `{alertname="GavelPublicationClosed", ${labels(one)}}`,
              value: 1,
            })),
          },
        ],
      },
    ],
  }
  const file = join(folder, 'pages.json')
  writeFileSync(file, JSON.stringify(test))
  expect(await runCommand(promtool, ['test', 'rules', file], 240_000)).toContain('SUCCESS')
})
