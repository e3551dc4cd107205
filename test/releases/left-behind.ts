import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Redis } from 'ioredis'
import { PROJECT } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { topicsOf } from '../../config/topics.ts'
import { COMMANDS } from '../../src/commands.ts'
import { prometheusMetrics } from '../../src/operations/metrics/metrics.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { rangesOf, readRanges } from '../../src/stream/bounded-reader.ts'
import { performWords } from '../support/commands.ts'
import { clientOf, protocolsOn, UNBOUNDED } from '../support/pipeline.ts'

// What a release leaves behind: test/releases/VERSION, written by keep.ts. Nothing there is changed once it is released.

const RELEASES = join(PROJECT, 'test', 'releases')
export const releases = readdirSync(RELEASES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
export const placeOf = (version: string, file: string) => join(RELEASES, version, file)

/** How the service was set that left it: the same for whoever goes on. */
export const SETTINGS = {
  ...protocolsOn('rumor', 'hate'),
  ...UNBOUNDED,
  GAVEL_KAFKA_TOPIC_PREFIX: 'release.',
  GAVEL_KAFKA_GROUP: 'release',
  GAVEL_REDIS_PREFIX: 'release',
  GAVEL_FENCES_KEY: '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
  GAVEL_CLOCK_IDLE_AFTER: '1s',
  // All wait for people.
  GAVEL_REVIEW_AUDIT_SHARE: '1',
}

export function kept<Value>(version: string, file: string): Value {
  return JSON.parse(gunzipSync(readFileSync(placeOf(version, `${file}.json.gz`))).toString('utf8')) as Value
}
export function keep(version: string, file: string, value: unknown): void {
  writeFileSync(placeOf(version, `${file}.json.gz`), gzipSync(JSON.stringify(value), { level: 9 }))
}

/** A key of Redis: its name, for how long it lives in ms (0: for good), and its value as DUMP has it. */
export type StoredKey = readonly [key: string, ttl: number, value: string]

export async function redisHolds(redis: Redis): Promise<StoredKey[]> {
  const keys = (await redis.keys('*')).sort()
  return Promise.all(
    keys.map(async (key): Promise<StoredKey> => {
      const [ttl, value] = await Promise.all([redis.pttl(key), redis.dumpBuffer(key)])
      return [key, Math.max(0, ttl), value.toString('base64')]
    }),
  )
}

export async function restoreRedis(redis: Redis, keys: readonly StoredKey[]): Promise<void> {
  for (const [key, ttl, value] of keys) await redis.restore(key, ttl, Buffer.from(value, 'base64'))
}

/** A record of a topic: where it stands, when it came, and what it says, in base64. */
export type StoredRecord = readonly [partition: number, at: string, key: string | null, value: string | null]

/** The records of each topic, by its name without the prefix, in the order of their offsets. */
export async function topicsHold(environment: Record<string, string>, settings: Settings) {
  const kafka = clientOf(environment)
  const waiting = { signal: new AbortController().signal }
  const all: Record<string, StoredRecord[]> = {}
  const there = await namesOf(kafka)
  for (const [name, topic] of Object.entries(topicsOf(settings))) {
    if (!there.includes(topic)) continue
    const records: StoredRecord[] = []
    await readRanges(kafka, topic, await rangesOf(kafka, topic, null, waiting), waiting, (partition, messages) => {
      for (const { key, value, timestamp } of messages)
        records.push([partition, timestamp, key?.toString('utf8') ?? null, value?.toString('base64') ?? null])
    })
    all[name] = records
  }
  return all
}

async function namesOf(kafka: ReturnType<typeof clientOf>): Promise<string[]> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await admin.listTopics()
  } finally {
    await admin.disconnect()
  }
}

/** Puts records into topics that are not there yet, each at its place. */
export async function restoreTopics(
  environment: Record<string, string>,
  settings: Settings,
  topics: Record<string, readonly StoredRecord[]>,
): Promise<void> {
  const producer = clientOf(environment).producer()
  await producer.connect()
  try {
    const names = new Map<string, string>(Object.entries(topicsOf(settings)))
    for (const [name, records] of Object.entries(topics)) {
      const messages = records.map(([partition, timestamp, key, value]) => ({
        partition,
        timestamp,
        key,
        value: value === null ? null : Buffer.from(value, 'base64'),
      }))
      const topic = names.get(name)
      if (messages.length > 0 && topic !== undefined) await producer.send({ topic, messages })
    }
  } finally {
    await producer.disconnect()
  }
}

/** Each metric with its type, and each command with its options. */
export async function surface(): Promise<{ metrics: string[]; commands: Record<string, string[]> }> {
  const { page } = prometheusMetrics({
    protocols: PROTOCOLS.map(({ name }) => ({ name, stages: ['stage'], labels: ['label'] })),
    topics: ['posts'],
    models: ['m'],
    roles: { default: ['m'] },
    endpointOf: () => 'https://models.example/v1',
    objectiveSeconds: 60,
    bounds: () => ({ limits: ['model'], budgets: [{ scope: 'tenant', unit: 'usd' }] }),
    prompts: '',
    identity: { gavel: 'g', version: '0', settings: '', host: 'h', roles: [] },
  })
  const text = (await page()).text
  const metrics = [...text.matchAll(/^# TYPE (gavel_\S+ \S+)$/gm)].map(([, one = '']) => one).sort()
  const commands: Record<string, string[]> = {}
  for (const { path, hidden, load } of COMMANDS) {
    if (hidden === true || load === undefined) continue
    const { options, json } = (await load()).command
    commands[path] = [...options.flatMap(({ long }) => long ?? []), ...(json ? ['--json'] : [])].sort()
  }
  return { metrics, commands }
}

/** Commands that tell of a record alone. */
const TELLING = [
  'verdicts --record --json',
  'verdicts --record --search mast --json',
  'show f1 --record --json',
  'show f2 --record --json',
  'review list --json',
  'review stats --json',
  'review quality --since 100000d --json',
]

/** The fields of what each of them prints, with their types. */
export async function fieldsPrinted(settings: Settings): Promise<Record<string, string[]>> {
  const printed: Record<string, string[]> = {}
  for (const line of TELLING) {
    const { out } = await performWords(line.split(' '), settings)
    // Lists have a line for each.
    const texts = /^(?:verdicts|review list)/.test(line) ? out.join('\n').split('\n') : [out.join('\n')]
    printed[line] = [...new Set(texts.filter((one) => one !== '').flatMap((one) => fieldsOf(JSON.parse(one))))].sort()
  }
  return printed
}

function fieldsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => fieldsOf(one, `${path}[]`))
  if (typeof value !== 'object' || value === null) return [`${path} ${value === null ? 'null' : typeof value}`]
  return Object.entries(value).flatMap(([name, one]) => fieldsOf(one, path === '' ? name : `${path}.${name}`))
}
