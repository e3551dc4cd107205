import type { Outbox } from '../src/ports/cases.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { StageBacklog } from '../src/ports/queues.ts'
import type { PressureKind, Report } from '../src/ports/report.ts'
import type { ThreadStore } from '../src/ports/threads.ts'
import type { TopicReader } from '../src/ports/topic.ts'

export interface BackpressureSettings {
  /** Most threads due and not yet opened. */
  readonly pauseAtDue: number
  /** Most verdicts and dead letters that wait for Kafka. */
  readonly pauseAtOutbox: number
  /** Longest wait of what is due, of a verdict for Kafka and of an ask for a worker, in ms. */
  readonly pauseAtAge: number
  readonly resumeAtShare: number
}

/** How near something is to the most that is allowed of it (`share`: 1 is the most), and that in words. */
export interface PressureSignal {
  /** Of which kind it is, for metrics. */
  readonly by: PressureKind
  readonly share: number
  readonly says: string
}

/**
 * Pauses intake while any part of the backlog is too deep or too old, so that both stay bounded; Kafka holds the rest. It
 * goes on by itself when all are below `resumeAtShare`. If one can't be measured, everything stays as it is.
 */
export function backpressure(deps: {
  reader: Pick<TopicReader, 'setPaused'>
  signals: readonly (() => Promise<PressureSignal>)[]
  settings: Pick<BackpressureSettings, 'resumeAtShare'>
  report: Report
}): () => Promise<void> {
  const { reader, signals, settings, report } = deps
  let paused = false
  return async () => {
    const measured = await Promise.all(signals.map((measure) => measure()))
    const most = Math.max(...measured.map(({ share }) => share))
    if (!paused && most > 1) {
      paused = true
      const over = measured.filter(({ share }) => share > 1)
      report('intake:paused', { signals: over.map(({ by }) => by), reason: over.map(({ says }) => says).join('; ') })
    } else if (paused && most < settings.resumeAtShare) {
      paused = false
      report('intake:resumed', {})
    }
    reader.setPaused(paused)
  }
}

/** The depths and ages that intake is paused by. */
export function backlogSignals(deps: {
  countDue: () => Promise<number>
  nextDueAgeMs: () => Promise<number>
  outbox: Pick<Outbox, 'size' | 'oldest'>
  stages: () => readonly StageBacklog[]
  clock: Clock
  settings: BackpressureSettings
}): (() => Promise<PressureSignal>)[] {
  const { countDue, nextDueAgeMs, outbox, stages, clock, settings } = deps
  const depth = (by: PressureSignal['by'], count: number, most: number, what: string): PressureSignal => ({
    by,
    share: count / most,
    says: `${count} ${what}`,
  })
  const age = (by: PressureSignal['by'], ms: number, what: string): PressureSignal => ({
    by,
    share: ms / settings.pauseAtAge,
    says: `${what} has waited ${Math.round(ms / 1000)} s`,
  })
  return [
    async () => depth('due-depth', await countDue(), settings.pauseAtDue, 'threads due'),
    async () => depth('outbox-depth', await outbox.size(), settings.pauseAtOutbox, 'verdicts unpublished'),
    async () => age('due-age', await nextDueAgeMs(), 'the next due thread'),
    async () => {
      const oldest = await outbox.oldest()
      return age('outbox-age', oldest === null ? 0 : Math.max(0, clock() - oldest), 'the oldest unpublished verdict')
    },
    async () => {
      const oldest = stages().reduce<StageBacklog | undefined>(
        (worst, stage) => (stage.oldestWaitingSeconds > (worst?.oldestWaitingSeconds ?? 0) ? stage : worst),
        undefined,
      )
      return age(
        'stage-age',
        (oldest?.oldestWaitingSeconds ?? 0) * 1000,
        `the oldest job of ${oldest?.stage ?? 'any stage'}`,
      )
    },
  ]
}

/**
 * How long the thread that is opened next has waited, in ms. One for which no case may be opened, because those that are open
 * take all places (their calls may be deferred by a budget or a Retry-After), is not next; nor is one of a paused protocol. Where only
 * stream time made it due, its wait counts from when it was first seen here: a replay's minutes are no wait.
 */
export function ageOfNextDue(deps: {
  threads: Pick<ThreadStore, 'due' | 'read'>
  streamNow: () => Promise<number>
  maxOpen: number
  clock: Clock
}): () => Promise<number> {
  const { threads, streamNow, maxOpen, clock } = deps
  let seen: { thread: string; since: number } | undefined
  return async () => {
    const [next] = await threads.due(Math.max(await streamNow(), 0), 1, maxOpen)
    const thread = JSON.stringify(next)
    if (next === undefined) {
      seen = undefined
      return 0
    }
    if (seen?.thread !== thread) seen = { thread, since: clock() }
    const { since } = seen
    const state = await threads.read(next)
    return Math.max(0, clock() - (state?.dueSince ?? since))
  }
}
