import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { Redis } from 'ioredis'
import { parse } from 'yaml'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { SCHEMAS } from '../../src/kit/contracts/all.ts'
import { startStack } from '../../src/kit/stack/stack.ts'
import { version } from '../../src/platform/package-folder.js'
import {
  clientOf,
  environmentOn,
  eventually,
  send,
  settingsOf,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import { fieldsPrinted, keep, placeOf, redisHolds, SETTINGS, surface, topicsHold } from './left-behind.ts'

// Keeps what this version leaves behind in the middle of its work, for the tests of later ones: npm run release:keep.

const folder = placeOf(version(), '')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const scratch = mkdtempSync(join(tmpdir(), 'gavel-release-'))
const stack = await startStack({}, { kafka: 'memory', say: tell, understudy: { latencyMs: 300 } })
const record = join(scratch, 'record.sqlite')
const environment = environmentOn(stack, { ...SETTINGS, GAVEL_CLOCK_AT_END: 'wall-pace', GAVEL_RECORD_PATH: record })
const settings = settingsOf(environment)
const redis = new Redis(settings.redis.url)
const HOUR = 3_600_000
const now = Date.now()
const agoAt = (ms: number) => new Date(now - ms).toISOString()
let files = 0
async function sendLines(...lines: object[]): Promise<void> {
  const file = join(scratch, `${files++}.jsonl`)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}
const thread = (id: string, ago = 48 * HOUR) => [
  { type: 'post', id, text: `The mast of ${id} has fallen, they say.`, lang: 'en', createdAt: agoAt(ago) },
  {
    type: 'comment',
    id: `${id}-a`,
    postId: id,
    author: 'a',
    text: `It is true of ${id}.`,
    createdAt: agoAt(ago - 60_000),
  },
  {
    type: 'comment',
    id: `${id}-b`,
    postId: id,
    author: 'b',
    text: 'Fake, I was there.',
    createdAt: agoAt(ago - 120_000),
  },
]
const isFinal = async (...ids: string[]) => {
  const finals = new Set(
    (await verdictsOf(environment)).filter(({ final }) => final).map((one) => `${one.protocol} ${one.subjectId}`),
  )
  return ids.every((id) => finals.has(`rumor ${id}`) && finals.has(`hate ${id}`))
}

const judging = await startService(environment, 'intake,judge')
const publishing = await startService(environment, 'publish,record')
try {
  // A newer post moves the clock, so that the older ones are final; it waits for its own checkpoints.
  await sendLines(...['f1', 'f2', 'f3', 'f4'].flatMap((id) => thread(id)), ...thread('w1', 130_000))
  await eventually(() => isFinal('f1', 'f2', 'f3', 'f4'), 120_000)
  const producer = clientOf(environment).producer()
  await producer.connect()
  const decision = {
    subjectId: 'f1',
    protocol: 'rumor',
    label: 'rumor',
    by: 'ann',
    why: 'ticket 88',
    force: true,
    at: agoAt(0),
  }
  await producer.send({
    topic: topicsOf(settings).decisions,
    messages: [{ key: 'f1', value: JSON.stringify({ ...decision, against: 1, sawLabel: false }) }],
  })
  await producer.disconnect()
  await sendLines(
    {
      type: 'feedback',
      subjectId: 'f2',
      protocol: 'hate',
      label: 'non-hate',
      by: 'desk',
      at: agoAt(0),
      sawLabel: false,
    },
    { type: 'post', id: 'f3', createdAt: agoAt(0), deleted: true },
    { type: 'post', id: 'unknown', createdAt: agoAt(0), deleted: true },
    { type: 'comment', id: 'later-a', postId: 'later', author: 'a', text: 'It is true.', createdAt: agoAt(HOUR / 2) },
  )
  const has = async (fits: (one: Awaited<ReturnType<typeof verdictsOf>>[number]) => boolean) =>
    (await verdictsOf(environment)).some(fits)
  await eventually(() => has((one) => one.decidedBy === 'human'), 60_000)
  await eventually(() => has((one) => one.subjectId === 'f3' && one.decidedBy === 'deleted'), 60_000)
  // All of it is in the record.
  const verdicts = (await verdictsOf(environment)).length
  const rows = () => {
    const db = new DatabaseSync(record, { readOnly: true })
    try {
      return Number(db.prepare("SELECT count(*) AS n FROM rulings WHERE decided_by <> 'deleted' OR 1").get()?.n)
    } finally {
      db.close()
    }
  }
  await eventually(
    async () => rows() >= verdicts - 4,
    60_000,
    () => `${rows()} of ${verdicts}`,
  )
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  await publishing.kill('SIGTERM')
  // Judged, and not published.
  await sendLines(...['g1', 'g2'].flatMap((id) => thread(id)))
  const [outbox = ''] = (await redis.keys('*outbox')).filter((key) => key.endsWith(':outbox'))
  await eventually(async () => (await redis.xlen(outbox === '' ? '{release}:outbox' : outbox)) >= 4, 60_000)
  // Being judged.
  const asked = stack.understudy?.calls().length ?? 0
  await sendLines(...['h1', 'h2', 'h3', 'h4'].flatMap((id) => thread(id)))
  await eventually(async () => (stack.understudy?.calls().length ?? 0) > asked + 2, 30_000)
  await judging.kill('SIGKILL')

  keep(version(), 'redis', await redisHolds(redis))
  keep(version(), 'topics', await topicsHold(environment, settings))
  const file = new DatabaseSync(record)
  file.exec(`VACUUM INTO '${join(scratch, 'whole.sqlite')}'`)
  file.close()
  writeFileSync(
    placeOf(version(), 'record.sqlite.gz'),
    gzipSync(readFileSync(join(scratch, 'whole.sqlite')), { level: 9 }),
  )
  for (const name of readdirSync(SCHEMAS).filter((one) => one.endsWith('.schema.json')))
    copyFileSync(join(SCHEMAS, name), join(PROJECT, 'test', 'schemas', 'released', name))
  // Every setting as a file has it, and what is meant.
  const written: unknown = parse(readFileSync(join(PROJECT, 'config', 'gavel.yaml'), 'utf8'))
  keep(version(), 'settings', { written, meant: loadSettings({}) })
  keep(version(), 'surface', { ...(await surface()), printed: await fieldsPrinted(settings) })
  tell(`${verdicts} verdicts; ${await redis.xlen(outbox)} wait for Kafka`)
} finally {
  await Promise.all([judging.kill('SIGKILL'), publishing.kill('SIGKILL')])
  redis.disconnect()
  await stack.close()
  rmSync(scratch, { recursive: true, force: true })
}
