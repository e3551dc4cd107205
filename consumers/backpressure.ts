import type { Outbox } from '../src/contracts/ports/cases.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { PressureKind, Report } from '../src/contracts/ports/report.ts'
import type { ThreadStore } from '../src/contracts/ports/threads.ts'
import type { TopicReader } from '../src/contracts/ports/topic.ts'

export interface BackpressureSettings {
  /** Most threads due and not yet opened. */
  readonly pauseAtDue: number
  /** Most verdicts that have not been published: above it, no case opens either. As many dead letters pause intake alone. */
  readonly pauseAtOutbox: number
  /** Longest time, in ms, that an unpublished verdict may be old while cases open and the door takes more. */
  readonly pauseAtAge: number
  readonly resumeAtShare: number
}

/** How close a measure is to its limit (`share`: 1 is the limit), and the same in words. */
export interface PressureSignal {
  /** The kind of measure, for metrics. */
  readonly by: PressureKind
  readonly share: number
  readonly says: string
}

/**
 * Whether any part of the backlog is too deep or too old, from the first signal above its limit until all are below
 * `resumeAtShare`. If a signal can't be measured, nothing changes.
 */
export function pressureWatch(
  signals: readonly (() => Promise<PressureSignal>)[],
  { resumeAtShare }: Pick<BackpressureSettings, 'resumeAtShare'>,
) {
  let over: readonly PressureSignal[] = []
  return {
    async poll(): Promise<void> {
      const measured = await Promise.all(signals.map((measure) => measure()))
      const most = Math.max(...measured.map(({ share }) => share))
      if (over.length === 0) over = measured.filter(({ share }) => share > 1)
      else if (most < resumeAtShare) over = []
    },
    /** The kinds of the signals by which it began; none while there is no pressure. */
    kinds: () => over.map(({ by }) => by),
    /** The same in words; null while there is no pressure. */
    why: () => (over.length === 0 ? null : over.map(({ says }) => says).join('; ')),
  }
}

/** Pauses intake under pressure, so that the store does not fill; what was not read yet waits in Kafka. */
export function backpressure(deps: {
  reader: Pick<TopicReader, 'setPaused'>
  signals: readonly (() => Promise<PressureSignal>)[]
  settings: Pick<BackpressureSettings, 'resumeAtShare'>
  report: Report
}): () => Promise<void> {
  const { reader, signals, settings, report } = deps
  const pressure = pressureWatch(signals, settings)
  return async () => {
    const before = pressure.why()
    await pressure.poll()
    const reason = pressure.why()
    if (before === null && reason !== null) report('intake:paused', { signals: pressure.kinds(), reason })
    if (before !== null && reason === null) report('intake:resumed', {})
    reader.setPaused(reason !== null)
  }
}

/** Keeps the opening of cases waiting while their verdicts would: what is read meanwhile waits in the order in which it is due. */
export function openingGate(deps: {
  signals: readonly (() => Promise<PressureSignal>)[]
  settings: Pick<BackpressureSettings, 'resumeAtShare'>
  report: Report
}) {
  const { signals, settings, report } = deps
  const pressure = pressureWatch(signals, settings)
  return {
    mayOpen: () => pressure.why() === null,
    async poll(): Promise<void> {
      const before = pressure.why()
      await pressure.poll()
      const reason = pressure.why()
      if (before === null && reason !== null) report('opening:paused', { signals: pressure.kinds(), reason })
      if (before !== null && reason === null) report('opening:resumed', {})
    },
  }
}

/** By what waits for it: the depths and ages for which intake pauses, cases do not open, and the door takes no question. */
export function backlogSignals(deps: {
  countDue: () => Promise<number>
  outbox: Pick<Outbox, 'backlog'>
  /** What is wrong with the store: nothing more is written to it then. */
  store: readonly (() => Promise<PressureSignal>)[]
  clock: Clock
  settings: BackpressureSettings
}): Record<'intake' | 'opening' | 'door' | 'messages', readonly (() => Promise<PressureSignal>)[]> {
  const { countDue, outbox, store, clock, settings } = deps
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
  const dueDepth = async () => depth('due-depth', await countDue(), settings.pauseAtDue, 'threads due')
  const outboxDepth = async () =>
    depth('outbox-depth', (await outbox.backlog()).verdicts, settings.pauseAtOutbox, 'verdicts unpublished')
  const lettersDepth = async () =>
    depth('letters-depth', (await outbox.backlog()).letters, settings.pauseAtOutbox, 'dead letters unpublished')
  const outboxAge = async () => {
    const { oldestVerdict } = await outbox.backlog()
    const ms = oldestVerdict === null ? 0 : Math.max(0, clock() - oldestVerdict)
    return age('outbox-age', ms, 'the oldest unpublished verdict')
  }
  return {
    // Not for the age of what is judged: what spreads would lie unread behind it.
    intake: [dueDepth, outboxDepth, lettersDepth, ...store],
    // What a producer sends wrongly keeps nobody's verdicts waiting: it stops what it comes from.
    opening: [outboxDepth, outboxAge],
    // Nor does a question stand behind what is due: that may all be another tenant's. What its own has due is counted by itself.
    door: [outboxDepth, outboxAge, ...store],
    // What waits in Kafka waits as well there.
    messages: [outboxDepth, ...store],
  }
}

/**
 * How long the next thread to be opened has been due, in ms. A thread doesn't count while no case may be opened for it:
 * its tenant or the service has too many open cases (perhaps deferred by a budget or a Retry-After), or its protocol is
 * paused. Nor does a question for which somebody waits: it goes before all that intake would bring. A thread that became
 * due by stream time alone is measured from when this process first saw it due, so that a fast replay does not look like a
 * long wait.
 */
function ageOfNextDue(deps: {
  threads: Pick<ThreadStore, 'due' | 'head'>
  streamNow: () => Promise<number>
  maxOpen: number
  clock: Clock
}): () => Promise<number> {
  const { threads, streamNow, maxOpen, clock } = deps
  let seen: { thread: string; since: number } | undefined
  return async () => {
    const [next] = await threads.due(Math.max(await streamNow(), 0), 1, maxOpen, 0)
    const thread = JSON.stringify(next)
    if (next === undefined) {
      seen = undefined
      return 0
    }
    if (seen?.thread !== thread) seen = { thread, since: clock() }
    const { since } = seen
    const head = await threads.head(next)
    return Math.max(0, clock() - (head?.dueSince ?? since))
  }
}

/**
 * How long the thread that has waited longest has been due, in ms, of the tenant whose turn it is: what is next may have come a
 * moment ago, for the most urgent comes first.
 */
export function ageOfOldestDue(
  deps: Parameters<typeof ageOfNextDue>[0] & { threads: Pick<ThreadStore, 'dueSince'> },
): () => Promise<number> {
  const { threads, streamNow, maxOpen, clock } = deps
  const nextAgeMs = ageOfNextDue(deps)
  return async () => {
    const [next] = await threads.due(Math.max(await streamNow(), 0), 1, maxOpen)
    const [age, since] = await Promise.all([nextAgeMs(), next === undefined ? null : threads.dueSince(next.tenant)])
    return since === null ? age : Math.max(age, clock() - since)
  }
}
