/** A limited number of slots, shared out by name so that nobody's work takes them all. */
export interface FairSlots {
  /**
   * Waits for a slot, runs `task`, frees the slot; `waited` says whether it had to wait. Rejects with the signal's reason
   * if it is aborted while waiting.
   */
  run<Result>(name: string, signal: AbortSignal, task: (waited: boolean) => Promise<Result>): Promise<Result>
  /** How many tasks wait under a name. */
  waiting(name: string): number
}

/** At most `all` tasks run at a time, `each` of one name. A free slot goes to the name that has fewest, then had one least recently. */
export function fairSlots({ all, each }: { readonly all: number; readonly each: number }): FairSlots {
  /** By name; `last` counts up with each slot that is given, and is 0 for a name that had none. */
  const names = new Map<string, { busy: number; last: number; readonly waiting: Set<() => void> }>()
  let [busy, given] = [0, 0]

  function next(): void {
    while (busy < all) {
      const [own] = [...names.values()]
        .filter((one) => one.waiting.size > 0 && one.busy < each)
        .sort((one, other) => one.busy - other.busy || one.last - other.last)
      const [go] = own?.waiting ?? []
      if (own === undefined || go === undefined) return
      own.waiting.delete(go)
      own.busy++
      own.last = ++given
      busy++
      go()
    }
  }

  function acquire(name: string, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const own = names.get(name) ?? { busy: 0, last: 0, waiting: new Set() }
      names.set(name, own)
      let waited = false
      const go = () => {
        signal.removeEventListener('abort', stop)
        resolve(waited)
      }
      const stop = () => {
        own.waiting.delete(go)
        forgetIdle(name)
        reject(signal.reason)
      }
      signal.addEventListener('abort', stop, { once: true })
      own.waiting.add(go)
      next()
      waited = true
    })
  }

  function forgetIdle(name: string): void {
    const own = names.get(name)
    if (own !== undefined && own.busy === 0 && own.waiting.size === 0) names.delete(name)
  }

  return {
    async run(name, signal, task) {
      const waited = await acquire(name, signal)
      try {
        return await task(waited)
      } finally {
        const own = names.get(name)
        if (own !== undefined) own.busy--
        busy--
        forgetIdle(name)
        next()
      }
    },
    waiting: (name) => names.get(name)?.waiting.size ?? 0,
  }
}
