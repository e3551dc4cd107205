import { Option } from 'commander'
import type { Command } from '../../cli/command.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { demo } from './demo.ts'
import { withLocalModel } from './local-model.ts'

/** `gavel demo`: resolves to whether no verdict was lost, and no id has two different ones; prints a table at the end. */
export const command: Command<{ readonly stay?: true; readonly model?: string }, boolean> = {
  options: [
    new Option('--stay', 'keep service and servers running at the end, until Ctrl-C'),
    new Option('--model <name>', 'have this model answer, which a server on this machine, or OPENAI_BASE_URL, lists'),
  ],
  json: false,
  help: '',
  run: async ({ environment, terminal, signal, options: { stay = false, model } }) =>
    demo(model === undefined ? environment : await withLocalModel(environment, model, signal), {
      terminal,
      signal,
      stay,
    }),
  print(whole) {
    if (!whole) throw new OperatorError('The demo lost verdicts, or published different ones under one id; see above.')
  },
}
