import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { type FileMessage, message } from '../../src/data-files/file-message.ts'
import { serve, sum } from '../../src/kit/bench/service.ts'
import type { Tick } from '../../src/kit/bench/worker.ts'
import { libraryOf } from '../../src/shelves/lancedb/library.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import '../e2e/deletion-burst.test.ts'
import { protocolsOn, settingsOf, tell } from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

const [DELETIONS, POSTS, LEARNT] = [100_000, 1_000, 20]
const PER_POST = DELETIONS / POSTS
const POSTS_PER_SECOND = 20
const LEAST_PER_SECOND = 2_000
const MOST_TIMES_LATER = 2
/** Running processes at a time beside the proof, by the system's load average: with more, a ratio of times says nothing of Gavel. */
const BUSY = cpus().length
/** The first of them, while the service joins its group, don't count. */
const WARM_UP = 200

const folder = mkdtempSync(join(tmpdir(), 'gavel-deletions-'))
let stack: Servers
beforeAll(async () => {
  const [load = 0] = loadavg()
  if (load > BUSY) tell(`The machine is busy (load ${load.toFixed(1)}): nothing else may run beside this proof.`)
  stack = await startServers({})
})
afterAll(async () => {
  await stack?.close()
  await rm(folder, { recursive: true, force: true })
})

const deletion = (id: string) => message('post', id, 0, Date.now(), { id, deleted: true })
const post = (nth: number) =>
  message('post', `post-${nth}`, 0, Date.now(), {
    id: `post-${nth}`,
    text: `Report ${nth}: a mast has fallen on a car.`,
  })

/** Every post after its share of the deletions, of subjects of which the first own what the library has learnt. */
function* posts(deletions: number): Generator<FileMessage> {
  for (let nth = 0; nth < POSTS; nth++) {
    for (let at = 0; at < deletions; at++) {
      const number = nth * deletions + at
      yield deletion(number < LEARNT ? `learnt-${number}` : `nobody-${number}`)
    }
    yield post(nth)
  }
}

async function librarySeeded(name: string): Promise<string> {
  const library = join(folder, name)
  const shelves = libraryOf(settingsOf({ ...stack.settings, GAVEL_LIBRARY_PATH: library }), Date.now)
  const items = Array.from({ length: LEARNT }, (_, nth) => ({
    text: `A crowd threw things at the fountain, for the ${nth}th time.`,
    label: 'unsafe',
    metadata: {},
    subject: { tenant: 'default', id: `learnt-${nth}`, kind: 'post' as const },
  }))
  await shelves.add('precedents', items, 'ana', new AbortController().signal)
  await shelves.close()
  return library
}

const environment = () => ({ PATH: process.env.PATH, ...stack.settings, ...protocolsOn('hate') })
const changes = { GAVEL_PROTOCOLS_HATE_DECIDE: 'zero-shot' }
const settled = (ticks: readonly Tick[]) => sum(ticks, (tick) => tick.settled)
const published = (ticks: readonly Tick[]) => sum(ticks, (tick) => tick.published.length)

/** How late the posts were judged, in ms from their making, when so many deletions came beside each. */
async function lateness(deletions: number): Promise<{ median: number; p95: number; lag: number }> {
  const { ticks, kafka, settings } = await serve(
    environment(),
    {
      latencyMs: 20,
      changes,
      library: await librarySeeded(`beside-${deletions}`),
      live: { messages: posts(deletions), perSecond: POSTS_PER_SECOND * (deletions + 1) },
      done: (seen) => published(seen) >= POSTS && settled(seen) >= POSTS * (deletions + 1),
    },
    new AbortController().signal,
  )
  const verdicts: Verdict[] = []
  await readTopic(
    kafka,
    topicsOf(settings).verdicts,
    { follow: false, signal: new AbortController().signal },
    (read) => {
      verdicts.push(verdict.parse(JSON.parse(read.message.value?.toString('utf8') ?? 'null')))
    },
  )
  expect(new Set(verdicts.map(({ subjectId }) => subjectId)).size).toBe(POSTS)
  expect(settled(ticks)).toBe(POSTS * (deletions + 1))
  const late = verdicts
    .filter(({ subjectId }) => Number(subjectId.slice('post-'.length)) >= WARM_UP)
    .map(({ timing }) => Date.parse(timing.decidedAt) - Date.parse(timing.createdAt))
    .sort((a, b) => a - b)
  const at = (share: number) => late[Math.floor(share * (late.length - 1))] ?? Number.NaN
  return { median: at(0.5), p95: at(0.95), lag: Math.max(...ticks.map(({ lag }) => lag)) }
}

it(`judges ${POSTS} posts beside ${DELETIONS} deletions at most twice as late as without them, at the median and at the 95th percentile`, async () => {
  const alone = await lateness(0)
  const beside = await lateness(PER_POST)
  for (const [what, { median, p95, lag }] of Object.entries({ alone, beside }))
    tell(
      `${what}: judged ${median} ms after they were made at the median, ${p95} ms at the 95th percentile; lag at most ${lag}`,
    )
  expect(beside.median).toBeLessThanOrEqual(MOST_TIMES_LATER * alone.median)
  expect(beside.p95).toBeLessThanOrEqual(MOST_TIMES_LATER * alone.p95)
})

it(`takes ${DELETIONS} deletions in a row, ${LEAST_PER_SECOND} a second or more`, async () => {
  function* burst(): Generator<FileMessage> {
    for (let nth = 0; nth < DELETIONS; nth++) yield deletion(nth < LEARNT ? `learnt-${nth}` : `nobody-${nth}`)
  }
  const { ticks } = await serve(
    environment(),
    {
      latencyMs: 20,
      changes,
      library: await librarySeeded('burst'),
      preload: burst(),
      done: (seen) => settled(seen) >= DELETIONS,
    },
    new AbortController().signal,
  )
  const busy = ticks.slice(
    ticks.findIndex((tick) => tick.settled > 0),
    ticks.findLastIndex((tick) => tick.settled > 0) + 1,
  )
  const seconds = ((busy.at(-1)?.at ?? 0) - (busy[0]?.at ?? 0)) / 1000
  tell(`${settled(ticks)} deletions in ${seconds.toFixed(1)} s: ${(settled(ticks) / seconds).toFixed(0)} a second`)
  expect(settled(ticks)).toBe(DELETIONS)
  expect(settled(ticks) / seconds).toBeGreaterThanOrEqual(LEAST_PER_SECOND)
})
