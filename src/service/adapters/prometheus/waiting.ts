import { Registry } from 'prom-client'
import { buildMetrics, type Identity } from './build.ts'
import type { MetricsPage } from './metrics.ts'

/** The metrics of a process that waits for what it needs: otherwise nobody would be told of it. */
export function waitingMetrics(told: {
  readonly identity: Identity
  readonly prompts: string
  readonly missing: () => readonly string[]
}): () => Promise<MetricsPage> {
  const registry = new Registry()
  registry.setDefaultLabels({ gavel: told.identity.gavel })
  buildMetrics(registry, told)
  return async () => ({ type: registry.contentType, text: await registry.metrics() })
}
