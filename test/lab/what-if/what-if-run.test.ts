import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../../config/load.ts'
import { askingAnew, StoppedAsking } from '../../../src/app/composition/ask-anew.ts'
import { replayNotes } from '../../../src/app/composition/judging.ts'
import type { Ask } from '../../../src/contracts/facts/ask.ts'
import type { CaseRecord, JournalEntry } from '../../../src/contracts/facts/case.ts'
import { samplingRanks } from '../../../src/contracts/facts/sampling-rank.ts'
import { noUsage, type Usage, verdict } from '../../../src/contracts/facts/verdict.ts'
import { whatIfSentences } from '../../../src/contracts/facts/what-if-words.ts'
import type { RecordedRow } from '../../../src/contracts/ports/record.ts'
import { endOf } from '../../../src/judging/engine/conclude.ts'
import { begin, proceed, scriptOf } from '../../../src/judging/engine/replay.ts'
import { type Protocol, round, type Script } from '../../../src/judging/engine/script.ts'
import type { NewAnswer } from '../../../src/judging/recorded/replay-recorded.ts'
import { withStory } from '../../../src/judging/threads/story.ts'
import { type ReplayedCase, whatIfReport } from '../../../src/lab/what-if/what-if-report.ts'
import { CaseErased, drawnOf, planWhatIf, runWhatIf, type WhatIfParts } from '../../../src/lab/what-if/what-if-run.ts'
import { HOUR, T0 } from '../../contracts/samples.ts'
import { WRITES } from '../../support/verdicts.ts'

const settings = loadSettings({})
const samplingRank = samplingRanks('a key of a test')
const noted = replayNotes(settings, samplingRank)
const [model = ''] = settings.models.roles.default ?? []
const word = z.object({ label: z.enum(['bad', 'good']) })

const say = (role: string, content: string): Ask<z.infer<typeof word>> => ({
  stage: role,
  role,
  messages: [{ role: 'user', content }],
  answer: word,
  temperature: 0,
  maxTokens: 10,
})

/** A speaker, whose answer a judge hears. */
const talkAs = (judging: string): Protocol =>
  ({
    name: 'hate',
    version: 1,
    subject: 'post',
    labels: ['bad', 'good'],
    promptsHash: judging,
    settingsHash: 's',
    *script(subject): Script {
      const { text } = subject as { text: string }
      const [said] = yield* round([say('speaker', text)])
      const heard = said.ok ? said.answer.label : said.code
      const [judged] = yield* round([say('judge', `${judging} ${text} is ${heard}`)])
      const label = judged.ok ? judged.answer.label : null
      const evidence = { support: [], oppose: [], precedents: [] }
      return { ruling: { label, scores: {}, rationale: 'so', decidedBy: 'judge', rounds: 1, evidence, degraded: [] } }
    },
  }) as Partial<Protocol> as Protocol // All of a protocol that a replay asks for.

const USED: Usage = { ...noUsage(), calls: 1, promptTokens: 20, completionTokens: 5, costUsd: 0.1 }

/** What the record has of a case that was judged, as it was written. */
function judged(nth: number, over: Partial<RecordedRow> = {}) {
  const subjectId = `p${nth}`
  const record: CaseRecord = {
    id: `hate~${subjectId}~r1`,
    protocol: 'hate',
    tenant: 'default',
    subjectId,
    kind: 'post',
    revision: 1,
    final: true,
    supersedes: null,
    subject: { text: `text ${nth}` },
    comments: { accepted: 0, cap: 0, late: 0, author: 0 },
    overloaded: false,
    carry: null,
    versions: { script: 1, prompts: 'p', settings: 's' },
    createdAt: T0,
    receivedAt: T0,
    openedAt: T0,
    deadline: T0 + HOUR,
  }
  const journal = new Map<string, JournalEntry>()
  const progress = begin(scriptOf(talkAs('old'), record))
  let state = proceed(progress, journal)
  for (; state.at === 'round'; state = proceed(progress, journal))
    for (const { key, ask } of state.open) {
      const call = { id: key, outcome: 'answered', model, startedAt: T0, ms: 1, spent: USED }
      const { stage, role } = ask
      const around = { raw: null, startedAt: T0, ms: 1, heldMs: 0, memo: false }
      journal.set(key, { stage, role, model, answer: { label: 'good' }, calls: [call], usage: USED, ...around })
    }
  const { ruling } = state.conclusion
  const ended = { record, ruling, asked: state.asked, journal, lostCalls: [], decidedAt: T0 + 1, writes: WRITES, noted }
  const end = endOf(ended, ({ ask }) => [...ask.messages], 1e6)
  const sent = { ...end, verdict: withStory(end.verdict, null) }
  const row: RecordedRow = {
    verdict: verdict.parse(JSON.parse(sent.verdict)),
    sent: sent.verdict,
    standing: true,
    contested: false,
    conflicting: false,
    erased: false,
    sampled: false,
    subject: { tenant: 'default', kind: 'post', postId: subjectId },
    author: null,
    lang: 'en',
    words: `text ${nth}`,
    pictures: 0,
    cursor: String(nth),
    ...over,
  }
  return { row, transcript: JSON.parse(sent.transcript) as Record<string, unknown> }
}

