import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import { standingPart } from '../../service/composition/standing.ts'
import type { ServiceState } from '../../service/operations/standing/state.ts'
import type { Command } from '../command.ts'
import { durationMs } from '../options.ts'
import { readingClient } from '../reading-client.ts'
import { screenLines } from './lines.ts'
import { openScreen, quitKeys } from './screen.ts'

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
    const parts = await standingPart(settings, () => readingClient(settings, terminal), places)
    try {
      const screen = json ? null : openScreen(process.stdout)
      if (screen === null) return await parts.look()
      const quit = new AbortController()
      const ended = AbortSignal.any([signal, quit.signal])
      const keys = quitKeys(process.stdin, () => quit.abort())
      try {
        const looks: ServiceState[] = []
        while (!ended.aborted) {
          const now = await parts.look()
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
  print(standing, { json, terminal }) {
    if (standing === null) return
    if (json) terminal.out(JSON.stringify(standing))
    else for (const line of screenLines(standing, null, PLAIN)) terminal.out(line)
  },
}
