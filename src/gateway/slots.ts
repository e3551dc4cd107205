/** A bounded number of places, taken in order of arrival. */
export interface Slots {
  /** Waits for a place, runs, gives the place back. Rejects with the signal's reason if it is aborted while waiting. */
  run<Result>(signal: AbortSignal, task: () => Promise<Result>): Promise<Result>
  readonly busy: number
  readonly waiting: number
}

export function slots(count: number): Slots {
  const waiting = new Set<() => void>()
  let busy = 0
  const release = () => {
    const [next] = waiting
    if (next === undefined) busy--
    else {
      waiting.delete(next)
      next()
    }
  }
  const acquire = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      if (busy < count) {
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
