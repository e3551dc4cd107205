import type { Command } from '../../../cli/command.ts'
import { command as rollback } from '../library/rollback.ts'

/** `gavel learn rollback`: as `gavel library rollback`. */
export const command: Command<object, void> = {
  ...rollback,
  help: 'Example:\n  $ gavel learn rollback 20260101120000000-3fa9c1',
}
