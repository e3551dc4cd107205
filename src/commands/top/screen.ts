import type { Look } from '../drawing.ts'

/** The terminal's second screen: what was on the first is there again when this one is closed. */
export interface Screen {
  look(): Look
  /** Replaces what is shown. Of control characters lines hold colours alone. */
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
    look: () => ({ columns: out.columns || 80, colours: out.hasColors?.() ?? false }),
    draw(lines) {
      const shown = lines.slice(0, Math.max(1, (out.rows || 24) - 1))
      out.write(`${HOME}${shown.map((line) => `${line}${REST_OF_LINE}\n`).join('')}${REST_OF_SCREEN}`)
    },
    close,
  }
}

/** Ctrl-C, as a keyboard that is read key by key sends it. */
const INTERRUPT = '\u0003'

/** Calls `quit` when somebody presses q or Ctrl-C, until it is closed. Where nobody sits at a keyboard nothing is read. */
export function quitKeys(keyboard: NodeJS.ReadStream, quit: () => void): { close(): void } {
  if (!keyboard.isTTY) return { close() {} }
  const pressed = (keys: Buffer) => {
    if (/[qQ]/.test(keys.toString()) || keys.includes(INTERRUPT)) quit()
  }
  const close = () => {
    process.off('exit', close)
    keyboard.off('data', pressed)
    keyboard.setRawMode(false)
    keyboard.pause()
  }
  keyboard.setRawMode(true)
  keyboard.on('data', pressed)
  process.on('exit', close)
  return { close }
}
