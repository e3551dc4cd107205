import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../../config/load.ts'
import { judgeFileSubjects } from '../../../src/app/commands/judging/file-judging.ts'
import { OPERATOR_ACTIONS, OperatorError } from '../../../src/contracts/facts/errors.ts'
import { type Verdict, verdict } from '../../../src/contracts/facts/verdict.ts'
import type { AttemptEnd, StagedAsk } from '../../../src/contracts/ports/stage-queues.ts'
import { message } from '../../../src/data-files/file-message.ts'
import { judge } from '../../../src/judging/engine/judge.ts'
import { type Conclusion, round, type Script } from '../../../src/judging/engine/script.ts'
import { gateway } from '../../../src/models/gateway.ts'
import { openAiServer } from '../../../src/models/openai/model.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { ARRIVAL, postOf, RULES, recordOf, T0, thread } from '../../contracts/samples.ts'
import { EVERY_DEBATE } from '../../protocols/drive.ts'
import { type Misbehaviour, startMisbehaving } from '../../support/misbehaving.ts'
import { asksIn, GATEWAY, memoryParts, noImages, noLibrary, protocolNamed } from '../../support/parts.ts'
import { type Expected, SERVER_ERRORS, type ServerError } from '../../support/server-errors.ts'
import { WRITES } from '../../support/verdicts.ts'

// Every row of the table of refusals (test/models/openai/refusals.test.ts: each is shown by one of these responses), as a server
// sends it over HTTP, through the way of a service and through that of a command.

/** What a server has to say, and how many more times. */
let refusal: { readonly status: number; readonly body: unknown; left: number } | null = null
const misbehave: Misbehaviour = () => {
  if (refusal === null || refusal.left-- <= 0) return null
  return { status: refusal.status, body: refusal.body }
}

let server: Awaited<ReturnType<typeof startMisbehaving>>
beforeAll(async () => {
  server = await startMisbehaving(misbehave)
})
afterAll(() => server.close())

/** The same response behind other fields. */
const WRAPPED: readonly ((body: unknown) => unknown)[] = [
  (body) => body,
  (body) => (typeof body === 'object' ? [body] : body),
  (body) =>
    typeof body === 'object'
      ? { error: { message: 'Provider returned error', metadata: { raw: JSON.stringify(body) } } }
      : body,
]
const rows = fc.record({
  row: fc.constantFrom(...SERVER_ERRORS),
  wrap: fc.constantFrom(...WRAPPED),
})
/** Each row as it is, and others behind other fields. */
const EVERY_ROW = {
  examples: SERVER_ERRORS.map((row) => [{ row, wrap: WRAPPED[0] as (typeof WRAPPED)[number] }] as [never]),
  numRuns: SERVER_ERRORS.length + 20,
}

const ENDS: ReadonlySet<Expected> = new Set<Expected>(['content', 'too-long', 'question'])
const isTheOperators = (is: Expected) => OPERATOR_ACTIONS.some((mend) => mend === is)

/** One question, and a verdict that rests on it. */
function* oneQuestion(): Script {
  const [answered] = yield* round([
    {
      stage: 'word',
      role: 'speaker',
      messages: [{ role: 'user', content: 'Is it so?' }],
      answer: z.object({ word: z.string() }),
      temperature: 0,
      maxTokens: 10,
    },
  ])
  const ruling = (label: string | null, degraded: string[]): Conclusion => ({
    ruling: {
      label,
      degraded,
      scores: {},
      rationale: '',
      decidedBy: label === null ? 'none' : 'judge',
      rounds: 1,
      evidence: { support: [], oppose: [], precedents: [] },
    },
  })
  return answered.ok ? ruling('good', []) : ruling(null, [`word failed: ${answered.code}`])
}

