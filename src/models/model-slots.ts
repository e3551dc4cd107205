import type { ClassShares, ServiceClass } from '../contracts/facts/service-class.ts'
import { fairSlots } from '../contracts/facts/slots.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { ModelCapacity } from '../contracts/ports/report.ts'
import { type AdaptiveLimit, adaptiveLimit } from './adaptive.ts'
import { type TimeLimits, timeLimits } from './time-limits.ts'

/** Whose call it is. Tenants take turns where somebody waits for the answer; the rest has had its turns in the queues. */
export interface CallOwner {
  readonly serviceClass: ServiceClass
  readonly tenant: string
}

export interface SlotSettings {
  /** Most calls in flight from this process. */
  readonly slots: number
  /** The part of the slots that each class of calls has for certain. */
  readonly classes: ClassShares
  /**
   * A stage's calls are never cut off before this, in ms, however fast they usually are; null: only `callTimeout`
   * counts.
   */
  readonly minTimeout: number | null
  /** Fewer calls are sent to a model when they take this many times as long as usual; null: never adapt. */
  readonly latencyTolerance: number | null
}

/** Room for one call in flight to a model, and what this process has learnt about that model: how many parallel calls it sustains, and how long they take. */
export interface ModelSlot {
  readonly adaptive: AdaptiveLimit
  readonly times: TimeLimits
  /** Gives it back; a second call does nothing. */
  free(): void
}

/** Slots for calls from this process: for all models together, and for each model. */
export interface ModelSlots {
  /** Waits for one of the model's slots and one of the process's. Rejects with the signal's reason if it is aborted meanwhile. */
  take(model: string, whose: CallOwner, signal: AbortSignal): Promise<ModelSlot>
  readonly busy: number
  readonly waiting: number
  /** How many calls to each model may be in flight now; models that nobody has asked yet are not in it. */
  limits(): ModelCapacity[]
}

export function modelSlots(settings: SlotSettings, clock: Clock): ModelSlots {
  const weights = settings.classes
  const all = fairSlots({ all: () => settings.slots, weights })
  const byModel = new Map<string, ReturnType<typeof made>>()

  function made() {
    const tolerance = settings.latencyTolerance ?? Number.POSITIVE_INFINITY
    const adaptive = adaptiveLimit({ most: settings.slots, tolerance }, clock)
    const limit = () => (settings.latencyTolerance === null ? settings.slots : adaptive.limit)
    const own = fairSlots({ all: limit, weights })
    return { adaptive, times: timeLimits({ leastMs: settings.minTimeout }, clock), own, limit }
  }

  return {
    async take(model, { serviceClass, tenant }, signal) {
      const whose = { name: serviceClass, part: serviceClass === 'waiting' ? tenant : '' }
      const known = byModel.get(model) ?? made()
      byModel.set(model, known)
      const { adaptive, times, own } = known
      const ofModel = await own.take(whose, signal)
      try {
        const ofAll = await all.take(whose, signal)
        return {
          adaptive,
          times,
          free() {
            ofAll.free()
            ofModel.free()
          },
        }
      } catch (error) {
        ofModel.free()
        throw error
      }
    },
    get busy() {
      return all.load().busy
    },
    get waiting() {
      return [...byModel.values()].reduce((sum, { own }) => sum + own.load().waiting, all.load().waiting)
    },
    limits: () => [...byModel].map(([model, { limit }]) => ({ model, limit: limit() })),
  }
}