const UNLIMITED = Number.POSITIVE_INFINITY
/** No money is left for it. */
const SPENT: Partial<NewAnswer> = { answer: null, usage: noUsage(), failed: { code: 'budget', detail: 'spent' } }
const WINDOW = { protocol: 'hate', since: 0, until: UNLIMITED }

/** Over so many cases, under a judge that is asked in other words. */
function trying(count: number, change: (transcripts: Map<string, object>, rows: RecordedRow[]) => void = () => {}) {
  const cases = Array.from({ length: count }, (_, nth) => judged(nth))
  const rows = cases.map(({ row }) => row)
  const transcripts = new Map<string, object>(cases.map(({ row, transcript }) => [row.verdict.id, transcript]))
  change(transcripts, rows)
  const asked: string[] = []
  const parts: WhatIfParts = {
    settings,
    protocol: talkAs('new'),
    samplingRank,
    reader: {
      find: async ({ before }) => (before === undefined ? rows : []),
      async transcript(id) {
        const found = transcripts.get(id)
        return found === undefined ? null : JSON.stringify(found)
      },
    },
    signal: new AbortController().signal,
    progress() {},
  }
  const answer = async (content: string, given: Partial<NewAnswer> = {}): Promise<NewAnswer> => {
    asked.push(content)
    return { answer: { label: 'bad' }, model, usage: USED, ...given }
  }
  const run = async (
    limits = { usd: UNLIMITED, cases: UNLIMITED },
    answering: (content: string) => Promise<NewAnswer> = answer,
  ) => {
    const plan = await planWhatIf(parts, WINDOW)
    const drawn = drawnOf(plan, limits, parts)
    const outcome = await runWhatIf(parts, plan, drawn, limits, (_, { ask }) =>
      answering(ask.messages[0]?.content ?? ''),
    )
    return { plan, drawn, outcome }
  }
  return { run, answer, asked, transcripts, parts }
}

