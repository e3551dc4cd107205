import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Worker } from 'node:worker_threads'
import { describe, expect, it, vi } from 'vitest'
import { RecordFull } from '../../src/contracts/ports/record.ts'
import { compare } from '../../src/record/compared.ts'
import { gramsOf } from '../../src/record/grams.ts'
import { decisionsQuery } from '../../src/record/person-decisions.ts'
import { entriesOf } from '../../src/record/project.ts'
import { QUEUED } from '../../src/record/queue-filter.ts'
import { WITH_ITS_WORDS } from '../../src/record/sqlite/erasures.ts'
import { sameThreadHalf } from '../../src/record/sqlite/halves.ts'
import { RecordReads } from '../../src/record/sqlite/reads.ts'
import { sqliteRecord, sqliteRecordReader, sqliteReviewQueue } from '../../src/record/sqlite/record.ts'
import { besides, putInPlace } from '../../src/record/sqlite/replace.ts'
import { RoomMaker } from '../../src/record/sqlite/room.ts'
import { pathInMemory } from '../../src/record/sqlite/schema.ts'
import { Sql } from '../../src/record/sqlite/sql.ts'
import { tenantToken } from '../../src/record/sqlite/text-index.ts'
import { aTranscript, at, CONTEXT, DAY, feed, incoming, KEEP } from '../contracts/record.ts'
import { ownFolder } from '../support/own-folder.ts'
import { aVerdict } from '../support/verdicts.ts'
import { firstFolded, LETTERS } from './first-folding.ts'

const pathOf = () => join(ownFolder('record'), 'record.sqlite')
const open = (path: string, maxBytes = 2 ** 30) =>
  sqliteRecord({ path, keep: KEEP, maxBytes, sourceKeep: 8 * DAY, auditShare: 0, blindShare: 0 }, sameThreadHalf)

/** What stands in the record's files, byte by byte: in the database, its log, and whatever else lies there. */
function written(path: string): string {
  const folder = dirname(path)
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\n')
}

const SECRET = 'Xylozebraquark'
const deletion = { id: 'p', createdAt: at(0), deleted: true }

