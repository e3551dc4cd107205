import { Counter, Gauge } from 'prom-client'
import { JETSTREAM_OUTCOMES } from '../../contracts/ports/report.ts'
import type { MetricGroup } from './group.ts'

/** What is read of Jetstream; nothing has a series where no process has that role. */
export const jetstreamMetrics: MetricGroup = (registry) => {
  const events = new Counter({
    name: 'gavel_jetstream_events_total',
    help: 'Events of Jetstream that were read, by what became of them: post, comment, edit, deletion, erasure, duplicate, passed, invalid, too-large, refused.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const gaps = new Counter({
    name: 'gavel_jetstream_gaps_total',
    help: 'Spans of time that no relay had any more when it came to be read.',
    labelNames: [],
    registers: [registry],
  })
  const reading = new Gauge({
    name: 'gavel_jetstream_reading',
    help: 'Whether there is the stream of a relay, 1 or 0; only of the process that reads.',
    labelNames: [],
    registers: [registry],
  })
  const lag = new Gauge({
    name: 'gavel_jetstream_lag_seconds',
    help: 'How far what was sent to Kafka is behind what its relay sees; only of the process that reads.',
    labelNames: [],
    registers: [registry],
  })
  for (const one of [gaps, reading, lag]) one.remove()
  return {
    'jetstream:read': ({ outcome, count }) => events.inc({ outcome }, count),
    'jetstream:gap': () => gaps.inc(),
    'jetstream:watched': ({ reads, lagSeconds }) => {
      for (const outcome of JETSTREAM_OUTCOMES) events.inc({ outcome }, 0)
      gaps.inc(0)
      if (reads === null) {
        reading.remove()
        lag.remove()
        return
      }
      reading.set(reads ? 1 : 0)
      lag.set(lagSeconds)
    },
  }
}
