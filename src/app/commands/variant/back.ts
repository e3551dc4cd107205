import type { Command } from '../../../cli/command.ts'
import { type RampChange, type RampOptions, rampCommand } from './set-ramp.ts'

/** `gavel variant back`: a variant judges no subject any more. */
export const command: Command<RampOptions, RampChange> = rampCommand(
  'gavel variant back stricter --config gavel.yaml --by ann',
  () => 0,
)