describe('the files of the record', () => {
  it('hold nothing of what was deleted, nor of a deleted comment, in rows, index or log', async () => {
    const path = pathOf()
    const store = await open(path)
    const topics = feed(store)
    for (let other = 0; other < 30; other++)
      await topics.judged({ subjectId: `o${other}`, rationale: `because ${other}` }, `Xylophones and zebras ${other}`)
    await topics.judged({ rationale: `${SECRET} it says` }, `${SECRET} post`, { c1: `${SECRET} comment` })
    await topics.judged({ subjectId: 'q', rationale: `cites ${SECRET}` }, 'a claim', { c1: `${SECRET} comment` })
    const feedback = { subjectId: 'p', protocol: 'rumor', label: 'non-rumor', by: 'ann', at: at(1), note: SECRET }
    await topics.send('feedback', 'p', feedback, 1)
    const grams = ['xyl', 'loz', 'oze', 'raq', 'aqu', 'qua', 'ark']
    expect(written(path)).toMatch(/Xylozebraquark/)
    expect(inIndex(path, grams)).toEqual(grams)

    await topics.send('posts', 'p', deletion, 60)
    await topics.send('comments', 'q', { id: 'c1', postId: 'q', createdAt: at(0), deleted: true }, 60)
    expect(written(path)).not.toMatch(/xylozebra|zebraquark/i)
    // What another text has too stays.
    expect(inIndex(path, grams)).toEqual(['xyl'])
    expect((await store.size()).erasingSince).toBeNull()
    await store.close()
    expect(written(path)).not.toMatch(/xylozebra|zebraquark/i)
  })

  it('are read as they were at once, also where another tenant’s verdict is given the number of one that is read', async () => {
    const path = pathOf()
    const store = await open(path)
    const topics = feed(store)
    await topics.judged({ subjectId: 'p' }, 'a claim')
    const [mine] = await store.find({ tenants: ['default'] }, 10)
    await topics.send('posts', 'p', deletion, 60)
    await topics.judged({ subjectId: 'theirs', tenant: 'acme' }, 'their claim')
    const [theirs] = await store.find({ tenants: ['acme'] }, 10)
    expect(theirs?.cursor).toBe(mine?.cursor)

    await topics.judged({ subjectId: 'q' }, 'a claim')
    const [next] = await store.find({ tenants: ['default'] }, 10)
    const beside = new DatabaseSync(path)
    const { all } = Sql.prototype
    for (const read of [
      () => store.find({ tenants: ['default'] }, 10),
      async () => [await store.verdict(next?.verdict.id ?? '', ['default'])].filter((row) => row !== null),
    ]) {
      const before = await read()
      expect(before.map(({ subject }) => subject.postId)).toEqual(['q'])
      beside.exec('BEGIN')
      const spied = vi.spyOn(Sql.prototype, 'all').mockImplementation(function (this: Sql, ...how) {
        spied.mockRestore()
        const found = all.apply(this, how)
        beside.exec(`UPDATE rulings SET doc = -1 WHERE doc = ${next?.cursor}`)
        beside.exec(`UPDATE rulings SET doc = ${next?.cursor} WHERE doc = ${theirs?.cursor}`)
        beside.exec('COMMIT')
        return found as never
      })
      expect(await read()).toEqual(before)
      beside.exec(`UPDATE rulings SET doc = ${theirs?.cursor} WHERE doc = ${next?.cursor}`)
      beside.exec(`UPDATE rulings SET doc = ${next?.cursor} WHERE doc = -1`)
    }
    beside.close()
    await store.close()
  })

  it('keep what was erased in the log only while somebody else reads, and say since when', async () => {
    const path = pathOf()
    const store = await open(path)
    const topics = feed(store)
    await topics.judged({ rationale: SECRET }, SECRET)
    const reader = new DatabaseSync(path, { readOnly: true })
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM rulings').get()
    const busy = new DatabaseSync(path)
    busy.close()
    await topics.send('posts', 'p', deletion, 60)
    expect((await store.size()).erasingSince).not.toBeNull()
    reader.exec('COMMIT')
    reader.close()
    await store.tidy(Date.parse(at(61)))
    expect((await store.size()).erasingSince).toBeNull()
    expect(written(path)).not.toContain(SECRET)
    await store.close()
  })

  it('are written by one process and read by others, each in threads of their own', async () => {
    const path = pathOf()
    await expect(sqliteRecordReader(path)).rejects.toThrow('unable to open')
    const store = await sqliteRecord({
      path,
      keep: KEEP,
      maxBytes: 2 ** 30,
      sourceKeep: DAY,
      auditShare: 0,
      blindShare: 0,
    })
    const one = await feed(store).judged({}, 'a harbour')
    const reader = await sqliteRecordReader(path)
    expect((await reader.search('harbour', {}, 5)).found).toMatchObject([{ verdict: one }])
    expect(await reader.name()).toBe(await store.name())
    await Promise.all([reader.close(), store.close()])
  })

  it('that take the place of others are what readers go on with', async () => {
    const path = pathOf()
    const old = await open(path)
    await feed(old).judged({}, 'a harbour')
    await old.close()
    const reader = await sqliteRecordReader(path, sameThreadHalf)
    expect((await reader.search('harbour', {}, 5)).found).toHaveLength(1)
    const fresh = await open(besides(path))
    await feed(fresh).judged({}, 'a bridge')
    await fresh.close()
    await putInPlace(besides(path), path)
    await expect.poll(async () => (await reader.search('bridge', {}, 5)).found, { timeout: 20_000 }).toHaveLength(1)
    expect((await reader.search('harbour', {}, 5)).found).toEqual([])
    await reader.close()
  })

  it('are the same after the process that wrote them is gone, with or without a farewell to its log', async () => {
    const path = pathOf()
    const store = await open(path)
    await feed(store).judged({}, 'a harbour')
    const name = await store.name()
    // As after a kill: the first connection is never closed.
    const again = await open(path)
    expect(await again.name()).toBe(name)
    expect(await again.positions()).toEqual(await store.positions())
    expect((await again.search('harbour', {}, 5)).found).toHaveLength(1)
    await again.close()
  })

  it('that are damaged are named, with what to do, and not written', async () => {
    const path = pathOf()
    const store = await open(path)
    const topics = feed(store)
    for (let other = 0; other < 60; other++) await topics.judged({ subjectId: `o${other}` }, `text ${other}`.repeat(50))
    await store.close()
    const whole = readFileSync(path)
    writeFileSync(path, Buffer.concat([whole.subarray(0, 100), randomBytes(whole.length - 100)]))
    await expect(open(path)).rejects.toThrow(/record\.sqlite.*Run "gavel record rebuild"/)
    writeFileSync(path, 'not a database, but long enough to be read as one'.repeat(100))
    await expect(open(path)).rejects.toThrow(/is damaged/)
    truncateSync(path, 0)
    const empty = await open(path)
    expect((await empty.size()).rows.verdicts).toBe(0)
    await empty.close()
  })

  it('of another version are named, and left as they are', async () => {
    const path = pathOf()
    await (await open(path)).close()
    const other = new DatabaseSync(path)
    other.exec('PRAGMA user_version = 99')
    other.close()
    await expect(open(path)).rejects.toThrow('written by another version')
  })

  it('of the form before are brought forward where they lie, also by who reads them first', async () => {
    for (const first of ['writer', 'reader'] as const) {
      const path = pathOf()
      const store = await open(path)
      const { id } = await feed(store).judged(
        { label: null, decidedBy: 'none', counts: { ...aVerdict(at(1)).counts, accepted: 7 } },
        'a harbour',
      )
      await store.close()
      const older = new DatabaseSync(path)
      const triggers = older.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()
      for (const { name } of triggers) older.exec(`DROP TRIGGER ${name}`)
      older.exec(`DROP TABLE held_by; DROP TABLE dropped_notes; DROP INDEX subjects_same; DROP INDEX said_assigned; DROP TABLE pictures; DROP TABLE covers; DROP TABLE exposures; DROP TABLE draws;
        ALTER TABLE subjects DROP COLUMN same; ALTER TABLE queue DROP COLUMN reach; PRAGMA user_version = 2`)
      older.close()
      if (first === 'writer') await (await open(path)).close()
      const reader = await sqliteRecordReader(path)
      expect((await reader.verdict(id))?.words).toBe('a harbour')
      await reader.close()
      const queue = await sqliteReviewQueue({ path, costs: {}, ownCaseAfter: DAY }, sameThreadHalf)
      expect((await queue.list({ reach: 7 }, 9, Date.parse(at(10)))).items.map(({ verdict }) => verdict)).toEqual([id])
      expect((await queue.list({ reach: 8 }, 9, Date.parse(at(10)))).items).toEqual([])
      await queue.close()
    }
  })

  it('of a version without a ledger of draws have one from then on, and a draw stays one whatever its share is later', async () => {
    const path = pathOf()
    await (await open(path)).close()
    const older = new DatabaseSync(path)
    older.exec('DROP TABLE draws')
    older.close()
    const queue = await sqliteReviewQueue({ path, costs: {}, ownCaseAfter: DAY }, sameThreadHalf)
    expect(await queue.drawnRates()).toEqual([])
    const shares = { keep: KEEP, maxBytes: 2 ** 30, sourceKeep: 8 * DAY, blindShare: 0 }
    for (const [auditShare, revision] of [
      [1, 1],
      [0, 2],
    ] as const) {
      const store = await sqliteRecord({ path, ...shares, auditShare }, sameThreadHalf)
      const topics = feed(store)
      const one = aVerdict(at(revision), { revision, decidedBy: 'consensus' })
      await topics.sendAt('verdicts', 2 * revision - 2, 'p', one, revision)
      await topics.sendAt('verdicts', 2 * revision - 1, 'q', aVerdict(at(9), { subjectId: `q${revision}` }), 9)
      await store.close()
    }
    expect(
      (await queue.list({ reason: 'sampled' }, 9, Date.parse(at(10)))).items.map(({ verdict }) => verdict),
    ).toEqual(['rumor~p~r2', 'rumor~q1~r1'])
    expect((await queue.drawnRates())[0]).toMatchObject({ purpose: 'audit', waiting: 2, next: 'rumor~p~r2' })
    await queue.close()
  })

  it('that are as large as they may be lose their oldest transcripts, and no verdict', async () => {
    const path = pathOf()
    const store = await open(path, 2 ** 20)
    const topics = feed(store)
    const last = 59
    for (let n = 0; n <= last; n++) {
      const one = aVerdict(at(n), { subjectId: `o${n}` })
      await topics.send('verdicts', one.subjectId, one, n)
      const cut = [randomBytes(20_000).toString('base64')]
      await topics.send('transcripts', one.subjectId, { ...aTranscript(one.id, `word${n}`), cut }, n)
    }
    expect((await store.size()).rows.verdicts).toBe(last + 1)
    expect(await store.transcript('rumor~o0~r1')).toBeNull()
    expect(await store.transcript(`rumor~o${last}~r1`)).not.toBeNull()
    expect((await store.search('word0', {}, 5)).found).toHaveLength(1)
    await store.close()
  })

  it('that feedback on what nobody judged fills, or very much on one subject, lose that, and no transcript', async () => {
    const path = pathOf()
    const store = await open(path, 2 ** 21)
    const topics = feed(store)
    const judged = await topics.judged({ subjectId: 'p' }, 'harbour')
    const word = (subjectId: string, by: string) => ({ subjectId, protocol: 'rumor', label: 'rumor', by, at: at(1) })
    await topics.send('feedback', 'p', word('p', 'ann'), 1)
    for (let n = 0; n < 600; n++) {
      const crowd = n % 2 === 0
      const note = randomBytes(4_000).toString('base64')
      await topics.send('feedback', 'p', { ...word(crowd ? 'p' : `made-up-${n}`, `m${n}`), note }, 2 + n)
    }
    expect(await store.transcript(judged.id)).not.toBeNull()
    const said = (await store.subject({ tenant: 'default', id: 'p' }))?.said ?? []
    expect(said.at(-1)).toMatchObject({ by: 'm598' })
    await store.close()
    const db = new DatabaseSync(path, { readOnly: true })
    expect(db.prepare("SELECT count(*) AS n FROM subjects WHERE id LIKE 'made-up-%'").get()?.n).toBeLessThan(300)
    db.close()
  })

  it('that are full take a batch after a few tries, however many steps make the room that it needs', async () => {
    const store = await open(pathOf())
    const { transaction } = Sql.prototype
    const made = vi.spyOn(RoomMaker.prototype, 'make').mockReturnValue(true)
    const tried = vi.spyOn(Sql.prototype, 'transaction').mockImplementation(function (this: Sql, work) {
      if (made.mock.calls.length < 100) throw new RecordFull('no room')
      return transaction.call(this, work)
    })
    await feed(store).judged({ subjectId: 'p' }, null)
    const [tries, steps] = [tried.mock.calls.length, made.mock.calls.length]
    for (const one of [made, tried]) one.mockRestore()
    expect(steps).toBeLessThan(200)
    // The transcript is one more.
    expect(tries).toBeLessThanOrEqual(9)
    await store.close()
  })

  it('that can’t even hold verdicts say so, and take the same batch later', async () => {
    const path = pathOf()
    const store = await open(path, 2 ** 18)
    const topics = feed(store)
    const big = (n: number) =>
      aVerdict(at(n), { subjectId: `v${n}`, rationale: randomBytes(20_000).toString('base64') })
    const all = async () => {
      for (let n = 0; n < 40; n++) await topics.sendAt('verdicts', n, `v${n}`, big(n))
    }
    await expect(all()).rejects.toThrow(expect.objectContaining({ name: 'RecordFull' }))
    expect((await store.size()).full).toBe(true)
    const [, next] = [...(await store.positions())][0] ?? ['', 0]
    const held = (await store.size()).rows.verdicts
    expect(held).toBe(next)
    await store.close()
    const larger = await open(path, 2 ** 24)
    await feed(larger).sendAt('verdicts', next, `v${next}`, big(next))
    expect((await larger.size()).rows.verdicts).toBe(held + 1)
    await larger.close()
  })
})

