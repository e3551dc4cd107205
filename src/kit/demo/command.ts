import { Option } from 'commander'
import type { Command } from '../../cli/command.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { demo } from './demo.ts'
import { liveDemo } from './live.ts'
import { withLocalModel } from './local-model.ts'

interface DemoOptions {
  readonly stay?: true
  readonly model?: string
  readonly live?: 'bluesky'
}

/** `gavel demo`: resolves to whether no verdict was lost, and no id has two different ones; prints a table at the end. */
export const command: Command<DemoOptions, boolean> = {
  options: [
    new Option('--stay', 'keep service and servers running at the end, until Ctrl-C'),
    new Option('--model <name>', 'have this model answer, which a server on this machine, or OPENAI_BASE_URL, lists'),
    new Option('--live <stream>', 'judge a minute of what is written there now, instead of a recorded event').choices([
      'bluesky',
    ]),
  ],
  json: false,
  help: '',
  async run({ environment: given, terminal, signal, options: { stay = false, model, live } }) {
    const environment = model === undefined ? given : await withLocalModel(given, model, signal)
    if (live === undefined) return demo(environment, { terminal, signal, stay })
    await liveDemo(environment, { terminal, signal, stay })
    return true
  },
  print(whole) {
    if (!whole) throw new OperatorError('The demo lost verdicts, or published different ones under one id; see above.')
  },
}
