import type { ModelCapacity } from '../contracts/ports/report.ts'
import { ask } from './ask.ts'
import { breaker } from './breaker.ts'
import { breakerReport } from './breaker-report.ts'
import type { AskContext, AskResult } from './context.ts'
import { unmeteredCalls } from './cost.ts'
import { imageCache } from './image-cache.ts'
import { leases } from './lease.ts'
import { outageDeferral } from './model-outage.ts'
import { modelSlots } from './model-slots.ts'
import type { GatewayParts, GatewayState } from './parts.ts'
import { questionKeys } from './questions.ts'
import { refusalReport } from './refusal-report.ts'
import { singleFlight } from './single-flight.ts'
import { spentBudgets } from './spent-budgets.ts'
import { thinkingRooms } from './thinking.ts'

/**
 * Answers asks through models. A known answer is not asked for again; a model that does not answer is avoided for a
 * while; nothing is spent beyond the budgets and limits, with any number of processes. An ask ends with a readable
 * answer or a failure code; an unreadable answer is asked for once more, then the ask has failed. Throws
 * `RetryLaterError` if the queue should try again.
 */
export interface Gateway {
  ask(context: AskContext): Promise<AskResult>
  /** Asks that hold a slot now, and asks that wait for one. */
  readonly busy: number
  readonly waiting: number
  /** The load on models as of now. A breaker whose wait is over becomes half-open by this, also if nobody asks. */
  load(): GatewayLoad
}

export interface GatewayLoad {
  readonly busy: number
  readonly waiting: number
  /** All slots of this process. */
  readonly all: number
  readonly models: readonly ModelCapacity[]
}

export function gateway(parts: GatewayParts): Gateway {
  const { settings, memo, clock, report } = parts
  const outages = breakerReport(report, clock, settings.endpointOf)
  const breakers = breaker({ settings: settings.breaker, clock, changed: outages.changed })
  // A model may decide and no longer talk, or the reverse: each has an address of its own.
  const deciders = breaker({
    settings: settings.breaker,
    clock,
    changed: (change) => outages.changed({ ...change, model: `${change.model} (decisions)` }),
  })
  const slots = modelSlots(settings, clock)
  const state: GatewayState = {
    ...parts,
    breakers,
    slots,
    images: imageCache(parts.loadImage, settings.images, clock, parts.keptImage),
    questionKeys: questionKeys(settings.secret, settings.thinkingOf),
    flights: singleFlight(),
    leases: leases({ memo, settings: settings.memo, clock, report }),
    outageDeferral: settings.defersInOutage ? outageDeferral({ breakers, clock }) : null,
    thinkingRooms: thinkingRooms(settings, clock),
    spentBudgets: spentBudgets(report, clock, () => settings.whenSpent),
    unmeteredCalls: unmeteredCalls(report, clock),
    refused: refusalReport(report, clock),
  }
  return {
    ask: (context) => ask(context.ask.decision === undefined ? state : { ...state, breakers: deciders }, context),
    get busy() {
      return slots.busy
    },
    get waiting() {
      return slots.waiting
    },
    load() {
      breakers.states()
      deciders.states()
      outages.poll()
      return { busy: slots.busy, waiting: slots.waiting, all: settings.slots, models: slots.limits() }
    },
  }
}
