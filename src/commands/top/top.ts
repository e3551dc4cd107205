import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import type { Command } from '../command.ts'
import { durationMs } from '../options.ts'
import { readingClient } from '../reading-client.ts'
import { screenLines } from './lines.ts'
import { type ServiceState, topParts } from './parts.ts'
import { openScreen } from './screen.ts'

interface TopOptions {
  readonly replica?: readonly string[]
  readonly every: number
}

/** `gavel top`: how the service stands, again and again; once with `--json`, or where there is no terminal. */
export const command: Command<TopOptions, ServiceState | null> = {
  options: [
    new Option(
      '--replica <urls...>',
      'where replicas serve /metrics (default: http.host and http.port of the settings)',
    ),
    new Option('--every <duration>', 'time between two looks').argParser(durationMs).default(2_000, '2s'),
  ],
  json: true,
  help: 'Stages, lag, due threads and tenants come from Redis and Kafka; slots and spend from the replicas that are named. Ctrl-C ends it.\n\nExamples:\n  $ gavel top\n  $ gavel top --replica http://10.0.0.1:9464 http://10.0.0.2:9464\n  $ gavel top --json | jq .stages',
  async run({ options: { replica, every }, settings: read, json, terminal, signal }) {
    const settings = read()
    const urls = replica ?? [`http://${settings.http.host}:${settings.http.port}`]
    const parts = await topParts(settings, () => readingClient(settings, terminal), urls)
    try {
      const screen = json ? null : openScreen(process.stdout)
      if (screen === null) return await parts.look()
      try {
        let before: ServiceState | null = null
        while (!signal.aborted) {
          const now = await parts.look()
          screen.draw(screenLines(now, before, screen.columns()))
          before = now
          await sleep(every, undefined, { signal }).catch(() => undefined)
        }
      } finally {
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
    else for (const line of screenLines(standing, null, 160)) terminal.out(line)
  },
}
