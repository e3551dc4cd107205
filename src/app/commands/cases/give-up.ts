import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { giveUp } from '../../../judging/engine/give-up.ts'
import { casesParts } from '../show/parts.ts'

interface GivenUp {
  readonly id: string
  readonly ended: boolean
}

/** `gavel cases give-up`: ends open cases without a label. */
export const command: Command<{ readonly why: string }, readonly GivenUp[]> = {
  options: [
    new Option('--why <words>', 'the reason, for "degraded" of their verdicts').default('given up by an operator'),
  ],
  json: true,
  help: 'A verdict without a label is published, and the subject may open its next revision. It can’t be undone.\n\nExample:\n  $ gavel cases give-up rumor~3lbw2k4~r1 --why "the model is gone for good"',
  async run({ args, options: { why }, settings }) {
    const parts = await casesParts(settings())
    try {
      const ended: GivenUp[] = []
      for (const id of args) ended.push({ id, ended: await giveUp(parts, id, why) })
      await parts.desk.drop(ended.flatMap((one) => (one.ended ? [one.id] : [])))
      return ended
    } finally {
      await parts.close()
    }
  },
  print(all, { json, terminal }) {
    for (const one of all)
      if (json) terminal.out(JSON.stringify(one))
      else
        terminal.out(
          `${printable(one.id, 200)}: ${one.ended ? 'ended without a label' : 'not open, or a worker was faster'}`,
        )
    if (all.every(({ ended }) => !ended)) throw new OperatorError('No case was ended.')
  },
}
