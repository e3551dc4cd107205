import type { ChildProcess } from 'node:child_process'
import type { Ask } from '../../contracts/facts/ask.ts'
import { type Percentiles, percentiles, round } from './percentiles.ts'
import { STOPPED } from './start-process.ts'

/** What one phase measured. Times in ms. */
export interface Phase {
  readonly calls: number
  /** From the moment at which the call was due to its end. */
  readonly wholeMs: Percentiles
  /** `wholeMs` less the model's time as `send` returns it. */
  readonly overheadMs: Percentiles
  /** The part of `overheadMs` before the call was sent: it was due, and the process was busy with others. */
  readonly lateMs: Percentiles
  /** This process's CPU time per call. */
  readonly cpuMs: number
}

/** Sends one call; resolves to the time with the model, in ms. */
export type CallSender = (ask: Ask) => Promise<number>

/**
 * Sends an ask whenever `arrivals` reports that one is due, however slow the earlier ones are, so that a slow call delays no
 * other. Takes the asks from the end of the list. Throws the first error of a send.
 */
export async function openLoop(
  arrivals: ChildProcess,
  asks: Ask[],
  perSecond: number,
  seconds: number,
  send: CallSender,
  signal: AbortSignal,
): Promise<Phase> {
  const seen: { whole: number; model: number; late: number }[] = []
  const failed: unknown[] = []
  const running = new Set<Promise<void>>()
  const cpu = process.cpuUsage()
  await new Promise<void>((resolve, reject) => {
    const ended = () => {
      arrivals.off('message', arrived)
      signal.removeEventListener('abort', stop)
    }
    const stop = () => {
      ended()
      reject(STOPPED)
    }
    const arrived = (due: number | null) => {
      const ask = due === null ? undefined : asks.pop()
      if (due === null || ask === undefined) {
        ended()
        return resolve()
      }
      const late = monotonic() - due
      const one = send(ask)
        .then((model) => void seen.push({ whole: monotonic() - due, model, late }))
        .catch((error: unknown) => {
          failed.push(error)
          reject(error)
        })
        .finally(() => running.delete(one))
      running.add(one)
    }
    arrivals.on('message', arrived)
    signal.addEventListener('abort', stop, { once: true })
    arrivals.send({ perSecond, seconds })
  })
  await Promise.all(running)
  // A send may also fail after the last was due, when the promise above has resolved.
  if (failed.length > 0) throw failed[0]
  const { user, system } = process.cpuUsage(cpu)
  return {
    calls: seen.length,
    wholeMs: percentiles(seen.map(({ whole }) => whole)),
    overheadMs: percentiles(seen.map(({ whole, model }) => whole - model)),
    lateMs: percentiles(seen.map(({ late }) => late)),
    cpuMs: round((user + system) / 1000 / Math.max(1, seen.length)),
  }
}

/** A monotonic time in ms; all processes of a machine share its clock. */
function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
