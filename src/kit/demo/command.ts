import type { Command } from '../../commands/command.ts'
import { OperatorError } from '../../service/domain/errors.ts'
import { demo } from './demo.ts'

/** `gavel demo`: resolves to whether no verdict was lost, and no id has two different ones; prints a table at the end. */
export const command: Command<object, boolean> = {
  options: [],
  json: false,
  help: '',
  run: ({ environment, terminal, signal }) => demo(environment, { terminal, signal }),
  print(whole) {
    if (!whole) throw new OperatorError('The demo lost verdicts, or published different ones under one id; see above.')
  },
}
