import { userInfo } from 'node:os'
import { Option } from 'commander'
import { logListener } from '../service/adapters/log.ts'
import type { Report } from '../service/ports/report.ts'
import type { Command } from './command.ts'
import { consoleParts } from './console-parts.ts'

interface ConsoleOptions {
  readonly as?: string
  readonly replica?: readonly string[]
  readonly prometheus?: string
}

/** `gavel console`: pages on which people watch verdicts, read debates and search, until the signal. */
export const command: Command<ConsoleOptions, void> = {
  options: [
    new Option('--as <name>', 'the person that its link signs in, as decisions name them (default: who runs it)'),
    new Option(
      '--replica <urls...>',
      'where replicas serve /metrics (default: http.host and http.port of the settings)',
    ),
    new Option('--prometheus <url>', 'whose alerts are shown (default: PROMETHEUS_URL, if that is set)'),
  ],
  json: false,
  help: 'It reads the record of this machine (record.path), which a process with the role record writes. It prints a link that signs in once; docs/console.md.\n\nExample:\n  $ gavel console --as anna',
  async run({ options: { as, replica, ...options }, settings: read, environment, terminal, stopped }) {
    const settings = read()
    const log = logListener(settings.log.level, Date.now)
    const report: Report = (name, event) => log(name, event)
    const prometheus = options.prometheus ?? (environment.PROMETHEUS_URL || undefined)
    const replicas = replica ?? [`http://${settings.http.host}:${settings.http.port}`]
    const { printLink, close } = await consoleParts(settings, {
      person: as ?? userInfo().username,
      places: { replicas, prometheus },
      print: (address) => terminal.out(`Sign in, once and within ten minutes:\n  ${address}`),
      ...{ terminal, report },
    })
    printLink()
    await stopped
    await close()
  },
  print() {},
}
