import type { Command } from '../../commands/command.ts'
import { OperatorError } from '../../domain/errors.ts'
import { demo } from './demo.ts'

/** `gavel demo`: resolves to whether nothing was lost and nothing came twice; the table is printed as it ends. */
export const command: Command<object, boolean> = {
  options: [],
  json: false,
  help: '',
  run: ({ environment, terminal, signal }) => demo(environment, { terminal, signal }),
  print(whole) {
    if (!whole) throw new OperatorError('The demo lost or repeated verdicts; see the table.')
  },
}
