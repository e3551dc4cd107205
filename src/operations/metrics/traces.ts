import { Counter, Gauge } from 'prom-client'
import type { MetricGroup } from './group.ts'

/** What became of traces. Series are made where traces are sent. */
export const traceMetrics: MetricGroup = (registry) => {
  const cases = new Counter({
    name: 'gavel_traces_total',
    help: 'Cases whose trace the collector has accepted.',
    registers: [registry],
  })
  const rejected = new Counter({
    name: 'gavel_traces_rejected_total',
    help: 'Spans and events that the collector refused for good: they are in no trace.',
    registers: [registry],
  })
  let oldest: number | null = null
  new Gauge({
    name: 'gavel_traces_waiting_seconds',
    help: 'For how long the oldest published case has waited for the collector to accept its trace; 0 if none waits.',
    registers: [registry],
    collect() {
      this.set(oldest === null ? 0 : Math.max(0, (Date.now() - oldest) / 1000))
    },
  })
  return {
    'traces:accepted': ({ count }) => cases.inc(count),
    'traces:rejected': ({ count }) => rejected.inc(count),
    'traces:waiting': (event) => {
      oldest = event.oldest
    },
  }
}
