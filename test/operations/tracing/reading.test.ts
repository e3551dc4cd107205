import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { noUsage } from '../../../src/contracts/facts/verdict.ts'
import type { MessageBatch } from '../../../src/contracts/ports/topic.ts'
import type { ExportOutcome, TraceEvent, TraceSpan } from '../../../src/contracts/ports/traces.ts'
import { tracing } from '../../../src/operations/tracing/reading.ts'
import { T0 } from '../../contracts/samples.ts'

/** So many times faster than waits are in service. */
const FASTER = 100
const until = (condition: () => boolean) => expect.poll(condition, { timeout: 10_000 }).toBe(true)

const OK: ExportOutcome = { end: 'accepted', rejected: 0, why: '' }
const AWAY: ExportOutcome = { end: 'again', delayMs: 0, why: 'status 503' }
const REFUSED: ExportOutcome = { end: 'refused', why: 'status 400' }

const when = new Date(T0).toISOString()
const transcriptOf = (id: string) => ({
  schema: 1,
  verdictId: id,
  subject: null,
  turns: [],
  cut: [],
  verdict: {
    protocol: 'rumor',
    tenant: 'default',
    subjectId: 'p',
    revision: 1,
    final: true,
    label: 'rumor',
    scores: {},
    decidedBy: 'judge',
    faults: [],
    usage: noUsage(),
    heldMs: 0,
    lostCalls: [],
    timing: { createdAt: when, receivedAt: when, openedAt: when, decidedAt: when, modelMs: 0, overheadMs: 0 },
  },
})
const batchOf = (topic: string, ...values: readonly unknown[]): MessageBatch => ({
  topic,
  partition: 0,
  next: String(values.length),
  atEnd: true,
  messages: values.map((value, offset) => ({
    topic,
    partition: 0,
    offset: String(offset),
    key: 'p',
    headers: {},
    timestamp: T0,
    value: value === null ? null : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  })),
})

/** A reader over a collector that answers by `answer`; the cases and events that it accepted, what was reported, and heartbeats. */
function reading(answer: (cases: readonly string[]) => ExportOutcome, stopping = new AbortController()) {
  const [accepted, labels, reports]: [string[], TraceEvent[], [string, unknown][]] = [[], [], []]
  const beats = { count: 0 }
  const idsIn = (spans: readonly TraceSpan[]) =>
    spans.flatMap(({ parentId, attributes }) =>
      parentId === undefined ? [String(attributes['gen_ai.conversation.id'])] : [],
    )
  const handle = tracing({
    gavel: 'g',
    topics: { transcripts: 'transcripts' },
    evaluations: true,
    clock: () => T0,
    sink: {
      async sendSpans(spans) {
        // As OTLP has times.
        for (const { startMs, endMs } of spans) BigInt(Math.floor(startMs + endMs))
        const sent = answer(idsIn(spans))
        if (sent.end === 'accepted') accepted.push(...idsIn(spans))
        return sent
      },
      async sendEvents(events) {
        labels.push(...events)
        return OK
      },
    },
    verdictOf: async ({ subjectId, subjectKind }) =>
      subjectId !== 'p' ? null : subjectKind === 'comment' ? 'hate/comment~q~p~r1' : 'rumor~p~r1',
    limits: { maxMessageBytes: 1_000, maxAhead: 0 },
    report: (name, event) => void reports.push([name, event]),
    stopping: stopping.signal,
    wait: (ms, signal) => sleep(ms / FASTER, null, { signal }),
  })
  const heartbeat = async () => void beats.count++
  const of = (name: string) => reports.flatMap(([one, event]) => (one === name ? [event] : []))
  return {
    accepted,
    labels,
    beats,
    of,
    stopping,
    handle: (batch: MessageBatch, beat = heartbeat) => handle(batch, beat, () => {}),
  }
}

