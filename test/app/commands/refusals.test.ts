import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../../config/load.ts'
import { judgeFileSubjects } from '../../../src/app/commands/judging/file-judging.ts'
import { OPERATOR_ACTIONS, OperatorError } from '../../../src/contracts/facts/errors.ts'
import { transcript, type Verdict, verdict } from '../../../src/contracts/facts/verdict.ts'
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

/** What a server has to say for a model's name, and how many more times. */
interface Refusal {
  readonly status: number
  readonly body: unknown
  left: number
}
const refusals = new Map<string, Refusal>()
/** The texts that were asked, by model, and when, in ms since 1970. */
const asked = new Map<string, { readonly text: string; readonly at: number; readonly refused: boolean }[]>()
const misbehave: Misbehaviour = ({ model, text }) => {
  const refusal = refusals.get(model)
  const refused = refusal !== undefined && refusal.left-- > 0
  asked.set(model, [...(asked.get(model) ?? []), { text, at: Date.now(), refused }])
  return refused ? { status: refusal.status, body: refusal.body } : null
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

/** The only model of the service. */
const [MODEL = ''] = GATEWAY.roles.default ?? []

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
async function inService([, status]: ServerError, body: unknown) {
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

  refusals.set(MODEL, { status, body, left: Number.POSITIVE_INFINITY })
  const ends: AttemptEnd[] = []
  let heldMs = 0
  const attempt = async (last = false) => {
    const end = await work.answer({
      ...(asked as StagedAsk),
      number: 1,
      last,
      waitSeconds: 0,
      heldMs,
      signal: new AbortController().signal,
    })
    ends.push(end)
    const waitMs = end.end === 'deferred' ? end.delayMs : 1_000
    now += waitMs
    heldMs += waitMs
    return end.end
  }
  const first = await attempt()
  const firstWaitMs = now - T0
  if (first !== 'done') {
    // It is mended after half an hour, thrice the case's deadline: no attempt is used up, though each would have been the last.
    if (first === 'deferred') while (now < T0 + 1_800_000) expect(await attempt(true)).toBe('deferred')
    // So is what costs attempts, from the last on.
    if (first === 'again') for (let n = 0; n < 3; n++) expect(await attempt(true)).toBe('deferred')
    refusals.clear()
    while (ends.at(-1)?.end !== 'done' && ends.length < 1_000) await attempt()
  }
  await work.advance(id)
  const published = await stores.outbox.next('test', 10, 1)
  const [entry] = published
  if (published.length !== 1 || entry?.kind !== 'verdict') throw new Error(`${published.length} verdicts`)
  return { first, firstWaitMs, tries: ends.length, verdict: verdict.parse(JSON.parse(entry.verdict)) }
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
        const [, , body, is, waitMs] = row
        const { first, firstWaitMs, tries, verdict: decided } = await inService(row, wrap(body))
        const isDeferred = isTheOperators(is) || is === 'load' || waitMs !== undefined
        expect(first).toBe(ENDS.has(is) ? 'done' : isDeferred ? 'deferred' : 'again')
        if (is === 'load') {
          // As long as it says, or one to two seconds.
          expect(firstWaitMs).toBeGreaterThanOrEqual(Math.max(100, waitMs ?? 1_000))
          expect(firstWaitMs).toBeLessThanOrEqual(Math.max(100, waitMs ?? 2_000))
          expect(tries).toBeLessThan(40)
        }
        if (ENDS.has(is)) expect(tries).toBe(1)
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
    const judged = async (name: string) => {
      const verdicts: (Verdict & { readonly turns: number })[] = []
      const settings = {
        ...loaded,
        models: { ...loaded.models, roles: { default: [name] } },
        protocols: { ...loaded.protocols, rumor },
        stages: { default: { concurrency: 16, attempts: 3, backoff: 1 } },
      } as typeof loaded
      await judgeFileSubjects(
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
          signal: AbortSignal.timeout(200_000),
          refused() {},
          corrected() {},
          unrouted() {},
          failed() {},
          judged: (one, json) => {
            const { turns } = transcript.parse(JSON.parse(json.transcript))
            verdicts.push({ ...one, turns: turns.length })
          },
        },
      )
      return verdicts
    }
    const [expected, ...more] = await judged('well')
    expect([expected?.label === null, more]).toEqual([false, []])

    const check = async ({ row, wrap }: { row: ServerError; wrap: (body: unknown) => unknown }, nth: number) => {
      const [, status, body, is, waitMs] = row
      // The service above waits by a clock that is moved by hand; here longer waits would take as long.
      if (waitMs !== undefined && waitMs > 2_000) return
      const name = `row-${nth}`
      const forEver = ENDS.has(is) || isTheOperators(is)
      refusals.set(name, { status, body: wrap(body), left: forEver ? Number.POSITIVE_INFINITY : 1 })
      if (isTheOperators(is)) {
        await expect(judged(name)).rejects.toThrow(OperatorError)
        expect(asked.get(name)?.length).toBeLessThan(10)
        return
      }
      const [verdict, ...others] = await judged(name)
      expect(others).toEqual([])
      expect(verdict?.filtered !== undefined).toBe(is === 'content')
      const calls = asked.get(name) ?? []
      const [first] = calls.filter(({ refused }) => refused)
      if (ENDS.has(is)) {
        expect(verdict?.label).toBeNull()
        // Each is asked once: what ends the question is not tried again.
        expect(calls.length).toBe(verdict?.turns)
        return
      }
      expect([verdict?.label, verdict?.degraded]).toEqual([expected?.label, expected?.degraded])
      const again = calls.filter(({ text }) => text === first?.text)
      expect(again.map(({ refused }) => refused)).toEqual([true, false])
      const least = is === 'load' ? Math.max(100, waitMs ?? 1_000) : 0
      // Its clock may be behind by a millisecond or two.
      expect((again[1]?.at ?? 0) - (again[0]?.at ?? 0)).toBeGreaterThanOrEqual(least - 5)
    }
    const every = [
      ...SERVER_ERRORS.map((row) => ({ row, wrap: (body: unknown) => body })),
      ...fc.sample(rows, { numRuns: 20 }),
    ]
    for (let at = 0; at < every.length; at += AT_ONCE)
      await Promise.all(
        every.slice(at, at + AT_ONCE).map((one, nth) =>
          check(one, at + nth).catch((cause: unknown) => {
            throw new Error(`${JSON.stringify(one.row)}, ${one.wrap.toString()}`, { cause })
          }),
        ),
      )
  })
})

/** Files that are judged at the same time: some wait as long as servers say. */
const AT_ONCE = 32
