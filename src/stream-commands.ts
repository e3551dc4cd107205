import type { ListedCommand } from './cli/command.ts'

/** The commands that look at the stream, and mend it. */
export const STREAM_COMMANDS: readonly ListedCommand[] = [
  { path: 'dead-letters', description: 'lists and replays messages that could not be read or judged' },
  {
    path: 'dead-letters list',
    description: 'lists dead letters, optionally filtered',
    load: () => import('./app/commands/dead-letters/list.ts'),
  },
  {
    path: 'dead-letters replay',
    description: 'sends original messages to their topics again, each only once unless --again',
    load: () => import('./app/commands/dead-letters/replay.ts'),
  },
  { path: 'topics', description: 'shows and makes the topics that Gavel needs' },
  {
    path: 'topics plan',
    description:
      'lists the topics with partitions and retention, and which are there; or prints commands that make them',
    load: () => import('./app/commands/topics/plan.ts'),
  },
  {
    path: 'topics create',
    description: 'makes the topics that are not there, before the service starts',
    load: () => import('./app/commands/topics/create.ts'),
  },
  { path: 'map', description: 'shows what the mappings of sources make of records, and those of sinks of verdicts' },
  {
    path: 'map try',
    argument: '[file]',
    argumentIs: 'JSON Lines with a value each (with --sink a verdict), or records with --records',
    description:
      'maps records of a file or a topic, or verdicts for a sink, and shows what comes out of each and why some fail',
    load: () => import('./app/commands/map/try.ts'),
  },
]
