import type { ListedCommand } from './cli/command.ts'

const OF_VARIANT = { argument: '<name>', argumentIs: 'the name of the variant' } as const

/** Commands by which policies are written, and other settings are tried beside the live ones. */
export const VARIANT_COMMANDS: readonly ListedCommand[] = [
  { path: 'policy', description: 'checks policies, and makes them live' },
  {
    path: 'policy check',
    argument: '<files...>',
    argumentIs: 'policies in Markdown',
    description: 'reads policies as they would be judged by: clauses, faults by line, tokens, price',
    load: () => import('./app/commands/policy/check.ts'),
  },
  {
    path: 'policy publish',
    argument: '<file>',
    argumentIs: 'a policy in Markdown',
    description: 'makes a policy live, once it is checked and the model was seen to follow what changed; audited',
    load: () => import('./lab/commands/policy/publish.ts'),
  },
  { path: 'variant', description: 'tries other settings beside the live ones' },
  {
    path: 'variant shadow',
    ...OF_VARIANT,
    description: 'judges a part of what the service judges once more, under other settings, and publishes no verdict',
    load: () => import('./app/commands/variant/shadow.ts'),
  },
  {
    path: 'variant compare',
    ...OF_VARIANT,
    description: 'compares a variant in the shadow with the live verdicts: flips, cost, agreement with people',
    load: () => import('./lab/commands/variant/compare.ts'),
  },
  {
    path: 'variant list',
    description: 'lists the variants of the settings, and which part of subjects each judges',
    load: () => import('./app/commands/variant/list.ts'),
  },
  {
    path: 'variant ramp',
    argument: '<words...>',
    argumentIs: 'the variant, and the part of subjects, as 10%',
    description: 'sets in the settings file which part of subjects a variant judges; audited',
    load: () => import('./app/commands/variant/ramp.ts'),
  },
  {
    path: 'variant live',
    ...OF_VARIANT,
    description: 'sets in the settings file that a variant judges all subjects; audited',
    load: () => import('./app/commands/variant/live.ts'),
  },
  {
    path: 'variant back',
    ...OF_VARIANT,
    description: 'sets in the settings file that a variant judges no subject; audited',
    load: () => import('./app/commands/variant/back.ts'),
  },
]
