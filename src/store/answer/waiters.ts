/** How long one waits for news at most, in ms: announcements may be lost, or not be allowed. */
const LOOK_AGAIN_MS = 1_000

/** Who waits for news of a request in this process, and who works for it. */
export function answerWaiters() {
  const waiting = new Map<string, Set<() => void>>()
  const working = new Map<string, Set<() => void>>()
  const wake = (request: string) => {
    for (const done of [...(waiting.get(request) ?? [])]) done()
  }
  return {
    wake,
    /** Resolves when the request is woken, at `signal`, and after a second at the latest. */
    wait: (request: string, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', done)
          const others = waiting.get(request)
          others?.delete(done)
          if (others?.size === 0) waiting.delete(request)
          resolve()
        }
        const timer = setTimeout(done, LOOK_AGAIN_MS)
        waiting.set(request, (waiting.get(request) ?? new Set()).add(done))
        if (signal.aborted) done()
        else signal.addEventListener('abort', done)
      }),
    wakeAll() {
      for (const request of [...waiting.keys()]) wake(request)
    },
    /** Wakes who waits for the request, and tells who works for it. */
    drop(request: string) {
      wake(request)
      const listeners = working.get(request) ?? []
      working.delete(request)
      for (const listener of listeners) listener()
    },
    onDropped(request: string, listener: () => void) {
      working.set(request, (working.get(request) ?? new Set()).add(listener))
      return () => {
        const others = working.get(request)
        if (others?.delete(listener) && others.size === 0) working.delete(request)
      }
    },
  }
}