describe('a replay', () => {
  test('asks the changed question of each case, and nothing else', async () => {
    const { run, asked } = trying(3)
    const { plan, outcome } = await run()
    expect(asked.toSorted()).toEqual(['new text 0 is good', 'new text 1 is good', 'new text 2 is good'])
    expect(outcome.replayed.map(({ replay }) => replay.ruling.label)).toEqual(['bad', 'bad', 'bad'])
    expect(plan.cases.map(({ newQuestions }) => newQuestions)).toEqual([1, 1, 1])
    expect(outcome.bill).toBeCloseTo(0.3)
  })

  test('asks nothing where nothing changed, nor where only the answer was another model’s of the same chain', async () => {
    const { parts, run, asked } = trying(3)
    Object.assign(parts, { protocol: talkAs('old') })
    const { outcome } = await run()
    expect([asked, outcome.replayed.map(({ replay }) => replay.ruling.label)]).toEqual([[], ['good', 'good', 'good']])
    Object.assign(parts, {
      settings: { ...settings, models: { ...settings.models, roles: { default: ['b', model] } } },
    })
    await run()
    expect(asked).toEqual([])
    Object.assign(parts, { settings: { ...settings, models: { ...settings.models, roles: { default: ['b'] } } } })
    await run()
    expect(asked.length).toBe(6)
  })

  test('takes a failure as it was, where its question is the same', async () => {
    const { run, asked } = trying(1, (transcripts) => {
      const { turns, ...rest } = transcripts.get('hate~p0~r1') as { turns: object[] } // A transcript.
      const failed = { code: 'timeout', detail: 'late' }
      transcripts.set('hate~p0~r1', { ...rest, turns: [{ ...turns[0], answer: null, failed }, ...turns.slice(1)] })
    })
    await run()
    expect(asked).toEqual(['new text 0 is timeout'])
  })

  test('costs no more than the budget, however much was foretold too little', async () => {
    const { parts } = trying(60)
    // Half a dollar for a call, five times as much as before.
    const prices = { [model]: { prompt: 0, cached: 0, completion: 50_000 } }
    const dear = { ...settings, models: { ...settings.models, prices } }
    const reply = {
      text: '{"label":"bad"}',
      finish: 'stop' as const,
      promptTokens: 20,
      cachedTokens: 0,
      completionTokens: 10,
    }
    Object.assign(parts, { settings: dear })
    const anew = askingAnew(dear, 'hate', {
      model: { complete: async () => ({ ...reply, model }) },
      library: () => expect.unreachable(),
      secret: 'a secret of a test',
      report() {},
      signal: parts.signal,
      dead: () => null,
      mayAsk: async () => {},
      usd: 2,
    })
    const limits = { usd: 2, cases: UNLIMITED }
    const plan = await planWhatIf(parts, WINDOW)
    const drawn = drawnOf(plan, limits, parts)
    expect(drawn.length).toBeGreaterThan(15)
    const outcome = await runWhatIf(parts, plan, drawn, limits, anew)
    expect(outcome.bill).toBe(2)
    expect([outcome.replayed.length, outcome.unreached, outcome.leftOut]).toEqual([4, drawn.length - 4, {}])
  })

  test('ends where the money does, and what it reached is a sample of its own', async () => {
    const { run, asked, answer } = trying(200)
    const { outcome, drawn } = await run({ usd: 60, cases: 100 }, (content) =>
      answer(content, asked.length < 20 ? {} : SPENT),
    )
    expect(drawn.length).toBe(100)
    expect([outcome.replayed.length, outcome.unreached, outcome.leftOut]).toEqual([20, 80, {}])
    const stood = outcome.replayed.reduce((sum, { chance }) => sum + 1 / chance, 0)
    expect(stood).toBeGreaterThan(100)
    expect(stood).toBeLessThan(400)
  })

  test('a case for which there was no money ends the sample, though later ones were cheaper', async () => {
    const limits = { usd: 60, cases: 20 }
    const { run, answer, parts } = trying(30)
    const order = drawnOf(await planWhatIf(parts, WINDOW), limits, parts).map(({ of }) => of.of.words)
    const { outcome } = await run(limits, (content) => answer(content, content.includes(`${order[9]} is`) ? SPENT : {}))
    expect(outcome.replayed.map(({ of }) => of.words)).toEqual(order.slice(0, 9))
    expect(outcome.unreached).toBe(11)
  })

  test('names what kept a question from an answer, where no model did', async () => {
    const { run, answer } = trying(3)
    const { outcome } = await run(undefined, async (content) => {
      if (content.includes('text 1')) throw new Error('the shelf is away')
      return answer(content)
    })
    expect([outcome.leftOut, outcome.failures]).toEqual([{ failed: 1 }, ['the shelf is away']])
  })

  test('shows nobody what was deleted meanwhile', async () => {
    const { run, answer, transcripts } = trying(4)
    const { outcome } = await run(undefined, async (content) => {
      if (content.includes('text 1')) transcripts.delete('hate~p1~r1')
      if (content.includes('text 2')) throw new CaseErased()
      return answer(content)
    })
    expect(outcome.leftOut).toEqual({ erased: 2 })
    expect(outcome.replayed.map(({ of }) => of.verdict.subjectId)).toEqual(['p0', 'p3'])
  })

  test('names a question without an answer, and is not said to be stopped by it', async () => {
    const { run, answer } = trying(2)
    const { outcome } = await run(undefined, (content) =>
      answer(content, content.includes('text 1') ? { answer: null, failed: { code: 'timeout', detail: 'late' } } : {}),
    )
    expect(outcome.leftOut).toEqual({ failed: 1 })
    expect(outcome.failures).toEqual(['timeout (late)'])
    expect(outcome.replayed.length).toBe(1)
    const stopped = trying(2).run(undefined, () => Promise.reject(new StoppedAsking()))
    await expect(stopped).rejects.toThrow(StoppedAsking)
  })
})

