import { closeSync, openSync, readSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'
import { mean, round } from './percentiles.ts'

// Why the slowest requests of a process took as long as they did. Its main thread may have been ready to run while the machine's
// processors did other work; V8 may have been collecting; a batch may have been on its way to Kafka. The rest is the process's own work.

/** From when to when, by the process's own clock, in ms. */
export interface TimeSpan {
  readonly from: number
  readonly to: number
}

/** How much of the slowest requests' time was what, in ms a request: each moment counts once, by the first of these that it was. */
export interface SlowestRequests {
  /** How many they are: one of a hundred. */
  readonly requests: number
  readonly ownMs: number
  /** V8 collected garbage. */
  readonly collectingMs: number
  /** The main thread could have run, and had no processor. Linux alone reports that; 0 elsewhere. */
  readonly noProcessorMs: number
  /** A batch had been handed to Kafka and was not acknowledged. */
  readonly kafkaMs: number
  readonly restMs: number
}

/** Measured in the process itself. */
export interface ProcessPauses {
  readonly collecting: readonly TimeSpan[]
  readonly kafka: readonly TimeSpan[]
  /** Until these moments the main thread had waited for a processor for so long in all, in ms. */
  readonly waited: readonly (readonly [at: number, waitedMs: number])[]
}

/** Begins to measure; `taken` answers what was measured since it was asked last. */
export function watchHeldUp() {
  let collecting: TimeSpan[] = []
  let kafka: TimeSpan[] = []
  let waited: [number, number][] = []
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      collecting.push({ from: startTime, to: startTime + duration })
  })
  observer.observe({ entryTypes: ['gc'] })
  const read = waitReader()
  /** Looked at no more often than this, in ms: each look is a call of the system. */
  const LOOK_MS = 0.5
  let looked = Number.NEGATIVE_INFINITY
  return {
    sample(now: number): void {
      if (now - looked < LOOK_MS) return
      looked = now
      waited.push([now, read()])
    },
    sent(span: TimeSpan): void {
      kafka.push(span)
    },
    taken(): ProcessPauses {
      const all = { collecting, kafka, waited }
      ;[collecting, kafka, waited] = [[], [], []]
      return all
    },
  }
}

/** How long the main thread has been ready and has not run, in ms, as Linux counts it. */
function waitReader(): () => number {
  let file: number
  try {
    file = openSync('/proc/self/schedstat', 'r')
  } catch {
    return () => 0
  }
  const bytes = Buffer.alloc(100)
  process.once('exit', () => closeSync(file))
  return () => {
    const text = bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0))
    return Number(text.split(' ', 2)[1] ?? 0) / 1e6
  }
}

/** Of the slowest hundredth of these requests. */
export function slowestOf(requests: readonly TimeSpan[], heldUp: ProcessPauses): SlowestRequests {
  const slowest = requests
    .toSorted((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, Math.ceil(requests.length / 100))
  const waited = curve(heldUp.waited)
  const parts = slowest.map((span) => partsOf(span, heldUp, waited))
  const of = (part: (one: (typeof parts)[number]) => number) => round(mean(parts.map(part)))
  return {
    requests: slowest.length,
    ownMs: of(({ own }) => own),
    collectingMs: of(({ collecting }) => collecting),
    noProcessorMs: of(({ noProcessor }) => noProcessor),
    kafkaMs: of(({ kafka }) => kafka),
    restMs: of(({ own, collecting, noProcessor, kafka }) => own - collecting - noProcessor - kafka),
  }
}

function partsOf(span: TimeSpan, heldUp: ProcessPauses, waitedAt: (at: number) => number) {
  const wait = (spans: readonly TimeSpan[]) =>
    spans.reduce((sum, { from, to }) => sum + waitedAt(to) - waitedAt(from), 0)
  const collecting = within(heldUp.collecting, [span])
  const kafka = within(heldUp.kafka, [span])
  // What was waited for a processor in the middle of collecting counts as collecting.
  const both = within(heldUp.collecting, kafka)
  return {
    own: span.to - span.from,
    collecting: length(collecting),
    noProcessor: Math.max(0, wait([span]) - wait(collecting)),
    kafka: Math.max(0, length(kafka) - length(both) - Math.max(0, wait(kafka) - wait(both))),
  }
}

/** The parts of these spans that lie within those. */
function within(spans: readonly TimeSpan[], those: readonly TimeSpan[]): TimeSpan[] {
  return those.flatMap(({ from, to }) =>
    spans.flatMap((span) => {
      const part = { from: Math.max(from, span.from), to: Math.min(to, span.to) }
      return part.to > part.from ? [part] : []
    }),
  )
}

function length(spans: readonly TimeSpan[]): number {
  return spans.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** Between two looks as much of the wait as of the time. */
function curve(points: ProcessPauses['waited']): (at: number) => number {
  return (at) => {
    let [low, high] = [0, points.length - 1]
    if (high < 0) return 0
    while (low < high) {
      const middle = (low + high) >> 1
      if ((points[middle]?.[0] ?? 0) < at) low = middle + 1
      else high = middle
    }
    const [afterAt = 0, after = 0] = points[low] ?? []
    const [beforeAt = afterAt, before = after] = points[low - 1] ?? []
    if (at >= afterAt || afterAt === beforeAt) return after
    return before + ((after - before) * (at - beforeAt)) / (afterAt - beforeAt)
  }
}
