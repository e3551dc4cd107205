import { counted, type Terminal } from '../../../cli/terminal.ts'
import { timeInWords } from '../../../cli/time-in-words.ts'
import type { Clock } from '../../../contracts/ports/clock.ts'
import type { MeteredModel } from './metered.ts'

/** How often the line is drawn anew, in ms. */
const EVERY_MS = 1_000

/**
 * Shows how far the judging of a file is, from its beginning on: verdicts of how many, calls, money, verdicts a minute, and the
 * money and time left at that rate. Calls are those that were made, and none whose answer was there.
 */
export function judgingProgress(
  terminal: Pick<Terminal, 'progress'>,
  spent: MeteredModel['spent'],
  clock: Clock = Date.now,
): JudgingProgress {
  let [what, judged, left] = ['', 0, 0]
  /** What was there when the first call of the protocol had its answer: from then on the rate is a rate of judging. */
  let first: { readonly at: number; readonly judged: number; readonly usd: number } | null = null
  let callsBefore = 0

  function line(): string {
    if (judged + left === 0) return `${what}: reading`
    if (first === null && spent.calls > callsBefore) first = { at: clock(), judged, usd: spent.usd }
    const calls = `${counted(spent.calls, 'call')}${spent.usd === 0 ? '' : `, $${spent.usd.toFixed(4)}`}`
    const since = first === null ? 0 : judged - first.judged
    if (first === null || since === 0) return `${what}: ${judged} of ${judged + left} judged, ${calls}`
    const msEach = (clock() - first.at) / since
    const perMinute = 60_000 / msEach
    const rate = `${perMinute < 10 ? perMinute.toFixed(1) : Math.round(perMinute)} a minute`
    const usdLeft = ((spent.usd - first.usd) / since) * left
    const money = usdLeft === 0 ? '' : ` and $${usdLeft.toFixed(usdLeft < 1 ? 4 : 2)}`
    return `${what}: ${judged} of ${judged + left} judged, ${calls}, ${rate}, about ${timeInWords(msEach * left)}${money} left`
  }

  const draw = () => terminal.progress(line())
  const drawing = setInterval(draw, EVERY_MS)
  return {
    begin(protocol) {
      ;[what, judged, left, first, callsBefore] = [protocol, 0, 0, null, spent.calls]
      draw()
    },
    judged() {
      judged++
      left = Math.max(0, left - 1)
      draw()
    },
    left(count) {
      left = count
    },
    end: () => clearInterval(drawing),
  }
}

export interface JudgingProgress {
  /** The file is judged by this protocol from now on. */
  begin(protocol: string): void
  judged(): void
  /** So many subjects wait to be judged, or are. */
  left(count: number): void
  /** Draws nothing more. */
  end(): void
}
