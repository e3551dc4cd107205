import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { inPercent, type JudgedRamp, judgedRamps } from './set-ramp.ts'

/** `gavel variant list`: every variant of the settings, and the part of subjects that it judges. */
export const command: Command<object, readonly JudgedRamp[]> = {
  options: [],
  json: true,
  help: 'Example:\n  $ gavel variant list --config gavel.yaml',
  run: async ({ settings }) => judgedRamps(settings()),
  print(ramps, { json, terminal }) {
    if (json) terminal.out(JSON.stringify(ramps))
    else if (ramps.length === 0) terminal.out('The settings have no variants (protocols.NAME.variants).')
    else
      for (const { protocol, variant, ramp, judges } of ramps)
        terminal.out(
          `${protocol}  ${printable(variant, 60)}  ${inPercent(ramp)}${judges === ramp ? '' : `, and judges ${inPercent(judges)}: those before it have had theirs`}`,
        )
  },
}
