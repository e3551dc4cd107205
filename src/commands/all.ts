import type { ListedCommand } from './command.ts'

/** Every command, in the order of `--help`. A command's file is imported only when that command is called. */
export const COMMANDS: readonly ListedCommand[] = [
  {
    path: 'run',
    description: 'the service: intake, stages and publication, until it is stopped',
    load: () => import('./run.ts'),
  },
  {
    path: 'produce',
    argument: '<file>',
    description: "sends a file's posts and comments to Kafka",
    load: () => import('./produce.ts'),
  },
  { path: 'verdicts', description: 'reads the verdicts topic', load: () => import('./verdicts.ts') },
  {
    path: 'judge',
    argument: '<file>',
    description: 'judges the subjects of a file right here, without Kafka or Redis',
    load: () => import('./judge.ts'),
  },

  { path: 'dead-letters', description: 'what could not be read or judged, and why' },
  {
    path: 'dead-letters list',
    description: 'lists dead letters, optionally filtered',
    load: () => import('./dead-letters/list.ts'),
  },
  {
    path: 'dead-letters replay',
    description: 'sends the originals to their topics once more; each once, unless --again',
    load: () => import('./dead-letters/replay.ts'),
  },

  {
    path: 'recover',
    description: 'after Redis was emptied or failed over: revisions and threads, out of the topics',
    load: () => import('./recover.ts'),
  },

  { path: 'library', description: 'shelves of labelled examples and precedents' },
  {
    path: 'library import',
    argument: '<file>',
    description: "puts a file's labelled texts onto a shelf, as one change",
    load: () => import('./library/import.ts'),
  },
  {
    path: 'library list',
    description: 'the shelves, who is shown them, and who made their vectors',
    load: () => import('./library/list.ts'),
  },
  {
    path: 'library search',
    argument: '<text>',
    description: 'the nearest items, as a protocol would be given them; the same text is not among them',
    load: () => import('./library/search.ts'),
  },
  {
    path: 'library history',
    description: 'what changed on the shelves, the newest first',
    load: () => import('./library/history.ts'),
  },
  {
    path: 'library rollback',
    argument: '<change>',
    description: 'takes back one change: what it added goes, what it replaced returns',
    load: () => import('./library/rollback.ts'),
  },
  {
    path: 'library drop',
    argument: '<shelf>',
    description: 'erases a shelf and its history for good',
    load: () => import('./library/drop.ts'),
  },
  {
    path: 'library touched',
    argument: '<id>',
    description: 'the verdicts that rest on a precedent, by its id, its proposal or its change',
    load: () => import('./library/touched.ts'),
  },
  {
    path: 'library take-back',
    argument: '<id>',
    description: 'takes one item off its shelf, and names the verdicts that rest on it',
    load: () => import('./library/take-back.ts'),
  },

  {
    path: 'learn',
    argument: '[file]',
    argumentIs: 'feedback, as "gavel produce" takes it',
    description: "from people's feedback on verdicts to proposals for the shelves",
    load: () => import('./learn/learn.ts'),
  },
  {
    path: 'learn list',
    description: 'proposals, the oldest first, with those that they contradict',
    load: () => import('./learn/list.ts'),
  },
  {
    path: 'learn show',
    argument: '<id>',
    description: 'everything that is known of a proposal',
    load: () => import('./learn/show.ts'),
  },
  {
    path: 'learn approve',
    argument: '[ids...]',
    description: 'puts proposals on their shelves, as one change a shelf',
    load: () => import('./learn/approve.ts'),
  },
  {
    path: 'learn reject',
    argument: '<ids...>',
    description: 'rejects proposals',
    load: () => import('./learn/reject.ts'),
  },
  {
    path: 'learn rollback',
    argument: '<change>',
    description: 'takes back what one change did; its proposals wait again',
    load: () => import('./learn/rollback.ts'),
  },
  {
    path: 'learn history',
    description: 'every change to the shelves, the newest first',
    load: () => import('./learn/history.ts'),
  },

  { path: 'protocols', description: 'lists, pauses and resumes protocols' },
  {
    path: 'protocols list',
    description: 'every protocol: on or off by the settings, paused or not',
    load: () => import('./protocols/list.ts'),
  },
  {
    path: 'protocols pause',
    argument: '<name>',
    description: 'no new case of this protocol, in any process, until it is resumed',
    load: () => import('./protocols/pause.ts'),
  },
  {
    path: 'protocols resume',
    argument: '<name>',
    description: 'judges what came due meanwhile, and goes on',
    load: () => import('./protocols/resume.ts'),
  },

  {
    path: 'stack',
    description: 'local Redis, Kafka and understudy, kept up until it is stopped',
    load: () => import('../tools/stack/command.ts'),
  },
  {
    path: 'doctor',
    description: 'checks settings, prompts, Kafka, Redis and the model, and says what to fix',
    load: () => import('./doctor.ts'),
  },
  {
    path: 'bench',
    description: 'load on the whole pipeline, with a model of set latency; prints one JSON report',
    load: () => import('../tools/bench/command.ts'),
  },
  {
    path: 'demo',
    description: 'judges a sample event live; starts any missing servers; no API key needed',
    withoutSettings: true,
    load: () => import('../tools/demo/command.ts'),
  },
]
