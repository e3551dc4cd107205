import type { ListedCommand } from './cli/command.ts'

/** Commands by which shelves learn from people. */
export const LEARN_COMMANDS: readonly ListedCommand[] = [
  {
    path: 'learn',
    argument: '[file]',
    argumentIs: 'feedback, in the form that "gavel produce" accepts',
    description: "turns people's feedback on verdicts into proposals for the shelves",
    load: () => import('./app/commands/learn/learn.ts'),
  },
  {
    path: 'learn labels',
    argument: '<file>',
    argumentIs: 'a labelled data set',
    description: "proposes precedents from a data set's labels and the verdicts on it, to fill a library",
    load: () => import('./lab/commands/learn/labels.ts'),
  },
  {
    path: 'learn list',
    description: 'lists proposals, oldest first, with those that they contradict',
    load: () => import('./app/commands/learn/list.ts'),
  },
  {
    path: 'learn show',
    argument: '<id>',
    description: 'shows everything known about a proposal',
    load: () => import('./app/commands/learn/show.ts'),
  },
  {
    path: 'learn approve',
    argument: '[ids...]',
    description: 'puts proposals on their shelves, as one change per shelf',
    load: () => import('./app/commands/learn/approve.ts'),
  },
  {
    path: 'learn reject',
    argument: '<ids...>',
    description: 'rejects proposals',
    load: () => import('./app/commands/learn/reject.ts'),
  },
  {
    path: 'learn rollback',
    argument: '<change>',
    description: 'undoes one change; its proposals wait again',
    load: () => import('./app/commands/learn/rollback.ts'),
  },
  {
    path: 'learn history',
    description: 'lists changes to the shelves, the newest first',
    load: () => import('./app/commands/learn/history.ts'),
  },
]
