/** A limited number of slots, given in order of arrival. */
export interface Slots {
  /** Waits for a slot, runs `task`, frees the slot. Rejects with the signal's reason if it is aborted while waiting. */
  run<Result>(signal: AbortSignal, task: () => Promise<Result>): Promise<Result>
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
    async run(signal, task) {
      await acquire(signal)
      try {
        return await task()
      } finally {
        release()
      }
    },
    get busy() {
      return busy
    },
    get waiting() {
      return waiting.size
    },
  }
}
