import type { Budgets } from '../contracts/ports/budgets.ts'
import type { CallLimits, ScopeLimits } from '../contracts/ports/call-limits.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { LoadImage } from '../contracts/ports/images.ts'
import type { Memo } from '../contracts/ports/memo.ts'
import type { Model } from '../contracts/ports/model.ts'
import type { Report } from '../contracts/ports/report.ts'
import type { ThreadStore } from '../contracts/ports/threads.ts'
import type { Breaker, BreakerSettings } from './breaker.ts'
import type { Price, UnmeteredCalls } from './cost.ts'
import type { ImageCache, ImageCacheSettings } from './image-cache.ts'
import type { LeaseSettings, Leases } from './lease.ts'
import type { OutageDeferral } from './model-outage.ts'
import type { ModelSlots, SlotSettings } from './model-slots.ts'
import type { QuestionKeys } from './questions.ts'
import type { RefusalReport } from './refusal-report.ts'
import type { QuestionFlights } from './single-flight.ts'
import type { SpentBudgets } from './spent-budgets.ts'
import type { ThinkingRooms, ThinkingSettings } from './thinking.ts'
import type { TierSettings } from './time-limits.ts'

export interface GatewaySettings extends SlotSettings, TierSettings, ThinkingSettings {
  /** Models by PROTOCOL.ROLE or ROLE, in order of preference; `default` for other roles. */
  readonly roles: Readonly<Record<string, readonly string[]>>
  /** Whether another model of the chain is asked where an endpoint's filter refused a question. */
  readonly onFiltered: 'stop' | 'next'
  /** A model's endpoint, by its name in the settings: models of one share its key. */
  readonly endpointOf: (model: string) => string
  /** The scales that a model does not keep to, by its name in the settings. */
  readonly withoutScalesOf: (model: string) => readonly string[]
  readonly breaker: BreakerSettings
  readonly memo: MemoSettings
  readonly images: ImageCacheSettings
  /** The key of the hashes that identify questions. */
  readonly secret: string
  /** By model; a model without a price is free. */
  readonly prices: Readonly<Record<string, Price>>
  /** Most tokens that one image can count as. */
  readonly imageTokens: number
  /** What all processes together may ask: by model and by tenant; `default` for others. */
  readonly limits: {
    readonly models: Readonly<Record<string, ScopeLimits>>
    readonly tenants: Readonly<Record<string, ScopeLimits>>
  }
  /** Wait until a budget renews, or fail the ask. */
  readonly whenSpent: 'hold' | 'degrade'
  /** Whether an ask that no model of its chain answers waits until one does; otherwise each fails with its name at once. */
  readonly defersInOutage: boolean
}

export interface MemoSettings extends LeaseSettings {
  readonly enabled: boolean
  /** Longest wait in a worker for an answer to another ask, in ms; then the ask is deferred. */
  readonly patience: number
}

/** What the gateway is given. */
export interface GatewayParts {
  readonly model: Model
  readonly loadImage: LoadImage
  /** Images that the store keeps beside their posts; absent where it keeps none so. */
  readonly keptImage?: ThreadStore['keptImage'] | undefined
  readonly memo: Memo
  readonly limits: CallLimits
  readonly budgets: Budgets
  readonly settings: GatewaySettings
  readonly clock: Clock
  readonly report: Report
}

/** What stands between asks and models in this process, and what it has learnt: handed to each step. */
export interface GatewayState extends GatewayParts {
  readonly images: ImageCache
  readonly questionKeys: QuestionKeys
  readonly flights: QuestionFlights
  readonly leases: Leases
  readonly breakers: Breaker
  /** Null where an ask never waits for its model. */
  readonly outageDeferral: OutageDeferral | null
  readonly slots: ModelSlots
  readonly thinkingRooms: ThinkingRooms
  readonly spentBudgets: SpentBudgets
  readonly unmeteredCalls: UnmeteredCalls
  readonly refused: RefusalReport
}
