import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin } from 'kafkajs'
import { afterAll, expect } from 'vitest'
import { command as doctor } from '../../src/app/commands/doctor.ts'
import { sumOf } from '../../src/operations/metrics/samples.ts'
import { invocation, performWords } from '../support/commands.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  send,
  settingsOf,
  silent,
  verdictsOf,
} from '../support/pipeline.ts'
import { type RefusedSettingCase, refusedSettings } from '../support/refused-settings.ts'
import { type RefusingKafka, refusingKafka } from '../support/refusing-kafka.ts'

const it = onServers({ latencyMs: 20 })
let kafka: RefusingKafka
let admin: Admin
it.beforeAll(async ({ stack }) => {
  const brokers = [stack.settings.KAFKA_BROKERS ?? '']
  kafka = await refusingKafka(brokers[0] ?? '')
  admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin()
  await admin.connect()
})
afterAll(async () => {
  await admin?.disconnect()
  await kafka?.close()
})

const folder = ownFolder('broker-refusals')
let files = 0
async function sendPosts(environment: Record<string, string>, ids: readonly string[]) {
  const file = join(folder, `${++files}.jsonl`)
  const line = (id: string) =>
    JSON.stringify({ type: 'post', id, createdAt: '2025-03-01T10:00:00Z', text: `The dam above ${id} has burst.` })
  writeFileSync(file, `${ids.map(line).join('\n')}\n`)
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}

const topicOf = (environment: Record<string, string>, name: string) => `${environment.GAVEL_KAFKA_TOPIC_PREFIX}${name}`

const KINDS = refusedSettings(() => ({ kafka, admin }))

let environment: Record<string, string>
/** Others send as the broker takes it. */
let beside: Record<string, string>
let service: Service
it.beforeAll(async ({ stack, startForFile }) => {
  const through = { settings: { ...stack.settings, KAFKA_BROKERS: kafka.address } }
  environment = environmentOn(through, { GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_KAFKA_COMPRESSION: 'lz4' })
  beside = { ...environment, KAFKA_BROKERS: stack.settings.KAFKA_BROKERS ?? '' }
  service = await startForFile(environment)
})

async function page(path: string, of = service) {
  const response = await fetch(`http://127.0.0.1:${of.httpPort}${path}`)
  return { status: response.status, text: await response.text() }
}
const sample = async (name: string, labels: Record<string, string> = {}, of = service) =>
  sumOf((await page('/metrics', of)).text, name, labels)
const lines = () => service.log.slice(-10).join('\n')

it.for(KINDS)('a refusal by $setting is named and not paid for, and what waits goes on by itself', async (kind) => {
  const { setting, names } = kind
  const ids = ['first', 'second', 'third', 'fourth'].map((nth) => `${nth}-${setting}`)
  const subjects = async () =>
    [...new Set((await verdictsOf(beside)).map(({ subjectId }) => subjectId))].filter((id) => id.endsWith(setting))
  await kind.begin(topicOf(environment, 'verdicts'))
  try {
    await sendPosts(beside, ids.slice(0, 1))
    await eventually(async () => (await sample('gavel_publication_closed', { setting })) === 1, 10_000, lines)
    const paid = await sample('gavel_model_calls_total')
    expect(paid).toBeGreaterThan(0)
    expect(await page('/health/ready')).toMatchObject({ status: 503, text: expect.stringContaining(names) })
    const closed = service.log.filter((line) => line.includes('"publication:closed"') && line.includes('"closed":true'))
    expect(closed.at(-1)).toContain(names)
    await sendPosts(beside, ids.slice(1))
    await eventually(async () => (await sample('gavel_backlog', { what: 'due-threads' })) === 3, 10_000, lines)
    const io = { terminal: silent, signal: new AbortController().signal }
    const found = await doctor.run(invocation(settingsOf(environment), [], {}, io))
    const broken = found.filter(({ state, detail }) => state === 'broken' && detail.includes(names))
    expect(broken.map(({ what }) => what)).toContain('publication')
    const top = ['top', '--json', '--replica', `http://127.0.0.1:${service.httpPort}`]
    const { out } = await performWords(top, settingsOf(environment))
    expect(out.join()).toContain(`Kafka refuses what is published: ${setting} (verdict)`)
    expect(await sample('gavel_model_calls_total')).toBe(paid)
  } finally {
    await kind.end(topicOf(environment, 'verdicts'))
  }
  await eventually(async () => (await subjects()).length === ids.length, 30_000, lines)
  expect((await subjects()).sort()).toEqual(ids.toSorted())
  expect(await recordsOf(beside, 'deadLetters')).toEqual([])
  await eventually(async () => (await page('/health/ready')).status === 200, 10_000, lines)
  expect(await sample('gavel_publication_closed')).toBe(0)
})