test('what can’t be replayed is counted by its reason', async () => {
  const { run } = trying(8, (transcripts, rows) => {
    const change = (nth: number, changed: object) =>
      transcripts.set(`hate~p${nth}~r1`, { ...transcripts.get(`hate~p${nth}~r1`), ...changed })
    transcripts.delete('hate~p0~r1')
    rows[0] = { ...rows[0], erased: true } as RecordedRow // It is there.
    transcripts.delete('hate~p1~r1')
    change(2, { replay: undefined, cut: ['what a replay needs was left out'] })
    change(3, { replay: undefined })
    change(4, { replay: { key: 'another', overloaded: false } })
    change(5, { subject: null })
  })
  const { plan } = await run()
  expect(plan.leftOut).toEqual({ erased: 1, gone: 1, cut: 1, older: 1, key: 1, unreadable: 1 })
  expect(plan.found).toBe(8)
  expect(plan.cases.map(({ id }) => id)).toEqual(['hate~p6~r1', 'hate~p7~r1'])
})

test('a report has flips by what people decided, clause, language and tenant, and their intervals', async () => {
  const { run, answer } = trying(10, (_, rows) => {
    for (const [nth, row] of rows.entries()) rows[nth] = { ...row, lang: nth < 4 ? 'en' : 'de' }
    const human = { ...rows[0], cursor: '-1', verdict: { ...rows[0]?.verdict, decidedBy: 'human', label: 'bad' } }
    rows.unshift(human as RecordedRow) // A person's verdict above the first.
  })
  const { plan, outcome } = await run(undefined, (content) =>
    answer(content, { answer: { label: /text [012] /.test(content) ? 'bad' : 'good' } }),
  )
  const given = { protocol: 'hate', tried: ['a judge'], since: 'a', until: 'b', found: plan.found, notDrawn: 0 }
  const usd = { all: plan.usd, drawn: plan.usd, bill: outcome.bill }
  const {
    flips,
    people,
    posts,
    usd: cost,
  } = whatIfReport({ ...given, changed: null, leftOut: outcome.leftOut, usd }, outcome.replayed)
  expect(flips.all).toMatchObject({ share: 0.3, hits: 3, cases: 10 })
  expect(flips.all.interval.low).toBeCloseTo(0.06, 2)
  expect(flips.all.interval.high).toBeCloseTo(0.68, 1)
  expect(flips.directions).toMatchObject([{ from: 'good', to: 'bad', hits: 3 }])
  expect(flips.languages).toMatchObject([
    { value: 'de', hits: 0, cases: 6 },
    { value: 'en', hits: 3, cases: 4 },
  ])
  expect([people.before, people.after]).toMatchObject([
    { hits: 0, cases: 1 },
    { hits: 1, cases: 1 },
  ])
  expect(posts[0]).toMatchObject({ subjectId: 'p0', person: 'bad', before: { label: 'good' }, after: { label: 'bad' } })
  expect(cost.perThousand.before).toBeCloseTo(200)
  expect(cost.perThousand.after).toBeCloseTo(200)
})

test('flips that cite what was changed are told from others, and a changed clause that none cites has its row', () => {
  const aCase = (before: string, after: string, clauses: readonly string[], hash = 'live') =>
    ({
      of: {
        verdict: { label: before, policy: { name: 'P', version: '1', hash }, usage: { costUsd: 0 } },
        person: null,
      },
      chance: 1,
      replay: {
        ruling: { label: after, clauses: clauses.map((id) => ({ id })) },
        usage: { costUsd: 0 },
        newQuestions: 1,
      },
    }) as unknown as ReplayedCase // Of all that a case has, what a report counts.
  const cases = [
    aCase('good', 'bad', ['H6']),
    aCase('good', 'bad', ['H1']),
    aCase('bad', 'bad', ['H6']),
    aCase('good', 'good', []),
  ]
  const changed = new Map([['live', new Set(['H6', 'H7'])]])
  const run = { protocol: 'hate', tried: [], since: 'a', until: 'b', found: 4, notDrawn: 0, leftOut: {}, changed }
  const usd = { all: 0, drawn: 0, bill: 0 }
  const { flips, ...report } = whatIfReport({ ...run, usd }, cases)
  expect(flips.byChange).toMatchObject({ clauses: ['H6', 'H7'], hits: 1, cases: 4, share: 0.25 })
  expect(flips.clauses.map(({ value, hits }) => [value, hits])).toEqual([
    ['H1', 1],
    ['H6', 1],
    ['H7', 0],
  ])
  expect(whatIfSentences({ ...report, flips })[1]).toMatch(/^1 of these 2 cite a clause that was changed \(H6, H7\)/)
  // Of a verdict under an older policy nobody knows.
  const older = whatIfReport({ ...run, usd }, [...cases, aCase('good', 'bad', ['H6'], 'older')])
  expect(older.flips.byChange).toBeUndefined()
})
