import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { folded, gramsOf } from '../../src/record/grams.ts'
import { type DatabaseAddress, database, type Sql } from '../../src/record/postgres/connection.ts'
import { hashing } from '../../src/record/postgres/grams-key.ts'
import { reviewPictures } from '../../src/record/postgres/pictures.ts'
import { recordReads } from '../../src/record/postgres/reads.ts'
import { postgresRecord, postgresRecordReader, postgresReviewQueue } from '../../src/record/postgres/record.ts'
import { besides, putInPlace } from '../../src/record/postgres/replace.ts'
import { reviewReservations } from '../../src/record/postgres/reservations.ts'
import { metaOf } from '../../src/record/postgres/schema.ts'
import { indexKeyOf } from '../../src/record/postgres/texts.ts'
import { entriesOf } from '../../src/record/project.ts'
import { aTranscript, at, CONTEXT, DAY, feed, incoming, KEEP } from '../contracts/record.ts'
import { makeCertificates } from '../support/certificates.ts'
import { aPostgres } from '../support/postgres-server.ts'
import { aVerdict } from '../support/verdicts.ts'
import { firstFolded, LETTERS } from './first-folding.ts'

const certificates = makeCertificates()
const PASSWORD = 'canary4postgres'
const postgres = await aPostgres({ password: PASSWORD, ...(certificates !== null && { tls: certificates }) })

const HOUR = 3_600_000
const settingsOf = (address: DatabaseAddress, more = {}) => ({
  address,
  keep: KEEP,
  maxBytes: 2 ** 40,
  sourceKeep: 8 * DAY,
  auditShare: 0,
  blindShare: 0,
  vacuumWithin: HOUR,
  ...more,
})
const open = (address: DatabaseAddress, more = {}) => postgresRecord(settingsOf(address, more))
/** Opens a record as a process does that folds letters by the first rules. */
async function openedByFirst(address: DatabaseAddress) {
  vi.resetModules()
  vi.doMock('../../src/record/grams.ts', async (original) => ({ ...(await original<object>()), folded: firstFolded }))
  const { postgresRecord: first } = await import('../../src/record/postgres/record.ts')
  vi.doUnmock('../../src/record/grams.ts')
  return first(settingsOf(address))
}
const aSchema = () => `record_${randomBytes(6).toString('hex')}`

