import { Counter, Gauge, Histogram } from 'prom-client'
import { AWAY_REASONS, CALL_OUTCOMES, type CallOutcome, type OutageReason } from '../../contracts/facts/errors.ts'
import { filterCategories } from '../../contracts/facts/filtered.ts'
import { REFUSAL_REASONS } from '../../contracts/ports/budgets.ts'
import { type BreakerState, UNMETERED } from '../../contracts/ports/report.ts'
import { duration, type MetricGroup } from './group.ts'

/** Prescribed by the OpenTelemetry conventions for generative AI. */
const GEN_AI_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const GEN_AI_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]

const BREAKER: Readonly<Record<BreakerState, number>> = { closed: 0, 'half-open': 1, open: 2 }

/** The checks between asks and models: memo, limits, budgets, breakers, slots. */
export const gatewayMetrics: MetricGroup = (registry, { models, roles, bounds }) => {
  const registers = [registry]
  const memoHits = new Counter({
    name: 'gavel_memo_hits_total',
    help: 'Questions, or items of a batch, that were answered from the memo.',
    labelNames: ['stage', 'protocol'],
    registers,
  })
  const memoTokens = new Counter({
    name: 'gavel_memo_saved_tokens_total',
    help: 'Tokens that were paid for these answers originally.',
    labelNames: ['stage', 'protocol'],
    registers,
  })
  const limited = new Counter({
    name: 'gavel_calls_limited_total',
    help: 'How often a call had to wait for a limit of a model or a tenant.',
    labelNames: ['scope'],
    registers,
  })
  const refusals = new Counter({
    name: 'gavel_budget_refusals_total',
    help: 'How often a budget had no room for a call: in-flight clears by itself, spent waits for the budget to renew.',
    labelNames: ['scope', 'unit', 'why'],
    registers,
  })
  const breakerState = new Gauge({
    name: 'gavel_breaker_state',
    help: 'Whether this process calls a model: 0 closed (it does), 1 half-open (it tries), 2 open (it does not).',
    labelNames: ['model'],
    registers,
  })
  const roleModel = new Gauge({
    name: 'gavel_role_model',
    help: 'Always 1: the models of each chain of models.roles, to join with the state of their breakers.',
    labelNames: ['role', 'model'],
    registers,
  })
  const roleAway = new Gauge({
    name: 'gavel_role_away',
    help: 'Whether this process can call a model of a chain of models.roles: 0 yes, 1 it tries one, 2 no; by the reason of the first model.',
    labelNames: ['role', 'reason'],
    registers,
  })
  const modelSlots = new Gauge({
    name: 'gavel_model_slots',
    help: 'Asks that have a model slot of this process (busy), asks that wait for one, and all slots. Sum over replicas.',
    labelNames: ['state'],
    registers,
  })
  const adaptiveLimit = new Gauge({
    name: 'gavel_model_adaptive_limit',
    help: 'Calls to a model that this process may have in flight, by what the model has been seen to bear. Sum over replicas.',
    labelNames: ['model'],
    registers,
  })

  const limitUsed = new Gauge({
    name: 'gavel_limit_used_ratio',
    help: 'Share of a limit of a model or a tenant that the last minute has used; of the tenants the ten fullest. Shared.',
    labelNames: ['scope', 'name', 'unit'],
    registers,
  })
  const budgetUsed = new Gauge({
    name: 'gavel_budget_used_ratio',
    help: 'Share of a budget that is used in its present period; of the tenants the ten fullest. Shared.',
    labelNames: ['scope', 'name', 'unit'],
    registers,
  })

  /** So that the first refusal is an increase. */
  const zero = () => {
    const { limits, budgets } = bounds()
    for (const scope of limits) limited.inc({ scope }, 0)
    for (const { scope, unit } of budgets) for (const why of REFUSAL_REASONS) refusals.inc({ scope, unit, why }, 0)
  }
  zero()
  for (const model of models) breakerState.set({ model }, BREAKER.closed)
  for (const [role, chain] of Object.entries(roles)) for (const model of chain) roleModel.set({ role, model }, 1)

  const away = new Map<string, { readonly is: number; readonly reason: OutageReason }>()
  const noteAway = () => {
    for (const [role, chain] of Object.entries(roles)) {
      const is = Math.min(...chain.map((model) => away.get(model)?.is ?? 0))
      const first = is === 0 ? undefined : away.get(chain[0] ?? '')?.reason
      for (const reason of AWAY_REASONS) roleAway.set({ role, reason }, reason === first ? is : 0)
    }
  }
  noteAway()

  return {
    'settings:reloaded': zero,
    'capacity:used': (used) => {
      for (const [gauge, all] of [[limitUsed, used.limits] as const, [budgetUsed, used.budgets] as const]) {
        gauge.reset()
        for (const { scope, name, unit, share } of all) gauge.set({ scope, name, unit }, share)
      }
    },
    'state:exported': ({ here }) => {
      if (!here) for (const gauge of [limitUsed, budgetUsed]) gauge.reset()
    },
    'memo:hit': ({ stage, protocol, hits, promptTokens, completionTokens }) => {
      memoHits.inc({ stage, protocol }, hits)
      memoTokens.inc({ stage, protocol }, promptTokens + completionTokens)
    },
    'call:limited': ({ scope }) => limited.inc({ scope }),
    'budget:refused': ({ scope, unit, why }) => refusals.inc({ scope, unit, why }),
    'breaker:changed': ({ model, to, reason }) => {
      breakerState.set({ model }, BREAKER[to])
      away.set(model, { is: BREAKER[to], reason })
      noteAway()
    },
    'slots:counted': ({ busy, waiting, all, models: asked }) => {
      modelSlots.set({ state: 'busy' }, busy)
      modelSlots.set({ state: 'waiting' }, waiting)
      modelSlots.set({ state: 'all' }, all)
      for (const model of models) adaptiveLimit.set({ model }, all)
      for (const { model, limit } of asked) adaptiveLimit.set({ model }, limit)
    },
  }
}

