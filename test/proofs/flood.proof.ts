import { afterAll, beforeAll, expect, it } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import type { FileMessage } from '../../src/data-files/file-message.ts'
import { past, sentence, threads } from '../../src/kit/bench/load.ts'
import { serve, sum } from '../../src/kit/bench/service.ts'
import type { Tick } from '../../src/kit/bench/worker.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import { protocolsOn, tell } from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

/** Comments on the one post; GAVEL_PROOF_COMMENTS=1000000 is the whole of it. */
const comments = Number(process.env.GAVEL_PROOF_COMMENTS ?? 100_000)
const OTHERS = 200
const OTHERS_COMMENTS = 12
const MOST_MIB = 300
/** Of the run, at its start: pools and caches fill. */
const WARM_UP = 0.25
/** Between the first and the last third after that… */
const FLAT_MIB = 30
/** …of a run that is long enough to tell growth from a heap that finds its size. */
const LONG_RUN_SECONDS = 20

let stack: Servers
beforeAll(async () => {
  stack = await startServers({})
})
afterAll(() => stack?.close())

/** One post that everybody talks about, among others. */
function* flood(): Generator<FileMessage> {
  const clock = past()
  const others = threads('other', OTHERS, OTHERS_COMMENTS, clock)
  const [post] = threads('flood', 1, 0, clock)
  if (post !== undefined) yield post
  const between = Math.ceil(comments / (OTHERS * (OTHERS_COMMENTS + 1)))
  for (let comment = 0; comment < comments; comment++) {
    if (comment % between === 0) {
      const { value: other } = others.next()
      if (other !== undefined) yield other as FileMessage
    }
    const createdAt = clock()
    const text = sentence(comment, 8 + (comment % 20))
    const value = {
      id: `flood-${comment}`,
      postId: 'flood-0',
      text,
      author: `author-${comment % 5003}`,
      createdAt: new Date(createdAt).toISOString(),
    }
    yield { type: 'comment', key: 'flood-0', line: 0, createdAt, value }
  }
  yield* others
}

it(`takes ${comments} comments on one post in bounded memory, and judges ${OTHERS} others meanwhile`, async () => {
  const environment = { PATH: process.env.PATH, ...stack.settings, ...protocolsOn('rumor') }
  const messages = 1 + comments + OTHERS * (OTHERS_COMMENTS + 1)
  const settled = (ticks: readonly Tick[]) => sum(ticks, (tick) => tick.settled)
  const published = (ticks: readonly Tick[]) => sum(ticks, (tick) => tick.published.length)
  const { ticks, kafka, settings } = await serve(
    environment,
    {
      latencyMs: 20,
      changes: { GAVEL_CHECKPOINTS_COUNTS: '10,30,100,300', GAVEL_CHECKPOINTS_AGES: '12h' },
      preload: flood(),
      done: (seen) => settled(seen) >= messages && published(seen) > OTHERS,
    },
    new AbortController().signal,
  )

  const first = ticks.findIndex((tick) => tick.settled > 0)
  const last = ticks.findLastIndex((tick) => tick.settled > 0)
  const during = ticks.slice(first, last + 1)
  const seconds = ((during.at(-1)?.at ?? 0) - (during[0]?.at ?? 0)) / 1000
  const rss = during.map(({ rssMiB }) => Math.round(rssMiB))
  const steps = 40
  tell(`${settled(ticks)} messages in ${seconds.toFixed(1)} s: ${(settled(ticks) / seconds).toFixed(0)} a second`)
  tell(`resident MiB over time: ${rss.filter((_, at) => at % Math.ceil(rss.length / steps) === 0).join(' ')}`)
  const most = Math.max(...ticks.map(({ rssMiB }) => rssMiB))
  const warm = rss.slice(Math.floor(rss.length * WARM_UP))
  const third = Math.max(1, Math.floor(warm.length / 3))
  const meanOf = (values: readonly number[]) => values.reduce((total, value) => total + value, 0) / values.length
  const growth = meanOf(warm.slice(-third)) - meanOf(warm.slice(0, third))
  tell(`at most ${most.toFixed(0)} MiB; from the first to the last third ${growth.toFixed(1)} MiB more`)
  tell(`${published(during)} of ${published(ticks)} verdicts were published while the flood was read`)

  expect(settled(ticks)).toBe(messages)
  expect(most).toBeLessThanOrEqual(MOST_MIB)
  if (seconds >= LONG_RUN_SECONDS) expect(growth).toBeLessThanOrEqual(FLAT_MIB)
  else tell('The run was too short to say whether memory is flat: GAVEL_PROOF_COMMENTS=1000000.')
  const verdicts: Verdict[] = []
  const options = { follow: false, signal: new AbortController().signal }
  await readTopic(kafka, topicsOf(settings).verdicts, options, ({ message }) => {
    verdicts.push(verdict.parse(JSON.parse(message.value?.toString('utf8') ?? 'null')))
  })
  const ofOthers = new Set(verdicts.flatMap(({ subjectId }) => (subjectId.startsWith('other') ? [subjectId] : [])))
  expect(ofOthers.size).toBe(OTHERS)
  expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
  // The others' messages are spread over the flood: most of their verdicts come before its end.
  expect(published(during)).toBeGreaterThan(OTHERS / 2)
})
