import type { Command } from '../../../cli/command.ts'
import type { LoggedChange } from '../../../contracts/ports/library.ts'
import { command as history } from '../library/history.ts'

/** `gavel learn history`: as `gavel library history`, of all shelves. */
export const command: Command<object, readonly LoggedChange[]> = {
  ...history,
  options: [],
  help: 'Example:\n  $ gavel learn history',
}
