import { ParameterRefused, PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Events, Report } from '../contracts/ports/report.ts'

/** What a server says of the same failure of a model is told again after this, in ms. */
const AGAIN_MS = 60_000
/** Failures that are remembered: their names are few, unless a server makes them up. */
const MOST = 1_000

/** Tells what servers say of calls that they refuse, or fail in. That they are busy needs no words; a refused parameter is a lesson of its own. */
export function refusalReport(report: Report, clock: Clock) {
  const told = new Map<string, number>()
  return (error: unknown, of: Omit<Events['call:refused'], 'why' | 'said'>): void => {
    if (!(error instanceof PermanentError || error instanceof RetryLaterError)) return
    if (error.code === 'rate-limited' || error instanceof ParameterRefused) return
    const key = `${of.model} ${error.message}`
    const last = told.get(key)
    if (last !== undefined && clock() - last < AGAIN_MS) return
    const said = error.saidByServer?.() ?? ''
    if (said === '') return
    if (told.size >= MOST) told.clear()
    told.set(key, clock())
    report('call:refused', { ...of, why: error.message, said })
  }
}
export type RefusalReport = ReturnType<typeof refusalReport>
