import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { newAuthorErasure } from '../../src/contracts/facts/author-erasure.ts'
import { authorHashes } from '../../src/contracts/facts/author-hash.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { recordReaderOf } from '../../src/record/record-store.ts'
import { libraryOf } from '../../src/shelves/lancedb/library.ts'
import { redisAuthorErasures } from '../../src/store/author/redis.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { aTranscript } from '../contracts/record.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  type Service,
  settingsOf,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import { aPostgres } from '../support/postgres-server.ts'
import { type Servers, startServers } from '../support/servers.ts'
import { everythingIn, filesWith } from '../support/stored.ts'
import { aVerdict } from '../support/verdicts.ts'
import { quantile } from './timed.ts'

/** Subjects of the author, fewer and more: the time of the latter is at most so many times that of the former. */
const [FEW, MANY] = (process.env.AUTHOR_SUBJECTS ?? '5000,50000').split(',').map(Number) as [number, number]
const MOST_TIMES = 12 * (MANY / FEW / 10)
/** Of ten subjects two are posts, the others comments on posts of others, ten on each. */
const [POSTS_SHARE, ON_EACH] = [0.2, 10]
const [AUTHOR, OTHER, SECRET] = ['ZEBRA-PERSON', 'GIRAFFE-PERSON', 'ZEBRA words']
const [KEY, QUIET_MS, PACE_MS] = ['a key of the proof', 20_000, 400]

let stack: Servers
const postgres = await aPostgres({ password: 'canary4authors' })
beforeAll(async () => {
  stack = await startServers({ latencyMs: 20 })
})
afterAll(async () => {
  await stack?.close()
  await postgres?.close()
})

const inFile = (folder: string) => ({ GAVEL_RECORD_PATH: join(folder, 'record.sqlite') })
let schemas = 0
const inPostgres = () => postgres?.variables(`authors_${schemas++}`) ?? {}

