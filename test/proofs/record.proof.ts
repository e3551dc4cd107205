import { createReadStream, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type {
  RecordBatch,
  RecordedTopic,
  RecordFilter,
  RecordReader,
  RecordStore,
} from '../../src/contracts/ports/record.ts'
import type { ReviewQueue } from '../../src/contracts/ports/review.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { contestedness } from '../../src/protocols/contestedness.ts'
import { database } from '../../src/record/postgres/connection.ts'
import { postgresRecord, postgresRecordReader, postgresReviewQueue } from '../../src/record/postgres/record.ts'
import { entriesOf } from '../../src/record/project.ts'
import { sqliteRecord, sqliteRecordReader, sqliteReviewQueue } from '../../src/record/sqlite/record.ts'
import { aTranscript } from '../contracts/record.ts'
import { tell } from '../support/pipeline.ts'
import { aPostgres } from '../support/postgres-server.ts'
import { aVerdict } from '../support/verdicts.ts'
import { quantile, timed } from './timed.ts'

/**
 * The record at the size of half a year, in each store: filled, searched, listed, erased. The files stay (RECORD_PROOF_FILE, and
 * RECORD_PROOF_POSTGRES for the folder of a PostgreSQL), and a run fills them for RECORD_PROOF_MINUTES further, up to
 * RECORD_PROOF_VERDICTS. One store alone: -t "in SQLite", -t "in PostgreSQL".
 */
const FILE = process.env.RECORD_PROOF_FILE ?? join(tmpdir(), 'gavel-record-proof', 'record.sqlite')
const CLUSTER = process.env.RECORD_PROOF_POSTGRES ?? join(tmpdir(), 'gavel-record-proof-postgres')
const VERDICTS = Number(process.env.RECORD_PROOF_VERDICTS ?? 1_000_000)
const MINUTES = Number(process.env.RECORD_PROOF_MINUTES ?? 600)
const LEAST_PER_SECOND = 500
const MOST_MS = 100
/** Partitions of each topic, as many as kafka.partitions says, which are read at a time; and verdicts in one batch of them. */
const [PARTITIONS, BATCH] = [4, 250]
const PARTITION_NUMBERS = Array.from({ length: PARTITIONS }, (_, n) => n)
/** One in so many has comments of 20 KB, the others 2 KB with their post. */
const LARGE = 20
const BEGUN = Date.parse('2026-01-01T00:00:00Z')
const SETTINGS = {
  keep: 400 * 86_400_000,
  maxBytes: 2 ** 40,
  sourceKeep: 8 * 86_400_000,
  auditShare: 0.01,
  blindShare: 0.1,
}
const CONTEXT = {
  ofReplies: new Set<string>(),
  labels: new Map<string, Set<string>>(),
  weigh: contestedness,
  sameKey: (text: string) => text,
  indexChars: 20_000,
  maxBytes: 2 ** 24,
}

/** Words of each language by how common they are: the first is in every second text of it, the last in one of ten thousand. */
const KOREAN =
  '경찰 사람 오늘 정부 지진 사고 학교 병원 시장 대통령 뉴스 사진 영상 확인 거짓 소문 다리 홍수 화재 구조'.split(' ')
const ARABIC = 'الشرطة اليوم المدينة شرطي كتاب الكتاب مدرسة الحكومة صورة خبر كاذب جسر فيضان حريق والناس مستشفى'.split(
  ' ',
)
const GERMAN =
  'Flüchtlingsheim Polizei Bundesregierung Straßenbahnhaltestelle Überschwemmung Nachrichten Krankenhaus Bahnhofsvorplatz Feuerwehreinsatz heute Menschen Gerücht'.split(
    ' ',
  )
const RARE = { ko: '참새', ar: 'طَاوُوس', de: 'Regenbogenforellenzuchtanlage' }
/** What is looked for: [which, term, in which verdicts]. Vowel signs stand in the query and not in most texts, or the other way. */
const TERMS: readonly (readonly [which: string, term: string, filter?: RecordFilter])[] = [
  ['Korean, common, two syllables', '경찰'],
  ['Korean, rare, two syllables', RARE.ko],
  ['Arabic, common', 'الشرطة'],
  ['Arabic, common, with vowel signs', 'الشُّرْطَة'],
  ['Arabic, rare, with vowel signs', RARE.ar],
  ['Arabic, rare, without', 'طاووس'],
  ['German, common, inside a compound', 'heim'],
  ['German, common compound', 'Flüchtlingsheim'],
  ['German, rare, inside a compound', 'forellenzucht'],
  ['German, two words', 'Polizei Krankenhaus'],
  ['Korean, common, of the tenant that has all', '경찰', { tenants: ['default'] }],
  ['none', 'Quastenflosser'],
  ['none: of a tenant that has no verdict', '경찰', { tenants: ['acme'] }],
]

/** A text of so many characters, in the language of its number; one in ten thousand has the rare word. */
function textOf(n: number, characters: number): { text: string; lang: 'ko' | 'ar' | 'de' } {
  const random = seededRandom(n)
  const lang = (['ko', 'ar', 'de'] as const)[n % 3] ?? 'de'
  const words = { ko: KOREAN, ar: ARABIC, de: GERMAN }[lang]
  const said: string[] = n % 30_000 < 3 ? [RARE[lang]] : []
  let length = 0
  while (length < characters) {
    // Zipf's law, roughly; every third word is made up, as names and typing errors are.
    const common = words[Math.floor(words.length * random.below(1_000) ** 2 * 1e-6)] ?? ''
    const word = random.below(3) === 0 ? madeUp(lang, random) : common
    said.push(word)
    length += word.length + 1
  }
  return { text: said.join(' '), lang }
}

function madeUp(lang: 'ko' | 'ar' | 'de', random: { below(n: number): number }): string {
  const [first, count] = lang === 'ko' ? [0xac00, 11_172] : lang === 'ar' ? [0x628, 35] : [0x61, 26]
  return Array.from({ length: 2 + random.below(5) }, () => String.fromCodePoint(first + random.below(count))).join('')
}

const messages = (n: number) => {
  const seconds = n
  const large = n % LARGE === 0
  const { text, lang } = textOf(n, 280)
  // 2 KB of UTF-8 in all with the verdict's own JSON; 20 KB by comments.
  const comments = Object.fromEntries(
    Array.from({ length: large ? 40 : 2 }, (_, at) => [`c${at}`, textOf(n * 64 + at * 3 + (n % 3), 200).text]),
  )
  const at = new Date(BEGUN + seconds * 1_000).toISOString()
  const subjectId = `post${n}`
  const label = n % 7 === 0 ? 'rumor' : 'non-rumor'
  const verdict = aVerdict(at, {
    subjectId,
    label,
    decidedBy: n % 9 === 0 ? 'judge' : 'consensus',
    rationale: textOf(n + 3, 100).text,
    models: { judge: `model-${n % 5}` },
    versions: { script: 1, prompts: `prompts${n % 11}`, settings: 's' },
  })
  const transcript = aTranscript(verdict.id, text, comments, seconds, { lang, author: `author${n % 5_003}` })
  return { subjectId, verdict, transcript, at: Date.parse(at) }
}

/** What the topics say next in this partition, as batches for the record. Every fourth batch of all verdicts is in it. */
function made(partition: number, from: number, count: number): RecordBatch[] {
  const first = (Math.floor(from / BATCH) * PARTITIONS + partition) * BATCH + (from % BATCH)
  const all = Array.from({ length: count }, (_, at) => messages(first + at))
  const batchOf = (topic: RecordedTopic, value: (one: (typeof all)[number]) => unknown): RecordBatch => {
    const entries = all.flatMap((one, at) => {
      const offset = from + at
      const bytes = Buffer.from(JSON.stringify(value(one)))
      const message = {
        topic,
        partition,
        offset: String(offset),
        key: one.subjectId,
        headers: {},
        timestamp: one.at,
      }
      return entriesOf(topic, { ...message, value: bytes }, CONTEXT).map((entry) => ({ offset, entry }))
    })
    return { topic, partition, from, next: from + count, entries }
  }
  return [batchOf('verdicts', ({ verdict }) => verdict), batchOf('transcripts', ({ transcript }) => transcript)]
}

const p95 = (times: readonly number[]) => quantile(times, 0.95)

/** A store, and what is done about it beside its port. */
interface Place {
  readonly where: string
  readonly open: () => Promise<RecordStore>
  readonly reader: () => Promise<RecordReader>
  readonly queue: (costs: Record<string, Record<string, number>>) => Promise<ReviewQueue>
  /** Within how long a deletion is out of the files, as the documents promise, in ms. */
  readonly within: number
  /** Until what was erased is out of the files, where that is not done in the same step. */
  readonly emptied: (store: RecordStore) => Promise<void>
  /** By what the words of the newest subject could be read, beside themselves: their keys, as latin1. */
  readonly newestKeys: () => Promise<readonly string[]>
  /** Where its bytes lie. */
  readonly folder: string
  /** Below it, what holds no rows: the log of changes of a database. */
  readonly aside: RegExp
  readonly close: () => Promise<void>
}

const inSqlite: Place = {
  where: 'in SQLite',
  open: () => {
    mkdirSync(dirname(FILE), { recursive: true })
    tell(existsSync(FILE) ? `Going on with ${FILE}.` : `Begun in ${FILE}.`)
    return sqliteRecord({ path: FILE, ...SETTINGS })
  },
  reader: () => sqliteRecordReader(FILE),
  queue: (costs) => sqliteReviewQueue({ path: FILE, costs, ownCaseAfter: 86_400_000 }),
  within: 1_000,
  emptied: async () => undefined,
  newestKeys: async () => [],
  folder: dirname(FILE),
  aside: /^$/,
  close: async () => undefined,
}

/** The least that `record.postgres.vacuumWithin` may be. */
const WITHIN = 60_000
let postgres: Awaited<ReturnType<typeof aPostgres>> = null
const addressOf = () => {
  if (postgres === null) throw new Error('there is no PostgreSQL here')
  return postgres.address('gavel_record')
}
const inPostgres: Place = {
  where: 'in PostgreSQL',
  async open() {
    tell(`Going on in ${CLUSTER}.`)
    // Half a gigabyte for pages, as a database of a few gigabytes has; a batch is on the disk when it is acknowledged.
    postgres = await aPostgres({ directory: CLUSTER, set: ['shared_buffers=512MB', 'max_wal_size=4GB'] })
    return await postgresRecord({ address: addressOf(), vacuumWithin: WITHIN, ...SETTINGS })
  },
  reader: () => postgresRecordReader(addressOf()),
  queue: (costs) => postgresReviewQueue({ address: addressOf(), costs, ownCaseAfter: 86_400_000 }),
  within: WITHIN,
  async emptied(store) {
    const db = database(addressOf(), 1)
    // As the service does, every second.
    for (; (await db.rows('SELECT * FROM erasing')).length > 0; await sleep(1_000)) await store.tidy(Date.now())
    await db.run('CHECKPOINT')
    await db.close()
  },
  async newestKeys() {
    const db = database(addressOf(), 1)
    // Of a verdict, its transcript, how its subject begins, and its text.
    const keys = await db.rows<{ key: Buffer }>('SELECT key FROM keys ORDER BY k DESC LIMIT 4')
    await db.run('CHECKPOINT')
    await db.close()
    return keys.map(({ key }) => key.toString('latin1'))
  },
  folder: CLUSTER,
  aside: /pg_wal/,
  close: async () => postgres?.close(),
}

describe.each([inSqlite, inPostgres])('the record at size $where', (place) => {
  let store: RecordStore
  beforeAll(async () => {
    store = await place.open()
  }, 600_000)
  afterAll(async () => {
    await store.close()
    await place.close()
  })

  it('takes more than 500 verdicts a second with their transcripts, also when it is large', {
    timeout: 36_000_000,
  }, async () => {
    const positions = await store.positions()
    const [begun, cpu] = [performance.now(), process.cpuUsage()]
    const at = PARTITION_NUMBERS.reduce((sum, n) => sum + (positions.get(`transcripts/${n}`) ?? 0), 0)
    let done = at
    let [told, second] = [done, performance.now()]
    await Promise.all(
      PARTITION_NUMBERS.map(async (partition) => {
        let next = positions.get(`transcripts/${partition}`) ?? 0
        let batches = made(partition, next, BATCH)
        while (done < VERDICTS && performance.now() - begun < MINUTES * 60_000) {
          const applied = Promise.all(batches.map((batch) => store.apply(batch)))
          next += BATCH
          done += BATCH
          // The next ones are made while these are written.
          batches = made(partition, next, BATCH)
          await applied
          if (done - told < 10_000) continue
          const rate = (done - told) / ((performance.now() - second) / 1_000)
          ;[told, second] = [done, performance.now()]
          tell(`${done} verdicts, ${rate.toFixed(0)}/s, ${(bytesIn(place.folder) / 2 ** 20).toFixed(0)} MiB`)
        }
      }),
    )
    const rate = (done - at) / ((performance.now() - begun) / 1_000)
    const { user, system } = process.cpuUsage(cpu)
    const each = (user + system) / 1_000 / Math.max(1, done - at)
    const { rows, bytes } = await store.size()
    tell(
      `${done - at} more, ${rate.toFixed(0)}/s, ${each.toFixed(2)} ms of a processor each, its making included; ${rows.verdicts} verdicts in ${(bytes / 2 ** 20).toFixed(0)} MiB`,
    )
    if (done > at) expect(rate).toBeGreaterThan(LEAST_PER_SECOND)
  })

  it('finds the newest 50 of a rare and of a common term within 100 ms', { timeout: 600_000 }, async () => {
    // As the service does, every second.
    await store.tidy(Date.now())
    const reader = await place.reader()
    const slow: string[] = []
    for (const [which, term, filter = {}] of TERMS) {
      const { found, stoppedEarly } = await reader.search(term, filter, 50)
      const times = await timed(20, () => reader.search(term, filter, 50))
      const said = `${which} (${term}): ${found.length} found${stoppedEarly ? ', stopped early' : ''}, p95 ${p95(times).toFixed(1)} ms, first ${times[0]?.toFixed(1)} ms`
      tell(said)
      if (p95(times) > MOST_MS) slow.push(said)
      expect(found.length === 0, which).toBe(which.startsWith('none'))
    }
    await reader.close()
    expect(slow).toEqual([])
  })

  it('lists by every filter, ranks the queue, and tells what arrives within 100 ms', { timeout: 600_000 }, async () => {
    const reader = await place.reader()
    const queue = await place.queue({ rumor: { 'non-rumor': 2 } })
    const now = BEGUN + VERDICTS * 1_000
    const asked: Record<string, () => Promise<unknown>> = {
      'the newest': () => reader.find({}, 50),
      'by author': () => reader.find({ author: 'author77' }, 50),
      'by nobody': () => reader.find({ author: 'nobody' }, 50),
      'by model and label': () => reader.find({ model: 'model-3', label: 'rumor' }, 50),
      'by language and prompts': () => reader.find({ lang: 'ko', prompts: 'prompts7' }, 50),
      'contested, of a tenant': () => reader.find({ contested: true, tenants: ['default'] }, 50),
      'of no tenant': () => reader.find({ tenants: ['acme'] }, 50),
      'a page far back': () => reader.find({ until: BEGUN + 1_000_000 }, 50),
      'one subject': () => reader.subject({ tenant: 'default', id: 'post777' }),
      'what arrived': () => reader.arrivals(null, 50),
      'the queue': () => queue.list({}, 50, now),
    }
    const slow: string[] = []
    for (const [which, ask] of Object.entries(asked)) {
      const times = await timed(20, ask)
      tell(`${which}: p95 ${p95(times).toFixed(1)} ms`)
      if (p95(times) > MOST_MS) slow.push(`${which}: ${p95(times).toFixed(1)} ms`)
    }
    tell(`${(await queue.state()).queue.map(({ waiting }) => waiting)} wait for people`)
    await queue.close()
    await reader.close()
    expect(slow).toEqual([])
  })

  it(`erases a subject from all answers within a second, and from its files within ${place.within / 1_000} s`, {
    timeout: 600_000,
  }, async () => {
    const secret = `xylozebraquark${process.pid}`
    const positions = await store.positions()
    // None of those that were filled in, nor of an earlier run.
    const own = messages(VERDICTS + (positions.get('verdicts/0') ?? 0) + 1)
    const verdict = { ...own.verdict, rationale: secret }
    const post = aTranscript(verdict.id, secret, { c1: secret })
    for (const [topic, value] of [
      ['verdicts', verdict],
      ['transcripts', post],
    ] as const) {
      const bytes = Buffer.from(JSON.stringify(value))
      // A fill that was broken off may have left one topic ahead of the other.
      const next = positions.get(`${topic}/0`) ?? 0
      const message = { topic, partition: 0, offset: String(next), key: own.subjectId, headers: {}, timestamp: own.at }
      const entries = entriesOf(topic, { ...message, value: bytes }, CONTEXT).map((entry) => ({ offset: next, entry }))
      expect(await store.apply({ topic, partition: 0, from: next, next: next + 1, entries })).toBe('applied')
    }
    expect((await store.search(secret, {}, 9)).found).toHaveLength(1)
    const keys = await place.newestKeys()
    for (const key of keys) expect(await found(key, place)).not.toEqual([])
    const before = performance.now()
    const subject = { tenant: 'default', postId: own.subjectId, kind: 'post' } as const
    const at = (await store.positions()).get('posts/0') ?? 0
    const deletion = { offset: at, entry: { what: 'deletion', subject, at: own.at + 1_000 } } as const
    await store.apply({ topic: 'posts', partition: 0, from: at, next: at + 1, entries: [deletion] })
    const took = performance.now() - before
    tell(`erased in ${took.toFixed(0)} ms`)
    expect(took).toBeLessThan(1_000)
    expect((await store.search(secret, {}, 9)).found).toEqual([])
    await place.emptied(store)
    const gone = performance.now() - before
    tell(`gone from its files after ${gone.toFixed(0)} ms`)
    expect(gone).toBeLessThan(place.within)
    for (const trace of [secret, ...keys]) expect(await found(trace, place)).toEqual([])
  })
})

const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
const bytesIn = (folder: string) =>
  filesOf(folder).reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)

/** The record's files that hold this word, read piece by piece. */
async function found(word: string, { folder, aside }: Place): Promise<string[]> {
  const holding: string[] = []
  for (const file of filesOf(folder)) {
    if (aside.test(file)) continue
    let tail = ''
    try {
      for await (const piece of createReadStream(file, { encoding: 'latin1', highWaterMark: 2 ** 22 })) {
        const all = tail + piece
        if (all.includes(word) || all.toLowerCase().includes(word)) holding.push(file)
        tail = String(piece).slice(-64)
      }
    } catch (error) {
      // A database removes files while it runs.
      if (existsSync(file)) throw error
    }
  }
  return holding
}
