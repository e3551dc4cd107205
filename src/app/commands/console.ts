import { userInfo } from 'node:os'
import { Option } from 'commander'
import type { Command } from '../../cli/command.ts'
import type { Terminal } from '../../cli/terminal.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { identityOf } from '../../operations/identity.ts'
import { logListener } from '../../operations/log.ts'
import { localConsole } from './local-console.ts'

interface ConsoleOptions {
  readonly as?: string
  readonly replica?: readonly string[]
  readonly prometheus?: string
}

/** `gavel console`: pages on which people watch verdicts, read debates and search, until the signal. */
export const command: Command<ConsoleOptions, void> = {
  options: [
    new Option('--as <name>', 'the person whom the link signs in, as named in decisions (default: your OS user)'),
    new Option(
      '--replica <urls...>',
      'where replicas serve /metrics (default: http.host and http.port of the settings)',
    ),
    new Option('--prometheus <url>', 'the Prometheus whose alerts are shown (default: PROMETHEUS_URL, if set)'),
  ],
  json: false,
  help: 'It reads the record of this machine (record.path), which the role record writes, and prints a link that signs in once. See docs/console.md.\n\nExample:\n  $ gavel console --as anna',
  async run({ options: { as, replica, ...options }, settings: read, reread, environment, terminal, stopped }) {
    const settings = read()
    const log = logListener(settings.log.level, Date.now, identityOf(settings, ['console']), settings.log)
    const report: Report = (name, event) => log(name, event)
    const prometheus = options.prometheus ?? (environment.PROMETHEUS_URL || undefined)
    const replicas = replica ?? [`http://${settings.http.host}:${settings.http.port}`]
    const isByLink = settings.console.signIn === 'link'
    if (!isByLink && as !== undefined)
      throw new OperatorError(`--as names whom a link signs in, and console.signIn is ${settings.console.signIn}.`)
    const { port, printLink, close } = await localConsole(settings, {
      link: isByLink ? { person: as ?? userInfo().username, print: printed(terminal), isUnseen: isTerminal() } : null,
      places: { replicas, prometheus },
      terminal,
      report,
      ...(reread === undefined ? {} : { reread }),
    })
    if (isByLink) printLink()
    else terminal.out(`The console is at ${settings.console.publicUrl || `http://${settings.console.host}:${port}`}`)
    await stopped
    await close()
  },
  print() {},
}

function printed(terminal: Terminal): (address: string) => void {
  return (address) => terminal.out(`Sign in, once and within ten minutes:\n  ${address}`)
}

/** If the output goes into a journal, every reader of the journal could use a link that another person has asked for. */
function isTerminal(): boolean {
  return process.stdout.isTTY === true
}
