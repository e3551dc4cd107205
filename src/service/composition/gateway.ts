import type { Settings } from '../../../config/schema.ts'
import { imageLoader } from '../adapters/images.ts'
import { memoryBudgets } from '../adapters/memory/budgets.ts'
import { memoryLimits } from '../adapters/memory/limits.ts'
import { memoryMemo } from '../adapters/memory/memo.ts'
import { dialectOf, type EndpointsSettings, modelsOfEndpoints } from '../adapters/openai/endpoints.ts'
import type { Lesson } from '../adapters/openai/learning.ts'
import type { Dialect } from '../domain/dialect.ts'
import { entryOf } from '../domain/entry-of.ts'
import { namesOf, placeOf } from '../domain/model-name.ts'
import type { EndpointNames } from '../domain/remedies.ts'
import { MOST_DEADLINES } from '../engine/erase.ts'
import { type Gateway, type GatewayParts, type GatewaySettings, gateway } from '../gateway/gateway.ts'
import { longestCallMs } from '../gateway/tiers.ts'
import type { BudgetSettings } from '../ports/budgets.ts'
import type { Clock } from '../ports/clock.ts'
import type { LoadImage } from '../ports/images.ts'
import type { LimitsOf } from '../ports/limits.ts'
import type { Model } from '../ports/model.ts'
import type { Events, Report } from '../ports/report.ts'

export type GatewayStores = Pick<GatewayParts, 'memo' | 'limits' | 'budgets'>

/** The gateway between asks and models, on these stores. */
export function gatewayOf(
  settings: Settings,
  parts: {
    stores: GatewayStores
    secret: string
    clock: Clock
    report: Report
    /** Used instead of the model that the settings name. */
    model?: Model | undefined
    loadImage?: LoadImage | undefined
    /** Whether asks that no model of their chain answers are held: in a service. */
    holds?: boolean
  },
): Gateway {
  const { stores, secret, clock, report } = parts
  const learnt = (lesson: Lesson) => report('dialect:learnt', lesson)
  const { model = modelOf(settings, learnt), loadImage = imageLoader(imageSettings(settings)) } = parts
  const own = gatewaySettings(settings, secret, parts.holds)
  return gateway({ model, loadImage, ...stores, settings: own, clock, report })
}

/** The gateway's stores in memory, for one process that judges by itself. */
export function memoryGatewayStores(settings: Settings, clock: Clock): GatewayStores {
  return {
    memo: memoryMemo(clock),
    limits: memoryLimits(clock, { leaseMs: limitLeaseMs(settings) }),
    budgets: memoryBudgets(budgetSettings(settings), clock),
  }
}

export function gatewaySettings(settings: Settings, secret: string, holds = false): GatewaySettings {
  const { models, memo, limits, budgets } = settings
  const dialectOf = dialectsOf(settings)
  const { slots, roles, tiers, callTimeout, flexTimeout, onFiltered, prices, latencyTolerance, imageTokens } = models
  return {
    ...{ slots, roles, tiers, callTimeout, flexTimeout, onFiltered, prices, latencyTolerance, imageTokens, holds },
    thinkingOf: (model) => {
      const { thinkingTokens: tokens, effort } = dialectOf(model)
      return { tokens, effort }
    },
    mostThinkingTokens: models.thinkingTokens,
    keepThoughts: models.keepThoughts,
    endpointOf: (model) => placeOf(model, settings.endpoints).endpoint,
    minTimeoutMs: models.minTimeout,
    limits: { models: mapped(limits.models, given), tenants: mapped(limits.tenants, given) },
    whenSpent: budgets.whenSpent,
    breaker: settings.breaker,
    memo: memo.enabled
      ? { keepMs: memo.keep, leaseMs: memo.lease, patienceMs: memo.patience, maxBytes: memo.maxBytes }
      : null,
    images: {
      keepMs: settings.images.keepFor,
      maxBytes: settings.images.keepBytes,
      fetches: settings.images.fetches,
      longest: settings.images.maxBytes,
    },
    secret,
  }
}

/** A call keeps its in-flight slot until it must have ended. */
export function limitLeaseMs(settings: Settings): number {
  return longestCallMs(settings.models) + 30_000
}

export function budgetSettings({ budgets, cases }: Settings): BudgetSettings {
  const { verdict, tenants } = budgets
  const { per: tenantPer, ...tenant } = budgets.tenant
  const { per: totalPer, ...total } = budgets.total
  return {
    ...{ verdict, tenants },
    tenant: { ...tenant, perMs: tenantPer },
    total: { ...total, perMs: totalPer },
    keepVerdictMs: (MOST_DEADLINES + 1) * cases.deadline + cases.mostHeld,
  }
}

/** Leaves out unset limits: absent and undefined are not the same here. */
function given({ callsPerMinute, tokensPerMinute, inFlight }: Settings['limits']['models'][string]): LimitsOf {
  return {
    ...(callsPerMinute === undefined ? {} : { callsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(inFlight === undefined ? {} : { inFlight }),
  }
}

function mapped<From, To>(values: Readonly<Record<string, From>>, to: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, to(value)]))
}

function imageSettings({ images }: Settings) {
  return { maxBytes: images.maxBytes, timeoutMs: images.timeout, maxRedirects: images.maxRedirects }
}

/** The models of the settings' endpoints. `learnt` is told once of each thing that a model's refusals have shown. */
export function modelOf(settings: Settings, learnt: (lesson: Lesson) => void = () => {}): Model {
  return modelsOfEndpoints(endpointsOf(settings), { learnt })
}

/** What a model is told to take, by its name in the settings. */
export function dialectsOf(settings: Settings): (model: string) => Dialect {
  const endpoints = endpointsOf(settings)
  const known = new Map<string, Dialect>()
  return (model) => {
    const dialect = known.get(model) ?? dialectOf(model, endpoints)
    known.set(model, dialect)
    return dialect
  }
}

/** The URL of a model's endpoint, and how its settings are called. */
export function endpointOf(settings: Settings, model: string): EndpointNames & { readonly baseUrl: string } {
  const { endpoint } = placeOf(model, settings.endpoints)
  const { baseUrl } = entryOf(settings.endpoints, endpoint) ?? settings.openai
  return { baseUrl, ...namesOf(endpoint) }
}

function endpointsOf({ openai, endpoints, models }: Settings): EndpointsSettings {
  return { openai, endpoints, dialects: models.dialects }
}

/** What to tell of a stop's time in which the longest call that the settings allow need not end; null where each ends. */
export function shortDrain(settings: Settings): Events['service:short-drain'] | null {
  const { drain: drainMs, models } = settings
  const callTimeoutMs = longestCallMs(models)
  if (drainMs >= callTimeoutMs) return null
  const setting = callTimeoutMs === models.callTimeout ? 'callTimeout' : 'flexTimeout'
  return {
    ...{ drainMs, callTimeoutMs },
    advice: `a stop may cut off calls in flight, which are then asked again: drain is shorter than models.${setting}`,
  }
}
