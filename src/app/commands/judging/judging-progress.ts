import { counted, type Terminal } from '../../../cli/terminal.ts'
import { timeInWords } from '../../../cli/time-in-words.ts'
import type { Clock } from '../../../contracts/ports/clock.ts'
import type { MeteredModel } from './metered.ts'

/** How often the line is drawn anew, in ms. */
const EVERY_MS = 1_000

/**
 * Shows how far the judging of a file is, from its beginning on: verdicts of how many, calls, how long one takes, money, verdicts a
 * minute, and the money and time left at that rate; before the first verdict, the longest that its calls may take. Calls are those
 * that were made, and none whose answer was there.
 */
export function judgingProgress(
  terminal: Pick<Terminal, 'progress'>,
  { spent, inFlight }: Pick<MeteredModel, 'spent' | 'inFlight'>,
  clock: Clock = Date.now,
): JudgingProgress {
  let [what, judged, left, callsEach] = ['', 0, 0, 0]
  /** When the protocol's first call was seen to wait. */
  let asked: number | null = null
  /** What was there when that had its answer: what was judged before needed none. */
  let first: { readonly judged: number; readonly usd: number } | null = null
  let before = { calls: 0, ms: 0 }

  function line(): string {
    if (judged + left === 0) return `${what}: reading`
    const made = spent.calls - before.calls
    if (made > 0 || inFlight() > 0) asked ??= clock()
    if (made > 0) first ??= { judged, usd: spent.usd }
    const msACall = made === 0 ? 0 : (spent.ms - before.ms) / made
    const calls = `${counted(spent.calls, 'call')}${made === 0 ? '' : `, ${eachTakes(msACall)} a call`}${spent.usd === 0 ? '' : `, $${spent.usd.toFixed(4)}`}`
    const begun = `${what}: ${judged} of ${judged + left} judged, ${calls}`
    const since = first === null ? 0 : judged - first.judged
    if (asked === null || first === null || (since === 0 && left === 0)) return begun
    if (since === 0) {
      const rounds = Math.max(1, left * callsEach - made) / Math.max(1, inFlight())
      return `${begun}, at most about ${timeInWords(rounds * msACall)} left`
    }
    const msEach = (clock() - asked) / since
    const perMinute = 60_000 / msEach
    const rate = `${perMinute < 10 ? perMinute.toFixed(1) : Math.round(perMinute)} a minute`
    const usdLeft = ((spent.usd - first.usd) / since) * left
    const money = usdLeft === 0 ? '' : ` and $${usdLeft.toFixed(usdLeft < 1 ? 4 : 2)}`
    return `${begun}, ${rate}, about ${timeInWords(msEach * left)}${money} left`
  }

  const draw = () => terminal.progress(line())
  const drawing = setInterval(draw, EVERY_MS)
  return {
    begin(protocol) {
      ;[what, judged, left, asked, first, before] = [protocol, 0, 0, null, null, { ...spent }]
      draw()
    },
    judged() {
      judged++
      left = Math.max(0, left - 1)
      draw()
    },
    left(count, mostCalls) {
      ;[left, callsEach] = [count, mostCalls]
    },
    end: () => clearInterval(drawing),
  }
}

const eachTakes = (ms: number) => (ms < 9_950 ? `${(ms / 1_000).toFixed(1)} s` : timeInWords(ms))

export interface JudgingProgress {
  /** The file is judged by this protocol from now on. */
  begin(protocol: string): void
  judged(): void
  /** So many subjects wait to be judged, or are, each by about so many calls at most. */
  left(count: number, mostCalls: number): void
  /** Draws nothing more. */
  end(): void
}
