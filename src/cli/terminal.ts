import { printable, printableJson } from '../contracts/facts/printable.ts'
import { Drawing, type Look } from './drawing.ts'

export { printable, printableJson, printableSentence } from '../contracts/facts/printable.ts'
export { type Drawing, paragraph, table } from './drawing.ts'

/**
 * Where a command prints: results on `out`, everything else on `say`. Control characters are escaped in both; a drawing is drawn for
 * the width and the colours of its stream.
 */
export interface Terminal {
  /** One line of result on standard output. */
  out(line: string | Drawing): void
  /** One line for a person, on standard error. */
  say(line: string | Drawing): void
  /**
   * A line that the next one replaces. Where standard error is no terminal, which has nothing to replace it, the newest is
   * printed every half minute.
   */
  progress(line: string): void
}

/** What a terminal's lines go to: a process's output, or a test's. */
export interface OutputStream {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  hasColors?(): boolean
}

const LONGEST_LOGGED = 300
/** How often a log gets the progress of a command, in ms. */
const LOGGED_EVERY_MS = 30_000

export function terminal(out: OutputStream, error: OutputStream): Terminal {
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
      out.write(`${shown(line, out)}\n`)
    },
    say(line) {
      clear()
      error.write(`${shown(line, error)}\n`)
    },
    progress(line) {
      if (!error.isTTY) return log(line)
      clear()
      error.write(printable(line, (error.columns ?? 80) - 1))
      progressing = true
    },
  }
}

function shown(line: string | Drawing, stream: OutputStream): string {
  return line instanceof Drawing ? line.on(lookOf(stream)) : printableJson(line)
}

/** Colours where the stream is a terminal that has them, and NO_COLOR is not set: Node looks that up. */
function lookOf(stream: OutputStream): Look {
  if (!stream.isTTY) return { columns: Number.POSITIVE_INFINITY, colours: false }
  return { columns: stream.columns || 80, colours: stream.hasColors?.() ?? false }
}

/** `1 verdict`, `2 verdicts`. */
export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
