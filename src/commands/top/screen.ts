/** The terminal's second screen: what was on the first is there again when this one is closed. */
export interface Screen {
  columns(): number
  /** Replaces what is shown. Lines hold no control characters. */
  draw(lines: readonly string[]): void
  close(): void
}

const OPEN = '\u001b[?1049h\u001b[?25l'
const CLOSE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const REST_OF_LINE = '\u001b[K'
const REST_OF_SCREEN = '\u001b[J'

/** Opens it; null where the output is no terminal. It is closed at the latest when the process ends, however that comes. */
export function openScreen(out: NodeJS.WriteStream): Screen | null {
  if (!out.isTTY) return null
  let open = true
  const close = () => {
    if (!open) return
    open = false
    process.off('exit', close)
    out.write(CLOSE)
  }
  process.on('exit', close)
  out.write(OPEN)
  return {
    // A terminal that does not know its size says 0.
    columns: () => out.columns || 80,
    draw(lines) {
      const shown = lines.slice(0, Math.max(1, (out.rows || 24) - 1))
      out.write(`${HOME}${shown.map((line) => `${line}${REST_OF_LINE}\n`).join('')}${REST_OF_SCREEN}`)
    },
    close,
  }
}
