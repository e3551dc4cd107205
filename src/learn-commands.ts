import type { ListedCommand } from './cli/command.ts'

/** Commands by which shelves are filled, looked at, and learn from people. */
export const LEARN_COMMANDS: readonly ListedCommand[] = [
  { path: 'library', description: 'manages shelves of labelled examples and precedents' },
  {
    path: 'library import',
    argument: '<file>',
    description: "puts a file's labelled texts onto a shelf, as one change",
    load: () => import('./app/commands/library/import.ts'),
  },
  {
    path: 'library list',
    description: 'lists shelves, their tenants and their embedders',
    load: () => import('./app/commands/library/list.ts'),
  },
  {
    path: 'library search',
    argument: '<text>',
    description: 'finds the nearest items as a protocol would, identical texts left out',
    load: () => import('./app/commands/library/search.ts'),
  },
  {
    path: 'library history',
    description: 'lists changes to the shelves, the newest first',
    load: () => import('./app/commands/library/history.ts'),
  },
  {
    path: 'library rollback',
    argument: '<change>',
    description: 'undoes one change: removes what it added, restores what it replaced',
    load: () => import('./app/commands/library/rollback.ts'),
  },
  {
    path: 'library drop',
    argument: '<shelf>',
    description: 'erases a shelf and its history for good',
    load: () => import('./app/commands/library/drop.ts'),
  },
  {
    path: 'library touched',
    argument: '<id>',
    description: 'lists the verdicts that used a precedent, by its id, proposal or change',
    load: () => import('./app/commands/library/touched.ts'),
  },
  {
    path: 'library take-back',
    argument: '<id>',
    description: 'removes one item from its shelf, and lists the verdicts that used it',
    load: () => import('./app/commands/library/take-back.ts'),
  },

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
