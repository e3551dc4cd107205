import type { ListedCommand } from './cli/command.ts'

/** Commands by which other settings are tried beside the live ones. */
export const VARIANT_COMMANDS: readonly ListedCommand[] = [
  { path: 'variant', description: 'tries other settings beside the live ones' },
  {
    path: 'variant shadow',
    argument: '<name>',
    argumentIs: 'the name of the variant',
    description: 'judges a part of what the service judges once more, under other settings, and publishes no verdict',
    load: () => import('./app/commands/variant/shadow.ts'),
  },
  {
    path: 'variant compare',
    argument: '<name>',
    argumentIs: 'the name of the variant',
    description: 'compares a variant in the shadow with the live verdicts: flips, cost, agreement with people',
    load: () => import('./lab/commands/variant/compare.ts'),
  },
]