/** Which of these grams the index has. */
function inIndex(path: string, grams: readonly string[]): string[] {
  const db = new DatabaseSync(path)
  db.exec("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'found', 'row')")
  const terms = new Set(
    db
      .prepare('SELECT term FROM temp.terms')
      .all()
      .map(({ term }) => term),
  )
  db.close()
  return grams.filter((gram) => terms.has(gram))
}

/** A record of so many verdicts of each tenant, those of the first the oldest, all with the word harbour. */
async function harbours(path: string, counts: Record<string, number>): Promise<void> {
  const store = await open(path)
  const all = Object.entries(counts).flatMap(([tenant, count]) =>
    Array.from({ length: count }, (_, n) => ({ tenant, subjectId: `p${n}` })),
  )
  for (const topic of ['verdicts', 'transcripts'] as const) {
    const entries = all.flatMap((own, n) => {
      const verdict = aVerdict(at(n), own)
      const value = topic === 'verdicts' ? verdict : aTranscript(verdict.id, 'the harbour is closed')
      return entriesOf(topic, incoming(topic, n, own.subjectId, value, n), CONTEXT).map((entry) => ({
        offset: n,
        entry,
      }))
    })
    await store.apply({ topic, partition: 0, from: 0, next: all.length, entries })
  }
  await store.close()
}

