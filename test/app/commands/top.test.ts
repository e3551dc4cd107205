import { expect, it } from 'vitest'
import { screenLines } from '../../../src/app/commands/top/lines.ts'
import { addUp, publishedOn, quantile, since } from '../../../src/operations/status/pace.ts'
import type { ServiceState } from '../../../src/operations/status/state.ts'

const PAGE = (of: { fast: number; slow: number; ours: number }) => `
gavel_verdict_latency_seconds_bucket{le="1",protocol="rumor"} ${of.fast}
gavel_verdict_latency_seconds_bucket{le="10",protocol="rumor"} ${of.fast + of.slow}
gavel_verdict_latency_seconds_bucket{le="+Inf",protocol="rumor"} ${of.fast + of.slow}
gavel_verdict_latency_seconds_count{protocol="rumor"} ${of.fast + of.slow}
gavel_verdicts_total{protocol="rumor",degraded="true",fault="ours"} ${of.ours}
gavel_verdicts_total{protocol="rumor",degraded="false",fault="none"} ${of.fast + of.slow - of.ours}
`
const says = (of: { fast: number; slow: number; ours: number }, wrong: readonly string[] = []) => ({
  slots: { busy: 1, waiting: 2, all: 64 },
  costUsd: 0,
  wrong: wrong.map((what) => ({ what, runbook: 'GavelRedisFault' })),
  models: [{ model: 'm', limit: 8, breaker: 2 }],
  published: publishedOn(PAGE(of)),
})

const AT = Date.UTC(2026, 0, 1)
const state = (changes: Partial<ServiceState>): ServiceState =>
  ({
    at: AT,
    away: [],
    lag: [],
    replicas: [],
    firing: null,
    stages: [],
    openCases: 0,
    due: 0,

    outbox: { size: 0, oldestSeconds: 0 },
    streamBehindSeconds: 0,
    paused: [],
    tenants: [],
    limits: [],
    budgets: [],
    ...changes,
  }) as ServiceState
const WIDE = { columns: 200, colours: false }

it('counts verdicts, their latencies and whose fault it was that some are degraded between two looks', () => {
  const before = state({ at: AT - 10_000, replicas: [{ url: 'a', says: says({ fast: 100, slow: 0, ours: 0 }) }] })
  const now = state({ replicas: [{ url: 'a', says: says({ fast: 110, slow: 10, ours: 5 }) }] })
  const lines = screenLines(now, before, WIDE)
  expect(lines).toContain('verdicts 2.00 a second (20 in the last 10 s)   latency p50 1.0 s, p95 9.1 s')
  expect(lines.find((line) => line.startsWith('degraded'))?.trimEnd()).toBe('degraded ours 25 %')
})

it('counts a process that has started anew from its start, and leaves out one that was not there before', () => {
  const [many, few] = [
    publishedOn(PAGE({ fast: 9, slow: 0, ours: 0 })),
    publishedOn(PAGE({ fast: 2, slow: 0, ours: 0 })),
  ]
  expect(since(few, many).verdicts).toBe(2)
  expect(quantile(0.5, addUp([]))).toBeNull()
  const now = state({ replicas: [{ url: 'new', says: says({ fast: 50, slow: 0, ours: 0 }) }] })
  const lines = screenLines(now, state({ at: AT - 1_000 }), WIDE)
  expect(lines).toContain('verdicts 0.00 a second (0 in the last 1 s)')
})

it('says which server is away, what is not known therefore, what fires and what processes find wrong', () => {
  const away = [{ server: 'Redis', since: AT - 5_000, why: 'Connection is closed\u001b[2J.' }] as const
  const firing = [{ name: 'GavelNoModel', severity: 'page', summary: 'no model' }]
  const unknown = { stages: null, openCases: null, due: null, outbox: null, tenants: null } as Partial<ServiceState>
  const replicas = [{ url: 'a', says: says({ fast: 1, slow: 0, ours: 0 }, ['Redis: disk']) }]
  const text = screenLines(state({ away, firing, replicas, lag: null, ...unknown }), null, WIDE).join('\n')
  expect(text).toContain('Redis does not answer since 2025-12-31T23:59:55.000Z: Connection is closed\\u001b[2J.')
  expect(text).toContain('are not known while Redis is away')
  expect(text).toContain('lag  not known')
  expect(text).toContain('fires    GavelNoModel (page): no model')
  expect(text).toContain('wrong    Redis: disk')
  expect(text).toMatch(/^a +1\/64 +2 .*m \(8, left alone\)/m)
})

it('says for how long the oldest deferred ask has been so, beside the oldest that waits', () => {
  const states = { waiting: 0, active: 0, delayed: 110 }
  const stages = [{ protocol: 'hate', stage: 'judge', states, oldestWaitingSeconds: 0, oldestDeferredSeconds: 95 }]
  expect(screenLines(state({ stages }), null, WIDE).join('\n')).toMatch(/^hate\.judge +0 +0 +110 +0\.0 s +95 s$/m)
})

it('colours within the width of the terminal, and only where it has colours', () => {
  const away = [{ server: 'Kafka', since: AT, why: 'x'.repeat(300) }] as const
  const plain = screenLines(state({ away }), null, { columns: 40, colours: false })
  expect(plain.every((line) => line.length <= 40 && !line.includes('\u001b'))).toBe(true)
  const coloured = screenLines(state({ away }), null, { columns: 40, colours: true })
  expect(coloured[1]).toContain('\u001b[31mKafka does not answer\u001b[39m')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours themselves.
  expect(coloured.map((line) => line.replace(/\u001b\[\d+m/g, ''))).toEqual(plain)
})
