import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sqliteRecordReader } from '../../src/service/adapters/sqlite/record.ts'
import { Blinds } from '../../src/service/console/blinds.ts'
import type { Answer } from '../../src/service/console/page.ts'
import { verdictPages } from '../../src/service/console/verdict.ts'
import { PROTOCOLS } from '../../src/service/protocols/registry.ts'
import { aConsole } from '../console/console-for-tests.ts'
import { tell } from '../support/pipeline.ts'

/** A record as `record.proof.ts` fills it. */
const FILE = process.env.RECORD_PROOF_FILE ?? join(tmpdir(), 'gavel-record-proof', 'record.sqlite')
const MOST_MS = 300
const [PAGES, LISTED] = [200, 50]
const [BURST, STEP] = [50_000, 10_000]

it('a verdict’s page is drawn within 300 ms, however many verdicts the record has', async (context) => {
  if (!existsSync(FILE)) {
    tell(`SKIPPED: ${FILE} is not there; npm run proof -- record fills it`)
    return context.skip('no filled record')
  }
  const record = await sqliteRecordReader(FILE)
  try {
    const { rows } = await record.size()
    const kinds = new Map(
      PROTOCOLS.map(({ name, labels, reading }) => [
        name,
        { labels: [], ...labels, ...(reading === undefined ? {} : { reading }) },
      ]),
    )
    const pages = verdictPages({
      record,
      kinds,
      style: '',
      canDecide: true,
      blinds: new Blinds(Date.now),
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
        lastEventId: null,
        signal,
      }
      const answer: Answer | undefined = await page?.answer({ ...asked, told: async () => true })
      expect(answer !== undefined && 'body' in answer && String(answer.body).length).toBeGreaterThan(500)
      took.push(performance.now() - begun)
    }
    took.sort((one, other) => one - other)
    const at = (share: number) => (took[Math.floor(took.length * share)] ?? Number.NaN).toFixed(0)
    tell(
      `${rows.verdicts} verdicts in the record: a verdict's page takes ${at(0.5)} ms, p95 ${at(0.95)} ms, of ${took.length}`,
    )
    expect(Number(at(0.95))).toBeLessThanOrEqual(MOST_MS)
  } finally {
    await record.close()
  }
})

it('50,000 verdicts while a page is open: it is told a bounded part of each look, and that there is more', async () => {
  const console = aConsole()
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
  for (let at = 0; at < BURST; at++) {
    await console.judged({ verdict: { subjectId: `p${at}` }, post: { text: `claim ${at}` } })
    if ((at + 1) % STEP === 0) await console.arriving.look()
  }
  await new Promise((resolve) => setTimeout(resolve, 100))
  const count = (event: string) => heard.split(`event: ${event}\n`).length - 1
  const bytes = Buffer.byteLength(heard)
  tell(
    `${BURST} verdicts in ${BURST / STEP} looks: ${count('row')} rows and ${count('far')} times "more came", ${bytes} bytes`,
  )
  expect(isOver).toBe(false)
  expect(count('row')).toBeLessThanOrEqual((BURST / STEP) * 150)
  expect(count('far')).toBe(BURST / STEP)
  await reader?.cancel()
  await reading
})
