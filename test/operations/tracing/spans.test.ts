import { expect, test } from 'vitest'
import { z } from 'zod'
import { traceIdOf, traceparentOf } from '../../../src/contracts/facts/trace.ts'
import {
  noUsage,
  type Transcript,
  type Turn,
  transcript as transcriptSchema,
} from '../../../src/contracts/facts/verdict.ts'
import type { TraceSpan } from '../../../src/contracts/ports/traces.ts'
import { evaluationsOf, labelledEvent } from '../../../src/operations/tracing/reading.ts'
import { spansOf, type TraceableTranscript } from '../../../src/operations/tracing/spans.ts'

const T0 = Date.UTC(2026, 2, 1)
const at = (ms: number) => new Date(T0 + ms).toISOString()
const SECRET = 'words-of-a-stranger'

const turn = (round: number, startMs: number, ms: number, more: Partial<Turn> = {}): Turn => ({
  round,
  stage: 'talk.word',
  role: 'speaker',
  model: 'm',
  messages: [{ role: 'user', content: SECRET }],
  answer: { said: SECRET },
  raw: SECRET,
  calls: [],
  usage: noUsage(),
  startedAt: at(startMs),
  ms,
  memo: false,
  ...more,
})

/** Two rounds, of which the second has the slowest ask by its delay, a look-up, a failure and a call that was lost. */
const traceable: TraceableTranscript = transcriptSchema.required({ verdict: true }).parse({
  schema: 1,
  verdictId: 'talk~p~r2',
  verdict: {
    protocol: 'talk',
    tenant: 'acme',
    subjectId: 'p',
    revision: 2,
    final: true,
    label: 'good',
    decidedBy: 'judge',
    scores: { for: 3 },
    faults: ['model'],
    usage: { ...noUsage(), calls: 4, costUsd: 0.25 },
    heldMs: 300,
    timing: {
      createdAt: at(0),
      receivedAt: at(0),
      openedAt: at(40),
      decidedAt: at(2_000),
      modelMs: 700,
      overheadMs: 1_000,
    },
    lostCalls: [{ id: 'lost', outcome: 'timeout', model: 'm', startedAt: at(60), ms: 20 }],
  },
  links: ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', SECRET],
  subject: { post: { text: SECRET } },
  turns: [
    turn(0, 50, 400, {
      calls: [{ id: 'a', outcome: 'answered', model: 'm', startedAt: at(50), ms: 400, promptTokens: 7 }],
    }),
    turn(0, 50, 100),
    turn(0, 50, 900, { messages: [], stage: 'talk.shelf' }),
    turn(1, 1_000, 500),
    turn(1, 1_200, 300, {
      heldMs: 300,
      failed: { code: 'unreadable', detail: SECRET },
      calls: [{ id: 'b', outcome: 'unreadable', model: 'm', startedAt: at(1_200), ms: 300 }],
    }),
  ],
  cut: [],
} satisfies Transcript) as TraceableTranscript

const spans = spansOf('prod', traceable, T0 + 2_100)
const named = (name: string) => spans.filter((span) => span.name === name)
const lasts = ({ startMs, endMs }: TraceSpan) => endMs - startMs

/** As docs/traces.md says it, from spans alone. */
function addedUp(all: readonly TraceSpan[]) {
  const held = (span: TraceSpan) => Number(span.attributes['gavel.held_ms'])
  const asks = all.filter(({ name }) => name.startsWith('ask '))
  const rounds = [...Map.groupBy(asks, ({ parentId }) => parentId).values()]
  const slowest = rounds.map((own) => own.reduce((a, b) => (lasts(b) + held(b) > lasts(a) + held(a) ? b : a)))
  return slowest.reduce((sum, one) => ({ modelMs: sum.modelMs + lasts(one), heldMs: sum.heldMs + held(one) }), {
    modelMs: 0,
    heldMs: 0,
  })
}

test('opening, judging and publication fill the case, and the slowest asks of the rounds add up to its timing', () => {
  const [root] = named('invoke_workflow talk')
  const parts = ['opening', 'judging', 'publication'].flatMap(named)
  expect(root).toMatchObject({ startMs: T0, endMs: T0 + 2_100 })
  expect(root).not.toHaveProperty('parentId')
  expect(parts.map(({ parentId }) => parentId)).toEqual(parts.map(() => root?.spanId))
  expect(parts.map(lasts)).toEqual([40, 1_960, 100])
  // A look-up is no ask, and the ask with the longest delay is the slowest of its round.
  expect(addedUp(spans)).toEqual({ modelMs: 700, heldMs: 300 })
})

