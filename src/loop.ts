/** A task that runs again and again until it is stopped. */
export interface Loop {
  /** Resolves when the run that is under way has ended. */
  stop(): Promise<void>
}

/** Runs `task` every `ms`, never twice at once; a failing run is told to `complain` and the next one comes all the same. */
export function every(ms: number, task: () => Promise<unknown>, complain: (error: unknown) => void): Loop {
  let stopped = false
  let wake = () => {}
  async function run(): Promise<void> {
    while (!stopped) {
      await task().catch(complain)
      if (stopped) return
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, ms)
      })
    }
  }
  const running = run()
  return {
    stop() {
      stopped = true
      wake()
      return running
    },
  }
}
