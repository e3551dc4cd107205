import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Listener } from '../../contracts/ports/report.ts'
import { agreementMetrics } from './agreement.ts'
import { appealMetrics } from './appeals.ts'
import { buildMetrics, type ProcessLabels } from './build.ts'
import { doorMetrics } from './door.ts'
import type { Handlers, MeasuredDeployment } from './group.ts'
import { intakeMetrics } from './intake.ts'
import { jetstreamMetrics } from './jetstream.ts'
import { laneMetrics } from './lanes.ts'
import { libraryMetrics } from './library.ts'
import { callMetrics, gatewayMetrics } from './models.ts'
import { recordMetrics } from './record.ts'
import { stageMetrics } from './stages.ts'
import { stateMetrics } from './state.ts'
import { storyMetrics } from './stories.ts'
import { traceMetrics } from './traces.ts'
import { variantMetrics } from './variants.ts'
import { decisionMetrics, verdictMetrics } from './verdicts.ts'
import { webhookMetrics } from './webhooks.ts'

/** In the order in which data passes through what they measure. */
const GROUPS = [
  jetstreamMetrics,
  doorMetrics,
  intakeMetrics,
  stageMetrics,
  gatewayMetrics,
  callMetrics,
  libraryMetrics,
  verdictMetrics,
  decisionMetrics,
  variantMetrics,
  webhookMetrics,
  recordMetrics,
  storyMetrics,
  appealMetrics,
  agreementMetrics,
  laneMetrics,
  traceMetrics,
  stateMetrics,
]

/** Of what prom-client measures of a process by itself: what no page shows, a hundred series. */
const UNUSED = [
  'nodejs_gc_duration_seconds',
  'nodejs_active_resources',
  'nodejs_active_handles',
  'nodejs_active_requests',
  ...['total', 'used', 'available'].map((which) => `nodejs_heap_space_size_${which}_bytes`),
  ...['min', 'max', 'mean', 'stddev', 'p90'].map((which) => `nodejs_eventloop_lag_${which}_seconds`),
]

/** The metrics as text, in the form that a scraper accepts. */
export interface MetricsPage {
  readonly type: string
  readonly text: string
}

/**
 * Prometheus series from events, each with the deployment's name as its label `gavel`. Series that alerts use are zero
 * from the start.
 */
export function prometheusMetrics({
  identity,
  prompts,
  ...measured
}: MeasuredDeployment & { readonly identity: ProcessLabels /** Their fingerprint. */; readonly prompts: string }) {
  const registry = new Registry()
  registry.setDefaultLabels({ gavel: identity.gavel })
  // Memory, CPU and the event loop, under prom-client's usual names.
  collectDefaultMetrics({ register: registry })
  for (const name of UNUSED) registry.removeSingleMetric(name)
  new Gauge({
    name: 'gavel_host_time_seconds',
    help: "This host's clock at the scrape, by which ages of its timestamps are counted; how wrong it is shows beside the scrape's own time.",
    registers: [registry],
    collect() {
      this.set(Date.now() / 1000)
    },
  })
  const build = buildMetrics(registry, { identity, prompts })
  const groups = [build, ...GROUPS.map((group): Handlers => group(registry, measured))]
  const listen: Listener = (name, event) => {
    for (const handlers of groups) handlers[name]?.(event)
  }
  return {
    listen,
    page: (accept?: string) => pageOf(registry, accept),
  }
}

/** The series of a process that judges by a variant in the shadow of this deployment. */
export function shadowMetrics(gavel: string) {
  const registry = new Registry()
  registry.setDefaultLabels({ gavel })
  const handlers = variantMetrics(registry)
  const listen: Listener = (name, event) => handlers[name]?.(event)
  return { listen, page: (accept?: string) => pageOf(registry, accept) }
}

/** In OpenMetrics' form if the `Accept` header names it, otherwise in Prometheus' own. */
async function pageOf(registry: Registry, accept = ''): Promise<MetricsPage> {
  const text = await registry.metrics()
  return accept.includes('application/openmetrics-text')
    ? { type: Registry.OPENMETRICS_CONTENT_TYPE, text: openMetricsOf(text) }
    : { type: registry.contentType, text }
}

const HEAD = /^# (?:HELP|TYPE) (\S+)/

/**
 * A page of Prometheus' text format in OpenMetrics' form, in which a counter's family is named without `_total`, no line
 * is empty, and the last line marks the end. prom-client's own writer renames the counters of its registry for good, so
 * that no page in the other form can follow.
 */
function openMetricsOf(page: string): string {
  const counters = new Set([...page.matchAll(/^# TYPE (\S+)_total counter$/gm)].map(([, name]) => `${name}_total`))
  const lines = page.split('\n').flatMap((line) => {
    if (line === '') return []
    const name = HEAD.exec(line)?.[1]
    return [
      name !== undefined && counters.has(name) ? line.replace(`${name} `, `${name.slice(0, -'_total'.length)} `) : line,
    ]
  })
  return `${lines.join('\n')}\n# EOF\n`
}

/** The metrics of a process that waits for what it needs: otherwise nobody would learn of it. */
export function waitingMetrics(told: {
  readonly identity: ProcessLabels
  readonly prompts: string
  readonly missing: () => readonly string[]
}): () => Promise<MetricsPage> {
  const registry = new Registry()
  registry.setDefaultLabels({ gavel: told.identity.gavel })
  buildMetrics(registry, told)
  return async () => ({ type: registry.contentType, text: await registry.metrics() })
}
