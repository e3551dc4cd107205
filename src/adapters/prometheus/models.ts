import { Counter, Gauge, Histogram } from 'prom-client'
import { CALL_OUTCOMES } from '../../domain/errors.ts'
import { BUDGET_SCOPES, BUDGET_UNITS, REFUSAL_REASONS } from '../../ports/budgets.ts'
import { LIMIT_KINDS } from '../../ports/limits.ts'
import type { BreakerState } from '../../ports/report.ts'
import { GEN_AI_SECONDS, GEN_AI_TOKENS } from './buckets.ts'
import { duration, type MetricGroup } from './group.ts'

const BREAKER: Readonly<Record<BreakerState, number>> = { closed: 0, 'half-open': 1, open: 2 }

/** The checks between asks and models: memo, limits, budgets, breakers, slots. */
export const gatewayMetrics: MetricGroup = (registry, { protocols, models }) => {
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
  const modelSlots = new Gauge({
    name: 'gavel_model_slots',
    help: 'Asks that hold a model slot of this process (busy), and asks that wait for one. Sum over replicas.',
    labelNames: ['state'],
    registers,
  })

  for (const { name: protocol, stages } of protocols)
    for (const stage of stages) {
      memoHits.inc({ stage, protocol }, 0)
      memoTokens.inc({ stage, protocol }, 0)
    }
  for (const scope of LIMIT_KINDS) limited.inc({ scope }, 0)
  for (const scope of BUDGET_SCOPES)
    for (const unit of BUDGET_UNITS) for (const why of REFUSAL_REASONS) refusals.inc({ scope, unit, why }, 0)
  for (const model of models) breakerState.set({ model }, BREAKER.closed)

  return {
    'memo:hit': ({ stage, protocol, hits, promptTokens, completionTokens }) => {
      memoHits.inc({ stage, protocol }, hits)
      memoTokens.inc({ stage, protocol }, promptTokens + completionTokens)
    },
    'call:limited': ({ scope }) => limited.inc({ scope }),
    'budget:refused': ({ scope, unit, why }) => refusals.inc({ scope, unit, why }),
    'breaker:changed': ({ model, to }) => breakerState.set({ model }, BREAKER[to]),
    'slots:counted': ({ busy, waiting }) => {
      modelSlots.set({ state: 'busy' }, busy)
      modelSlots.set({ state: 'waiting' }, waiting)
    },
  }
}

/** Calls to models: how they ended, how long they took, what they cost. */
export const callMetrics: MetricGroup = (registry, { protocols, models }) => {
  const registers = [registry]
  const calls = new Counter({
    name: 'gavel_llm_calls_total',
    help: 'Calls to models by how they ended.',
    labelNames: ['stage', 'model', 'outcome', 'protocol'],
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

  const operationOf = (model: string) => ({ gen_ai_operation_name: 'chat', gen_ai_request_model: model })

  for (const model of models) {
    cost.inc({ model }, 0)
    seconds.zero(operationOf(model))
    for (const { name: protocol, stages } of protocols)
      for (const stage of stages) for (const outcome of CALL_OUTCOMES) calls.inc({ stage, model, outcome, protocol }, 0)
  }

  return {
    'call:ended': ({ stage, model, outcome, protocol, ...call }) => {
      const operation = operationOf(model)
      calls.inc({ stage, model, outcome, protocol })
      cost.inc({ model }, call.costUsd)
      seconds.observe(operation, duration(call.seconds))
      if (call.promptTokens > 0) tokens.observe({ ...operation, gen_ai_token_type: 'input' }, call.promptTokens)
      if (call.completionTokens > 0)
        tokens.observe({ ...operation, gen_ai_token_type: 'output' }, call.completionTokens)
    },
  }
}
