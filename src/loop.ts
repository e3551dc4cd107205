/** A task that runs again and again until it is stopped. */
export interface Loop {
  /** Runs the task now, or once more when the run that is under way has ended. */
  wake(): void
  /** Resolves when the run that is under way has ended. */
  stop(): Promise<void>
}

/** Runs `task` every `ms`, never twice at once; a failing run is told to `complain` and the next one comes all the same. */
export function every(ms: number, task: () => Promise<unknown>, complain: (error: unknown) => void): Loop {
  let stopped = false
  let again = false
  let rouse = () => {}
  async function run(): Promise<void> {
    while (!stopped) {
      await task().catch(complain)
      if (stopped) return
      if (!again)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          rouse = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      again = false
    }
  }
  const running = run()
  function wake(): void {
    again = true
    rouse()
  }
  return {
    wake,
    stop() {
      stopped = true
      wake()
      return running
    },
  }
}
