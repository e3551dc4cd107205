import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Ask, lookup } from '../../../src/contracts/facts/ask.ts'
import type { CaseRecord } from '../../../src/contracts/facts/case.ts'
import { PermanentError, RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import { type Transcript, transcript, type Verdict, verdict } from '../../../src/contracts/facts/verdict.ts'
import { type CaseStore, StoreSuspended } from '../../../src/contracts/ports/cases.ts'
import type { Library } from '../../../src/contracts/ports/library.ts'
import type { ModelReply, ModelRequest } from '../../../src/contracts/ports/model.ts'
import type { Events, Report } from '../../../src/contracts/ports/report.ts'
import type { Attempt, StagedAsk, Work } from '../../../src/contracts/ports/stage-queues.ts'
import type { DeadlineSettings } from '../../../src/judging/engine/deadline.ts'
import { waitOf } from '../../../src/judging/engine/failed-attempt.ts'
import { generations } from '../../../src/judging/engine/generations.ts'
import { type JudgeSettings, judge } from '../../../src/judging/engine/judge.ts'
import { reconciler } from '../../../src/judging/engine/reconcile.ts'
import { type Conclusion, type Protocol, round, type Script } from '../../../src/judging/engine/script.ts'
import { versionsOf } from '../../../src/judging/engine/versions.ts'
import { gateway } from '../../../src/models/gateway.ts'
import { lookups } from '../../../src/models/lookups.ts'
import { memoryQueues } from '../../../src/store/case/memory-stage-queues.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { ARRIVAL, HOUR, postOf, RULES, recordOf, retractionOf, said, T0, thread } from '../../contracts/samples.ts'
import { asksIn, GATEWAY, memoryParts, noImages, noLibrary, protocolNamed } from '../../support/parts.ts'
import { WRITES } from '../../support/verdicts.ts'

const missing = (): never => {
  throw new Error('no such case')
}
const word = z.object({ word: z.string() })
const ask = (stage: string, content: string): Ask<{ word: string }> => ({
  stage,
  role: 'speaker',
  messages: [{ role: 'user', content }],
  answer: word,
  temperature: 0,
  maxTokens: 10,
})
const concluded = (
  rationale: string,
  label: string | null = 'good',
  change: Partial<Conclusion['ruling']> = {},
): Conclusion => ({
  ruling: {
    label,
    scores: {},
    rationale,
    decidedBy: label === null ? 'none' : 'judge',
    rounds: 1,
    evidence: { support: [], oppose: [], precedents: [] },
    degraded: label === null ? [rationale] : [],
    ...change,
  },
  carry: { rationale },
})

/** Two words at once, then a last one; the first that failed ends it without a label. */
function* sentence(): Script {
  const words = yield* round([ask('word', 'first'), ask('word', 'second')])
  for (const one of words) if (!one.ok) return concluded(`word failed: ${one.code}`, null)
  const [last] = yield* round([ask('end', 'last')])
  if (!last.ok) return concluded(`end failed: ${last.code}`, null)
  return concluded([...words, last].map((one) => (one.ok ? one.answer.word : '?')).join(' '))
}

const protocolOf = (change: Partial<Protocol> = {}): Protocol => protocolNamed('talk', { script: sentence, ...change })

const SETTINGS: JudgeSettings = { maxTakeovers: 20, handBack: 30_000, transcriptBytes: 900_000, writes: WRITES }

const reply = (text: string): ModelReply => ({
  text,
  finish: 'stop',
  model: 'm-2026',
  promptTokens: 100,
  cachedTokens: 40,
  completionTokens: 10,
})
/** What a model says to a question: the question's own last words. */
const echo = (request: ModelRequest): ModelReply => {
  const asked = request.messages.at(-1)?.content.split('\n', 1)[0]
  return reply(JSON.stringify({ word: asked }))
}

type Model = (request: ModelRequest, nth: number) => ModelReply | Error

interface Parts {
  readonly protocol?: Protocol
  readonly settings?: Partial<JudgeSettings>
  readonly model?: Model
  readonly postId?: string
  readonly library?: Pick<Library, 'find' | 'embedder'>
}

/** One open case on the stores in memory, and what its worker needs. The model takes 5 ms of a clock that stands still. */
async function caseOf(parts: Parts = {}, change: Partial<CaseRecord> = {}) {
  const clock = { now: T0 }
  const stores = memoryStores(() => clock.now)
  const ref = thread(parts.postId ?? 'P')
  await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
  await stores.threads.putComments(ref, [said('c1'), said('c2')], T0, RULES)
  const state = await stores.threads.read(ref)
  if (state === null) throw new Error('no thread')
  const record = recordOf(state, 'talk', change)
  const [id = ''] = await stores.threads.open(state, {
    cases: [{ record, seen: state.version }],
    waiting: [],
    dormant: [],
    nextDue: null,
    final: false,
  })
  const requests: ModelRequest[] = []
  const events: { name: keyof Events; event: unknown }[] = []
  const report: Report = (name, event) => void events.push({ name, event })
  const model = {
    async complete(request: ModelRequest) {
      requests.push(request)
      clock.now += 5
      const said = (parts.model ?? echo)(request, requests.length)
      if (said instanceof Error) throw said
      return said
    },
  }
  const deferring = lookups({
    embedder: 'e',
    endpoint: 'default',
    settings: GATEWAY.breaker,
    clock: () => clock.now,
    report,
  })
  const worker = (
    over: {
      protocol?: Protocol
      cases?: CaseStore
      settings?: Partial<JudgeSettings>
      deadlineSettings?: DeadlineSettings
      gate?: { closed: string | null }
    } = {},
  ) =>
    judge({
      ...(over.gate === undefined ? {} : { gate: over.gate }),
      ...(over.deadlineSettings === undefined ? {} : { deadlineSettings: over.deadlineSettings, lookups: deferring }),
      protocols: new Map([['talk', over.protocol ?? parts.protocol ?? protocolOf()]]),
      cases: over.cases ?? stores.cases,
      gateway: gateway({
        model,
        loadImage: noImages,
        ...memoryParts(() => clock.now),
        settings: { ...GATEWAY, defersInOutage: over.deadlineSettings !== undefined },
        clock: () => clock.now,
        report,
      }),
      library: parts.library ?? noLibrary,
      clock: () => clock.now,
      report,
      settings: { ...SETTINGS, ...parts.settings, ...over.settings },
    })
  const published = async () =>
    (await stores.outbox.next('test', 100, 1)).flatMap((entry) =>
      entry.kind === 'verdict' ? [{ verdict: entry.verdict, transcript: entry.transcript }] : [],
    )
  return { ...stores, ref, id, clock, requests, worker, published, report, events: () => events }
}

const attempt = (ask: StagedAsk, change: Partial<Attempt> = {}): Attempt => ({
  ...ask,
  number: 1,
  last: false,
  waitSeconds: 0,
  heldMs: 0,
  signal: new AbortController().signal,
  ...change,
})

async function asksOf(work: Work, id: string): Promise<readonly StagedAsk[]> {
  const advance = await work.advance(id)
  if (advance.next !== 'asks') throw new Error(`the case is at ${JSON.stringify(advance)}`)
  return asksIn(advance)
}

/** Works on the case until it is done. */
async function workOff(work: Work, id: string): Promise<void> {
  for (let turn = 0; turn < 10; turn++) {
    const advance = await work.advance(id)
    if (advance.next === 'done') return
    if (advance.next === 'later') throw new Error('handed back')
    for (const staged of asksIn(advance)) await work.answer(attempt(staged))
  }
  throw new Error('no end')
}

async function only(
  published: () => Promise<{ verdict: string; transcript: string }[]>,
): Promise<{ verdict: Verdict; transcript: Transcript; bytes: number }> {
  const all = await published()
  expect(all).toHaveLength(1)
  const [{ verdict: decided, transcript: argued } = { verdict: '', transcript: '' }] = all
  return {
    verdict: verdict.parse(JSON.parse(decided)),
    transcript: transcript.parse(JSON.parse(argued)),
    bytes: Buffer.byteLength(argued),
  }
}

test('a script begins when the texts of its subject are prepared, and not before; it is continued without', async () => {
  const order: string[] = []
  function* script(): Script {
    order.push('script')
    return yield* sentence()
  }
  const prepare = () => {
    order.push('prepared')
    return []
  }
  const { worker, id } = await caseOf({ protocol: protocolOf({ script, prepare }) })
  const one = worker()
  await workOff(one, id)
  expect(order).toEqual(['prepared', 'script'])
  // Another process finds the question of a job.
  const second = await caseOf({ protocol: protocolOf({ script, prepare }), postId: 'Q' })
  const [staged] = await asksOf(second.worker(), second.id)
  order.length = 0
  if (staged !== undefined) await second.worker().answer(attempt(staged))
  expect(order).toEqual(['prepared', 'script'])
})

test('of the jobs of a round that a process begins at once one replays the case, for all', async () => {
  let begun = 0
  function* script(): Script {
    begun++
    return yield* sentence()
  }
  const { worker, id, requests } = await caseOf({ protocol: protocolOf({ script }) })
  const asks = await asksOf(worker(), id)
  begun = 0
  const other = worker()
  await Promise.all(asks.map((staged) => other.answer(attempt(staged))))
  expect([asks.length, begun, requests.length]).toEqual([2, 1, 2])
})

describe('a verdict counts', () => {
  const stored = { accepted: 20, cap: 5, late: 3, author: 2 }
  const countsWith = async (change: Partial<Conclusion['ruling']>, label: string | null = 'good') => {
    function* script(): Script {
      yield* round([ask('word', 'first')])
      return concluded('done', label, change)
    }
    const { worker, id, published } = await caseOf({ protocol: protocolOf({ script }) }, { comments: stored })
    await workOff(worker(), id)
    const { counts } = (await only(published)).verdict
    expect(counts.judged + Object.values(counts.leftOut).reduce((sum, one) => sum + one, 0)).toBe(counts.accepted)
    return counts
  }

  test('what the thread and the script left out, by reason, and the rest as without a score', async () => {
    const weighed = { judged: 4, folded: 2, author: 1, cap: 1, load: 1 }
    expect(await countsWith({ comments: weighed })).toEqual({
      accepted: 20,
      judged: 4,
      leftOut: { cap: 6, late: 3, folded: 2, author: 3, unscored: 1, load: 1 },
    })
  })

  test('all comments that were shown as judged, where the script says nothing of them', async () => {
    expect(await countsWith({})).toMatchObject({ judged: 10, leftOut: { unscored: 0 } })
  })

  test('none as judged where nothing was decided', async () => {
    expect(await countsWith({}, null)).toMatchObject({ judged: 0, leftOut: { unscored: 10 } })
  })

  test('the models that the script says its decision rests on before those that were asked', async () => {
    function* script(): Script {
      yield* round([ask('word', 'first')])
      return concluded('done', 'good', { models: { debater: 'm-2025', speaker: 'm-2025' } })
    }
    const { worker, id, published } = await caseOf({ protocol: protocolOf({ script }) })
    await workOff(worker(), id)
    expect((await only(published)).verdict.models).toEqual({ debater: 'm-2025', speaker: 'm-2025' })
  })
})

describe('a case on its way', () => {
  test('asks round after round and ends in one verdict with its whole argument', async () => {
    const { worker, id, published, events, requests } = await caseOf()
    const work = worker()
    const first = await asksOf(work, id)
    expect(first.map(({ stage, key }) => `${stage} ${key}`)).toEqual(['word 0.0', 'word 0.1'])
    for (const staged of first) expect(await work.answer(attempt(staged))).toMatchObject({ end: 'done' })
    const second = await asksOf(work, id)
    expect(second.map(({ stage, key }) => `${stage} ${key}`)).toEqual(['end 1.0'])
    for (const staged of second) await work.answer(attempt(staged))
    expect(await work.advance(id)).toEqual({ next: 'done' })

    const end = await only(published)
    expect(end.verdict).toMatchObject({ id: 'talk~P~r1', label: 'good', rationale: 'first second last', final: false })
    expect(end.transcript.turns.map(({ round: at, stage, answer }) => ({ at, stage, answer }))).toEqual([
      { at: 0, stage: 'word', answer: { word: 'first' } },
      { at: 0, stage: 'word', answer: { word: 'second' } },
      { at: 1, stage: 'end', answer: { word: 'last' } },
    ])
    expect(requests).toHaveLength(3)
    expect(events().filter(({ name }) => name === 'case:concluded')).toHaveLength(1)
  })

  test('goes on from the journal in another worker, without a call made twice', async () => {
    const { worker, id, published, requests } = await caseOf()
    const before = worker()
    const [first] = await asksOf(before, id)
    if (first === undefined) throw new Error('no ask')
    await before.answer(attempt(first))
    await workOff(worker(), id)
    const end = await only(published)
    expect(end.verdict.rationale).toBe('first second last')
    expect(requests).toHaveLength(3)
  })

  test('waits, with all of its asks, while other large cases are being judged here', async () => {
    const { worker, id, cases, published } = await caseOf()
    const made = worker({ cases: { ...cases, recordLength: async () => 9_000_000 } })
    const [first] = await asksOf(worker(), id)
    if (first === undefined) throw new Error('no ask')
    const other = { ...first, caseId: 'talk~other~r1' }
    const [own, ofOther, otherCase] = await Promise.all([
      made.answer(attempt(first)),
      made.answer(attempt(other)),
      made.advance(other.caseId),
    ])
    expect(own).toMatchObject({ end: 'done' })
    expect(ofOther).toMatchObject({ end: 'deferred', why: 'other large threads are being judged' })
    expect(otherCase).toMatchObject({ next: 'later' })
    expect(await made.answer(attempt(other))).toMatchObject({ end: 'done' })
    await workOff(made, id)
    expect((await only(published)).verdict.rationale).toBe('first second last')
  })

  test('answers an ask once, though its job runs twice', async () => {
    const { worker, id, requests } = await caseOf()
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    await work.answer(attempt(first))
    await asksOf(work, id)
    expect(await worker().answer(attempt(first))).toMatchObject({ end: 'done' })
    expect(requests).toHaveLength(1)
  })

  test('is to be advanced by the answer that ends its round, and by no other', async () => {
    const { worker, id } = await caseOf()
    const [one, other] = [worker(), worker()]
    const [first, second] = await asksOf(one, id)
    if (first === undefined || second === undefined) throw new Error('no asks')
    // Another process answers the second ask.
    expect(await other.answer(attempt(second))).toEqual({ end: 'done', outcome: 'answered', advance: false })
    expect(await one.answer(attempt(first))).toEqual({ end: 'done', outcome: 'answered', advance: true })
    for (const last of await asksOf(one, id)) expect(await one.answer(attempt(last))).toMatchObject({ advance: true })
  })

  test('is advanced by the job that runs again, where a worker died between the last answer and the next round', async () => {
    const { worker, id, requests, published } = await caseOf()
    const dead = worker()
    const [first, second] = await asksOf(dead, id)
    if (first === undefined || second === undefined) throw new Error('no asks')
    await dead.answer(attempt(first))
    // Its round still has an open ask: nothing is to be done.
    expect(await worker().answer(attempt(first))).toEqual({ end: 'done', outcome: 'stale', advance: false })
    await dead.answer(attempt(second))
    expect(await worker().answer(attempt(second))).toEqual({ end: 'done', outcome: 'stale', advance: true })
    await workOff(worker(), id)
    // After its last round too.
    expect(requests).toHaveLength(3)
    await only(published)
    expect(await worker().answer(attempt(second))).toEqual({ end: 'done', outcome: 'stale', advance: false })
  })

  test('is asked once by a process whose job runs a second time while the first still runs', async () => {
    const { worker, id, requests } = await caseOf()
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    const [one, other] = await Promise.all([work.answer(attempt(first)), work.answer(attempt(first))])
    expect([one, other]).toEqual([
      { end: 'done', outcome: 'answered', advance: false },
      { end: 'deferred', delayMs: 1_000, why: expect.any(String) },
    ])
    expect(await work.answer(attempt(first))).toEqual({ end: 'done', outcome: 'stale', advance: false })
    expect(requests).toHaveLength(1)
  })

  test('is not asked again what it was answered, though this process believes that it is open', async () => {
    const { worker, id, cases, requests } = await caseOf()
    const [late, other] = [worker(), worker()]
    const [first, second] = await asksOf(late, id)
    if (first === undefined || second === undefined) throw new Error('no asks')
    // A second advance sees the round as it was before an answer that another process gives meanwhile.
    const before = await cases.take(id)
    await other.answer(attempt(first))
    const stale = worker({ cases: { ...cases, take: async () => before } })
    await stale.advance(id)
    expect(await stale.answer(attempt(first))).toEqual({ end: 'done', outcome: 'stale', advance: false })
    expect(await late.answer(attempt(first))).toEqual({ end: 'done', outcome: 'stale', advance: false })
    expect(requests).toHaveLength(1)
  })

  test('says what it waits for, without being taken over', async () => {
    const { worker, id, cases } = await caseOf()
    const work = worker()
    const group = {
      protocol: 'talk',
      stage: 'word',
      caseId: id,
      share: expect.any(String),
      run: 0,
      name: '0',
      keys: ['0.0', '0.1'],
    }
    expect(await worker().pending(id)).toEqual([group])
    expect((await cases.peek(id))?.epoch).toBe(0)
    const [first, second] = await asksOf(work, id)
    if (first === undefined || second === undefined) throw new Error('no asks')
    await work.answer(attempt(first))
    for (const one of [work, worker()]) expect(await one.pending(id)).toEqual([{ ...group, keys: ['0.1'] }])
    await work.answer(attempt(second))
    for (const one of [work, worker()])
      expect(await one.pending(id)).toMatchObject([{ stage: 'end', name: '1', keys: ['1.0'] }])
    // Another process restarts it: what this one has in memory is of an earlier run.
    const again = await cases.take(id)
    if (again === null) throw new Error('no case')
    await cases.restart(id, again.epoch, again.record)
    for (const one of [work, worker()]) expect(await one.pending(id)).toEqual([{ ...group, run: 1 }])
    expect(await work.pending('talk~Q~r1')).toBeNull()
  })

  test('counts usage and names every call, those that failed among them', async () => {
    const failures = [new RetryLaterError('unavailable', 'status 500'), undefined, undefined, reply('no JSON at all')]
    const { worker, id, published, requests } = await caseOf({
      model: (request, nth) => failures[nth - 1] ?? echo(request),
    })
    const work = worker()
    const [first, second] = await asksOf(work, id)
    if (first === undefined || second === undefined) throw new Error('no asks')
    expect(await work.answer(attempt(first))).toEqual({ end: 'again', why: 'unavailable: status 500' })
    await work.answer(attempt(first, { number: 2 }))
    await work.answer(attempt(second))
    await workOff(work, id)
    const { verdict: decided, transcript: argued } = await only(published)
    expect(requests).toHaveLength(5)
    // Tokens are known of answered calls only: four of the five.
    expect(decided.usage).toMatchObject({ calls: 5, promptTokens: 400, cachedTokens: 160, completionTokens: 40 })
    expect(argued.turns.map(({ calls }) => calls.map(({ outcome }) => outcome))).toEqual([
      ['unavailable', 'answered'],
      ['answered'],
      ['unreadable', 'answered'],
    ])
    expect(argued.turns.flatMap(({ calls }) => calls.map((call) => call.id)).sort()).toEqual(
      requests.map(({ callId }) => callId).sort(),
    )
  })

  test('keeps on its bill what an unreadable answer cost whose repair failed', async () => {
    const said = [reply('no JSON at all'), new RetryLaterError('unavailable', 'status 500')]
    const { worker, id, published } = await caseOf({ model: (request, nth) => said[nth - 1] ?? echo(request) })
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    expect(await work.answer(attempt(first))).toEqual({ end: 'again', why: expect.any(String) })
    await workOff(work, id)
    const { verdict: decided, transcript: argued } = await only(published)
    expect(decided.usage).toMatchObject({ calls: 5, promptTokens: 400, cachedTokens: 160, completionTokens: 40 })
    expect(argued.turns.map(({ usage }) => [usage.calls, usage.promptTokens])).toEqual([
      [3, 200],
      [1, 100],
      [1, 100],
    ])
  })

  test('keeps on its bill the call whose answer came second, where the first worker died before it could go on', async () => {
    const { worker, id, cases, published, requests } = await caseOf()
    const dead = worker()
    for (const staged of await asksOf(dead, id)) await dead.answer(attempt(staged))
    const [last] = await asksOf(dead, id)
    if (last === undefined) throw new Error('no ask')
    const late = worker({
      cases: {
        ...cases,
        async answer(...given) {
          await dead.answer(attempt(last))
          return cases.answer(...given)
        },
      },
    })
    expect(await late.answer(attempt(last))).toEqual({ end: 'done', outcome: 'stale', advance: true })
    expect(await late.advance(id)).toEqual({ next: 'done' })
    const { verdict: decided } = await only(published)
    expect(decided.usage.calls).toBe(requests.length)
  })

  test('keeps on its bill what the answers cost of an ask that failed for good', async () => {
    const said = [reply('no JSON at all'), new PermanentError('content-filter', 'kept back')]
    const { worker, id, published } = await caseOf({ model: (request, nth) => said[nth - 1] ?? echo(request) })
    await workOff(worker(), id)
    const { verdict: decided } = await only(published)
    expect(decided).toMatchObject({ label: null, usage: { calls: 3, promptTokens: 200, completionTokens: 20 } })
  })
})

test('a worker whose conclusion the store does not take just now comes back with it', async () => {
  const { worker, id, cases, published, events } = await caseOf()
  let refusals = 1
  const unwilling: CaseStore = {
    ...cases,
    conclude: async (record, epoch, end) => refusals-- <= 0 && cases.conclude(record, epoch, end),
  }
  const working = worker({ cases: unwilling })
  const ends: unknown[] = []
  for (let step = 0; step < 4; step++) {
    const advanced = await working.advance(id)
    ends.push(advanced.next)
    for (const ask of asksIn(advanced)) await working.answer(attempt(ask))
  }
  expect(ends).toEqual(['asks', 'asks', 'later', 'done'])
  expect(events().filter(({ name }) => name === 'case:fenced')).toEqual([])
  await only(published)
})

test('a worker that may take no case over just now comes back, and it counts for nothing', async () => {
  const { worker, id, cases, published } = await caseOf({ settings: { maxTakeovers: 3 } })
  let still = 50
  const unwilling: CaseStore = {
    ...cases,
    take: async (...which) => {
      if (still-- > 0) throw new StoreSuspended()
      return cases.take(...which)
    },
  }
  const working = worker({ cases: unwilling })
  for (let step = 0; step < 50; step++) expect((await working.advance(id)).next).toBe('later')
  await workOff(working, id)
  expect((await only(published)).verdict).toMatchObject({ label: 'good' })
})

test('a case that restarts while it is concluded keeps its job', async () => {
  const { worker, id, cases, published } = await caseOf()
  const overtaken: CaseStore = {
    ...cases,
    async conclude(record, epoch, end) {
      await cases.restart(record.id, epoch, record)
      await cases.take(record.id)
      return cases.conclude(record, epoch, end)
    },
  }
  const working = worker({ cases: overtaken })
  const ends: string[] = []
  for (let step = 0; step < 3; step++) {
    const advanced = await working.advance(id)
    ends.push(advanced.next)
    for (const ask of asksIn(advanced)) await working.answer(attempt(ask))
  }
  expect(ends).toEqual(['asks', 'asks', 'later'])
  await workOff(worker(), id)
  await only(published)
})

test('a case that is given up has its calls on its bill', async () => {
  const { worker, id, published, requests } = await caseOf({ settings: { maxTakeovers: 1 } })
  const working = worker()
  const first = await working.advance(id)
  for (const ask of asksIn(first)) await working.answer(attempt(ask))
  await workOff(working, id)
  const { verdict: given } = await only(published)
  expect(given).toMatchObject({ label: null, usage: { calls: requests.length } })
  expect(requests.length).toBeGreaterThan(0)
})

describe('a fenced worker', () => {
  test('has its conclusion thrown away, and says so', async () => {
    const { worker, id, cases, published, events } = await caseOf()
    const late: CaseStore = {
      ...cases,
      async conclude(record, epoch, end) {
        await cases.take(record.id)
        return cases.conclude(record, epoch, end)
      },
    }
    await workOff(worker({ cases: late }), id)
    expect(await published()).toEqual([])
    expect(events().filter(({ name }) => name === 'case:fenced')).toHaveLength(1)
    expect(events().filter(({ name }) => name === 'case:concluded')).toHaveLength(0)
    await workOff(worker(), id)
    await only(published)
  })

  test('writes no answer into a run that was restarted meanwhile', async () => {
    const { worker, id, cases } = await caseOf()
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    const taken = await cases.take(id)
    if (taken === null) throw new Error('no case')
    await cases.restart(id, taken.epoch, taken.record)
    // Whoever restarted it goes on with it.
    expect(await work.answer(attempt(first))).toEqual({ end: 'done', outcome: 'stale', advance: false })
    expect((await cases.peek(id))?.journal.size).toBe(0)
  })
})

describe('a case of other versions', () => {
  test('that is older is restarted under the new ones', async () => {
    const { worker, id, published } = await caseOf()
    const before = worker()
    for (const staged of await asksOf(before, id)) await before.answer(attempt(staged))
    await workOff(worker({ protocol: protocolOf({ version: 2, promptsHash: 'q' }) }), id)
    const { verdict: decided } = await only(published)
    expect(decided.versions).toEqual({ gavel: 'test', script: 2, prompts: 'q', settings: 's' })
  })

  test('keeps the calls of the run that was thrown away on its bill', async () => {
    const { worker, id, published, requests } = await caseOf()
    const before = worker()
    for (const staged of await asksOf(before, id)) await before.answer(attempt(staged))
    await workOff(worker({ protocol: protocolOf({ version: 2 }) }), id)
    const { verdict: decided, transcript: argued } = await only(published)
    expect(requests).toHaveLength(5)
    expect(decided.usage).toMatchObject({ calls: 5, promptTokens: 500, completionTokens: 50 })
    expect(argued.turns.flatMap(({ calls }) => calls)).toHaveLength(5)
  })

  test('ends under its own where they were replaced in this process, and the next one under the new ones', async () => {
    const { worker, id, published, requests } = await caseOf()
    const { protocols, replace } = generations([protocolOf()])
    const own = () => worker({ protocol: protocols[0] as Protocol })
    for (const staged of await asksOf(own(), id)) await own().answer(attempt(staged))
    for (const promptsHash of ['q', 'r', 'q']) replace([protocolOf({ promptsHash })])
    // A process that has nothing of it in memory.
    expect((await own().pending(id))?.length).toBe(1)
    await workOff(own(), id)
    expect((await only(published)).verdict).toMatchObject({ label: 'good', degraded: [], versions: { prompts: 'p' } })
    expect(requests).toHaveLength(3)
    expect(versionsOf(protocols[0] as Protocol)).toEqual({ script: 1, prompts: 'q', settings: 's' })
  })

  test('of which too many were replaced since is handed back like one of another process', async () => {
    const { worker, id } = await caseOf()
    const { protocols, replace } = generations([protocolOf()])
    for (const promptsHash of ['q', 'r', 's', 't', 'u']) replace([protocolOf({ promptsHash })])
    expect((await worker({ protocol: protocols[0] as Protocol }).advance(id)).next).toBe('later')
  })

  test('of the same script is handed back for a while and then restarted', async () => {
    const { worker, id, clock, published } = await caseOf()
    const work = worker({ protocol: protocolOf({ settingsHash: 'other' }) })
    expect(await work.advance(id)).toEqual({ next: 'later', delayMs: expect.any(Number) })
    clock.now += SETTINGS.handBack
    await workOff(work, id)
    expect((await only(published)).verdict.versions.settings).toBe('other')
  })

  test('of the same script, before workers of two kinds that both wait no longer, is restarted once and judged', async () => {
    const { worker, id, clock, published, requests } = await caseOf()
    const kinds = ['old', 'new'].map((promptsHash) => worker({ protocol: protocolOf({ promptsHash }) }))
    clock.now += SETTINGS.handBack
    let ends = 0
    for (let turn = 0; turn < 40 && ends === 0; turn++) {
      const work = kinds[turn % 2]
      const advance = await work?.advance(id)
      if (advance?.next === 'done') ends++
      if (advance !== undefined) for (const staged of asksIn(advance)) await work?.answer(attempt(staged))
      clock.now += 1_000
    }
    expect(ends).toBe(1)
    // The three calls of one run, and none of another.
    expect(requests).toHaveLength(3)
    expect((await only(published)).verdict).toMatchObject({ label: 'good', degraded: [] })
  })

  test('that is newer is handed back however often, and then judged by a newer worker', async () => {
    const { worker, id, clock, published } = await caseOf({}, { versions: { script: 2, prompts: 'p', settings: 's' } })
    const old = worker()
    // A slow roll-out: older workers see it far more often than a case may be taken over.
    for (let seen = 0; seen < SETTINGS.maxTakeovers * 2; seen++) {
      expect((await old.advance(id)).next).toBe('later')
      clock.now += 1_000
    }
    await workOff(worker({ protocol: protocolOf({ version: 2 }) }), id)
    expect((await only(published)).verdict).toMatchObject({ label: 'good', degraded: [] })
  })

  test('has its asks deferred by a worker of another version, at no attempt’s cost', async () => {
    const { worker, id, requests } = await caseOf()
    const [first] = await asksOf(worker(), id)
    if (first === undefined) throw new Error('no ask')
    const other = worker({ protocol: protocolOf({ version: 2 }) })
    expect(await other.answer(attempt(first, { last: true }))).toEqual({
      end: 'deferred',
      delayMs: expect.any(Number),
      why: expect.stringMatching(/other versions/),
    })
    expect(await other.pending(id)).toEqual([])
    expect(requests).toEqual([])
  })

  test('restarts under this one’s versions where nobody with its own has answered in time', async () => {
    const { worker, id, clock, published } = await caseOf()
    const [first] = await asksOf(worker(), id)
    if (first === undefined) throw new Error('no ask')
    const newer = worker({ protocol: protocolOf({ version: 2 }) })
    clock.now += SETTINGS.handBack
    expect(await newer.answer(attempt(first))).toEqual({ end: 'done', outcome: 'retry', advance: true })
    await workOff(newer, id)
    expect((await only(published)).verdict.versions.script).toBe(2)
  })

  test('and newer is nobody’s here: its asks are deferred for ever, and nothing is said of what it waits for', async () => {
    const { worker, id, clock } = await caseOf()
    const newer = worker({ protocol: protocolOf({ version: 2 }) })
    const [first] = await asksOf(newer, id)
    if (first === undefined) throw new Error('no ask')
    clock.now += 10 * SETTINGS.handBack
    expect((await worker().answer(attempt(first))).end).toBe('deferred')
    expect(await worker().pending(id)).toBeNull()
  })
})

describe('what goes wrong on the way', () => {
  test('past its deadline the case makes no call and ends with the failure’s name', async () => {
    const { worker, id, clock, published, requests } = await caseOf({}, { deadline: T0 + HOUR })
    const work = worker()
    const asks = await asksOf(work, id)
    clock.now = T0 + HOUR
    for (const staged of asks) expect(await work.answer(attempt(staged))).toMatchObject({ end: 'done' })
    await workOff(work, id)
    expect(requests).toEqual([])
    const { verdict: decided, transcript: argued } = await only(published)
    expect(decided).toMatchObject({ label: null, decidedBy: 'none', degraded: ['word failed: deadline'] })
    expect(argued.turns.map(({ failed }) => failed?.code)).toEqual(['deadline', 'deadline'])
  })

  test('a wait that somebody imposed costs no attempt, not even the last', async () => {
    const { worker, id, cases } = await caseOf({
      model: () => new RetryLaterError('rate-limited', 'status 429', { delayMs: 7_000, costsAttempt: false }),
    })
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    expect(await work.answer(attempt(first, { number: 5, last: true }))).toMatchObject({
      end: 'deferred',
      delayMs: 7_000,
    })
    expect((await cases.peek(id))?.journal.size).toBe(0)
  })

  test('waits that an endpoint imposes grow with the time deferred, so that the tries of an ask are few', async () => {
    const { worker, id } = await caseOf({
      model: () => new RetryLaterError('rate-limited', 'status 429', { delayMs: 0.01, costsAttempt: false }),
    })
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    let [heldMs, tries] = [0, 0]
    for (; heldMs < 600_000; tries++) {
      const end = await work.answer(attempt(first, { heldMs }))
      if (end.end !== 'deferred') throw new Error('it was not deferred')
      heldMs += end.delayMs
    }
    expect(tries).toBeGreaterThan(5)
    expect(tries).toBeLessThan(30)
  })

  test('a busy endpoint that names no wait is asked after one to two seconds, and later on if others are not answered', () => {
    const wait = (heldMs: number, over: { grows?: boolean; delayMs?: number } = {}) =>
      waitOf(
        new RetryLaterError('rate-limited', 'status 429', { costsAttempt: false, ...over }),
        { heldMs, leftMs: HOUR },
        () => 0.5,
      )
    expect([0, 1_000, 60_000].map((heldMs) => wait(heldMs))).toEqual([1_500, 1_500, 30_000])
    expect(wait(60_000, { grows: false })).toBe(1_500)
    expect([wait(0, { delayMs: 7 }), wait(60_000, { delayMs: 7, grows: false })]).toEqual([100, 100])
  })

  test('a busy endpoint that names no wait is asked until right before the deadline: no wait grows past it', async () => {
    const { worker, id, clock } = await caseOf(
      { model: () => new RetryLaterError('rate-limited', 'status 429', { costsAttempt: false }) },
      { deadline: T0 + HOUR },
    )
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    let [tries, lastAt] = [0, 0]
    for (;;) {
      tries++
      const end = await work.answer(attempt(first, { heldMs: clock.now - T0, last: true }))
      if (end.end !== 'deferred') break
      lastAt = clock.now
      clock.now += end.delayMs
    }
    expect(T0 + HOUR - lastAt).toBeLessThan(5_000)
    expect(tries).toBeLessThan(50)
  })

  test.each(['load', 'unreachable', 'publication'] as const)(
    'who waits for its model or for publication (%s) comes back while there is time, to have the deadline put off',
    (awaits) => {
      const error = new RetryLaterError('rate-limited', 'wait', { costsAttempt: false, delayMs: 7 * HOUR, awaits })
      expect(waitOf(error, { heldMs: 0, leftMs: 600_000 })).toBe(300_000)
      expect(waitOf(error, { heldMs: HOUR, leftMs: 100 })).toBe(1_000)
    },
  )

  test('a wait of our own, for a limit, is as long as it has to be', async () => {
    const { worker, id } = await caseOf({
      model: () => new RetryLaterError('limited', 'the limit is reached', { delayMs: 5, costsAttempt: false }),
    })
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    expect(await work.answer(attempt(first, { heldMs: 60_000 }))).toMatchObject({ end: 'deferred', delayMs: 5 })
  })

  test.each([
    ['beyond', 2 * HOUR],
    ['just to', HOUR - 5],
  ])('a wait %s the deadline is not waited for', async (_, delayMs) => {
    const { worker, id, cases } = await caseOf({
      model: () => new RetryLaterError('rate-limited', 'status 429', { delayMs, costsAttempt: false }),
    })
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    expect(await work.answer(attempt(first))).toMatchObject({ end: 'done' })
    expect((await cases.peek(id))?.journal.get('0.0')?.failed?.code).toBe('deadline')
  })

  test('the last attempt journals the failure under its name, with its calls', async () => {
    const { worker, id, published, requests } = await caseOf({
      model: () => new RetryLaterError('timeout', 'no answer within 1000 ms'),
    })
    const work = worker()
    for (const staged of await asksOf(work, id)) {
      expect(await work.answer(attempt(staged))).toEqual({ end: 'again', why: expect.any(String) })
      expect(await work.answer(attempt(staged, { number: 2, last: true }))).toMatchObject({ end: 'done' })
    }
    await workOff(work, id)
    const { verdict: decided, transcript: argued } = await only(published)
    expect(decided).toMatchObject({ label: null, degraded: ['word failed: timeout'], usage: { calls: 4 } })
    expect(requests).toHaveLength(4)
    expect(argued.turns.map(({ calls }) => calls.map(({ outcome }) => outcome))).toEqual([
      ['timeout', 'timeout'],
      ['timeout', 'timeout'],
    ])
  })

  test('a refused request fails at once', async () => {
    const { worker, id, cases } = await caseOf({ model: () => new PermanentError('rejected', 'status 401') })
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    expect(await work.answer(attempt(first))).toMatchObject({ end: 'done' })
    expect((await cases.peek(id))?.journal.get('0.0')).toMatchObject({
      failed: { code: 'rejected' },
      calls: [{ outcome: 'rejected' }],
    })
  })

  describe('where the operator has to mend something', () => {
    const CASE = { deadline: 600_000, mostHeld: 3_600_000 }
    const TIMES = { openedAt: T0, deadline: T0 + CASE.deadline }
    const refusal = () => new PermanentError('rejected', 'status 429: no quota', { operatorAction: 'quota' })

    test('a service holds the ask past its case’s deadline, and once that is mended it is answered, in any process', async () => {
      const mended = { is: false }
      const model: Model = (request) => (mended.is ? echo(request) : refusal())
      const { worker, id, clock, published, cases, requests } = await caseOf({ model }, TIMES)
      const waiting = worker({ deadlineSettings: CASE })
      const asks = await asksOf(waiting, id)
      for (let minute = 0; minute < 30; minute++) {
        clock.now += 60_000
        for (const staged of asks)
          expect(await waiting.answer(attempt(staged, { last: true, heldMs: 60_000 * minute }))).toMatchObject({
            end: 'deferred',
            why: expect.stringContaining('operator'),
          })
      }
      mended.is = true
      clock.now += 60_000
      await workOff(worker({ deadlineSettings: CASE }), id)
      const { verdict: decided } = await only(published)
      expect(decided).toMatchObject({ label: 'good', degraded: [], usage: { calls: requests.length } })
      // The model was left alone, but for a probe a minute.
      expect(requests.length).toBeLessThan(2 + 31 + 10)
      expect(await cases.unansweredUntil('talk')).toBeGreaterThanOrEqual(T0 + 30 * 60_000)
    })

    test('no call is made while its verdict can’t be published, and no time passes for it', async () => {
      const { worker, id, clock, requests, published } = await caseOf({}, TIMES)
      const gate = { closed: null as string | null }
      const work = worker({ deadlineSettings: CASE, gate })
      const [first, second] = await asksOf(work, id)
      expect(await work.answer(attempt(first as StagedAsk))).toMatchObject({ end: 'done' })
      gate.closed = 'set kafka.compression'
      for (let minute = 0; minute < 30; minute++) {
        expect(await work.answer(attempt(second as StagedAsk, { last: true }))).toMatchObject({
          end: 'deferred',
          why: expect.stringContaining('set kafka.compression'),
        })
        clock.now += 60_000
      }
      expect(requests).toHaveLength(1)
      gate.closed = null
      await workOff(work, id)
      const { verdict: decided } = await only(published)
      expect(decided).toMatchObject({ label: 'good', degraded: [], usage: { calls: 3 } })
    })

    test('it waits no longer than the settings say, and then it is the operator’s fault', async () => {
      const { worker, id, clock, published } = await caseOf({ model: refusal }, TIMES)
      const waiting = worker({ deadlineSettings: { ...CASE, mostHeld: 1_200_000 } })
      const asks = await asksOf(waiting, id)
      const ends = []
      for (let minute = 0; minute < 40; minute++) {
        clock.now += 60_000
        ends.push((await waiting.answer(attempt(asks[0] as StagedAsk))).end)
      }
      expect(ends.indexOf('done')).toBe(29)
      for (const staged of asks.slice(1)) await waiting.answer(attempt(staged))
      await workOff(waiting, id)
      const { verdict: decided } = await only(published)
      expect(decided).toMatchObject({ label: null, degraded: ['word failed: deadline'], faults: ['ours'] })
    })

    test('a command ends the ask at once', async () => {
      const { worker, id, cases } = await caseOf({ model: refusal })
      const work = worker()
      const [first] = await asksOf(work, id)
      expect(await work.answer(attempt(first as StagedAsk))).toMatchObject({ end: 'done' })
      expect((await cases.peek(id))?.journal.get('0.0')).toMatchObject({ failed: { code: 'rejected' } })
    })
  })

  test('an attempt that is stopped is deferred for somebody else, and its call is not forgotten', async () => {
    const stopping = new AbortController()
    const { worker, id, cases } = await caseOf({
      model: () => {
        stopping.abort(new Error('the service is stopping'))
        return new RetryLaterError('aborted', 'the call was stopped', { costsAttempt: false, delayMs: 0 })
      },
    })
    const work = worker()
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    const end = await work.answer(attempt(first, { last: true, signal: stopping.signal }))
    expect(end).toMatchObject({ end: 'deferred', delayMs: 0 })
    expect((await cases.peek(id))?.lostCalls).toMatchObject([{ key: '0.0', outcome: 'aborted' }])
  })

  test('a script that throws ends the case without a label and without the words of the subject', async () => {
    const thrown: Protocol['script'] = () => {
      throw new RangeError('what P says')
    }
    const { worker, id, published } = await caseOf({ protocol: protocolOf({ script: thrown }) })
    await workOff(worker(), id)
    const { verdict: decided } = await only(published)
    expect(decided).toMatchObject({ label: null, decidedBy: 'none' })
    expect(decided.degraded.join()).toContain('script failed')
    expect(decided.degraded.join()).not.toContain('what P says')
  })

  test('a script that throws in a later round keeps the calls that were made on its bill', async () => {
    function* thrower(): Script {
      yield* round([ask('word', 'first')])
      throw new TypeError('oh')
    }
    const { worker, id, published, requests } = await caseOf({ protocol: protocolOf({ script: thrower }) })
    await workOff(worker(), id)
    const { verdict: decided } = await only(published)
    expect(requests).toHaveLength(1)
    expect(decided.label).toBeNull()
    expect(decided.usage.calls).toBe(1)
  })

  test('a case that was taken over too often is abandoned without a label', async () => {
    const { worker, id, cases, published, requests } = await caseOf({ settings: { maxTakeovers: 3 } })
    for (let death = 0; death < 3; death++) await cases.take(id)
    await workOff(worker(), id)
    expect(requests).toEqual([])
    const { verdict: decided } = await only(published)
    expect(decided).toMatchObject({ label: null, decidedBy: 'none' })
    expect(decided.degraded.join()).toContain('none finished; abandoned')
  })
})

describe('a transcript', () => {
  const rambling: Protocol['script'] = function* () {
    const [one] = yield* round([ask('word', `a question ${'"\u0000é'.repeat(30_000)}`)])
    return concluded(one.ok ? one.answer.word : one.code)
  }

  test('stays under its limit and says what was cut', async () => {
    const { worker, id, published } = await caseOf({
      protocol: protocolOf({ script: rambling }),
      settings: { transcriptBytes: 10_000 },
      model: () => reply(JSON.stringify({ word: 'yes' })),
    })
    await workOff(worker(), id)
    const end = await only(published)
    expect(end.bytes).toBeLessThanOrEqual(10_000)
    expect(end.transcript.cut).toHaveLength(1)
    expect(end.transcript.turns).toHaveLength(1)
    expect(JSON.stringify(end.transcript.turns[0]?.messages)).toMatch(/\[cut: \d+ more characters\]/)
  })

  test('keeps every id whole, however much is cut', async () => {
    const postId = 'i'.repeat(512)
    const wordy: Protocol['script'] = function* () {
      yield* round(Array.from({ length: 20 }, (_, at) => ask('word', `question ${at} ${'x'.repeat(1_000)}`)))
      return concluded('so many')
    }
    const { worker, id, published } = await caseOf({
      postId,
      protocol: protocolOf({ script: wordy }),
      settings: { transcriptBytes: 15_000 },
      model: () => reply(JSON.stringify({ word: 'yes' })),
    })
    await workOff(worker(), id)
    const end = await only(published)
    expect(end.bytes).toBeLessThanOrEqual(15_000)
    expect(end.transcript.turns).toHaveLength(20)
    expect(end.transcript.verdictId).toBe(end.verdict.id)
    expect(end.transcript.subject).toMatchObject({ post: { id: postId } })
  })

  test('is whole and says nothing of cuts where everything fits', async () => {
    const words = `a question ${'"\u0000é'.repeat(30_000)}`
    const { worker, id, published } = await caseOf({
      protocol: protocolOf({ script: rambling }),
      settings: { transcriptBytes: 2_000_000 },
      model: () => reply(JSON.stringify({ word: 'yes' })),
    })
    await workOff(worker(), id)
    const end = await only(published)
    expect(end.transcript.cut).toEqual([])
    const [message] = end.transcript.turns[0]?.messages ?? []
    expect(message !== undefined && 'content' in message && message.content.startsWith(words)).toBe(true)
  })

  test('falls back to a bare one where even the shortest texts are too much', async () => {
    const chatty: Protocol['script'] = function* () {
      yield* round(Array.from({ length: 400 }, (_, at) => ask('word', `question ${at}`)))
      return concluded('so many')
    }
    const { worker, id, published } = await caseOf({
      protocol: protocolOf({ script: chatty }),
      settings: { transcriptBytes: 10_000 },
    })
    await workOff(worker(), id)
    const end = await only(published)
    expect(end.bytes).toBeLessThanOrEqual(10_000)
    expect(end.transcript).toMatchObject({ verdictId: id, turns: [], cut: [expect.stringContaining('left out')] })
  })
})

describe('the report of an ask', () => {
  const endsOf = (events: { name: string; event: unknown }[]) =>
    events.flatMap(({ name, event }) => (name === 'ask:ended' ? [event] : []))

  test('says how long it took and how it ended', async () => {
    const model = (_: ModelRequest, nth: number) =>
      nth === 2 ? new PermanentError('refused', 'no') : reply('{"word": "so"}')
    const { worker, id, events } = await caseOf({ model })
    await workOff(worker(), id)
    const one = { protocol: 'talk', stage: 'word', seconds: 0.005 }
    expect(endsOf(events())).toEqual([
      { ...one, outcome: 'answered', caseId: 'talk~P~r1', key: '0.0' },
      { ...one, outcome: 'failed', caseId: 'talk~P~r1', key: '0.1' },
    ])
  })

  test('calls one stale whose answer came too late', async () => {
    const { worker, id, events, cases } = await caseOf()
    const work = worker({ cases: { ...cases, answer: async () => ({ outcome: 'stale', answers: 0 }) } })
    const [first] = await asksOf(work, id)
    if (first === undefined) throw new Error('no ask')
    await work.answer(attempt(first))
    expect(endsOf(events())).toMatchObject([{ outcome: 'stale' }])
  })
})

describe('around the case', () => {
  test('the reconciler gives a case without a job one, and only then', async () => {
    const { worker, id, cases, report, clock, published, events } = await caseOf()
    const queues = memoryQueues({
      stages: ['word', 'end'].map((stage) => ({ protocol: 'talk', stage })),
      attempts: 2,
      backoffMs: 1,
      clock: () => clock.now,
      report,
    })
    const reconcile = reconciler({ cases, queues, pending: worker().pending, report, idleMs: 15_000 })
    expect(await reconcile()).toBe(0)
    clock.now += 60_000
    expect(await reconcile()).toBe(1)
    // It has a job now, which waits for a worker.
    expect(await reconcile()).toBe(0)
    expect(events().filter(({ name }) => name === 'case:revived')).toEqual([
      { name: 'case:revived', event: { caseId: id } },
    ])
    queues.work(worker())
    await expect.poll(() => cases.countOpen()).toBe(0)
    await only(published)
    await queues.close(0)
  })

  test('a deletion while the case is open leaves one verdict, which says so', async () => {
    const { worker, id, ref, threads, cases, published } = await caseOf()
    const work = worker()
    const asks = await asksOf(work, id)
    await threads.deletePost(ref, retractionOf(ref))
    for (const staged of asks) expect(await work.answer(attempt(staged))).toMatchObject({ end: 'done' })
    expect(await work.advance(id)).toEqual({ next: 'done' })
    expect(await cases.countOpen()).toBe(0)
    const all = await published()
    expect(all.map(({ verdict: decided }) => JSON.parse(decided))).toMatchObject([
      { id: 'talk~P~r2', degraded: ['deleted'] },
    ])
  })

  test('a job of a case that nobody knows is done', async () => {
    const { worker } = await caseOf()
    const staged = { protocol: 'talk', stage: 'word', caseId: 'talk~Q~r1', run: 0, key: '0.0' }
    expect(await worker().advance('talk~Q~r1')).toEqual({ next: 'done' })
    expect(await worker().answer(attempt(staged))).toMatchObject({ end: 'done' })
  })
})

describe('a look into the library', () => {
  function* looking(): Script {
    const [found] = yield* round([lookup('word', { text: 'the words', shelves: ['a', 'b'], k: 2 })])
    if (!found.ok) return concluded(`lookup failed: ${found.code}`, null)
    return concluded(found.answer.shelves.map(({ neighbours }) => neighbours.map(({ id }) => id).join()).join(' '))
  }
  const item = (id: string) => ({ id, text: `text of ${id}`, label: 'x', similarity: 0.5, metadata: {} })

  test('is answered once, journaled, and costs no model call', async () => {
    const asked: unknown[] = []
    const library: Pick<Library, 'find' | 'embedder'> = {
      embedder: 'e',
      async find(wanted, subject) {
        asked.push({ ...wanted, subject })
        const shelves = wanted.shelves.map((shelf) => ({ shelf, neighbours: [item(`${shelf}1`)], problem: null }))
        return { shelves, weak: null, tokens: 7 }
      },
    }
    const { worker, id, requests, published } = await caseOf({ protocol: protocolOf({ script: looking }), library })
    await workOff(worker(), id)
    const { verdict: decided, transcript: argued } = await only(published)
    expect(decided).toMatchObject({
      rationale: 'a1 b1',
      usage: { calls: 0, promptTokens: 7 },
      models: { library: 'e' },
    })
    expect(asked).toEqual([
      { text: 'the words', shelves: ['a', 'b'], k: 2, subject: { tenant: 'default', id: 'P', kind: 'post' } },
    ])
    expect(requests).toEqual([])
    expect(argued.turns).toMatchObject([{ stage: 'word', role: 'library', messages: [], calls: [] }])
    expect(JSON.stringify(argued.turns[0]?.answer)).toContain('text of a1')
  })

  test('is not made of words that were deleted meanwhile', async () => {
    let asked = 0
    const library: Pick<Library, 'find' | 'embedder'> = {
      embedder: 'e',
      async find() {
        asked++
        return { shelves: [], weak: null, tokens: 0 }
      },
    }
    const { worker, id, cases } = await caseOf({ protocol: protocolOf({ script: looking }), library })
    const mine = worker()
    const [only] = await asksOf(mine, id)
    if (only === undefined) throw new Error('no ask')
    const taken = await cases.take(id)
    await cases.restart(id, taken?.epoch ?? 0, taken?.record ?? missing())
    expect(await mine.answer(attempt(only))).toMatchObject({ end: 'done' })
    expect(asked).toBe(0)
  })

  test('takes no time of a model’s: what shelves take is overhead', async () => {
    let wait = () => {}
    const library: Pick<Library, 'find' | 'embedder'> = {
      embedder: 'e',
      async find() {
        wait()
        return { shelves: [], weak: null, tokens: 7 }
      },
    }
    const { worker, id, clock, published } = await caseOf({ protocol: protocolOf({ script: looking }), library })
    wait = () => {
      clock.now += 10_000
    }
    await workOff(worker(), id)
    const { verdict: decided, transcript: argued } = await only(published)
    expect(decided.timing).toMatchObject({ modelMs: 0, overheadMs: 10_000 })
    expect(argued.turns).toMatchObject([{ ms: 10_000 }])
  })

  test('waits in a service where the embedder’s account is refused, and has failed in a command', async () => {
    const library: Pick<Library, 'find' | 'embedder'> = {
      embedder: 'e',
      find: async () => {
        throw new PermanentError('rejected', 'embeddings: status 401', { operatorAction: 'key' })
      },
    }
    const { worker, id, clock, events } = await caseOf({ protocol: protocolOf({ script: looking }), library })
    const waiting = worker({ deadlineSettings: { deadline: 600_000, mostHeld: 3_600_000 } })
    const [staged] = await asksOf(waiting, id)
    if (staged === undefined) throw new Error('nothing was asked')
    for (let n = 0; n < 12; n++) {
      expect(await waiting.answer(attempt(staged, { last: true }))).toMatchObject({ end: 'deferred' })
      clock.now += 1_000
    }
    // It is left alone, and told as a model is.
    const told = events().filter(({ name }) => name === 'breaker:changed' || name === 'model:away')
    expect(told.map(({ event }) => event)).toMatchObject([
      { model: 'e', to: 'open', reason: 'key' },
      { model: 'e', reason: 'key', why: 'embeddings: status 401', advice: expect.stringContaining('OPENAI_API_KEY') },
    ])
    expect(await worker().answer(attempt(staged))).toEqual({ end: 'done', outcome: 'failed', advance: true })
  })

  test('is tried again where that may help, and then has failed', async () => {
    const library: Pick<Library, 'find' | 'embedder'> = {
      embedder: 'e',
      find: async () => {
        throw new RetryLaterError('unavailable', 'no embeddings now')
      },
    }
    const { worker, id, published } = await caseOf({ protocol: protocolOf({ script: looking }), library })
    const [staged] = await asksOf(worker(), id)
    if (staged === undefined) throw new Error('nothing was asked')
    expect(await worker().answer(attempt(staged))).toEqual({ end: 'again', why: expect.any(String) })
    expect(await worker().answer(attempt(staged, { number: 2, last: true }))).toMatchObject({ end: 'done' })
    await workOff(worker(), id)
    const { verdict: decided } = await only(published)
    expect(decided).toMatchObject({ label: null, degraded: ['lookup failed: unavailable'] })
  })
})
