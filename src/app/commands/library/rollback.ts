import type { Command } from '../../../cli/command.ts'
import { withLibrary } from './with-library.ts'

/** `gavel library rollback`: takes back one change. */
export const command: Command<object, void> = {
  options: [],
  json: false,
  help: 'Example:\n  $ gavel library rollback c-0123abcd',
  run: ({ args: [change = ''], settings }) => withLibrary(settings(), (library) => library.rollback(change)),
  print(_, { args: [change], terminal }) {
    terminal.out(`${change} was rolled back.`)
  },
}
