import type { Terminal } from '../../../commands/terminal.ts'
import { timeInWords } from '../../../commands/time-in-words.ts'
import type { Progress } from './evaluation.ts'

/** Shows how far an evaluation is: verdicts, money, and the time and money left at the pace so far. */
export function progressLine(terminal: Terminal, clock: () => number = Date.now): (so: Progress) => void {
  const start = clock()
  return ({ row, data, done, of, spent }) => {
    const share = done / of
    const left = share === 0 ? null : ((clock() - start) / share) * (1 - share)
    const money = spent.usd === 0 ? '' : `, $${spent.usd.toFixed(4)} of about $${(spent.usd / share).toFixed(2)}`
    const time = left === null ? '' : `, about ${timeInWords(left)} left`
    terminal.progress(`${data}, ${row}: ${done} of ${of} verdicts, ${spent.calls} calls${money}${time}`)
  }
}
