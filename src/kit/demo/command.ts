import { Option } from 'commander'
import type { Command } from '../../cli/command.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { demo } from './demo.ts'

/** `gavel demo`: resolves to whether no verdict was lost, and no id has two different ones; prints a table at the end. */
export const command: Command<{ readonly stay?: true }, boolean> = {
  options: [new Option('--stay', 'keep service and servers running at the end, until Ctrl-C')],
  json: false,
  help: '',
  run: ({ environment, terminal, signal, options: { stay = false } }) => demo(environment, { terminal, signal, stay }),
  print(whole) {
    if (!whole) throw new OperatorError('The demo lost verdicts, or published different ones under one id; see above.')
  },
}
