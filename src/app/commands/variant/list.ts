import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { inPercent, rampsIn, type VariantRamp } from './set-ramp.ts'

/** `gavel variant list`: every variant of the settings, and the part of subjects that it judges. */
export const command: Command<object, readonly VariantRamp[]> = {
  options: [],
  json: true,
  help: 'Example:\n  $ gavel variant list --config gavel.yaml',
  run: async ({ settings }) => rampsIn(settings()),
  print(ramps, { json, terminal }) {
    if (json) terminal.out(JSON.stringify(ramps))
    else if (ramps.length === 0) terminal.out('The settings have no variants (protocols.NAME.variants).')
    else
      for (const { protocol, variant, ramp } of ramps)
        terminal.out(`${protocol}  ${printable(variant, 60)}  ${inPercent(ramp)}`)
  },
}
