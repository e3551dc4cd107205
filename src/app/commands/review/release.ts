import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { reviewQueueOf } from '../../../record/record-store.ts'

interface Options {
  readonly by: string
  readonly force?: true
}

/** `gavel review release`: gives an item back before its reservation lapses. */
export const command: Command<Options, boolean> = {
  options: [
    new Option('--by <name>', 'who reserved it').makeOptionMandatory(),
    new Option('--force', 'release it even if somebody else reserved it'),
  ],
  json: false,
  help: 'Example:\n  $ gavel review release rumor~3lbw2k4~r2 --by ann',
  async run({ args: [item = ''], options: { by, force = false }, settings: read }) {
    const queue = await reviewQueueOf(read())
    try {
      return await queue.release(item, by, { anyone: force }, Date.now())
    } finally {
      await queue.close()
    }
  },
  print(released, { terminal }) {
    if (!released) throw new OperatorError('This person has no such item.')
    terminal.out('Released.')
  },
}
