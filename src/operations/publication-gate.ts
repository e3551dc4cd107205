import type { BrokerRefused } from '../contracts/facts/broker-refusal.ts'
import type { PublicationGate, SharedClosure } from '../contracts/ports/publication.ts'
import type { RefusedKind, Report } from '../contracts/ports/report.ts'

/**
 * How often processes tell each other whether publication is closed, in ms; and while nothing happens in one. What is told is
 * forgotten after {@link TOLD_MS}: a process may end without a word.
 */
export const [GATE_MS, QUIET_GATE_MS] = [500, 2_000]
export const TOLD_MS = 10_000

/** Closed while a broker refuses verdicts, or the record of a trial, to this process or another. What else is refused is only reported. */
export function publicationGate({ shared, report }: { shared: SharedClosure; report: Report }): PublicationGate & {
  poll(): Promise<void>
} {
  const own = new Map<RefusedKind, BrokerRefused>()
  let hasTold = false
  let elsewhere: string | null = null
  const closedHere = () => (own.get('verdict') ?? own.get('trial'))?.message ?? null

  function open(what: RefusedKind): void {
    const refusal = own.get(what)
    if (refusal === undefined) return
    own.delete(what)
    report('publication:closed', { what, setting: refusal.setting, closed: false, advice: '' })
  }

  return {
    get closed() {
      return closedHere() ?? elsewhere
    },
    close(what, refusal) {
      if (own.get(what)?.message === refusal.message) return
      open(what)
      own.set(what, refusal)
      report('publication:closed', { what, setting: refusal.setting, closed: true, advice: refusal.message })
    },
    open,
    async poll() {
      const why = closedHere()
      if (why !== null) await shared.tell(why)
      else if (hasTold) await shared.withdraw()
      hasTold = why !== null
      elsewhere = why === null ? await shared.read() : null
    },
  }
}