test('a batch is handled when the collector has accepted all of it; a collector that is away is tried again, with heartbeats', async () => {
  let tries = 0
  const { handle, accepted, beats, of } = reading(() => (++tries <= 4 ? AWAY : OK))
  const handled = handle(batchOf('transcripts', transcriptOf('rumor~p~r1'), transcriptOf('rumor~q~r1')))
  await until(() => tries === 3)
  expect(accepted).toEqual([])
  expect(of('traces:waiting')).toEqual([{ oldest: T0 }])
  await handled
  expect(accepted).toEqual(['rumor~p~r1', 'rumor~q~r1'])
  // Fifteen seconds of waits at the least, with one each second and a half.
  expect(beats.count).toBeGreaterThanOrEqual(5)
  expect(of('traces:held')).toEqual([
    { held: true, why: 'status 503' },
    { held: false, why: '' },
  ])
  expect(of('traces:accepted')).toEqual([{ count: 2 }])
  expect(of('traces:waiting').at(-1)).toEqual({ oldest: null })
})

test('a case that the collector can’t take is left out and counted, and holds up no other', async () => {
  const { handle, accepted, of } = reading((cases) => (cases.includes('rumor~c~r1') ? REFUSED : OK))
  await handle(batchOf('transcripts', ...['a', 'b', 'c', 'd', 'e'].map((id) => transcriptOf(`rumor~${id}~r1`))))
  expect(accepted.sort()).toEqual(['a', 'b', 'd', 'e'].map((id) => `rumor~${id}~r1`))
  // Its four spans and the event of its label.
  expect(of('traces:rejected')).toEqual([{ count: 5, why: 'status 400' }])
})

test('a case whose transcript names a time that is none is left out and counted, and holds up no other', async () => {
  const { handle, accepted, of } = reading(() => OK)
  const odd = transcriptOf('rumor~b~r1')
  odd.verdict.timing.decidedAt = 'soon'
  await handle(batchOf('transcripts', transcriptOf('rumor~a~r1'), odd, transcriptOf('rumor~c~r1')))
  expect(accepted).toEqual(['rumor~a~r1', 'rumor~c~r1'])
  expect(of('traces:rejected')).toEqual([{ count: 4, why: 'a time of its transcript is none' }])
})

test('what a stop or another owner of the partition finds unsent is not handled', async () => {
  const away = reading(() => AWAY)
  const handled = away.handle(batchOf('transcripts', transcriptOf('rumor~p~r1')))
  const stopped = expect(handled).rejects.toThrow()
  await until(() => away.of('traces:held').length === 1)
  away.stopping.abort()
  await stopped
  const moved = reading(() => AWAY)
  const rebalanced = moved.handle(batchOf('transcripts', transcriptOf('rumor~p~r1')), async () => {
    throw new Error('no longer a member')
  })
  const lost = expect(rebalanced).rejects.toThrow('no longer a member')
  await lost
  expect(moved.of('traces:waiting').at(-1)).toEqual({ oldest: null })
})

test('older transcripts and records that are none are passed over; labels of people stand beside the newest verdict', async () => {
  const { handle, accepted, labels } = reading(() => OK)
  const { verdict: _, ...older } = transcriptOf('rumor~p~r1')
  await handle(batchOf('transcripts', older, 'no JSON', null, '[]'))
  expect(accepted).toEqual([])
  const label = { protocol: 'rumor', label: 'non-rumor', by: 'ann', at: when }
  await handle(batchOf('feedback', { ...label, subjectId: 'p' }, 'no JSON', { ...label, subjectId: 'unknown' }))
  // Of the same id as the post, and of a comment by itself the post stands beside it.
  await handle(batchOf('feedback', { ...label, subjectId: 'p', subjectKind: 'comment', postId: 'q' }))
  expect(
    labels.map(({ traceId, attributes }) => [
      traceId !== undefined,
      attributes['gavel.verdict.id'],
      attributes['gavel.post.id'],
    ]),
  ).toEqual([
    [true, 'rumor~p~r1', undefined],
    [false, undefined, undefined],
    [true, 'hate/comment~q~p~r1', 'q'],
  ])
})
