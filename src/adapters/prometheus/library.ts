import { Counter } from 'prom-client'
import type { MetricGroup } from './group.ts'

/** What cases are shown of the library's shelves. */
export const libraryMetrics: MetricGroup = (registry, { protocols }) => {
  const searches = new Counter({
    name: 'gavel_shelf_searches_total',
    help: 'Searches of shelves for cases, by whether there was anything to show: a shelf may be missing, empty, or another embedder’s.',
    labelNames: ['protocol', 'shelf', 'found'],
    registers: [registry],
  })
  for (const { name: protocol, shelves = [] } of protocols)
    for (const shelf of shelves) for (const found of ['true', 'false']) searches.inc({ protocol, shelf, found }, 0)
  return {
    'shelf:searched': ({ protocol, shelf, found }) => searches.inc({ protocol, shelf, found: String(found) }),
  }
}
