import { type Slots, slots } from '../domain/slots.ts'
import type { Clock } from '../ports/clock.ts'
import type { ModelCapacity } from '../ports/report.ts'
import { type AdaptiveLimit, adaptiveLimit } from './adaptive.ts'
import { type TimeLimits, timeLimits } from './time-limits.ts'

export interface SlotSettings {
  /** Most calls in flight from this process. */
  readonly slots: number
  /**
   * A stage's calls are never cut off before this, in ms, however fast they usually are; null: only `callTimeoutMs`
   * counts.
   */
  readonly minTimeoutMs: number | null
  /** Fewer calls are sent to a model when they take this many times as long as usual; null: never adapt. */
  readonly latencyTolerance: number | null
}

/** What this process has learnt about a model: how many parallel calls it sustains, and how long they take. */
export interface Guards {
  readonly adaptive: AdaptiveLimit
  readonly times: TimeLimits
}

/** Slots for calls from this process: for all models together, and for each model. */
export interface ModelSlots {
  /** Runs `task` while it has one of the model's slots and one of the process's. */
  withSlot<Result>(model: string, signal: AbortSignal, task: (guards: Guards) => Promise<Result>): Promise<Result>
  readonly busy: number
  readonly waiting: number
  /** How many calls to each model may be in flight now; models that nobody has asked yet are not in it. */
  limits(): ModelCapacity[]
}

export function modelSlots(settings: SlotSettings, clock: Clock): ModelSlots {
  const all = slots(() => settings.slots)
  const byModel = new Map<string, Guards & { readonly slots: Slots; readonly limit: () => number }>()

  function ofModel(model: string) {
    const known = byModel.get(model)
    if (known !== undefined) return known
    const tolerance = settings.latencyTolerance ?? Number.POSITIVE_INFINITY
    const adaptive = adaptiveLimit({ most: settings.slots, tolerance }, clock)
    const limit = () => (settings.latencyTolerance === null ? settings.slots : adaptive.limit)
    const made = { adaptive, times: timeLimits({ leastMs: settings.minTimeoutMs }, clock), limit, slots: slots(limit) }
    byModel.set(model, made)
    return made
  }

  return {
    withSlot(model, signal, task) {
      const own = ofModel(model)
      return own.slots.run(signal, () => all.run(signal, () => task(own)))
    },
    get busy() {
      return all.busy
    },
    get waiting() {
      return [...byModel.values()].reduce((sum, own) => sum + own.slots.waiting, all.waiting)
    },
    limits: () => [...byModel].map(([model, { limit }]) => ({ model, limit: limit() })),
  }
}
