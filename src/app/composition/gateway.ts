import type { Settings } from '../../../config/schema.ts'
import type { DialectPart } from '../../contracts/facts/dialect.ts'
import { placeOf } from '../../contracts/facts/model-name.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { LoadImage } from '../../contracts/ports/images.ts'
import type { Memo } from '../../contracts/ports/memo.ts'
import type { Model } from '../../contracts/ports/model.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { type Gateway, gateway } from '../../models/gateway.ts'
import { imageLoader } from '../../models/images/images.ts'
import { dialectLookup, modelsOfEndpoints, withoutScalesLookup } from '../../models/openai/models-of-endpoints.ts'
import type { GatewayParts, GatewaySettings } from '../../models/parts.ts'
import { limitSettings } from '../../models/time-limits.ts'
import { budgetSettings } from '../../operations/capacity.ts'
import { memoryBudgets } from '../../store/budget/memory.ts'
import { memoryLimits } from '../../store/limit/memory.ts'
import { memoryMemo } from '../../store/memo/memory.ts'

export type GatewayStores = Pick<GatewayParts, 'memo' | 'limits' | 'budgets' | 'keptImage'>

/** How long an answer is remembered while Redis fills, in ms. */
const FILLING_KEEP_MS = 60_000

/**
 * The memo, which remembers new answers for a moment only while its store fills: it saves calls, and one tenant's answers must not
 * be what stops the others' intake.
 */
export function sparingMemo(memo: Memo, isFilling: () => boolean): Memo {
  return {
    ...memo,
    keep: (answers, holder, keepMs, subject) =>
      memo.keep(answers, holder, isFilling() ? Math.min(keepMs, FILLING_KEEP_MS) : keepMs, subject),
  }
}

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
    /** Whether asks that no model of their chain answers wait until one does: in a service. */
    defersInOutage?: boolean
    /** The settings as they are now, where limits and budgets can change. */
    now?: () => Settings
    /** How a model was met, by the name of its place. */
    met?: (place: string) => DialectPart | undefined
  },
): Gateway {
  const { stores, secret, clock, report } = parts
  const {
    model = modelsOfEndpoints(settings, { learnt: (lesson) => report('dialect:learnt', lesson) }),
    loadImage = imageLoader(settings.images),
  } = parts
  const own = gatewaySettings(settings, secret, parts)
  return gateway({ model, loadImage, ...stores, settings: own, clock, report })
}

export function gatewaySettings(
  settings: Settings,
  secret: string,
  {
    defersInOutage = false,
    now = () => settings,
    met = () => undefined,
  }: {
    readonly defersInOutage?: boolean
    readonly now?: () => Settings
    readonly met?: (place: string) => DialectPart | undefined
  } = {},
): GatewaySettings {
  const { models, breaker, memo, images, endpoints } = settings
  const dialectOf = dialectLookup(settings)
  return {
    ...models,
    classes: settings.shares,
    breaker,
    memo,
    images,
    secret,
    defersInOutage,
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
    withoutScalesOf: withoutScalesLookup(settings, met),
    endpointOf: (model) => placeOf(model, endpoints).endpoint,
  }
}

/** The gateway's stores in memory, for one process that judges by itself. */
export function memoryGatewayStores(settings: Settings, clock: Clock): GatewayStores {
  return {
    memo: memoryMemo(clock),
    limits: memoryLimits(clock, limitSettings(settings)),
    budgets: memoryBudgets(budgetSettings(settings), clock),
  }
}