it('a thread that has died leaves nothing waiting, and is begun again by what is asked later', async () => {
  const path = pathOf()
  const store = await open(path)
  await feed(store).judged({ subjectId: 'p' }, 'the harbour is closed')
  const threads: Worker[] = []
  const noted = (worker: Worker) => void threads.push(worker)
  process.on('worker', noted)
  const reader = await sqliteRecordReader(path)
  const found = async () => (await reader.search('harbour', {}, 5)).found.length
  expect(await found()).toBe(1)
  const asked = found().catch(({ message }: Error) => message)
  await threads[0]?.terminate()
  // Its answer may have been on its way.
  expect([1, "the record's thread has ended"]).toContain(await asked)
  await vi.waitFor(async () => expect(await found()).toBe(1), { timeout: 10_000 })
  process.off('worker', noted)
  expect(threads).toHaveLength(2)
  await reader.close()
  await expect(found()).rejects.toThrow()
  expect(threads).toHaveLength(2)
  await store.close()
})

it('a search in some tenants’ verdicts looks at no others’, however many have the word', async () => {
  const path = pathOf()
  await harbours(path, { acme: 1, 'böse "AND" name': 1, default: 120 })
  let now = 0
  const reads = new RecordReads(path, () => {
    now += 600
    return now
  })
  const search = (tenants: string[]) => {
    const { found, stoppedEarly } = reads.search('harbour', { tenants }, 50)
    return { tenants: found.map(({ tenant }) => tenant), stoppedEarly }
  }
  expect(search(['acme'])).toEqual({ tenants: ['acme'], stoppedEarly: false })
  expect(search(['acme', 'böse "AND" name', 'nobody'])).toEqual({
    tenants: ['böse "AND" name', 'acme'],
    stoppedEarly: false,
  })
  expect(search(['nobody'])).toEqual({ tenants: [], stoppedEarly: false })
  expect(search([])).toEqual({ tenants: [], stoppedEarly: false })
  reads.close()
})

