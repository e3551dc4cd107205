import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { BlindReviews } from '../../src/console/blind-review.ts'
import type { PageAnswer } from '../../src/console/page.ts'
import { SubjectPictures } from '../../src/console/pictures.ts'
import { verdictPages } from '../../src/console/verdict.ts'
import type { RecordBatch } from '../../src/contracts/ports/record.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { entriesOf } from '../../src/record/project.ts'
import { sqlitePictures, sqliteRecord, sqliteRecordReader, sqliteReviewQueue } from '../../src/record/sqlite/record.ts'
import { aConsole } from '../console/console-for-tests.ts'
import { aTranscript, at, CONTEXT, DAY, incoming, KEEP } from '../contracts/record.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'
import { aVerdict } from '../support/verdicts.ts'

/** A record as `record.proof.ts` fills it. */
const FILE = process.env.RECORD_PROOF_FILE ?? join(tmpdir(), 'gavel-record-proof', 'record.sqlite')
const MOST_MS = 300
const [PAGES, LISTED] = [200, 50]
const [BURST, STEP, BATCH] = [50_000, 10_000, 500]
/** Most that a page is told of one look. */
const MOST_BYTES = 100_000

it('a verdict’s page is drawn within 300 ms, however many verdicts the record has', async (context) => {
  if (!existsSync(FILE)) {
    tell(`SKIPPED: ${FILE} is not there; npm run proof -- record fills it`)
    return context.skip('no filled record')
  }
  const record = await sqliteRecordReader(FILE)
  const people = await sqlitePictures(FILE)
  try {
    const { rows } = await record.size()
    const kinds = new Map(
      PROTOCOLS.map(({ name, labels, reading }) => [
        name,
        { labels: [], ...labels, ...(reading === undefined ? {} : { reading }) },
      ]),
    )
    const clock = Date.now
    const pictures = new SubjectPictures({
      store: people,
      load: () => Promise.reject(new Error('none')),
      redraw: () => Promise.reject(new Error('none')),
      keptImage: null,
      clock,
      keep: { keep: 1, most: 1 },
    })
    const pages = verdictPages({
      view: { record, kinds, pictures, people, clock, breakAfter: 1 },
      record,
      kinds,
      style: '',
      canDecide: true,
      blinds: new BlindReviews(Date.now),
      clock: Date.now,
      publicUrl: '',
    })
    const page = pages.find(({ path }) => path === '/verdict')
    const { signal } = new AbortController()
    const session = {
      by: 'anna',
      token: 't',
      grants: [{ role: 'admin' as const }],
      name: 's',
      ended: signal,
      isOpen: () => true,
    }
    const ids: string[] = []
    for (let before: string | undefined; ids.length < PAGES; ) {
      const found = await record.find({ standing: true, ...(before === undefined ? {} : { before }) }, LISTED)
      ids.push(...found.map(({ verdict }) => verdict.id))
      before = found.at(-1)?.cursor
      if (found.length < LISTED) break
    }
    const took: number[] = []
    for (const id of ids) {
      const begun = performance.now()
      const asked = {
        query: new URLSearchParams({ id }),
        form: new URLSearchParams(),
        session,
        asker: { network: '127.0.0.1', person: session.by, session: session.name },
        lastEventId: null,
        signal,
      }
      const answer: PageAnswer | undefined = await page?.answer({ ...asked, told: async () => true })
      expect(answer !== undefined && 'body' in answer && String(answer.body).length).toBeGreaterThan(500)
      took.push(performance.now() - begun)
    }
    took.sort((one, other) => one - other)
    const share = (of: number) => (took[Math.floor(took.length * of)] ?? Number.NaN).toFixed(0)
    tell(
      `${rows.verdicts} verdicts in the record: a verdict's page takes ${share(0.5)} ms, p95 ${share(0.95)} ms, of ${took.length}`,
    )
    expect(Number(share(0.95))).toBeLessThanOrEqual(MOST_MS)
  } finally {
    await record.close()
  }
})