/** What an outcome of the rest takes minutes to show, and seldom fails. */
const proof = it.runIf(IN_PROOF)
const COMPRESSION = KINDS.find(({ setting }) => setting === 'compression') as RefusedSettingCase
const own = (changes: Record<string, string> = {}) => {
  const { GAVEL_KAFKA_COMPRESSION = '', KAFKA_BROKERS = '' } = environment
  const fresh = environmentOn({ settings: environment }, { GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_KAFKA_COMPRESSION })
  return { ...fresh, KAFKA_BROKERS, ...changes }
}
const direct = (of: Record<string, string>) => ({ ...of, KAFKA_BROKERS: beside.KAFKA_BROKERS ?? '' })
const published = async (of: Record<string, string>) =>
  new Set((await verdictsOf(direct(of))).map(({ subjectId }) => subjectId)).size

proof(
  'a process that starts while its broker refuses pays for nothing, and begins by itself',
  async ({ stack, start }) => {
    const of = own()
    const before = stack.understudy?.calls().length
    await COMPRESSION.begin(topicOf(of, 'verdicts'))
    const late = await start(of)
    try {
      expect(await page('/health/ready', late)).toMatchObject({
        status: 503,
        text: expect.stringContaining('kafka.compression'),
      })
      expect(await sample('gavel_publication_closed', { what: 'trial', setting: 'compression' }, late)).toBe(1)
      await sendPosts(direct(of), ['one', 'two'])
      await eventually(async () => (await sample('gavel_backlog', { what: 'due-threads' }, late)) === 2, 20_000)
      expect(stack.understudy?.calls().length).toBe(before)
    } finally {
      await COMPRESSION.end(topicOf(of, 'verdicts'))
    }
    await eventually(
      async () => (await published(of)) === 2,
      60_000,
      () => late.log.slice(-10).join('\n'),
    )
  },
)

proof.for(KINDS)(
  'cases in progress make no call once $setting is refused, and lose nothing',
  { timeout: 180_000 },
  async (kind, { stack, start }) => {
    // So many calls may be on their way when it closes.
    const slots = 2
    const of = own({ GAVEL_MODELS_SLOTS: String(slots) })
    const busy = await start(of)
    stack.understudy?.behave({ latencyMs: 400 })
    try {
      await kind.begin(topicOf(of, 'verdicts'))
      await sendPosts(
        direct(of),
        Array.from({ length: 40 }, (_, nth) => `busy-${nth}`),
      )
      let metrics = ''
      await eventually(
        async () => {
          metrics = (await page('/metrics', busy)).text
          return sumOf(metrics, 'gavel_publication_closed', { setting: kind.setting }) === 1
        },
        30_000,
        () => busy.log.slice(-10).join('\n'),
      )
      const ended = sumOf(metrics, 'gavel_model_calls_total') ?? 0
      // Longer than calls take, and waiting asks wait.
      await sleep(10_000)
      expect(await sample('gavel_model_calls_total', {}, busy)).toBeLessThanOrEqual(ended + slots)
      expect(await sample('gavel_model_slots', { state: 'busy' }, busy)).toBe(0)
    } finally {
      await kind.end(topicOf(of, 'verdicts'))
      stack.understudy?.behave({ latencyMs: 20 })
    }
    await eventually(
      async () => (await published(of)) === 40,
      90_000,
      () => busy.log.slice(-10).join('\n'),
    )
    // Each as without a refusal.
    const asAlways = { degraded: ['no comments: judged on the claim alone'], isDecided: true }
    const verdicts = await verdictsOf(direct(of))
    expect(verdicts.map(({ degraded, label }) => ({ degraded, isDecided: label !== null }))).toEqual(
      verdicts.map(() => asAlways),
    )
    expect(await recordsOf(direct(of), 'deadLetters')).toEqual([])
  },
)

proof('a process that judges stops for one that publishes elsewhere', async ({ stack, start }) => {
  const of = own()
  const publishes = await start(of, 'publish')
  const judges = await start(of, 'intake,judge')
  await COMPRESSION.begin(topicOf(of, 'verdicts'))
  try {
    await sendPosts(direct(of), ['one'])
    await eventually(
      async () => (await page('/health/ready', judges)).text.includes('kafka.compression'),
      30_000,
      () => publishes.log.slice(-10).join('\n'),
    )
    const paid = stack.understudy?.calls().length
    await sendPosts(direct(of), ['two', 'three'])
    const isDue = async (one: Service) => (await sample('gavel_backlog', { what: 'due-threads' }, one)) === 2
    // One of them tells what all share.
    await eventually(async () => (await isDue(judges)) || isDue(publishes), 20_000)
    expect(stack.understudy?.calls().length).toBe(paid)
  } finally {
    await COMPRESSION.end(topicOf(of, 'verdicts'))
  }
  await eventually(async () => (await published(of)) === 3, 60_000)
})