it('what filters ask of rulings is found without these, and in a file that has no index for it yet', async () => {
  const path = pathOf()
  const before = await open(path)
  const topics = feed(before)
  for (const [subjectId, tenant] of [
    ['a', 'acme'],
    ['b', 'globex'],
    ['c', 'acme'],
  ] as const)
    await topics.judged({ subjectId, tenant, models: { judge: 'm1' } }, 'text')
  await before.close()
  const older = new DatabaseSync(path)
  older.exec('DROP INDEX rulings_filtered; CREATE INDEX rulings_tenant ON rulings (tenant)')
  older.close()
  const reader = await sqliteRecordReader(path, sameThreadHalf)
  const found = async () => {
    const filter = { tenants: ['acme'], standing: true } as const
    const all = [await reader.find(filter, 9), await reader.find({ ...filter, model: 'm1' }, 9)]
    return all.map((rows) => rows.map(({ verdict }) => verdict.subjectId))
  }
  const wanted = [
    ['c', 'a'],
    ['c', 'a'],
  ]
  expect(await found()).toEqual(wanted)
  const store = await open(path)
  const db = new DatabaseSync(path, { readOnly: true })
  const indexes = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'rulings'").all()
  const plan = db.prepare(
    "EXPLAIN QUERY PLAN SELECT doc FROM rulings INDEXED BY rulings_filtered WHERE rulings.tenant IN ('acme') AND rulings.label = 'x' AND rulings.degraded = 1 AND rulings.decided_at >= 1 AND rulings.doc >= 1 AND rulings.standing = 1 ORDER BY doc DESC",
  )
  expect(plan.all().map(({ detail }) => detail)).toEqual([
    'SEARCH rulings USING COVERING INDEX rulings_filtered (doc>?)',
  ])
  // Of one tenant nothing of the others is looked at, nor is anything sorted.
  const ofOne = db.prepare(
    "EXPLAIN QUERY PLAN SELECT doc FROM rulings INDEXED BY rulings_filtered_by_tenant WHERE 1 = 1 AND rulings.tenant IN ('acme') AND rulings.protocol = 'none' AND rulings.standing = 1 ORDER BY doc DESC",
  )
  expect(ofOne.all().map(({ detail }) => detail)).toEqual([
    'SEARCH rulings USING COVERING INDEX rulings_filtered_by_tenant (tenant=?)',
  ])
  db.close()
  const names = indexes.map(({ name }) => name)
  expect(names).toContain('rulings_filtered')
  expect(names).not.toContain('rulings_tenant')
  expect(await found()).toEqual(wanted)
  await Promise.all([reader.close(), store.close()])
})