/** These verdicts with their transcripts, as the topics bring them, in two batches. */
function burst(from: number, to: number): RecordBatch[] {
  const batchOf = (topic: 'verdicts' | 'transcripts', messageOf: (n: number) => unknown): RecordBatch => ({
    topic,
    partition: 0,
    from,
    next: to,
    entries: Array.from({ length: to - from }, (_, nth) => from + nth).flatMap((offset) =>
      entriesOf(topic, incoming(topic, offset, `p${offset}`, messageOf(offset), 10), CONTEXT).map((entry) => ({
        offset,
        entry,
      })),
    ),
  })
  const verdictOf = (n: number) => aVerdict(at(10), { subjectId: `p${n}` })
  return [
    batchOf('verdicts', verdictOf),
    batchOf('transcripts', (n) => aTranscript(verdictOf(n).id, `claim ${n}`, { c1: `comment ${n}` })),
  ]
}

it('50,000 verdicts while a page is open: it is told a bounded part of each look, and that there is more', async () => {
  const path = join(ownFolder('console-burst'), 'record.sqlite')
  const shares = { auditShare: 0, blindShare: 0 }
  const store = await sqliteRecord({ path, keep: KEEP, maxBytes: 2 ** 34, sourceKeep: 8 * DAY, ...shares })
  const review = await sqliteReviewQueue({ path, costs: {}, ownCaseAfter: DAY })
  try {
    const pictures = await sqlitePictures(path)
    const console = await aConsole({ record: { ...store, review, pictures } })
    const cookie = await console.signedIn()
    const stream = await console.ask('/live/stream', { headers: { cookie } })
    const reader = stream.body?.getReader()
    let [heard, isOver] = ['', false]
    const reading = (async () => {
      for (;;) {
        const read = await reader?.read()
        if (read === undefined || read.done) break
        heard += Buffer.from(read.value).toString('utf8')
      }
      isOver = true
    })()
    const times: Record<'look' | 'page', number[]> = { look: [], page: [] }
    const timed = async (what: 'look' | 'page', work: () => Promise<unknown>) => {
      const begun = performance.now()
      await work()
      times[what].push(performance.now() - begun)
    }
    const begun = performance.now()
    for (let from = 0; from < BURST; from += BATCH) {
      // All that is looked at is looked at while the record is written.
      const filling = (async () => {
        for (const batch of burst(from, from + BATCH)) expect(await store.apply(batch)).toBe('applied')
      })()
      if (from % STEP === STEP - BATCH) {
        await timed('look', () => console.arriving.poll())
        await timed('page', async () => expect((await console.page('/live', cookie)).status).toBe(200))
      }
      await filling
    }
    const seconds = (performance.now() - begun) / 1_000
    await new Promise((resolve) => setTimeout(resolve, 100))
    const count = (event: string) => heard.split(`event: ${event}\n`).length - 1
    const [bytes, looks] = [Buffer.byteLength(heard), BURST / STEP]
    const { rows } = await store.size()
    const listed = (all: readonly number[]) => all.map((ms) => ms.toFixed(0)).join(', ')
    tell(
      `${rows.verdicts} verdicts in ${seconds.toFixed(0)} s and ${looks} looks: ${count('row')} rows and ${count('far')} times "more came", ${bytes} bytes; looks took ${listed(times.look)} ms, the page ${listed(times.page)} ms`,
    )
    expect(rows.verdicts).toBe(BURST)
    expect(isOver).toBe(false)
    expect(count('row')).toBeGreaterThan(0)
    expect(count('row')).toBeLessThanOrEqual(looks * 150)
    expect(count('far')).toBe(looks)
    expect(bytes).toBeLessThanOrEqual(looks * MOST_BYTES)
    expect(Math.max(...times.look, ...times.page)).toBeLessThanOrEqual(MOST_MS)
    await reader?.cancel()
    await reading
  } finally {
    await review.close()
    await store.close()
  }
})
