import Table from 'cli-table3'
import { printable, printableJson } from '../service/domain/printable.ts'

export { printable, printableJson } from '../service/domain/printable.ts'

/** Where a command prints: results on `out`, everything else on `say`. Control characters are escaped in both. */
export interface Terminal {
  /** One line of result on standard output. */
  out(line: string): void
  /** One line for a person, on standard error. */
  say(line: string): void
  /**
   * A line that the next one replaces. Where standard error is no terminal, which has nothing to replace it, the newest is
   * printed every half minute.
   */
  progress(line: string): void
}

const LONGEST_LOGGED = 300
/** How often a log is told how far a command is, in ms. */
const LOGGED_EVERY_MS = 30_000

export function terminal(out: NodeJS.WriteStream, error: NodeJS.WriteStream): Terminal {
  let progressing = false
  let newest: string | null = null
  let logging = false
  /** Keeps a line for the log; it is printed once, when its time has come. */
  const log = (line: string) => {
    newest = line
    if (logging) return
    logging = true
    setInterval(() => {
      if (newest !== null) error.write(`${printable(newest, LONGEST_LOGGED)}\n`)
      newest = null
    }, LOGGED_EVERY_MS).unref()
  }
  const clear = () => {
    if (progressing) error.write('\r\u001b[K')
    progressing = false
  }
  return {
    out(line) {
      clear()
      out.write(`${printableJson(line)}\n`)
    },
    say(line) {
      clear()
      error.write(`${printableJson(line)}\n`)
    },
    progress(line) {
      if (!error.isTTY) return log(line)
      clear()
      error.write(printable(line, (error.columns ?? 80) - 1))
      progressing = true
    },
  }
}

/** `1 verdict`, `2 verdicts`. */
export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const drawn = new Table({ head: [...head], style: { head: [], border: [], compact: true } })
  for (const row of rows) drawn.push([...row])
  return drawn.toString()
}
