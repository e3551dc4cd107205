import type { Drawing } from '../../cli/terminal.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'

type Say = (line: string | Drawing) => void

/**
 * Runs a bench. If it is stopped before its end, throws an `OperatorError` with what it had measured until then: the lines that
 * it printed. Those that end with … only announce the next step. Tables are for people, and not repeated.
 */
export async function untilStopped<Report>(
  { say, signal }: { say: Say; signal: AbortSignal },
  measure: (io: { say: Say; signal: AbortSignal }) => Promise<Report>,
): Promise<Report> {
  const measured: string[] = []
  const noting: Say = (line) => {
    if (typeof line === 'string' && !line.endsWith('…')) measured.push(line.trim())
    say(line)
  }
  try {
    return await measure({ say: noting, signal })
  } catch (error) {
    // After a stop the first error means nothing.
    if (!signal.aborted) throw error
    const until = measured.length === 0 ? 'nothing was measured yet' : `measured until then: ${measured.join('; ')}`
    throw new OperatorError(`Stopped before the end; ${until}`, { cause: error })
  }
}