/** Attributes that the OpenTelemetry conventions ask for; the provider is any server with OpenAI's interface. */
const GEN_AI_LABELS = [
  'gen_ai_operation_name',
  'gen_ai_provider_name',
  'gen_ai_request_model',
  'server_address',
  'server_port',
] as const
/** The endpoint answered; what Gavel made of the answer is no error of the operation. */
const ANSWERED: ReadonlySet<CallOutcome> = new Set<CallOutcome>(['answered', 'unreadable', 'refused'])

function serverOf(endpoint: string): { server_address: string; server_port: string } {
  if (!URL.canParse(endpoint)) return { server_address: '', server_port: '' }
  const { hostname, port, protocol } = new URL(endpoint)
  return { server_address: hostname, server_port: port || (protocol === 'https:' ? '443' : '80') }
}

/** Calls to models: how they ended, how long they took, what they cost. */
export const callMetrics: MetricGroup = (registry, { models, endpointOf }) => {
  const registers = [registry]
  const calls = new Counter({
    name: 'gavel_llm_calls_total',
    help: 'Calls to models by outcome and stage; for failures by model see gavel_model_calls_total.',
    labelNames: ['stage', 'model', 'outcome', 'protocol'],
    registers,
  })
  const modelCalls = new Counter({
    name: 'gavel_model_calls_total',
    help: 'Calls to each model by how they ended, those of all stages together.',
    labelNames: ['model', 'outcome'],
    registers,
  })
  const filtered = new Counter({
    name: 'gavel_filtered_total',
    help: 'Calls that an endpoint refused by its filter, by what the filter found. A call with several categories counts for each.',
    labelNames: ['protocol', 'category'],
    registers,
  })
  const cost = new Counter({
    name: 'gavel_llm_cost_usd_total',
    help: 'US dollars, by the prices in the settings.',
    labelNames: ['model'],
    registers,
  })
  const seconds = new Histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Duration of calls to models.',
    labelNames: [...GEN_AI_LABELS, 'error_type'],
    buckets: GEN_AI_SECONDS,
    registers,
  })
  const tokens = new Histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of calls to models.',
    labelNames: [...GEN_AI_LABELS, 'gen_ai_token_type'],
    buckets: GEN_AI_TOKENS,
    registers,
  })

  const lessons = new Counter({
    name: 'gavel_dialect_lessons_total',
    help: "Facts learnt from a model's refusals, by parameter; each is counted once in each process.",
    labelNames: ['model', 'parameter'],
    registers,
  })
  const operationOf = (model: string) => ({
    gen_ai_operation_name: 'chat',
    gen_ai_provider_name: 'openai',
    gen_ai_request_model: model,
    ...serverOf(endpointOf(model)),
  })

  const unmetered = new Counter({
    name: 'gavel_llm_unmetered_calls_total',
    help: 'Answers whose tokens and cost are an estimate: their endpoint reported none (missing), or more than can be (beyond).',
    labelNames: ['model', 'why'],
    registers,
  })

  for (const model of models) {
    cost.inc({ model }, 0)
    for (const why of UNMETERED) unmetered.inc({ model, why }, 0)
    seconds.zero({ ...operationOf(model), error_type: '' })
    for (const outcome of CALL_OUTCOMES) modelCalls.inc({ model, outcome }, 0)
  }

  return {
    'dialect:learnt': ({ model, parameter }) => lessons.inc({ model, parameter }),
    'call:filtered': ({ protocol, found }) => {
      for (const category of filterCategories(found)) filtered.inc({ protocol, category })
    },
    'call:ended': ({ stage, model, outcome, protocol, ...call }) => {
      const operation = operationOf(model)
      calls.inc({ stage, model, outcome, protocol })
      modelCalls.inc({ model, outcome })
      cost.inc({ model }, call.costUsd)
      if (call.unmetered !== undefined) unmetered.inc({ model, why: call.unmetered })
      // A label that is empty counts as absent: an operation without an error has no type of error.
      seconds.observe({ ...operation, error_type: ANSWERED.has(outcome) ? '' : outcome }, duration(call.seconds))
      if (call.promptTokens > 0) tokens.observe({ ...operation, gen_ai_token_type: 'input' }, call.promptTokens)
      if (call.completionTokens > 0)
        tokens.observe({ ...operation, gen_ai_token_type: 'output' }, call.completionTokens)
    },
  }
}