it('what people say of one subject is read by kind: of a hundred thousand words of feedback no decision looks at any', async () => {
  const path = pathOf()
  await (await open(path)).close()
  const db = new DatabaseSync(path, { readOnly: true })
  const planOf = (sql: string) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
      .filter((detail) => detail.startsWith('SEARCH') && /said|last USING .*said/.test(detail))
  const one = "SELECT n FROM said WHERE s = 1 AND protocol = 'hate'"
  for (const said of ['review', 'decision'])
    expect(planOf(`${one} AND said = '${said}'`)).toEqual([
      'SEARCH said USING COVERING INDEX said_kind (s=? AND protocol=? AND said=?)',
    ])
  expect(planOf(compare("(SELECT 1 AS s, 'hate' AS protocol) AS wanted"))).toContain(
    'SEARCH last USING INDEX said_kind (s=? AND protocol=? AND said=?)',
  )
  // What became of a decision is asked of the next one, not of all that follow.
  const decisions = decisionsQuery(
    { viewer: 'ann', since: 0, kind: 'replaced' },
    { opinion: () => '0', against: '0', decider: () => "'ann'" },
  )
  expect(
    db
      .prepare(`EXPLAIN QUERY PLAN ${decisions.sql}`)
      .all(...decisions.values, 9)
      .map(({ detail }) => String(detail))
      .filter((detail) => /(back|later) /.test(detail)),
  ).toSatisfy(
    (plan: string[]) =>
      plan.length > 0 &&
      plan.every((one) => one.includes(' USING INDEX said_kind (s=? AND protocol=? AND said=? AND at>?)')),
  )
  db.close()
})

it('a deletion of a comment reads the transcripts that show it: none of thousands under its post, and none where it is repeated', async () => {
  const path = pathOf()
  const store = await open(path)
  const topics = feed(store)
  const judged = { protocol: 'hate', subjectKind: 'comment', postId: 'p' } as const
  for (const [subjectId, shown] of [
    ['c1', 'a1'],
    ['c2', 'a2'],
  ] as const)
    await topics.judged({ ...judged, subjectId }, 'a comment', { [shown]: 'what it answers' })
  const beside = new DatabaseSync(path)
  // What is no list can't be read.
  const spoil = beside.prepare("UPDATE transcripts SET comments = 'spoiled' WHERE id LIKE ?")
  spoil.run('%c2~r1')
  const gone = (id: string, seconds: number) =>
    topics.send('comments', 'p', { id, postId: 'p', createdAt: at(0), deleted: true }, seconds)
  const left = () => beside.prepare('SELECT count(*) AS n FROM transcripts WHERE comments IS NOT NULL').get()
  await gone('never', 60)
  expect(left()).toEqual({ n: 2 })
  await gone('a1', 61)
  expect(left()).toEqual({ n: 1 })
  beside.exec("UPDATE transcripts SET comments = 'spoiled'")
  await gone('a1', 62)
  beside.close()
  await store.close()
})

