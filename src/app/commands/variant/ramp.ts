import type { Command } from '../../../cli/command.ts'
import { percentIn, type RampChange, type RampOptions, rampCommand } from './set-ramp.ts'

/** `gavel variant ramp`: a variant judges this part of subjects. */
export const command: Command<RampOptions, RampChange> = rampCommand(
  'gavel variant ramp stricter 10% --config gavel.yaml --by ann',
  ([, percent]) => percentIn(percent),
)
