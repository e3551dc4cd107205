import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Listener } from '../../ports/report.ts'
import type { Handlers, Measured } from './group.ts'
import { intakeMetrics } from './intake.ts'
import { callMetrics, gatewayMetrics } from './models.ts'
import { stageMetrics } from './stages.ts'
import { stateMetrics } from './state.ts'
import { verdictMetrics } from './verdicts.ts'

/** In the order in which data passes through what they measure. */
const GROUPS = [intakeMetrics, stageMetrics, gatewayMetrics, callMetrics, verdictMetrics, stateMetrics]

/** Prometheus series from events. Series that alerts use are zero from the start. */
export function prometheusMetrics(measured: Measured) {
  const registry = new Registry()
  // Memory, CPU and the event loop, under prom-client's usual names.
  collectDefaultMetrics({ register: registry })
  const groups = GROUPS.map((group): Handlers => group(registry, measured))
  const listen: Listener = (name, event) => {
    for (const handlers of groups) handlers[name]?.(event)
  }
  return { listen, text: () => registry.metrics(), contentType: registry.contentType }
}