it('a decision looks up what it needs of others on its subject: by reason, its newest opinions and its key', async () => {
  const path = pathOf()
  const store = await open(path)
  const topics = feed(store)
  await topics.judged({ decidedBy: 'consensus' }, 'a claim')
  const asked = [vi.spyOn(Sql.prototype, 'all'), vi.spyOn(Sql.prototype, 'get')]
  const decision = { subjectId: 'p', protocol: 'rumor', label: 'rumor', against: 1, by: 'ann', why: 'w', at: at(1) }
  await topics.send('decisions', 'p', decision, 1)
  const selects = new Set(asked.flatMap(({ mock }) => mock.calls.map(([sql]) => sql)))
  for (const one of asked) one.mockRestore()
  const db = new DatabaseSync(path, { readOnly: true })
  const plans = [...selects]
    .filter((sql) => /FROM said|JOIN said/.test(sql) && sql.includes('json_extract'))
    .flatMap((sql) => db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
    .flatMap(({ detail }) => /SEARCH said USING INDEX (.*)/.exec(String(detail))?.[1] ?? [])
  db.close()
  await store.close()
  expect(plans.toSorted()).toEqual([
    'said_asked (s=? AND protocol=? AND <expr>=? AND <expr>=?)',
    'said_golden (s=? AND protocol=? AND <expr>=? AND label=?)',
    'said_opinions (s=? AND protocol=? AND <expr>=?)',
  ])
})

it('what a deletion takes from a verdict is looked up, however many its subject has', async () => {
  const path = pathOf()
  await (await open(path)).close()
  const db = new DatabaseSync(path, { readOnly: true })
  const plan = db
    .prepare(`EXPLAIN QUERY PLAN ${WITH_ITS_WORDS}`)
    .all('a', 1, 'a')
    .map(({ detail }) => String(detail))
  db.close()
  expect(plan.filter((detail) => /rulings/.test(detail))).toEqual([
    'SEARCH rulings USING INDEX sqlite_autoindex_rulings_1 (id=?)',
    'SEARCH rulings USING INDEX rulings_restored (s=? AND <expr>=?)',
  ])
})

it('who asks for the review queue is looked up by who they are, whatever thousands of others did about a subject', async () => {
  const path = pathOf()
  await (await open(path)).close()
  const db = new DatabaseSync(path)
  const plan = db
    .prepare(`EXPLAIN QUERY PLAN SELECT ${QUEUED} FROM queue`)
    .all('ann')
    .map(({ detail }) => String(detail))
  db.close()
  const reads = plan.filter((one) => /SEARCH said .*\(s=\?/.test(one))
  expect(reads).toHaveLength(6)
  expect(reads.filter((one) => !/said_(party \(s=\? AND by=\?\)|assignments \(s=\?\))/.test(one))).toEqual([])
})

it.each([
  ['does not count pictures', 'ALTER TABLE subjects DROP COLUMN images'],
  ['has no list of statements that are due', 'DROP TABLE due_statements'],
])('a file that %s yet is brought forward by who first reads it', async (_, made) => {
  const path = pathOf()
  const before = await open(path)
  await feed(before).judged({ subjectId: 'a' }, 'text')
  await before.close()
  const older = new DatabaseSync(path)
  older.exec(made)
  older.close()
  const reader = await sqliteRecordReader(path, sameThreadHalf)
  expect((await reader.find({}, 9)).map(({ pictures }) => pictures)).toEqual([0])
  expect(await reader.givenUp('default')).toEqual([])
  await reader.close()
  await (await open(path)).close()
})

it('a file whose index was written by older rules is found by, and indexed anew by the process that writes it', async () => {
  const path = pathOf()
  const before = await open(path)
  await feed(before).judged({ tenant: 'acme' }, 'the harbour is closed')
  await before.close()
  const older = new DatabaseSync(path)
  older.exec(
    "INSERT INTO found (found) VALUES ('delete-all'); INSERT INTO found (rowid, g) SELECT doc, 'har arb rbo bou our' FROM texts",
  )
  older.exec("UPDATE meta SET v = '1' WHERE k = 'grams'")
  older.close()
  const reader = await sqliteRecordReader(path, sameThreadHalf)
  const found = async () => {
    const { found, reindexing } = await reader.search('harbour', { tenants: ['acme'] }, 5)
    return [found.length, reindexing]
  }
  expect(await found()).toEqual([1, false])
  const store = await open(path)
  expect(await found()).toEqual([0, true])
  await store.tidy(Date.parse(at(3_600)))
  expect(await found()).toEqual([1, false])
  await feed(store).send('posts', 'p', { ...deletion, tenant: 'acme' }, 60)
  expect(inIndex(path, ['har', 'bou'])).toEqual([])
  await Promise.all([reader.close(), store.close()])
})

/** Makes of a file what it were if all of it had been written by the first rules for letters. */
function foldedAtFirst(path: string): void {
  const db = new DatabaseSync(path)
  const rows = db
    .prepare('SELECT doc, rulings.tenant, words, json FROM texts JOIN rulings USING (doc) JOIN transcripts USING (id)')
    .all()
  db.exec("INSERT INTO found (found) VALUES ('delete-all'); DELETE FROM texts; DELETE FROM meta WHERE k = 'folding'")
  for (const { doc, tenant, words, json } of rows) {
    const text = firstFolded(`${words}\n${JSON.parse(String(json)).rationale}`)
    db.prepare('INSERT INTO texts VALUES (?, ?)').run(Number(doc), text)
    const tokens = [tenantToken(String(tenant)), ...gramsOf(text)].join(' ')
    db.prepare('INSERT INTO found (rowid, g) VALUES (?, ?)').run(Number(doc), tokens)
  }
  db.close()
}

it('a file whose texts were folded by the first rules is searched, and folded anew from what it has, a step at a time', async () => {
  const path = pathOf()
  const before = await open(path)
  const topics = feed(before)
  for (const [subjectId, [text]] of Object.entries(LETTERS)) await topics.judged({ subjectId }, text)
  await before.close()
  // Newer than these, and more than one step takes.
  await harbours(path, { default: 600 })
  foldedAtFirst(path)
  const older = new DatabaseSync(path)
  // Its transcript has made room for others.
  older.exec("UPDATE transcripts SET words = NULL, z = NULL WHERE id LIKE '%~no~%'")
  older.close()

  const reader = await sqliteRecordReader(path, sameThreadHalf)
  const search = async (query: string) => {
    const { found, ...others } = await reader.search(query, {}, 9)
    return { found: found.map(({ verdict }) => verdict.subjectId), ...others }
  }
  const missed = { found: [], stoppedEarly: false, reindexing: true }
  const letters = () => Promise.all(Object.values(LETTERS).map(([, query]) => search(query)))
  expect(await letters()).toEqual(Object.keys(LETTERS).map(() => missed))
  expect(await search('harbour')).toMatchObject({ found: { length: 9 }, reindexing: true })
  const { at: since } = await reader.arrivals(null, 9)

  const first = await open(path)
  await first.tidy(Date.parse(at(3_600)))
  expect(await letters()).toEqual(Object.keys(LETTERS).map(() => missed))
  expect(await search('harbour')).toMatchObject({ found: { length: 9 }, reindexing: true })
  await first.close()
  const again = await open(path)
  await again.tidy(Date.parse(at(3_600)))
  expect(await letters()).toEqual(
    Object.keys(LETTERS).map((id) => ({ found: [id], stoppedEarly: false, reindexing: false })),
  )
  // Nothing of it is news.
  expect((await reader.arrivals(since, 9)).rows).toEqual([])
  expect(inIndex(path, ['duo', 'đuo', 'smo'])).toEqual(['duo', 'smo'])
  const deletions = feed(again)
  for (const id of Object.keys(LETTERS)) await deletions.send('posts', id, { ...deletion, id }, 60)
  expect(inIndex(path, ['duo', 'đuo', 'smo'])).toEqual([])
  await Promise.all([reader.close(), again.close()])
})

it('lists of some tenants have the newest of all of them, and of no other', async () => {
  const path = pathOf()
  await harbours(path, { acme: 3, other: 3, third: 3 })
  const reader = await sqliteRecordReader(path, sameThreadHalf)
  const found = async (tenants: string[], limit: number) =>
    (await reader.find({ tenants, standing: true }, limit)).map(({ subject }) => `${subject.tenant} ${subject.postId}`)
  expect(await found(['acme', 'third'], 4)).toEqual(['third p2', 'third p1', 'third p0', 'acme p2'])
  const many = Array.from({ length: 9 }, (_, n) => `t${n}`)
  expect(await found(['other', ...many], 2)).toEqual(['other p2', 'other p1'])
  await reader.close()
})

it('a search of which no text fits looks at its time after each stretch of texts, and a long quotation is found by some of its grams', async () => {
  const path = pathOf()
  const quotation = Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ')
  const store = await open(path)
  await feed(store).judged({ subjectId: 'q' }, `so it says: ${quotation}, and more`)
  await feed(store).judged({ subjectId: 'r' }, `so it says: ${quotation.replace('word17', 'another')}`)
  await store.close()
  const filler = new DatabaseSync(path)
  filler.exec(`WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 35000)
    INSERT INTO rulings (doc, s, id, tenant, protocol, number, label, decided_by, degraded, opened_at, decided_at, standing, contested, accepted, hash, json)
    SELECT o.doc + i, o.s, 'x' || i, 'other', 'hate', 1, 'hate', 'judge', 0, 0, 0, 1, 0, 0, 'h', '{}' FROM c, (SELECT max(doc) AS doc, s FROM rulings) AS o`)
  filler.close()
  let [now, looks] = [0, 0]
  const reads = new RecordReads(path, () => {
    looks++
    return now++
  })
  expect(reads.search(`"${quotation}"`, {}, 50).found.map(({ subject }) => subject)).toEqual(['q'])
  expect(looks).toBe(3)
  now = 0
  const hurried = new RecordReads(path, () => (now += 300))
  expect(hurried.search(`"${quotation}"`, {}, 50)).toMatchObject({ found: [], stoppedEarly: true })
  reads.close()
  hurried.close()
})

it('a search that goes on for too long stops, and says so', async () => {
  const path = pathOf()
  await harbours(path, { default: 120 })
  const search = (msALook: number) => {
    let now = 0
    const reads = new RecordReads(path, () => {
      now += msALook
      return now
    })
    const result = reads.search('harbour', { label: 'nothing' }, 50)
    reads.close()
    return result
  }
  expect(search(600)).toEqual({ found: [], stoppedEarly: true, reindexing: false })
  expect(search(1)).toEqual({ found: [], stoppedEarly: false, reindexing: false })
})

it('records in memory are apart, end when they are closed, and leave no file', async () => {
  const path = pathInMemory()
  const [one, other] = [await open(path), await open(pathInMemory())]
  await feed(one).judged({}, 'a claim')
  expect([await one.size(), await other.size()]).toMatchObject([{ rows: { verdicts: 1 } }, { rows: { verdicts: 0 } }])
  for (const store of [one, other]) await store.close()
  const again = await open(path)
  expect((await again.size()).rows.verdicts).toBe(0)
  await again.close()
  expect(existsSync('file:')).toBe(false)
})