/** A service's worker over one case, by a clock that is moved by hand; its model is asked over HTTP. */
async function inService(row: ServerError, body: unknown) {
  const [, status, , is] = row
  let now = T0
  const clock = () => now
  const stores = memoryStores(clock)
  const ref = thread('P')
  await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
  const state = await stores.threads.read(ref)
  if (state === null) throw new Error('no thread')
  const times = { openedAt: T0, deadline: T0 + 600_000 }
  const record = recordOf(state, 'talk', times)
  const opening = { cases: [{ record, seen: state.version }], waiting: [], dormant: [], nextDue: null, final: false }
  const [id = ''] = await stores.threads.open(state, opening)
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = server.settings
  const model = openAiServer({ baseUrl, apiKey, answerFormat: 'json_schema' })
  const settings = { ...GATEWAY, callTimeout: 10_000, defersInOutage: true }
  const work = judge({
    protocols: new Map([['talk', protocolNamed('talk', { script: oneQuestion })]]),
    cases: stores.cases,
    gateway: gateway({
      model: answering(model),
      loadImage: noImages,
      ...memoryParts(clock),
      settings,
      clock,
      report: () => {},
    }),
    library: noLibrary,
    clock,
    report: () => {},
    settings: { maxTakeovers: 1_000, handBack: 30_000, transcriptBytes: 900_000, writes: WRITES },
    deadlineSettings: { deadline: 600_000, mostHeld: 6 * 3_600_000 },
  })
  const [asked] = asksIn(await work.advance(id))
  if (asked === undefined) throw new Error('nothing was asked')

  refusal = { status, body, left: Number.POSITIVE_INFINITY }
  const ends: AttemptEnd[] = []
  const attempt = async (last = false) => {
    const end = await work.answer({
      ...(asked as StagedAsk),
      number: 1,
      last,
      waitSeconds: 0,
      heldMs: 0,
      signal: new AbortController().signal,
    })
    ends.push(end)
    now += end.end === 'deferred' ? end.delayMs : 1_000
    return end.end
  }
  const first = await attempt()
  // However often it is busy, no attempt is used up; but for the waits it would have been the last.
  if (is === 'load') for (let n = 0; n < 8 && now < T0 + 300_000; n++) expect(await attempt(true)).toBe('deferred')
  if (first !== 'done') {
    // The operator mends it after half an hour, thrice the case's deadline; the rest is over after one more try.
    if (isTheOperators(is)) while (now < T0 + 1_800_000) expect(await attempt(true)).toBe('deferred')
    refusal = null
    while (ends.at(-1)?.end !== 'done' && ends.length < 1_000) await attempt()
  }
  await work.advance(id)
  const published = await stores.outbox.next('test', 10, 1)
  const [entry] = published
  if (published.length !== 1 || entry?.kind !== 'verdict') throw new Error(`${published.length} verdicts`)
  return { first, verdict: verdict.parse(JSON.parse(entry.verdict)) }
}

/** The understudy knows no such question: what it says when it is asked is put into the asked form. */
function answering(model: ReturnType<typeof openAiServer>): ReturnType<typeof openAiServer> {
  return {
    complete: async (request) => ({ ...(await model.complete(request)), text: JSON.stringify({ word: 'yes' }) }),
  }
}

describe('every row of the table of refusals', () => {
  it('through a service: ends the question, or is waited for and then judged once', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(rows, async ({ row, wrap }) => {
        const [, , body, is] = row
        const { first, verdict: decided } = await inService(row, wrap(body))
        if (isTheOperators(is)) expect(first).toBe('deferred')
        expect(first === 'done').toBe(ENDS.has(is))
        if (ENDS.has(is)) {
          expect(decided).toMatchObject({ label: null, faults: [is === 'content' ? 'evidence' : 'model'] })
          expect(decided.filtered !== undefined).toBe(is === 'content')
        } else expect(decided).toMatchObject({ label: 'good', degraded: [] })
      }),
      EVERY_ROW,
    )
  })

  it('through gavel judge: ends the command at once, or the question, or is tried again', {
    timeout: 240_000,
  }, async () => {
    const loaded = loadSettings(server.settings)
    const rumor = { ...loaded.protocols.rumor, ...EVERY_DEBATE.rumor }
    const settings = {
      ...loaded,
      protocols: { ...loaded.protocols, rumor },
      stages: { default: { concurrency: 16, attempts: 3, backoff: 1 } },
    } as typeof loaded
    await fc.assert(
      fc.asyncProperty(rows, async ({ row, wrap }) => {
        const [who, status, body, is, waitMs = 0] = row
        // What is waited for by name for long would take as long here; of those that name no wait these stand for all.
        if (waitMs > 1_000 || (is === 'load' && !['OpenAI', 'llama.cpp'].includes(who))) return
        refusal = { status, body: wrap(body), left: ENDS.has(is) || isTheOperators(is) ? Number.POSITIVE_INFINITY : 1 }
        const asked = server.asked.length
        const verdicts: Verdict[] = []
        const judging = judgeFileSubjects(
          settings,
          {
            protocol: 'rumor',
            file: 'f',
            format: 'gavel',
            finalAge: Number.POSITIVE_INFINITY,
            async *messages() {
              yield message('post', 'p', 1, T0, { id: 'p', text: 'the bridge is closed' })
            },
          },
          {
            signal: AbortSignal.timeout(60_000),
            refused() {},
            corrected() {},
            unrouted() {},
            failed() {},
            judged: (one) => void verdicts.push(one),
          },
        )
        if (isTheOperators(is)) {
          await expect(judging).rejects.toThrow(OperatorError)
          expect(server.asked.length - asked).toBeLessThan(10)
          expect(verdicts).toEqual([])
          return
        }
        await judging
        expect(verdicts).toHaveLength(1)
        expect(verdicts[0]?.label === null).toBe(ENDS.has(is))
        expect(verdicts[0]?.filtered !== undefined).toBe(is === 'content')
      }),
      EVERY_ROW,
    )
  })
})