describe.skipIf(postgres === null)('the record in a PostgreSQL', () => {
  afterAll(() => postgres?.close())
  const addressOf = (schema = aSchema(), more: Partial<DatabaseAddress> = {}): DatabaseAddress => {
    if (postgres === null) throw new Error('skipped')
    return postgres.address(schema, more)
  }

  /** All bytes of its tables and indexes, flushed; not its log, which is named in docs/record.md. */
  async function written(address: DatabaseAddress): Promise<Buffer> {
    const db = database(address, 1)
    await db.run('CHECKPOINT')
    await db.close()
    const base = join(postgres?.folder ?? '', 'base')
    const files = readdirSync(base, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))))
  }

  it('reads few texts at a time, however many verdicts come in one step: the grams of one take megabytes', async () => {
    const address = addressOf()
    const store = await open(address, { keep: 4_000 * DAY })
    const topics = feed(store)
    const verdicts = Array.from({ length: 40 }, (_, n) => aVerdict(at(n), { subjectId: `p${n}` }))
    for (const [n, { id, subjectId }] of verdicts.entries())
      await topics.send('transcripts', subjectId, aTranscript(id, `Xylophone number ${n}`), n)
    const query = vi.spyOn(pg.Client.prototype, 'query')
    const entries = verdicts.flatMap((one, offset) =>
      entriesOf('verdicts', incoming('verdicts', offset, one.subjectId, one, offset), CONTEXT).map((entry) => ({
        offset,
        entry,
      })),
    )
    await store.apply({ topic: 'verdicts', partition: 0, from: 0, next: 40, entries })
    const asked = query.mock.calls.map(([config]) => config as unknown as { text?: string; values?: unknown[][] }) // as connection.ts asks
    query.mockRestore()
    const read = asked.flatMap(({ text, values }) =>
      text?.startsWith('SELECT doc, id, tenant, k, sealed FROM rulings WHERE doc = ANY') === true
        ? [values?.[0]?.length ?? 0]
        : [],
    )
    expect(read.reduce((sum, count) => sum + count, 0)).toBe(40)
    expect(Math.max(...read)).toBeLessThanOrEqual(16)
    expect((await store.search('xylophone', {}, 50)).found).toHaveLength(40)
    await store.close()
  })

  it('merges what waits in the lists of its indexes of grams at each tidying', async () => {
    const address = addressOf()
    const store = await open(address, { keep: 4_000 * DAY })
    await feed(store).judged({}, 'Xylophones and zebras')
    const db = database(address, 1)
    await db.run('CREATE EXTENSION IF NOT EXISTS pgstattuple SCHEMA pg_catalog')
    const waiting = async () => {
      const rows = await db.rows<{ n: number }>(
        `SELECT (pgstatginindex(indexrelid)).pending_tuples AS n FROM pg_index
         JOIN pg_inherits ON inhrelid = indrelid AND inhparent = to_regclass('blocks') JOIN pg_class ON oid = indexrelid
         WHERE relam = (SELECT oid FROM pg_am WHERE amname = 'gin')`,
      )
      return rows.map(({ n }) => n)
    }
    expect(await waiting()).toEqual([expect.any(Number)])
    expect(await waiting()).not.toEqual([0])
    await store.tidy(Date.now())
    expect(await waiting()).toEqual([0])
    await db.close()
    expect((await store.search('zebras', {}, 9)).found).toHaveLength(1)
    await store.close()
  })

  it('holds no word in the open, and no key of what was deleted once its time is over', async () => {
    const address = addressOf()
    const store = await open(address, { keep: 4_000 * DAY })
    const topics = feed(store)
    await topics.judged({ subjectId: 'other' }, 'Xylophones and zebras')
    await topics.judged(
      { rationale: 'Xylozebraquark' },
      'Xylozebraquark',
      { c1: 'Xylozebraquark' },
      { author: 'Xylozebraquark' },
    )
    const db = database(address, 1)
    const keys = (await db.rows<{ key: Buffer }>('SELECT key FROM keys')).map(({ key }) => key)
    const before = await written(address)
    expect(before.includes('Xylozebraquark')).toBe(false)
    expect(keys.every((key) => before.includes(key))).toBe(true)

    await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
    expect((await store.search('Xylozebraquark', {}, 9)).found).toEqual([])
    const left = new Set((await db.rows<{ key: Buffer }>('SELECT key FROM keys')).map(({ key }) => key.toString('hex')))
    const gone = keys.filter((key) => !left.has(key.toString('hex')))
    expect(gone).toHaveLength(4)
    const now = Date.now()
    await store.tidy(now + HOUR / 2 - 60_000)
    expect(await db.rows('SELECT 1 FROM erasing')).toHaveLength(1)
    // Whose transaction began before still sees what was deleted.
    const reading = new pg.Client({ connectionString: address.url.replace('gavel@', `gavel:${PASSWORD}@`) })
    await reading.connect()
    await reading.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ${address.schema}.keys`)
    await topics.send('posts', 'other', { id: 'other', createdAt: at(0), deleted: true }, 60)
    await store.tidy(now + HOUR / 2 + 60_000)
    expect(await db.rows('SELECT 1 FROM erasing')).toHaveLength(1)
    await reading.end()
    await store.tidy(now + HOUR / 2 + 60_000)
    expect(await db.rows('SELECT 1 FROM erasing')).toHaveLength(0)
    const after = await written(address)
    expect(gone.filter((key) => after.includes(key))).toEqual([])
    await db.close()
    await store.close()
  })

  it('starts while somebody reads, and keeps nobody else from reading', async () => {
    const address = addressOf()
    await (await open(address)).close()
    const db = database(address, 2)
    await db.snapshot(async () => {
      const another = await open(address)
      await db.snapshot((sql) => sql.rows('SELECT 1 FROM said'))
      await another.close()
    })
    await db.close()
  })

  it('keeps no picture and no note of a subject that it has forgotten, which no deletion would reach', async () => {
    const address = addressOf()
    const store = await open(address)
    await feed(store).judged({}, 'a claim')
    const db = database(address, 1)
    const [now, byte] = [Date.parse(at(0)), new Uint8Array([1])]
    const picture = { sha256: '', at: now, picture: byte, cover: byte }
    const kept = { verdict: 'rumor~p~r1', address: 'a', picture, until: now + 2 * KEEP, most: 9 }
    expect(await reviewPictures(db).keepPicture(kept)).toBe(true)
    const note = { verdict: 'rumor~p~r1', by: 'anna', at: now + 2 * DAY, text: 'seen by him', most: 9 }
    expect(await reviewPictures(db).addNote(note)).toBe(true)
    const keys = () =>
      db.rows('SELECT keys.k FROM keys JOIN (SELECT k FROM pictures UNION SELECT k FROM notes) AS own USING (k)')
    expect(await keys()).toHaveLength(2)
    await store.tidy(now + KEEP + DAY)
    expect(await db.rows('SELECT s FROM pictures UNION ALL SELECT s FROM notes')).toEqual([])
    expect(await db.rows('SELECT k FROM keys')).toEqual([])
    await db.close()
    await store.close()
  })

  it('holds no key of what was deleted, whoever’s transaction is open, if only it does not read the keys', async () => {
    const address = addressOf()
    const store = await open(address, { keep: 4_000 * DAY })
    const topics = feed(store)
    await topics.judged({}, 'Xylozebraquark')
    const db = database(address, 1)
    const keys = (await db.rows<{ key: Buffer }>('SELECT key FROM keys')).map(({ key }) => key)
    // A number of its own and no snapshot, as a prepared transaction, a replica or a writer that thinks: VACUUM goes by them.
    const writing = new pg.Client({ connectionString: address.url.replace('gavel@', `gavel:${PASSWORD}@`) })
    await writing.connect()
    await writing.query('BEGIN; SELECT pg_current_xact_id()')
    await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
    await store.tidy(Date.now() + HOUR / 2 + 60_000)
    expect(await db.rows('SELECT 1 FROM erasing')).toHaveLength(0)
    const after = await written(address)
    expect(keys.filter((key) => after.includes(key))).toEqual([])
    await writing.end()
    await db.close()
    await store.close()
  })

  it('holds no key of a step that was begun and not written', async () => {
    const address = addressOf()
    const store = await open(address, { keep: 4_000 * DAY })
    const topics = feed(store)
    await topics.judged({}, 'a harbour')
    await store.tidy(Date.now() + HOUR)
    const db = database(address, 1)
    await db.run('CREATE EXTENSION IF NOT EXISTS pageinspect SCHEMA pg_catalog')
    const keysOnPages = async () => {
      let found = 0
      for (let part = 0; part < 16; part++) {
        const [row] = await db.rows<{ n: number }>(
          `SELECT count(t_data) AS n FROM generate_series(0, pg_relation_size('keys_${part}') / 8192 - 1) AS page,
           heap_page_items(get_raw_page('keys_${part}', page::int))`,
        )
        found += row?.n ?? 0
      }
      return found
    }
    expect(await keysOnPages()).toBe(4)
    // Its words are searched, so that their keys are written, and its offset is one that no column takes.
    const verdict = aVerdict(at(1), { subjectId: 'q' })
    await topics.send('transcripts', 'q', aTranscript(verdict.id, 'a bridge'))
    const before = await keysOnPages()
    const [entry] = entriesOf('verdicts', incoming('verdicts', 1, 'q', verdict, 1), CONTEXT)
    if (entry === undefined) throw new Error('not read')
    const step = { topic: 'verdicts', partition: 0, from: 1, next: 1.5, entries: [{ offset: 1, entry }] } as const
    await expect(store.apply(step)).rejects.toThrow('bigint')
    expect(await keysOnPages()).toBe(before + 1)
    await topics.send('reviews', 'q', 'nothing')
    await store.tidy(Date.now() + HOUR)
    expect(await keysOnPages()).toBe(before + 1)
    await db.close()
    await store.close()
  })

  it('a writer that falls silent in mid-step holds up the others for a while alone', async () => {
    const address = addressOf()
    const store = await open(address)
    const silent = database(address, 1, 1_000)
    const held = silent.transaction(async (sql) => {
      await sql.rows('SELECT * FROM counters FOR UPDATE')
      await new Promise((resolve) => setTimeout(resolve, 3_000))
      await sql.rows('SELECT 1')
    })
    const lost = expect(held).rejects.toThrow()
    const begun = performance.now()
    await feed(store).judged({}, 'a harbour')
    expect(performance.now() - begun).toBeLessThan(2_900)
    await lost
    const [row] = await silent.rows<{ ms: string }>('SHOW default_transaction_isolation')
    expect(row).toMatchObject({ default_transaction_isolation: 'read committed' })
    await silent.close()
    await store.close()
  })

  it('is written by two processes at a time, and each message once', async () => {
    const address = addressOf()
    const stores = await Promise.all([open(address), open(address)])
    const [one, other] = stores
    if (one === undefined || other === undefined) throw new Error('not opened')
    expect(await one.name()).toBe(await other.name())
    const [first, second] = [feed(one), feed(other)]
    for (const n of [0, 1, 2, 3, 4]) {
      const verdict = aVerdict(at(n), { subjectId: `s${n}` })
      await Promise.all([
        first.send('verdicts', `s${n}`, verdict),
        second.send('transcripts', `s${n}`, aTranscript(verdict.id, 'a harbour')),
      ])
    }
    const again = await second.sendAt('verdicts', 0, 's1', aVerdict(at(1), { subjectId: 's1' }))
    expect(again).toBe('behind')
    expect((await one.search('harbour', {}, 9)).found).toHaveLength(5)
    expect((await one.size()).rows.verdicts).toBe(5)
    await Promise.all(stores.map((store) => store.close()))
  })

  it('answers from one state of its tables, also where something is erased between two steps of an answer', async () => {
    const address = addressOf()
    const store = await open(address)
    const topics = feed(store)
    const db = database(address, 4)
    let meanwhile: (() => Promise<unknown>) | null = null
    const watched = (sql: Sql): Sql => ({
      ...sql,
      async rows<Row>(text: string, ...values: Parameters<Sql['rows']> extends [string, ...infer V] ? V : never) {
        const rows = await sql.rows<Row>(text, ...values)
        const work = /rulings r |FROM rulings WHERE rulings.s|FROM queue/.test(text) ? meanwhile : null
        if (work !== null) meanwhile = null
        await work?.()
        return rows
      },
    })
    const asked = {
      ...db,
      ...watched(db),
      snapshot: <R>(work: (sql: Sql) => Promise<R>) => db.snapshot((sql) => work(watched(sql))),
    }
    const [reads, queue] = [recordReads(asked), reviewReservations(asked, { costs: {}, ownCaseAfter: 0 })]
    const answers = {
      verdict: async (id: string) => (await reads.verdict(id))?.verdict.id,
      find: async (id: string) => (await reads.find({ author: id }, 9)).map(({ verdict }) => verdict.id)[0],
      subject: async (id: string) =>
        (await reads.subject({ tenant: 'default', id: id.split('~')[1] ?? '' }))?.verdicts[0]?.verdict.id,
      list: async (id: string) => (await queue.list({ verdict: id }, 9, 0)).items[0]?.words,
    }
    for (const [name, ask] of Object.entries(answers)) {
      const { id } = await topics.judged(
        { subjectId: name },
        'a claim',
        { c1: 'a harbour' },
        { author: `rumor~${name}~r1` },
      )
      const before = await ask(id)
      expect(before).toEqual(name === 'list' ? 'a claim' : id)
      // Its words are sealed anew, under another key; or nothing is left.
      meanwhile = () =>
        name === 'list'
          ? topics.send('posts', name, { id: name, createdAt: at(0), deleted: true }, 60)
          : topics.send('comments', name, { id: 'c1', postId: name, createdAt: at(0), deleted: true })
      expect(await ask(id), name).toEqual(before)
      expect(meanwhile).toBeNull()
    }
    await db.close()
    await store.close()
  })

  it('writes no keys anew under whoever reads', async () => {
    const address = addressOf()
    const store = await open(address)
    await feed(store).judged({}, 'a harbour')
    const [reading, other] = [database(address, 1), database(address, 1)]
    const anew = (sql: Sql) => sql.run('LOCK TABLE ONLY keys IN ACCESS EXCLUSIVE MODE NOWAIT')
    const left = await reading.snapshot(async (sql) => {
      await sql.rows('SELECT 1 FROM rulings')
      await expect(other.transaction(anew)).rejects.toThrow('could not obtain lock')
      return sql.rows('SELECT k FROM keys')
    })
    expect(left).not.toEqual([])
    await expect(reading.snapshot((sql) => sql.run('DELETE FROM keys'))).rejects.toThrow('read-only')
    expect(await reading.rows('SELECT k FROM keys')).toEqual(left)
    for (const db of [reading, other, store]) await db.close()
  })

  it('takes the place of another as a whole', async () => {
    const schema = aSchema()
    const old = await open(addressOf(schema))
    await feed(old).judged({}, 'a harbour')
    await old.close()
    const fresh = await open(addressOf(besides(schema)))
    await feed(fresh).judged({}, 'a bridge')
    await fresh.close()
    await putInPlace(besides(schema), addressOf(schema))
    const reader = await postgresRecordReader(addressOf(schema))
    expect((await reader.search('harbour', {}, 9)).found).toEqual([])
    expect((await reader.search('bridge', {}, 9)).found).toHaveLength(1)
    await reader.close()
    await expect(postgresRecordReader(addressOf(besides(schema)))).rejects.toThrow('there is no schema')
  })

  it('finds all by the index, newest first, over days, in blocks that lie across each other; and keeps no gram of what was deleted', async () => {
    const address = addressOf()
    const store = await open(address)
    // More than are walked through one by one, over four days; each batch has every third.
    const all = Array.from({ length: 720 }, (_, n) => n)
    const secondOf = (n: number) => n * 400
    const wordOf = (n: number) => (n % 5 === 0 ? 'a harbour' : n === 31 ? 'Xylozebraquark' : 'a bridge')
    for (const third of [1, 0, 2]) {
      const own = all.filter((n) => n % 3 === third)
      for (const topic of ['verdicts', 'transcripts'] as const) {
        const entries = own.flatMap((n, at_) => {
          const verdict = aVerdict(at(secondOf(n)), { subjectId: `s${n}`, tenant: n === 40 ? 'acme' : 'default' })
          const value = topic === 'verdicts' ? verdict : aTranscript(verdict.id, wordOf(n))
          const message = { ...incoming(topic, at_, `s${n}`, value, secondOf(n)), partition: third }
          return entriesOf(topic, message, CONTEXT).map((entry) => ({ offset: at_, entry }))
        })
        expect(await store.apply({ topic, partition: third, from: 0, next: own.length, entries })).toBe('applied')
      }
    }
    const found: string[] = []
    for (let before: string | undefined; ; ) {
      const page = (await store.search('harbour', before === undefined ? {} : { before }, 20)).found
      if (page.length === 0) break
      found.push(...page.map(({ verdict }) => verdict.subjectId))
      before = page.at(-1)?.cursor
    }
    const expected = all.filter((n) => n % 5 === 0).reverse()
    expect(found).toEqual(expected.map((n) => `s${n}`))

    const db = database(address, 1)
    const { secret } = await metaOf(db, address.schema)
    // Of another tenant's texts none is a candidate.
    const own = hashing(secret)
    const ofAcme = [...own.grams(gramsOf('harbour')), own.tenant('acme')]
    expect(await db.rows('SELECT doc FROM texts WHERE grams @> ?::int[]', ofAcme)).toHaveLength(1)
    const theirs = await store.search('harbour', { tenants: ['acme'] }, 9)
    expect(theirs).toMatchObject({ found: [{ verdict: { subjectId: 's40' } }], stoppedEarly: false })
    const keys = own.grams(gramsOf(folded('Xylozebraquark'))).map(indexKeyOf)
    const holding = () => db.rows<{ docs: number[] }>('SELECT docs FROM blocks WHERE grams @> ?::int[]', keys)
    expect(await holding()).toHaveLength(1)
    const [before] = await db.rows<{ n: number }>('SELECT sum(cardinality(docs))::int AS n FROM blocks')
    await feed(store).send('posts', 's31', { id: 's31', createdAt: at(secondOf(31)), deleted: true }, secondOf(720))
    expect(await holding()).toEqual([])
    const [after] = await db.rows<{ n: number }>('SELECT sum(cardinality(docs))::int AS n FROM blocks')
    expect([before?.n, after?.n]).toEqual([720, 719])
    expect((await store.search('harbour', {}, 200)).found).toHaveLength(expected.length)
    await db.close()
    await store.close()
  })

  it('whose texts were folded by the first rules is searched, and folded anew from what it has, a step at a time, beside such a process', async () => {
    const address = addressOf()
    const older = await openedByFirst(address)
    const topics = feed(older)
    for (const [subjectId, [text]] of Object.entries(LETTERS)) await topics.judged({ subjectId }, text)
    // Newer than these, and more than one step takes.
    for (const [topic, partition] of [
      ['verdicts', 1],
      ['transcripts', 1],
    ] as const) {
      const entries = Array.from({ length: 600 }, (_, n) => {
        const verdict = aVerdict(at(60 + n), { subjectId: `s${n}` })
        const value = topic === 'verdicts' ? verdict : aTranscript(verdict.id, 'a harbour')
        const message = { ...incoming(topic, n, `s${n}`, value, 60 + n), partition }
        return entriesOf(topic, message, CONTEXT).map((entry) => ({ offset: n, entry }))
      }).flat()
      await older.apply({ topic, partition, from: 0, next: 600, entries })
    }
    const db = database(address, 1)
    await db.run("DELETE FROM meta WHERE k = 'folding'")
    // Its transcript has made room for others.
    await db.run("DELETE FROM held USING transcripts WHERE held.t = transcripts.t AND id LIKE '%~no~%'")

    const store = await open(address)
    const search = async (query: string) => {
      const { found, reindexing } = await store.search(query, {}, 9)
      return { found: found.map(({ verdict }) => verdict.subjectId), reindexing }
    }
    // A search on a busy machine may find less in its time.
    const finds = (query: string) => expect.poll(() => search(query), { timeout: 30_000 })
    const letters = () => Promise.all(Object.values(LETTERS).map(([, query]) => search(query)))
    const missed = Object.keys(LETTERS).map(() => ({ found: [], reindexing: true }))
    const allFound = async (reindexing: boolean) => {
      for (const [id, [, query]] of Object.entries(LETTERS)) await finds(query).toEqual({ found: [id], reindexing })
    }
    expect(await letters()).toEqual(missed)
    const { at: since } = await store.arrivals(null, 9)
    const now = Date.parse(at(3_600))
    await store.tidy(now)
    expect(await letters()).toEqual(missed)
    await finds('harbour').toMatchObject({ found: { length: 9 }, reindexing: true })
    // Another process goes on with it; one of the version before still writes.
    const again = await open(address)
    await again.tidy(now)
    await allFound(true)
    await topics.judged({ subjectId: 'last' }, 'Ærø')
    await again.tidy(now)
    expect(await search('aero')).toMatchObject({ found: [], reindexing: true })
    for (let step = 0; step < 3; step++) await again.tidy(now + 600_000)
    await allFound(false)
    await finds('aero').toEqual({ found: ['last'], reindexing: false })
    // Nothing of it is news but what came meanwhile, and no block has what was written anew twice.
    expect((await store.arrivals(since, 9)).rows.map(({ verdict }) => verdict.subjectId)).toEqual(['last'])
    const [blocks] = await db.rows<{ n: number }>('SELECT sum(cardinality(docs))::int AS n FROM blocks')
    expect(blocks?.n).toBe(606)
    for (const one of [db, older, store, again]) await one.close()
  })

  it('is made by a user who may make no schema, in one that they were given', async () => {
    const { schema, ...address } = addressOf()
    const db = database({ schema, ...address }, 1)
    await db.run(`CREATE ROLE ${schema} LOGIN PASSWORD '${PASSWORD}'`)
    await db.run(`CREATE SCHEMA ${schema} AUTHORIZATION ${schema}`)
    await db.close()
    const store = await open({ schema, ...address, url: address.url.replace('gavel@', `${schema}@`) })
    const { id } = await feed(store).judged({}, 'a harbour')
    expect((await store.verdict(id))?.words).toBe('a harbour')
    await store.close()
  })

  it('is not made in a schema with tables of others, which a rebuild would remove', async () => {
    const address = addressOf()
    const db = database(address, 1)
    await db.run(`CREATE SCHEMA ${address.schema}`)
    await db.run(`CREATE TABLE ${address.schema}.customers ()`)
    await expect(open(address)).rejects.toThrow('has tables of others (customers)')
    expect(await db.rows('SELECT * FROM customers')).toEqual([])
    await db.close()
  })

  it('of the form before is brought forward by who writes, and readers say so', async () => {
    const address = addressOf()
    const store = await open(address)
    const { id } = await feed(store).judged(
      { label: null, decidedBy: 'none', counts: { ...aVerdict(at(1)).counts, accepted: 7 } },
      'a harbour',
    )
    await store.close()
    const db = database(address, 1)
    const back = `DROP INDEX subjects_same; DROP INDEX said_assigned; DROP TABLE pictures; DROP TABLE covers; DROP TABLE exposures; DROP TABLE draws;
      ALTER TABLE subjects DROP COLUMN same; ALTER TABLE queue DROP COLUMN reach`
    for (const statement of back.split(';')) await db.run(statement)
    await db.run("UPDATE meta SET v = 'postgres-2' WHERE k = 'form'")
    await db.close()
    await expect(postgresRecordReader(address)).rejects.toThrow('the role record brings it forward')
    await Promise.all([open(address), open(address)].map(async (opened) => (await opened).close()))
    const reader = await postgresRecordReader(address)
    expect((await reader.verdict(id))?.words).toBe('a harbour')
    await reader.close()
    const queue = await postgresReviewQueue({ address, costs: {}, ownCaseAfter: DAY })
    expect((await queue.list({ reach: 7 }, 9, Date.parse(at(10)))).items.map(({ verdict }) => verdict)).toEqual([id])
    await queue.close()
  })

  it('shows how people decide, and no notes, while a process of an earlier version keeps it', async () => {
    const address = addressOf()
    const store = await open(address)
    const decision = { subjectId: 'p', protocol: 'rumor', against: 1, label: 'rumor', why: 'w', by: 'ann', at: at(1) }
    await feed(store).judged(
      { decidedBy: 'human', decision: { by: 'ann', against: null, of: '0@0' }, revision: 2 },
      'x',
    )
    await feed(store).send('decisions', 'p', decision)
    await store.close()
    const db = database(address, 2)
    const columns = ['ALTER TABLE said DROP COLUMN seconds', 'ALTER TABLE draws DROP COLUMN lang']
    const tables = ['notes', 'views', 'due_statements'].map((name) => `DROP TABLE ${name}`)
    for (const statement of [...columns, ...tables]) await db.run(statement)
    const queue = reviewReservations(db, { costs: {}, ownCaseAfter: DAY })
    const people = await queue.peopleQuality({ since: 0, until: Date.parse(at(9)) }, undefined)
    expect(people.map(({ by, decisions }) => [by, decisions])).toEqual([['ann', 1]])
    const languages = async () =>
      (await queue.drawnRates()).flatMap(({ part, value }) => (part === 'language' ? [value] : []))
    await db.run("UPDATE subjects SET lang = 'ko'")
    await db.run("INSERT INTO draws SELECT 'i', 'audit', s, 'rumor', 'default', 'v', 1, 1, 'rumor', 0 FROM subjects")
    expect(await languages()).toEqual(['ko'])
    const beside = reviewPictures(db)
    expect([
      await beside.notesOf({ tenant: 'default', kind: 'post', postId: 'p' }),
      await beside.viewsOf('ann'),
    ]).toEqual([[], []])
    const reader = await postgresRecordReader(address)
    expect(await reader.givenUp('default')).toEqual([])
    await reader.close()
    // Once it has started anew, they stand beside what was drawn before.
    await (await open(address)).close()
    expect(await db.rows("SELECT lang FROM draws WHERE item = 'i'")).toEqual([{ lang: 'ko' }])
    expect(await languages()).toEqual(['ko'])
    await db.close()
  })

  it('of another version says what to do', async () => {
    const address = addressOf()
    await (await open(address)).close()
    const db = database(address, 1)
    await db.run("UPDATE meta SET v = 'other' WHERE k = 'form'")
    await db.close()
    await expect(open(address)).rejects.toThrow('Run "gavel record rebuild"')
  })

  it('makes room by the days of its transcripts, the oldest first', async () => {
    const address = addressOf()
    const store = await open(address, { maxBytes: 2 ** 10 })
    const topics = feed(store)
    const first = await topics.judged({ subjectId: 'a', seconds: 1 }, 'a harbour')
    const last = await topics.judged({ subjectId: 'b', seconds: 3 * 86_400 }, 'a bridge')
    await store.tidy(Date.parse(at(4 * 86_400)))
    expect(await store.transcript(first.id)).toBeNull()
    expect(await store.transcript(last.id)).not.toBeNull()
    expect((await store.size()).full).toBe(true)
    expect((await store.size()).rows.verdicts).toBe(2)
    await store.close()
  })

  it('makes room by feedback on what nobody judged, and by very much on one subject, before any transcript goes', async () => {
    const address = addressOf()
    const store = await open(address, { maxBytes: 2 ** 10 })
    const topics = feed(store)
    const first = await topics.judged({ subjectId: 'a', seconds: 1 }, 'a harbour')
    await topics.judged({ subjectId: 'b', seconds: 3 * 86_400 }, 'a bridge')
    const word = (subjectId: string, n: number) =>
      topics.send('feedback', subjectId, { subjectId, protocol: 'rumor', label: 'rumor', by: `m${n}`, at: at(2) }, 2)
    for (let n = 0; n < 110; n++) await word('a', n)
    await word('made-up', 0)
    await store.tidy(Date.parse(at(4 * 86_400)))
    expect(await store.transcript(first.id)).not.toBeNull()
    expect((await store.size()).rows.said).toBe(100)
    await store.tidy(Date.parse(at(4 * 86_400 + 60)))
    expect(await store.transcript(first.id)).toBeNull()
    await store.close()
  })

  it('asks its database as often for fifty words of feedback in a step as for five', async () => {
    const store = await open(addressOf())
    const topics = feed(store)
    await topics.judged({ subjectId: 'a' }, 'a harbour')
    await topics.judged({ subjectId: 'b' }, 'a bridge')
    const wordsOf = (from: number, count: number) =>
      Array.from({ length: count }, (_, nth) => {
        const subjectId = (from + nth) % 2 === 0 ? 'a' : 'b'
        const word = { subjectId, protocol: 'rumor', label: 'rumor', by: `m${from + nth}`, at: at(2) }
        const [entry] = entriesOf('feedback', incoming('feedback', from + nth, subjectId, word, 2), CONTEXT)
        return entry === undefined ? [] : [{ offset: from + nth, entry }]
      }).flat()
    const asked = vi.spyOn(pg.Client.prototype, 'query')
    const step = async (from: number, count: number) => {
      asked.mockClear()
      const entries = wordsOf(from, count)
      expect(await store.apply({ topic: 'feedback', partition: 0, from, next: from + count, entries })).toBe('applied')
      return asked.mock.calls.length
    }
    const few = await step(0, 5)
    expect(await step(5, 50)).toBe(few)
    asked.mockRestore()
    expect((await store.size()).rows.said).toBe(55)
    expect((await store.word('feedback 0@54'))?.message).toMatchObject({ by: 'm54' })
    await store.close()
  })

  it.skipIf(certificates === null)('speaks TLS, checks who answers, and knows its user by a password', async () => {
    const tls = { enabled: true, ca: certificates?.ca ?? '', cert: '', key: '', serverName: '' }
    const store = await open(addressOf(aSchema(), { tls }))
    await feed(store).judged({}, 'a harbour')
    await store.close()
    await expect(open(addressOf(aSchema(), { tls, password: 'wrong' }))).rejects.toThrow(
      'password authentication failed',
    )
    const others = { ...tls, ca: certificates?.otherCa ?? '' }
    await expect(open(addressOf(aSchema(), { tls: others }))).rejects.toThrow(/certificate/)
  })
})
