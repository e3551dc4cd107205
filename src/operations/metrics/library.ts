import { Counter, Gauge } from 'prom-client'
import { ERASED_FROM } from '../../contracts/ports/report.ts'
import type { MetricGroup } from './group.ts'

/** What cases are shown of the library's shelves, and what is still to be erased from either. */
export const libraryMetrics: MetricGroup = (registry, { protocols }) => {
  const searches = new Counter({
    name: 'gavel_shelf_searches_total',
    help: 'Searches of shelves for cases, by whether there was anything to show: a shelf may be missing, empty, or another embedder’s.',
    labelNames: ['protocol', 'shelf', 'found'],
    registers: [registry],
  })
  for (const { name: protocol, shelves = [] } of protocols)
    for (const shelf of shelves) for (const found of ['true', 'false']) searches.inc({ protocol, shelf, found }, 0)
  const erasures = new Gauge({
    name: 'gavel_erasures_waiting',
    help: 'Deleted subjects that are still to be erased from shelves, or from cases that were shown something of them. Shared.',
    labelNames: ['at'],
    registers: [registry],
  })
  const oldestErasure = new Gauge({
    name: 'gavel_erasure_oldest_waiting_seconds',
    help: 'How long the oldest of them has waited; 0 if none does. Shared.',
    labelNames: ['at'],
    registers: [registry],
  })
  return {
    'erasures:counted': (counted) => {
      for (const at of ERASED_FROM) {
        erasures.set({ at }, counted[at].waiting)
        oldestErasure.set({ at }, counted[at].oldestSeconds)
      }
    },
    // What is not known any more has no series.
    'state:exported': ({ here }) => {
      if (!here) for (const gauge of [erasures, oldestErasure]) gauge.reset()
    },
    'shelf:searched': ({ protocol, shelf, found }) => searches.inc({ protocol, shelf, found: String(found) }),
  }
}
