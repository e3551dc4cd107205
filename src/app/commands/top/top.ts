import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import type { Look } from '../../../cli/drawing.ts'
import { durationMs } from '../../../cli/options.ts'
import type { ServiceState } from '../../../operations/status/state.ts'
import { statusPart } from '../../composition/status.ts'
import { readingClient } from '../reading-client.ts'
import { screenLines } from './lines.ts'

interface TopOptions {
  readonly replica?: readonly string[]
  readonly prometheus?: string
  readonly every: number
}

/** Spend and verdicts are counted since the oldest look that is not older than this, in ms. */
const WINDOW_MS = 60_000

/** Where there is no terminal. */
const PLAIN = { columns: 160, colours: false }

/** `gavel top`: how the service stands, again and again; once with `--json`, or where there is no terminal. */
export const command: Command<TopOptions, ServiceState | null> = {
  options: [
    new Option(
      '--replica <urls...>',
      'where replicas serve /metrics (default: http.host and http.port of the settings)',
    ),
    new Option('--prometheus <url>', 'the Prometheus whose alerts are shown (default: PROMETHEUS_URL, if set)'),
    new Option('--every <duration>', 'refresh interval').argParser(durationMs).default(2_000, '2s'),
  ],
  json: true,
  help: 'Stages, lag, due threads and tenants come from Redis and Kafka; verdicts, slots, spend and breakers from the replicas; alerts from Prometheus. It works while Redis or Kafka is down. q or Ctrl-C ends it.\n\nExamples:\n  $ gavel top\n  $ gavel top --replica http://10.0.0.1:9464 http://10.0.0.2:9464\n  $ gavel top --json | jq .stages',
  async run({ options: { replica, every, ...options }, settings: read, environment, json, terminal, signal }) {
    const settings = read()
    const urls = replica ?? [`http://${settings.http.host}:${settings.http.port}`]
    const prometheus = options.prometheus ?? (environment.PROMETHEUS_URL || undefined)
    const places = { replicas: urls, prometheus }
    const parts = await statusPart(settings, () => readingClient(settings, terminal), places)
    try {
      const screen = json ? null : openScreen(process.stdout)
      if (screen === null) return await parts.readStatus()
      const quit = new AbortController()
      const ended = AbortSignal.any([signal, quit.signal])
      const keys = quitKeys(process.stdin, () => quit.abort())
      try {
        const looks: ServiceState[] = []
        while (!ended.aborted) {
          const now = await parts.readStatus()
          while (looks.length > 1 && now.at - (looks[0]?.at ?? 0) > WINDOW_MS) looks.shift()
          screen.draw(screenLines(now, looks[0] ?? null, screen.look()))
          looks.push(now)
          await sleep(every, undefined, { signal: ended }).catch(() => undefined)
        }
      } finally {
        keys.close()
        screen.close()
      }
      return null
    } finally {
      await parts.close()
    }
  },
  print(state, { json, terminal }) {
    if (state === null) return
    if (json) terminal.out(JSON.stringify(state))
    else for (const line of screenLines(state, null, PLAIN)) terminal.out(line)
  },
}

/** The terminal's second screen: what was on the first is there again when this one is closed. */
interface Screen {
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
function openScreen(out: NodeJS.WriteStream): Screen | null {
  if (!out.isTTY) return null
  let open = true
  const close = () => {
    if (!open) return
    open = false
    process.off('exit', close)
    out.write(CLOSE)
    tellLauncher('')
  }
  process.on('exit', close)
  tellLauncher(CLOSE)
  out.write(OPEN)
  return {
    // A terminal that does not know its size reports 0.
    look: () => ({ columns: out.columns || 80, colours: out.hasColors?.() ?? false }),
    draw(lines) {
      const shown = lines.slice(0, Math.max(1, (out.rows || 24) - 1))
      out.write(`${HOME}${shown.map((line) => `${line}${REST_OF_LINE}\n`).join('')}${REST_OF_SCREEN}`)
    },
    close,
  }
}

/** Tells the launcher what to write should it have to kill this process; empty: nothing. */
function tellLauncher(terminalBack: string): void {
  // It may be gone, and then it kills nothing.
  process.send?.({ terminalBack }, undefined, undefined, () => {})
}

/** Ctrl-C, as a keyboard that is read key by key sends it. */
const INTERRUPT = '\u0003'

/**
 * Calls `quit` when somebody presses q, until it is closed. Ctrl-C is the signal that it is elsewhere, so that the second one ends
 * the process. Where nobody sits at a keyboard nothing is read.
 */
function quitKeys(keyboard: NodeJS.ReadStream, quit: () => void): { close(): void } {
  if (!keyboard.isTTY) return { close() {} }
  const pressed = (keys: Buffer) => {
    if (/[qQ]/.test(keys.toString())) quit()
    if (keys.includes(INTERRUPT)) process.kill(process.pid, 'SIGINT')
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
