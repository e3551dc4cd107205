import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { agreementOfGroups } from '../../src/contracts/facts/agreement.ts'
import type { ReviewPictures } from '../../src/contracts/ports/pictures.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import type { ReviewQueue } from '../../src/contracts/ports/review.ts'
import { database } from '../../src/record/postgres/connection.ts'
import { postgresPictures, postgresRecord, postgresReviewQueue } from '../../src/record/postgres/record.ts'
import { sqlitePictures, sqliteRecord, sqliteReviewQueue } from '../../src/record/sqlite/record.ts'
import { aConsole } from '../console/console-for-tests.ts'
import { at, DAY, feed, KEEP } from '../contracts/record.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'
import { countedApart, PACE, plantWords } from '../support/planted-words.ts'
import { aPostgres } from '../support/postgres-server.ts'

/** Verdicts on which people gave their word, at least; and of how many posts they are copies. */
const [ROWS, POSTS] = [Number(process.env.AGREEMENT_PROOF_ROWS ?? 1_000_000), 600]
/** Most that a page takes for which everything is counted, one that is known, and a page of posts, in ms. */
const [COUNTED_MS, KNOWN_MS, POSTS_MS] = [10_000, 300, 3_000]

const RECORD = { keep: KEEP, maxBytes: 2 ** 40, sourceKeep: 8 * DAY, auditShare: 0, blindShare: 0 }
const RULES = { costs: {}, ownCaseAfter: DAY }

interface Place {
  readonly where: string
  readonly start: () => Promise<{
    readonly store: RecordStore
    readonly review: ReviewQueue
    readonly pictures: ReviewPictures
    /** Carries out these statements beside the record. */
    readonly write: (...statements: readonly string[]) => Promise<void>
    readonly close: () => Promise<void>
  }>
}

const inSqlite: Place = {
  where: 'in SQLite',
  async start() {
    const path = join(ownFolder('agreement-size'), 'record.sqlite')
    const store = await sqliteRecord({ path, ...RECORD })
    return {
      store,
      review: await sqliteReviewQueue({ path, ...RULES }),
      pictures: await sqlitePictures(path),
      async write(...statements) {
        const db = new DatabaseSync(path)
        for (const one of statements) db.exec(one)
        db.close()
      },
      close: async () => undefined,
    }
  },
}

const inPostgres: Place = {
  where: 'in PostgreSQL',
  async start() {
    const server = (await aPostgres({ set: ['shared_buffers=512MB'] })) ?? expect.unreachable('there is no PostgreSQL')
    const address = server.address('gavel_record')
    return {
      store: await postgresRecord({ address, vacuumWithin: 60_000, ...RECORD }),
      review: await postgresReviewQueue({ address, ...RULES }),
      pictures: await postgresPictures(address),
      async write(...statements) {
        const db = database(address, 1)
        for (const one of statements) await db.run(one)
        await db.close()
      },
      close: () => server.close(),
    }
  },
}

/** Copies what is compared so many times, each row with a subject of its own. */
function copied(times: number, isPostgres: boolean): string[] {
  const series = isPostgres
    ? `generate_series(1, ${times}) AS series (n)`
    : `(WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${times}) SELECT n FROM series) AS series`
  const overriding = isPostgres ? 'OVERRIDING SYSTEM VALUE' : ''
  return [
    `INSERT INTO subjects (s, tenant, kind, id, lang) ${overriding}
     SELECT s + CAST(n AS bigint) * 1000000, tenant, kind, id || '-' || n, lang FROM subjects, ${series} WHERE s < 1000000`,
    `INSERT INTO compared (s, protocol, tenant, verdict, machine, people, source, seen, clauses, reach, lang, at)
     SELECT s + CAST(n AS bigint) * 1000000, protocol, tenant, verdict || '-' || n, machine, people, source, seen, clauses, reach, lang, at + n
     FROM compared, ${series} WHERE s < 1000000`,
    'ANALYZE',
  ]
}

describe.each([inSqlite, inPostgres])('agreement over a million words of people $where', ({ where, start }) => {
  it('is counted as a script counts it, and costs a page no more than was said', { timeout: 1_800_000 }, async () => {
    const { store, review, pictures, write, close } = await start()
    const lines = await plantWords(feed(store).send, POSTS)
    const own = (await review.comparedGroups({ since: 0 })).reduce((sum, { count }) => sum + count, 0)
    const times = Math.ceil(ROWS / own)
    await write(...copied(times, where === inPostgres.where))
    const console = await aConsole({ record: { ...store, review, pictures } })
    console.pass(Date.parse(at((lines.length + 1) * PACE)))
    const cookie = await console.signedIn()
    const slow: string[] = []
    const measured = async <Made>(what: string, mostMs: number, work: () => Promise<Made>): Promise<Made> => {
      const begun = performance.now()
      const made = await work()
      const took = performance.now() - begun
      tell(`${where} ${what}: ${took.toFixed(0)} ms`)
      if (took > mostMs) slow.push(`${what}: ${took.toFixed(0)} ms`)
      return made
    }
    try {
      const groups = await measured('counting all', COUNTED_MS, () => review.comparedGroups({ since: 0 }))
      tell(`${where} ${groups.length} groups of ${own * (times + 1)} verdicts`)
      const figures = Object.fromEntries(
        agreementOfGroups(groups).figures.map((one) => [
          `${one.protocol}|${one.part}|${one.value}`,
          [one.agreeing, one.of],
        ]),
      )
      const apart = Object.entries(countedApart(lines, { since: 0 }).figures)
      expect(figures).toEqual(
        Object.fromEntries(apart.map(([name, [hits, of]]) => [name, [hits * (times + 1), of * (times + 1)]])),
      )
      const page = async (path: string) => {
        const { status, text } = await console.page(path, cookie)
        expect(status, path).toBe(200)
        return text
      }
      // Others ask for the queue meanwhile.
      const counting = measured('the page, counted', COUNTED_MS, () => page('/agreement?days=400'))
      await measured('the queue meanwhile', COUNTED_MS, () => page('/review'))
      const text = await counting
      await measured('the page, known', KNOWN_MS, () => page('/agreement?days=400'))
      await measured('the page of 14 days, counted', COUNTED_MS, () => page('/agreement?days=14'))
      const links = [...text.matchAll(/href="(\/agreement\/posts[^"]*)"/g)].map(([, to = '']) =>
        to.replaceAll('&amp;', '&'),
      )
      for (const path of links.filter((_, nth) => nth % 8 === 0)) await measured(path, POSTS_MS, () => page(path))
      const figure = { since: 0, protocol: 'rumor', part: 'reach', value: '1', agrees: true } as const
      await measured('a figure’s verdicts, without their words', POSTS_MS, () => review.compared(figure, 50))
      const nothing = '/agreement/posts?protocol=rumor&part=language&value=%3Dxx&days=400'
      await measured('posts of which there are none', POSTS_MS, () => page(nothing))
      expect(slow).toEqual([])
    } finally {
      console.close()
      await Promise.all([review.close(), pictures.close(), store.close()])
      await close()
    }
  })
})
