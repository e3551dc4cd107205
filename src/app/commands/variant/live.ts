import type { Command } from '../../../cli/command.ts'
import { type RampChange, type RampOptions, rampCommand } from './set-ramp.ts'

/** `gavel variant live`: a variant judges all subjects. */
export const command: Command<RampOptions, RampChange> = rampCommand(
  'gavel variant live stricter --config gavel.yaml --by ann',
  () => 1,
)
