import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { DEAD_LETTER_REASONS, OUTCOMES } from '../../domain/messages.ts'
import type { Events, Listener } from '../../ports/report.ts'

/** From a quick pick-up to a case's deadline; the default buckets of prom-client end at 10 s. */
const LATENCY_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]
const WAIT_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
/** Prescribed by the OpenTelemetry conventions for generative AI. */
const GEN_AI_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const GEN_AI_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]

const BREAKER = { closed: 0, 'half-open': 1, open: 2 } as const

/** Prometheus series from events. What alerts look at stands at zero from the start. */
export function prometheusMetrics(parts: {
  protocols: readonly {
    readonly name: string
    readonly stages: readonly string[]
    readonly labels: readonly string[]
  }[]
  topics: readonly string[]
  /** Names under which models are called. */
  models: readonly string[]
}) {
  const registry = new Registry()
  const registers = [registry]
  // Memory, CPU and the event loop, under prom-client's usual names.
  collectDefaultMetrics({ register: registry })
  const messages = new Counter({
    name: 'gavel_messages_total',
    help: 'Input messages by what became of them.',
    labelNames: ['topic', 'outcome'],
    registers,
  })
  const deadLetters = new Counter({
    name: 'gavel_dead_letters_total',
    help: 'Messages that could not be read or judged.',
    labelNames: ['reason'],
    registers,
  })
  const verdicts = new Counter({
    name: 'gavel_verdicts_total',
    help: 'Published verdicts. degraded is true where something was left out.',
    labelNames: ['protocol', 'label', 'decided_by', 'degraded'],
    registers,
  })
  const latency = new Histogram({
    name: 'gavel_verdict_latency_seconds',
    help: 'From the message or due time that opened a revision to its acknowledged publication.',
    labelNames: ['protocol'],
    buckets: LATENCY_SECONDS,
    registers,
  })
  const overhead = new Histogram({
    name: 'gavel_verdict_overhead_seconds',
    help: 'The same less the critical path of model calls and imposed holds: what Gavel itself took.',
    labelNames: ['protocol'],
    buckets: WAIT_SECONDS,
    registers,
  })
  const stageWait = new Histogram({
    name: 'gavel_stage_wait_seconds',
    help: 'Time that asks spent in their stage queue before a worker took them.',
    labelNames: ['stage', 'protocol'],
    buckets: WAIT_SECONDS,
    registers,
  })
  const stageRun = new Histogram({
    name: 'gavel_stage_run_seconds',
    help: 'Time that a worker spent on one attempt at an ask.',
    labelNames: ['stage', 'protocol', 'outcome'],
    buckets: LATENCY_SECONDS,
    registers,
  })
  const stageJobs = new Gauge({
    name: 'gavel_stage_jobs',
    help: 'Jobs in each stage queue by state. Shared: take the maximum over replicas.',
    labelNames: ['stage', 'protocol', 'state'],
    registers,
  })
  const stageOldest = new Gauge({
    name: 'gavel_stage_oldest_waiting_seconds',
    help: 'Age of the job that waits longest in each stage queue; grows while a stage is stuck. Shared.',
    labelNames: ['stage', 'protocol'],
    registers,
  })
  const lagMessages = new Gauge({
    name: 'gavel_kafka_lag_messages',
    help: 'Messages not yet read in the partitions of this process. Sum over replicas.',
    labelNames: ['topic'],
    registers,
  })
  const lagSeconds = new Gauge({
    name: 'gavel_kafka_lag_seconds',
    help: 'Age of the last message read while more is waiting, else 0.',
    labelNames: ['topic'],
    registers,
  })
  const rounds = new Histogram({
    name: 'gavel_debate_rounds',
    help: 'Rounds of debate held for a verdict.',
    labelNames: ['protocol'],
    buckets: [0, 1, 2, 3, 4, 5, 10],
    registers,
  })
  const calls = new Counter({
    name: 'gavel_llm_calls_total',
    help: 'Calls to models by how they ended.',
    labelNames: ['stage', 'model', 'outcome', 'protocol'],
    registers,
  })
  const memoHits = new Counter({
    name: 'gavel_memo_hits_total',
    help: 'Questions, or pieces of one, that were answered without being asked.',
    labelNames: ['stage', 'protocol'],
    registers,
  })
  const memoTokens = new Counter({
    name: 'gavel_memo_saved_tokens_total',
    help: 'Tokens that these answers took when they were paid for.',
    labelNames: ['stage', 'protocol'],
    registers,
  })
  const limited = new Counter({
    name: 'gavel_calls_limited_total',
    help: 'Times that a call had to wait for a limit, of a model or a tenant.',
    labelNames: ['scope'],
    registers,
  })
  const refusals = new Counter({
    name: 'gavel_budget_refusals_total',
    help: 'Times that a budget had no room for a call: in-flight passes by itself, spent waits for its renewal.',
    labelNames: ['scope', 'unit', 'why'],
    registers,
  })
  const breakerState = new Gauge({
    name: 'gavel_breaker_state',
    help: 'Whether this process calls a model: 0 closed (it does), 1 half-open (it tries), 2 open (it does not).',
    labelNames: ['model'],
    registers,
  })
  const cost = new Counter({
    name: 'gavel_llm_cost_usd_total',
    help: 'US dollars, by the prices in the settings.',
    labelNames: ['model'],
    registers,
  })
  const duration = new Histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Duration of calls to models.',
    labelNames: ['gen_ai_operation_name', 'gen_ai_request_model'],
    buckets: GEN_AI_SECONDS,
    registers,
  })
  const tokens = new Histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of calls to models.',
    labelNames: ['gen_ai_operation_name', 'gen_ai_request_model', 'gen_ai_token_type'],
    buckets: GEN_AI_TOKENS,
    registers,
  })
  const cases = new Counter({
    name: 'gavel_cases_total',
    help: 'Cases by what happened to them: opened, concluded, fenced, revived.',
    labelNames: ['protocol', 'event'],
    registers,
  })
  const shared = new Gauge({
    name: 'gavel_backlog',
    help: 'Open cases, threads with a due time, and outbox entries. Shared: take the maximum over replicas.',
    labelNames: ['what'],
    registers,
  })
  const clockLag = new Gauge({
    name: 'gavel_stream_clock_lag_seconds',
    help: "How far the stream's clock is behind the wall clock. Shared.",
    registers,
  })
  const modelSlots = new Gauge({
    name: 'gavel_model_slots',
    help: 'Asks that hold a model slot of this process (busy), and asks that wait for one. Sum over replicas.',
    labelNames: ['state'],
    registers,
  })
  const publicationHeld = new Gauge({
    name: 'gavel_publication_held',
    help: '1 while what is decided waits in this process, since Kafka does not take it.',
    labelNames: ['what'],
    registers,
  })
  for (const what of ['verdict', 'dead-letter']) publicationHeld.set({ what }, 0)
  const consumerDown = new Gauge({
    name: 'gavel_consumer_down_seconds',
    help: 'How long this process has been without a working Kafka consumer.',
    registers,
  })
  const memory = new Gauge({
    name: 'gavel_redis_memory_share',
    help: 'Share of its maxmemory that Redis uses, 0 where it has none. Shared: take the maximum over replicas.',
    registers,
  })
  const lost = new Gauge({
    name: 'gavel_state_lost',
    help: '1 while Redis has lost what it had acknowledged and "gavel recover" has not run. Shared.',
    registers,
  })
  const paused = new Gauge({ name: 'gavel_intake_paused', help: '1 while intake is paused by the backlog.', registers })
  const pauses = new Counter({
    name: 'gavel_intake_pauses_total',
    help: 'How often intake paused, by what was too deep, too old or too full.',
    labelNames: ['reason'],
    registers,
  })
  const protocolPaused = new Gauge({
    name: 'gavel_protocol_paused',
    help: '1 while a protocol opens no cases because somebody paused it. Shared.',
    labelNames: ['protocol'],
    registers,
  })
  const stalled = new Counter({
    name: 'gavel_stalled_jobs_total',
    help: 'Jobs whose worker died, or gave no sign of life for too long, and that were given to another.',
    labelNames: ['queue'],
    registers,
  })
  const troubles = new Counter({
    name: 'gavel_troubles_total',
    help: 'Errors outside of any one message or ask, by where.',
    labelNames: ['where'],
    registers,
  })

  for (const topic of parts.topics) for (const outcome of OUTCOMES) messages.inc({ topic, outcome }, 0)
  for (const reason of DEAD_LETTER_REASONS) deadLetters.inc({ reason }, 0)
  stalled.inc({ queue: 'cases' }, 0)
  for (const model of parts.models) breakerState.set({ model }, BREAKER.closed)
  for (const scope of ['model', 'tenant']) limited.inc({ scope }, 0)
  for (const scope of ['verdict', 'tenant', 'total'])
    for (const unit of ['tokens', 'usd'])
      for (const why of ['in-flight', 'spent', 'too-large']) refusals.inc({ scope, unit, why }, 0)
  for (const { name, stages, labels } of parts.protocols) {
    latency.zero({ protocol: name })
    overhead.zero({ protocol: name })
    rounds.zero({ protocol: name })
    for (const event of ['opened', 'concluded', 'fenced', 'revived']) cases.inc({ protocol: name, event }, 0)
    for (const label of labels)
      for (const decided_by of ['consensus', 'judge'])
        verdicts.inc({ protocol: name, label, decided_by, degraded: 'false' }, 0)
    verdicts.inc({ protocol: name, label: 'none', decided_by: 'none', degraded: 'true' }, 0)
    for (const stage of stages) {
      stageWait.zero({ stage, protocol: name })
      memoHits.inc({ stage, protocol: name }, 0)
      memoTokens.inc({ stage, protocol: name }, 0)
      stalled.inc({ queue: `${name}.${stage}` }, 0)
      for (const outcome of ['answered', 'failed', 'retry', 'stale']) stageRun.zero({ stage, protocol: name, outcome })
    }
  }
  // An increase is only seen from a series that was there before: the first trouble of a kind would be missed.
  for (const where of [
    'redis',
    'kafka',
    'kafkajs',
    'bullmq',
    'worker',
    'publisher',
    'outbox',
    'opener',
    'reconciler',
    'backlog',
  ])
    troubles.inc({ where }, 0)

  const seconds = (value: number) => Math.max(0, value)
  const protocolOf = (caseId: string) => caseId.split(/[~@/]/, 1)[0] ?? ''
  const handlers: { [Name in keyof Events]?: (event: Events[Name]) => void } = {
    'messages:settled': ({ topic, outcome, count }) => messages.inc({ topic, outcome }, count),
    'message:dead': ({ reason }) => deadLetters.inc({ reason }),
    'intake:paused': ({ strains }) => {
      paused.set(1)
      for (const reason of strains) pauses.inc({ reason })
    },
    'intake:resumed': () => paused.set(0),
    'case:opened': ({ protocol }) => cases.inc({ protocol, event: 'opened' }),
    'case:concluded': ({ protocol }) => cases.inc({ protocol, event: 'concluded' }),
    'case:fenced': ({ caseId }) => cases.inc({ protocol: protocolOf(caseId), event: 'fenced' }),
    'case:revived': ({ caseId }) => cases.inc({ protocol: protocolOf(caseId), event: 'revived' }),
    'ask:started': ({ stage, protocol, waitSeconds }) => stageWait.observe({ stage, protocol }, seconds(waitSeconds)),
    'ask:ended': ({ stage, protocol, outcome, seconds: took }) =>
      stageRun.observe({ stage, protocol, outcome }, seconds(took)),
    'memo:hit': ({ stage, protocol, hits, promptTokens, completionTokens }) => {
      memoHits.inc({ stage, protocol }, hits)
      memoTokens.inc({ stage, protocol }, promptTokens + completionTokens)
    },
    'call:limited': ({ scope }) => limited.inc({ scope }),
    'budget:refused': ({ scope, unit, why }) => refusals.inc({ scope, unit, why }),
    'breaker:changed': ({ model, to }) => breakerState.set({ model }, BREAKER[to]),
    'job:stalled': ({ queue }) => stalled.inc({ queue }),
    'call:ended': (call) => {
      const operation = { gen_ai_operation_name: 'chat', gen_ai_request_model: call.model }
      calls.inc({ stage: call.stage, model: call.model, outcome: call.outcome, protocol: call.protocol })
      cost.inc({ model: call.model }, call.costUsd)
      duration.observe(operation, seconds(call.seconds))
      if (call.promptTokens > 0) tokens.observe({ ...operation, gen_ai_token_type: 'input' }, call.promptTokens)
      if (call.completionTokens > 0)
        tokens.observe({ ...operation, gen_ai_token_type: 'output' }, call.completionTokens)
    },
    'verdict:published': ({ verdict, latencySeconds, overheadSeconds }) => {
      const { protocol, label, decidedBy, degraded } = verdict
      verdicts.inc({ protocol, label: label ?? 'none', decided_by: decidedBy, degraded: String(degraded.length > 0) })
      latency.observe({ protocol }, seconds(latencySeconds))
      overhead.observe({ protocol }, seconds(overheadSeconds))
      rounds.observe({ protocol }, verdict.rounds)
    },
    'kafka:lag': ({ topic, messages: behind, seconds: age }) => {
      lagMessages.set({ topic }, behind)
      lagSeconds.set({ topic }, age)
    },
    'stage:backlog': ({ stage, protocol, states, oldestWaitingSeconds }) => {
      for (const [state, jobs] of Object.entries(states)) stageJobs.set({ stage, protocol, state }, jobs)
      stageOldest.set({ stage, protocol }, oldestWaitingSeconds)
    },
    'state:counted': ({ openCases, outbox, due, clockLagSeconds }) => {
      shared.set({ what: 'open-cases' }, openCases)
      shared.set({ what: 'outbox' }, outbox)
      shared.set({ what: 'due-threads' }, due)
      clockLag.set(clockLagSeconds ?? Number.NaN)
    },
    'slots:counted': ({ busy, waiting }) => {
      modelSlots.set({ state: 'busy' }, busy)
      modelSlots.set({ state: 'waiting' }, waiting)
    },
    'protocol:watched': ({ protocol, paused: held }) => protocolPaused.set({ protocol }, held ? 1 : 0),
    'store:watched': ({ memoryShare, lost: isLost }) => {
      memory.set(memoryShare)
      lost.set(isLost ? 1 : 0)
    },
    'publication:held': ({ what, held }) => publicationHeld.set({ what }, held ? 1 : 0),
    'consumer:watched': ({ downSeconds }) => consumerDown.set(downSeconds),
    'trouble:met': ({ where }) => troubles.inc({ where: where.split(' ', 1)[0] ?? where }),
  }
  const listen: Listener = (name, event) => handlers[name]?.(event)
  return { listen, text: () => registry.metrics(), contentType: registry.contentType }
}
