import { entryOf } from './entry-of.ts'
import { LeastFirst } from './least-first.ts'

/** A limited number of slots, given in order of arrival. */
export interface Slots {
  /** Waits for a slot, which is given back by `release`, once. Rejects with the signal's reason if it is aborted while waiting. */
  acquire(signal: AbortSignal): Promise<void>
  release(): void
  readonly busy: number
  readonly waiting: number
}

/** `limit` may change over time; a free slot goes to the task that has waited longest. */
export function slots(limit: () => number): Slots {
  const waiting = new Set<() => void>()
  let busy = 0
  const release = () => {
    busy--
    for (const next of waiting) {
      if (busy >= limit()) return
      waiting.delete(next)
      busy++
      next()
    }
  }
  const acquire = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      if (busy < limit()) {
        busy++
        return resolve()
      }
      const go = () => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const stop = () => {
        waiting.delete(go)
        reject(signal.reason)
      }
      waiting.add(go)
      signal.addEventListener('abort', stop, { once: true })
    })
  return {
    acquire,
    release,
    get busy() {
      return busy
    },
    get waiting() {
      return waiting.size
    },
  }
}

/** A limited number of slots, shared out by name, and within a name by part, so that nobody's work takes them all. */
export interface FairSlots {
  /**
   * Waits for a slot, which is given back by `free`, once; `waited`: whether it had to wait. Rejects with the signal's reason if
   * it is aborted while waiting. A task of a `size` takes so many slots, or all there are if it is larger and nothing else runs.
   */
  take(whose: SlotOwner, signal: AbortSignal, size?: number): Promise<{ readonly waited: boolean; free(): void }>
  /** What gives slots back, if there are as many that nobody waits for; null otherwise. A tenth of the cost of waiting for one. */
  takeNow(whose: SlotOwner, size?: number): (() => void) | null
  /**
   * Waits for a slot, runs `task`, frees the slot; `waited`: whether it had to wait. Rejects with the signal's reason
   * if it is aborted while waiting.
   */
  run<Result>(
    whose: SlotOwner,
    signal: AbortSignal,
    task: (waited: boolean) => Promise<Result>,
    size?: number,
  ): Promise<Result>
  /** How many tasks wait under the name, and how many of them for this part. */
  waiting(whose: SlotOwner): { readonly ofName: number; readonly ofPart: number }
  /** Slots that are taken, and tasks that wait for one. */
  load(): { readonly busy: number; readonly waiting: number }
}

/** Whose task it is. */
export interface SlotOwner {
  readonly name: string
  /** One of many under the name. */
  readonly part: string
}

interface Share {
  busy: number
  readonly weight: number
  /** Counts up with each slot that is given; 0 for who had none. */
  last: number
  /** Counts up with each that comes to want slots. */
  readonly since: number
}

interface SlotPart extends Share {
  /** The sizes of those that wait, the oldest first. */
  readonly waiting: Map<() => void, number>
}

interface NamedShare extends Share {
  readonly parts: Map<string, SlotPart>
  /** Its parts that may be given a slot. */
  readonly able: LeastFirst<SlotPart>
}

/** Whether it is in greater need of a slot. */
function isNeedier(one: Share, other: Share): boolean {
  const less = one.busy / one.weight - other.busy / other.weight || one.last - other.last || one.since - other.since
  return less < 0
}

/** Whether one of this size may run beside those that do; one that is larger than all there is runs by itself. */
function fits(busy: number, size: number, most: number): boolean {
  return busy === 0 ? most > 0 : busy + size - 1 < most
}

/** The size of the oldest that waits. */
function nextSize(part: SlotPart | undefined): number {
  const [size = 1] = part?.waiting.values() ?? []
  return size
}

/** The limits of {@link fairSlots}; without `each` and `ofPart` only those of all. */
interface FairLimits {
  /** May change over time. */
  readonly all: () => number
  readonly each?: number
  readonly ofPart?: number
  /** By name, 1 for others. Of names that all want slots, each has them in proportion to its weight. */
  readonly weights?: Readonly<Record<string, number>>
}

/**
 * At most `all` tasks run at a time, `each` of one name, `ofPart` of one part of it. A free slot goes to the name that has
 * fewest for its weight, then had one least recently, and there to the part by the same rule. So a name borrows what others do
 * not want, and gives it back as its tasks end: with weights that sum up to 1 at most, each name has its weight of all slots as
 * soon as it wants them and the tasks that run have ended.
 */
