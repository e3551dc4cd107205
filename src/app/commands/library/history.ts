import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { printable, printableJson } from '../../../cli/terminal.ts'
import type { LoggedChange } from '../../../contracts/ports/library.ts'
import { withLibrary } from './with-library.ts'

/** `gavel library history`: what changed, the newest first. */
export const command: Command<{ readonly shelf?: string }, readonly LoggedChange[]> = {
  options: [new Option('--shelf <name>', 'only this shelf')],
  json: true,
  help: 'Example:\n  $ gavel library history --shelf precedents',
  run: ({ options: { shelf }, settings }) => withLibrary(settings(), (library) => library.history(shelf)),
  print(changes, { json, terminal }) {
    for (const change of changes) terminal.out(json ? printableJson(JSON.stringify(change)) : changeLine(change))
    if (changes.length === 0) terminal.say('Nothing has changed yet.')
  },
}

function changeLine(change: LoggedChange): string {
  const { id, kind, shelf, tenant, item, by, at, added, unchanged, relabelled, rolledBackAt, damaged } = change
  if (damaged !== undefined) return `${id}  damaged: ${damaged}`
  const counts =
    kind === 'drop' || kind === 'take-back' ? '' : `  ${added} added, ${unchanged} unchanged, ${relabelled} relabelled`
  const back = rolledBackAt === null ? '' : `  rolled back ${new Date(rolledBackAt).toISOString()}`
  return `${id}  ${new Date(at).toISOString()}  ${kind}  ${shelf}${tenant === null ? '' : ` of ${tenant}`}  by ${printable(by, 40)}${counts}${item === undefined ? '' : `  ${item}`}${back}`
}
