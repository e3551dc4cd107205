import { Counter, Gauge, Histogram } from 'prom-client'
import { DOOR_OUTCOMES } from '../../contracts/ports/report.ts'
import type { MetricGroup } from './group.ts'

/** Its objective is 15 ms, its alert a quarter of a second. */
const DOOR_OWN_SECONDS = [0.002, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
/** A minute at the longest. */
const DOOR_WAIT_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Requests at the HTTP door. Series are made of the routes that are asked for, where a process has a door. */
export const doorMetrics: MetricGroup = (registry) => {
  const requests = new Counter({
    name: 'gavel_door_requests_total',
    help: 'Requests, by route and outcome: answered, refused (the request is wrong), busy (too much load), away (a server that it needs is down), failed (our fault), left (the client has gone). Route none: no route fits.',
    labelNames: ['route', 'outcome'],
    registers: [registry],
  })
  const own = new Histogram({
    name: 'gavel_door_own_seconds',
    help: "The door's own time for a request, without waiting for verdicts and models; it includes Kafka's acknowledgement if one is needed.",
    labelNames: ['route'],
    buckets: DOOR_OWN_SECONDS,
    registers: [registry],
  })
  const wait = new Histogram({
    name: 'gavel_door_wait_seconds',
    help: 'How long a request waited for a verdict or a model.',
    labelNames: ['route'],
    buckets: DOOR_WAIT_SECONDS,
    registers: [registry],
  })
  const keysAge = new Gauge({
    name: 'gavel_door_keys_age_seconds',
    help: 'How long ago this process last saw its file of API keys; while it grows, keys that were revoked since are still taken.',
    labelNames: [],
    registers: [registry],
  })
  keysAge.remove()
  const seen = new Set<string>()
  return {
    'door:answered': ({ route, outcome, ownSeconds, waitSeconds }) => {
      if (!seen.has(route)) for (const each of DOOR_OUTCOMES) requests.inc({ route, outcome: each }, 0)
      seen.add(route)
      requests.inc({ route, outcome })
      own.observe({ route }, ownSeconds)
      if (waitSeconds > 0) wait.observe({ route }, waitSeconds)
    },
    'keys:read': ({ ageSeconds }) => keysAge.set(ageSeconds),
  }
}