test('a case that opened before its message came, by the clock of another process, is filled all the same', () => {
  const timing = { ...traceable.verdict.timing, openedAt: at(-2) }
  const [root, opening, judging] = spansOf(
    'prod',
    { ...traceable, verdict: { ...traceable.verdict, timing } },
    T0 + 2_100,
  )
  expect([root, opening, judging].map((span) => lasts(span as TraceSpan))).toEqual([2_100, 0, 2_000])
})

test('every call has a span, those that failed or were lost too; every span but the case has a parent in the trace', () => {
  expect(named('chat m').map(({ kind, failed, attributes }) => [kind, failed, attributes['gavel.call.id']])).toEqual([
    ['client', 'timeout', 'lost'],
    ['client', undefined, 'a'],
    ['client', 'unreadable', 'b'],
  ])
  expect(named('retrieval talk.shelf')).toHaveLength(1)
  const ids = new Set(spans.map(({ spanId }) => spanId))
  expect(ids.size).toBe(spans.length)
  expect(spans.filter(({ parentId }) => parentId === undefined || !ids.has(parentId))).toEqual(
    named('invoke_workflow talk'),
  )
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceIdOf('prod', 'talk~p~r2')]))
})

test('a case that is told of again has the same ids, another case or deployment has others', () => {
  const ids = (gavel: string, one: TraceableTranscript) => spansOf(gavel, one, T0 + 9_000).map(({ spanId }) => spanId)
  expect(ids('prod', traceable)).toEqual(spans.map(({ spanId }) => spanId))
  for (const others of [ids('test', traceable), ids('prod', { ...traceable, verdictId: 'talk~p~r3' })])
    expect(others.filter((id) => ids('prod', traceable).includes(id))).toEqual([])
  expect(traceIdOf('a', 'bc')).not.toBe(traceIdOf('ab', 'c'))
})

test('nothing of what was judged, said or linked by strangers is in a trace', () => {
  const told = JSON.stringify([spans, evaluationsOf('prod', traceable)])
  expect(told).not.toContain(SECRET)
  expect(named('invoke_workflow talk')[0]?.links).toEqual([
    { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' },
  ])
})

test('labels and scores are evaluations beside their case; so is what a person said, without who and why', () => {
  const [, traceId, spanId] = traceparentOf('prod', 'talk~p~r2').split('-')
  const [label, score] = evaluationsOf('prod', traceable)
  expect(label).toMatchObject({ name: 'gen_ai.evaluation.result', traceId, spanId, atMs: T0 + 2_000 })
  expect(label?.attributes).toMatchObject({ 'gen_ai.evaluation.name': 'talk', 'gen_ai.evaluation.score.label': 'good' })
  expect(score?.attributes).toMatchObject({ 'gen_ai.evaluation.name': 'talk.for', 'gen_ai.evaluation.score.value': 3 })
  const said = {
    subjectId: 'p',
    tenant: 'acme',
    protocol: 'talk',
    label: 'bad',
    by: SECRET,
    at: T0,
    createdAt: T0,
    note: SECRET,
  }
  const event = labelledEvent('prod', said, 'talk~p~r2')
  expect(event).toMatchObject({ traceId, spanId, attributes: { 'gen_ai.evaluation.score.label': 'bad' } })
  expect(JSON.stringify(event)).not.toContain(SECRET)
  expect(labelledEvent('prod', said, null)).not.toHaveProperty('traceId')
})

test('a transcript that was cut to its verdict still has the case', () => {
  const cut = spansOf('prod', { ...traceable, turns: [], cut: ['all'] }, T0)
  expect(cut.map(({ name }) => name)).toEqual(['invoke_workflow talk', 'opening', 'judging', 'chat m', 'publication'])
  expect(cut[0]?.attributes).toMatchObject({ 'gavel.cut': true })
  // A broker's clock that is behind makes no time negative.
  expect(cut.map(lasts).every((ms) => ms >= 0)).toBe(true)
  expect(z.string().length(32).safeParse(cut[0]?.traceId).success).toBe(true)
})
