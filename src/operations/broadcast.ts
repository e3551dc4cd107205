import type { Listener, Report } from '../contracts/ports/report.ts'

/** One report for many listeners. What a listener throws goes to `onListenerError`, and the others still receive the event. */
export function broadcast(listeners: readonly Listener[], onListenerError: (error: unknown) => void): Report {
  return (name, event) => {
    for (const listen of listeners) {
      try {
        listen(name, event)
      } catch (error) {
        try {
          onListenerError(error)
        } catch {
          // Nobody is left to tell.
        }
      }
    }
  }
}