export function fairSlots(limits: FairLimits): FairSlots {
  const { all, each = Number.POSITIVE_INFINITY, ofPart = Number.POSITIVE_INFINITY, weights = {} } = limits
  const names = new Map<string, NamedShare>()
  const able = new LeastFirst<NamedShare>(isNeedier)
  let [busy, given, come] = [0, 0, 0]

  /** Notes whether they may be given a slot, and how much they need one: to be called after each change. */
  function note(named: NamedShare, part: SlotPart): void {
    if (part.waiting.size > 0 && fits(part.busy, nextSize(part), ofPart)) named.able.put(part)
    else named.able.remove(part)
    if (!named.able.isEmpty && fits(named.busy, nextSize(named.able.first), each)) able.put(named)
    else able.remove(named)
  }

  function next(): void {
    for (;;) {
      const named = able.first
      const part = named?.able.first
      const [oldest] = part?.waiting ?? []
      if (named === undefined || part === undefined || oldest === undefined) return
      const [go, size] = oldest
      if (!fits(busy, size, all())) return
      part.waiting.delete(go)
      give(named, part, size)
      go()
    }
  }

  function give(named: NamedShare, part: SlotPart, size: number): void {
    busy += size
    given++
    for (const share of [named, part]) {
      share.busy += size
      share.last = given
    }
    note(named, part)
  }

  const find = ({ name, part }: SlotOwner) => names.get(name)?.parts.get(part)

  function acquire(whose: SlotOwner, signal: AbortSignal, size: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const { name } = whose
      const named = names.get(name) ?? newName(name)
      const own = named.parts.get(whose.part) ?? newPart(named, whose.part)
      let waited = false
      const go = () => {
        signal.removeEventListener('abort', stop)
        resolve(waited)
      }
      const stop = () => {
        own.waiting.delete(go)
        note(named, own)
        forgetIdle(whose)
        reject(signal.reason)
        // What it was too large for may be enough for who stood behind it, if those do not give up with it.
        queueMicrotask(next)
      }
      signal.addEventListener('abort', stop, { once: true })
      own.waiting.set(go, size)
      note(named, own)
      next()
      waited = true
    })
  }

  function newName(name: string): NamedShare {
    const named = {
      busy: 0,
      last: 0,
      since: ++come,
      weight: entryOf(weights, name) ?? 1,
      parts: new Map<string, SlotPart>(),
      able: new LeastFirst<SlotPart>(isNeedier),
    }
    names.set(name, named)
    return named
  }

  function newPart(named: NamedShare, name: string): SlotPart {
    const part = { busy: 0, last: 0, since: ++come, weight: 1, waiting: new Map<() => void, number>() }
    named.parts.set(name, part)
    return part
  }

  function forgetIdle({ name, part }: SlotOwner): void {
    const named = names.get(name)
    const own = named?.parts.get(part)
    if (own?.busy === 0 && own.waiting.size === 0) named?.parts.delete(part)
    if (named?.parts.size === 0) names.delete(name)
  }

  /** What gives these slots back, once. */
  function freeing(whose: SlotOwner, size: number): () => void {
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      const named = names.get(whose.name)
      const own = find(whose)
      busy -= size
      // They are kept as long as a slot of theirs is taken.
      if (named !== undefined && own !== undefined) {
        named.busy -= size
        own.busy -= size
        note(named, own)
      }
      forgetIdle(whose)
      next()
    }
  }

  async function take(whose: SlotOwner, signal: AbortSignal, size = 1) {
    const waited = await acquire(whose, signal, size)
    return { waited, free: freeing(whose, size) }
  }

  return {
    take,
    takeNow(whose, size = 1) {
      const { name } = whose
      const [named, own] = [names.get(name), find(whose)]
      const hasRoom =
        fits(busy, size, all()) && fits(named?.busy ?? 0, size, each) && fits(own?.busy ?? 0, size, ofPart)
      if (!able.isEmpty || !hasRoom) return null
      const known = named ?? newName(name)
      give(known, own ?? newPart(known, whose.part), size)
      return freeing(whose, size)
    },
    async run(whose, signal, task, size) {
      const { waited, free } = await take(whose, signal, size)
      try {
        return await task(waited)
      } finally {
        free()
      }
    },
    waiting(whose) {
      const parts = [...(names.get(whose.name)?.parts.values() ?? [])]
      const ofName = parts.reduce((sum, { waiting }) => sum + waiting.size, 0)
      return { ofName, ofPart: find(whose)?.waiting.size ?? 0 }
    },
    load() {
      const parts = [...names.values()].flatMap((named) => [...named.parts.values()])
      return { busy, waiting: parts.reduce((sum, { waiting }) => sum + waiting.size, 0) }
    },
  }
}

/** Tasks that run side by side as long as they weigh so much together at most, a heavier one by itself; in order of arrival. */
export interface WeightedSlots {
  run<Result>(weight: number, task: () => Promise<Result>): Promise<Result>
}

export function weightedSlots(most: number): WeightedSlots {
  const waiting = new Set<{ readonly weight: number; readonly go: () => void }>()
  let [running, weight] = [0, 0]

  function startWaiting(): void {
    for (const next of waiting) {
      if (running > 0 && weight + next.weight > most) return
      waiting.delete(next)
      running++
      weight += next.weight
      next.go()
    }
  }

  return {
    async run(own, task) {
      await new Promise<void>((go) => {
        waiting.add({ weight: own, go })
        startWaiting()
      })
      try {
        return await task()
      } finally {
        running--
        weight -= own
        startWaiting()
      }
    },
  }
}