/** Erases the author of so many subjects, with so many kills on the way; how long that took, and what bystanders waited at p95 before and meanwhile, in ms. */
async function erased(subjects: number, place: (folder: string) => Record<string, string>, kills = 0) {
  const folder = ownFolder(`author-erasure-${subjects}-${schemas}-${kills}`)
  const environment = environmentOn(stack, {
    ...protocolsOn('rumor', 'hate'),
    // Threads are kept, and due tomorrow; bystanders are judged at once.
    GAVEL_ROUTES: 'hate: [{langs: [de]}]',
    GAVEL_CHECKPOINTS_AGES: '20h',
    GAVEL_CHECKPOINTS_COUNTS: '[]',
    GAVEL_PROTOCOLS_HATE_DECIDE: 'zero-shot',
    GAVEL_FENCES_KEY: KEY,
    GAVEL_LIBRARY_PATH: join(folder, 'library'),
    ...place(folder),
  })
  const settings = settingsOf(environment)
  const [topics, kafka] = [topicsOf(settings), clientOf(environment)]
  await makeTopics(kafka, settings)
  const writer = await kafkaWriter(kafka, 'none')
  const redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'fail-fast')
  const erasures = redisAuthorErasures(redis, keysUnder(settings.redis.prefix), Date.now)
  let service: Service = await startService(environment, 'intake,judge,publish,record')
  const late = new Map<string, number>()
  let isOver = false
  const bystanders = (async () => {
    for (let nth = 0; !isOver; nth++) {
      const id = `by-${nth}`
      late.set(id, Date.now())
      const post = {
        id,
        text: `Der Platz ist voll ${nth}`,
        lang: 'de',
        author: OTHER,
        createdAt: new Date().toISOString(),
      }
      await writer.send([{ topic: topics.posts, key: id, value: JSON.stringify(post) }])
      await sleep(PACE_MS)
    }
  })()
  try {
    const threads = await planted(subjects)
    const [asked] = [
      newAuthorErasure(
        { tenant: 'default', author: AUTHOR, by: 'ann', now: Date.now() },
        { hashOf: authorHashes(KEY), isPlaceholder: () => false },
      ),
    ]
    if (asked === null) throw new Error('no author')
    const noted = async () => (await redis.zcard(`${keysUnder(settings.redis.prefix).saidBy}${asked.id}`)) >= subjects
    await until(noted)
    const reader = await recordReaderOf(settings)
    await until(async () => (await reader.size()).rows.transcripts >= threads)
    // What was planted is worked off first, so that bystanders' waits beforehand are those of a quiet service.
    await until(async () => (await waits()).some(({ sent, ms }) => sent > Date.now() - 10_000 && ms < 1_000))
    await sleep(QUIET_MS)
    const begun = Date.now()
    await erasures.ask(asked)
    let killed = 0
    for (let one = asked; one.state !== 'done'; one = (await erasures.read(asked.id)) ?? asked) {
      await sleep(200)
      if (killed >= kills || one.sent < ((killed + 1) * subjects) / (kills + 1)) continue
      killed++
      await service.kill('SIGKILL')
      service = await startService(environment, 'intake,judge,publish,record')
    }
    const ended = Date.now()
    isOver = true
    await bystanders
    await sleep(5_000)
    expect(
      (await everythingIn(redis)).filter((content) => content.includes('ZEBRA')).map((one) => one.slice(0, 100)),
    ).toEqual([])
    const page = await reader.writtenBy({ tenant: 'default', author: AUTHOR }, null, 10)
    expect(page).toEqual({ subjects: [], next: null, isComplete: true })
    expect((await reader.search('ZEBRA', {}, 10)).found).toEqual([])
    // Its log is emptied when nobody reads it.
    const files = () => readdirSync(folder).filter((one) => one.startsWith('record'))
    if (settings.record.store === 'sqlite')
      await eventually(async () => !files().some((name) => readFileSync(join(folder, name)).includes('ZEBRA')), 30_000)
    expect(filesWith('ZEBRA', join(folder, 'library'))).toEqual([])
    await reader.close()
    const waited = await waits()
    const p95 = (from: number, to: number) =>
      quantile(
        waited.filter(({ sent }) => sent >= from && sent < to).map(({ ms }) => ms),
        0.95,
      )
    const result = { ms: ended - begun, before: p95(begun - QUIET_MS, begun), meanwhile: p95(begun, ended), killed }
    tell(`${subjects} subjects, ${settings.record.store}: ${JSON.stringify(result)}`)
    return result
  } finally {
    isOver = true
    await bystanders
    await service.kill('SIGKILL')
    await writer.close()
    redis.disconnect()
  }

  /** How long each bystander that `hate` has judged waited for it. */
  async function waits(): Promise<{ readonly sent: number; readonly ms: number }[]> {
    return (await verdictsOf(environment)).flatMap(({ protocol, subjectId, timing }) => {
      const sent = late.get(subjectId)
      // Rumor waits for comments first.
      return sent === undefined || protocol !== 'hate' ? [] : [{ sent, ms: Date.parse(timing.decidedAt) - sent }]
    })
  }

  /** Messages of the author among others', and what the record has of their threads; resolves to how many threads there are. */
  async function planted(count: number): Promise<number> {
    const at = new Date().toISOString()
    const shelves = libraryOf(settings, Date.now)
    const learnt = ['p0', 'p1'].map((id) => ({ id, tenant: 'default', kind: 'post' as const }))
    const items = learnt.map((subject) => ({
      text: `${SECRET} of ${subject.id}`,
      label: 'hate',
      metadata: {},
      subject,
    }))
    await shelves.add('precedents', items, 'ana', new AbortController().signal)
    await shelves.close()
    const records: { topic: string; key: string; value: string }[] = []
    const put = (topic: string, key: string, value: object) =>
      records.push({ topic, key, value: JSON.stringify(value) })
    const recorded = (id: string, post: string, comments: Record<string, string>) => {
      const verdict = aVerdict(at, { subjectId: id, rationale: 'as it says' })
      put(topics.verdicts, id, verdict)
      const transcript = aTranscript(verdict.id, post, comments, 0, post.startsWith('ZEBRA') ? { author: AUTHOR } : {})
      const text = JSON.stringify(transcript)
      put(
        topics.transcripts,
        id,
        JSON.parse(text, (_, one) =>
          one?.text === SECRET && one.author === undefined ? { ...one, author: AUTHOR } : one,
        ),
      )
    }
    const posts = count * POSTS_SHARE
    for (let nth = 0; nth < posts; nth++) {
      put(topics.posts, `p${nth}`, { id: `p${nth}`, text: SECRET, author: AUTHOR, lang: 'en', createdAt: at })
      recorded(`p${nth}`, SECRET, {})
    }
    const threads = (count - posts) / ON_EACH
    for (let nth = 0; nth < threads; nth++) {
      const id = `q${nth}`
      put(topics.posts, id, { id, text: 'GIRAFFE', author: OTHER, lang: 'en', createdAt: at })
      const ids = Array.from({ length: ON_EACH }, (_, at) => `c${at}`)
      for (const own of ids)
        put(topics.comments, id, { id: own, postId: id, text: SECRET, author: AUTHOR, createdAt: at })
      put(topics.comments, id, { id: 'd', postId: id, text: 'GIRAFFE', author: OTHER, createdAt: at })
      recorded(id, 'GIRAFFE', { ...Object.fromEntries(ids.map((own) => [own, SECRET])), d: 'GIRAFFE' })
    }
    for (let from = 0; from < records.length; from += 2_000) await writer.send(records.slice(from, from + 2_000))
    return posts + threads
  }
}

async function until(yes: () => Promise<boolean>): Promise<void> {
  while (!(await yes())) await sleep(500)
}

describe.each([
  ['SQLite', inFile],
  ['PostgreSQL', inPostgres],
] as const)('an author who is erased, with the record in %s', (_, place) => {
  it('leaves nothing, in a time that grows with what they wrote; others wait at most twice as long', {
    timeout: 3_600_000,
  }, async () => {
    const few = await erased(FEW, place)
    const many = await erased(MANY, place)
    expect(many.ms / few.ms).toBeLessThan(MOST_TIMES)
    expect(many.meanwhile / many.before).toBeLessThan(2)
  })

  it('leaves nothing, though the service is killed three times on the way', { timeout: 3_600_000 }, async () => {
    expect((await erased(MANY, place, 3)).killed).toBe(3)
  })
})
