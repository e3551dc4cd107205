import { Option } from 'commander'
import type { Command } from '../../cli/command.ts'
import { positiveWhole } from '../../cli/options.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { askToReload, type ReloadAnswer, reloadFolder } from '../../operations/reload-socket.ts'

interface Options {
  readonly pid?: number
}

/** `gavel reload`: has the services of this user on this machine read their settings again, and tells what came of it. */
export const command: Command<Options, readonly ReloadAnswer[]> = {
  options: [new Option('--pid <id>', 'only the service with this process id').argParser(positiveWhole)],
  json: true,
  help: 'It does what a SIGHUP does, also where no signal arrives: under npx or npm, and in a terminal. The exit code is 1 unless every service has taken its settings. See docs/reload.md.\n\nExample:\n  $ gavel reload',
  async run({ options: { pid } }) {
    const answers = await askToReload(pid)
    if (answers.length === 0)
      throw new OperatorError(
        `${pid === undefined ? 'No service of this user' : `No service with the process id ${pid}`} listens in ${reloadFolder()}. Is "gavel run" or "gavel serve" running here, as this user and with the same TMPDIR? In a container, run this command there.`,
      )
    return answers
  },
  print(answers, { json, terminal }) {
    if (json) terminal.out(JSON.stringify(answers.map(({ pid, answer }) => ({ pid, ...answer }))))
    else for (const one of answers) terminal.out(lineOf(one))
    const failed = answers.filter(({ answer }) => answer?.result.outcome !== 'reloaded').length
    if (failed > 0) throw new OperatorError(`${failed} of ${answers.length} did not take the settings.`)
  },
}

function lineOf({ pid, answer }: ReloadAnswer): string {
  if (answer === null) return `${pid}: gave no answer; see its log`
  const { name, roles, result } = answer
  return `${pid} (${name}: ${roles.join(', ')}): ${reloadInWords(result)}`
}

/** What came of a reload. */
export function reloadInWords(result: NonNullable<ReloadAnswer['answer']>['result']): string {
  switch (result.outcome) {
    case 'reloaded':
      return result.changed.length === 0
        ? 'reloaded: no setting has changed; files that settings name were read again'
        : `reloaded: ${result.changed.join(', ')}`
    case 'fixed':
      return `not reloaded: ${result.paths.join(', ')}. ${result.advice}`
    case 'refused':
      return `refused: ${result.why}. ${result.advice}`
    case 'starting':
      return 'is starting, and will read its settings again by itself; its log tells'
    case 'stopping':
      return 'is stopping, and reads no settings any more'
  }
}
