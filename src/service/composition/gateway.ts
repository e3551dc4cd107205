import type { Settings } from '../../../config/schema.ts'
import { imageLoader } from '../adapters/images.ts'
import { memoryBudgets } from '../adapters/memory/budgets.ts'
import { memoryLimits } from '../adapters/memory/limits.ts'
import { memoryMemo } from '../adapters/memory/memo.ts'
import { dialectOf, type EndpointsSettings, modelsOfEndpoints, ofEach } from '../adapters/openai/endpoints.ts'
import type { Lesson } from '../adapters/openai/learning.ts'
import type { Dialect } from '../domain/dialect.ts'
import { entryOf } from '../domain/entry-of.ts'
import { namesOf, placeOf } from '../domain/model-name.ts'
import type { EndpointNames } from '../domain/remedies.ts'
import { MOST_DEADLINES } from '../engine/erase.ts'
import { type Gateway, gateway } from '../gateway/gateway.ts'
import { EMBEDDER_ROLE, type Lookups, lookups } from '../gateway/lookups.ts'
import type { GatewayParts, GatewaySettings } from '../gateway/parts.ts'
import { longestCallMs } from '../gateway/time-limits.ts'
import type { BudgetSettings } from '../ports/budgets.ts'
import type { Clock } from '../ports/clock.ts'
import type { LoadImage } from '../ports/images.ts'
import type { Model } from '../ports/model.ts'
import type { Report } from '../ports/report.ts'

export type GatewayStores = Pick<GatewayParts, 'memo' | 'limits' | 'budgets' | 'keptImage'>

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
    /** The settings as they are now, where limits and budgets can change. */
    now?: () => Settings
  },
): Gateway {
  const { stores, secret, clock, report } = parts
  const learnt = (lesson: Lesson) => report('dialect:learnt', lesson)
  const { model = modelOf(settings, learnt), loadImage = imageLoader(settings.images) } = parts
  const own = gatewaySettings(settings, secret, parts.holds, parts.now)
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

export function gatewaySettings(
  settings: Settings,
  secret: string,
  holds = false,
  now = () => settings,
): GatewaySettings {
  const { models, breaker, memo, images, endpoints } = settings
  const dialectOf = dialectsOf(settings)
  return {
    ...models,
    ...{ breaker, memo, images, secret, holds },
    get limits() {
      return now().limits
    },
    get whenSpent() {
      return now().budgets.whenSpent
    },
    thinkingOf: (model) => {
      const { thinkingTokens: tokens, effort } = dialectOf(model)
      return { tokens, effort }
    },
    endpointOf: (model) => placeOf(model, endpoints).endpoint,
  }
}

/** A call keeps its in-flight slot until it must have ended. */
export function limitLeaseMs(settings: Settings): number {
  return longestCallMs(settings.models) + 30_000
}

export function budgetSettings(settings: Settings, now = () => settings): BudgetSettings {
  const { cases } = settings
  return {
    get verdict() {
      return now().budgets.verdict
    },
    get tenant() {
      return now().budgets.tenant
    },
    get tenants() {
      return now().budgets.tenants
    },
    get total() {
      return now().budgets.total
    },
    keepVerdictMs: (MOST_DEADLINES + 1) * cases.deadline + cases.mostHeld,
  }
}

/** Limits and budgets as they are now. */
export function boundSettings(settings: Settings, now: () => Settings) {
  return {
    get limits() {
      return now().limits
    },
    budgets: budgetSettings(settings, now),
  }
}

/** The models of the settings' endpoints. `learnt` is told once of each thing that a model's refusals have shown. */
export function modelOf(settings: Settings, learnt: (lesson: Lesson) => void = () => {}): Model {
  return modelsOfEndpoints(endpointsOf(settings), { learnt })
}

/** What a model is told to take, by its name in the settings. */
export function dialectsOf(settings: Settings): (model: string) => Dialect {
  const endpoints = endpointsOf(settings)
  return ofEach((model) => dialectOf(model, endpoints))
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

/** The embedder's chain, as a role beside those of `models.roles`; none where it is part of the process. */
export function embedderRoles({ library }: Pick<Settings, 'library'>): GatewaySettings['roles'] {
  return library.embedder === 'local' ? {} : { [EMBEDDER_ROLE]: [library.embedder] }
}

/** What holds lookups while the embedder does not answer; null where it is part of the process. */
export function lookupsOf(
  settings: Settings,
  parts: { readonly clock: Clock; readonly report: Report },
): Lookups | null {
  const [embedder] = embedderRoles(settings)[EMBEDDER_ROLE] ?? []
  if (embedder === undefined) return null
  const { endpoint } = placeOf(embedder, settings.endpoints)
  return lookups({ ...parts, embedder, endpoint, settings: settings.breaker })
}
