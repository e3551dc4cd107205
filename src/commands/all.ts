import type { ListedCommand } from './command.ts'

/** Every command, in the order of `--help`. A command's file is imported only when that command is called. */
export const COMMANDS: readonly ListedCommand[] = [
  {
    path: 'run',
    description: 'the service: intake, stages and publication, until it is stopped',
    load: () => import('./run.ts'),
  },
  {
    path: 'serve',
    description: 'the HTTP door: messages in and verdicts now, by POST; services of "gavel run" judge',
    load: () => import('./serve.ts'),
  },
  {
    path: 'produce',
    argument: '<file>',
    description: "sends a file's posts and comments to Kafka",
    load: () => import('./produce.ts'),
  },
  { path: 'verdicts', description: 'reads the verdicts topic', load: () => import('./verdicts.ts') },
  {
    path: 'show',
    argument: '<id>',
    argumentIs: 'the id of a post, or with --kind reply of a reply',
    description: 'what became of one post: messages, thread, cases, what waits for what, verdicts, debates',
    load: () => import('./show/show.ts'),
  },
  {
    path: 'decide',
    argument: '<id>',
    argumentIs: 'the id of a post, or with --kind reply of a reply',
    description: 'a person’s verdict on one subject in place of the machines’, or its withdrawal',
    load: () => import('./decide.ts'),
  },
  {
    path: 'console',
    description: 'pages on which people watch verdicts, read debates and decide, over the record of this machine',
    load: () => import('./console.ts'),
  },
  {
    path: 'top',
    description: 'how the service stands, live: stages, lag, slots, tenants, spend, oldest waits',
    load: () => import('./top/top.ts'),
  },
  {
    path: 'judge',
    argument: '<file>',
    description: 'judges the subjects of a file in this process, without Kafka or Redis',
    load: () => import('./judge.ts'),
  },
  {
    path: 'eval',
    description: 'how good verdicts are, by people’s labels, and whether the debate earns its cost',
    load: () => import('../lab/commands/eval/eval.ts'),
  },
  {
    path: 'calibrate',
    description: 'finds evaluation steps by which a model scores counterspeech as people do',
    load: () => import('../lab/commands/calibrate/calibrate.ts'),
  },

  {
    path: 'scores',
    argument: '<file>',
    argumentIs: 'a table or JSON Lines with texts and labels',
    description: "the door's scores of texts that people have labelled, by which old thresholds are carried over",
    load: () => import('../lab/commands/scores/scores.ts'),
  },

  { path: 'cases', description: 'open cases: what each waits for, and what can be done about it' },
  {
    path: 'cases list',
    description: 'lists open cases, the longest untouched first, and what each waits for',
    load: () => import('./cases/list.ts'),
  },
  { path: 'webhooks', description: 'verdicts that could not be sent to their receivers' },
  {
    path: 'webhooks list',
    description: 'verdicts that no try has brought to their receivers',
    load: () => import('./webhooks/list.ts'),
  },
  {
    path: 'webhooks retry',
    argument: '<ids...>',
    description: 'tries parked verdicts again, none behind a newer one on the same subject',
    load: () => import('./webhooks/retry.ts'),
  },
  {
    path: 'cases retry',
    argument: '<ids...>',
    description: 'what is deferred in them may be tried now; a case without a job gets one',
    load: () => import('./cases/retry.ts'),
  },
  {
    path: 'cases give-up',
    argument: '<ids...>',
    description: 'ends them without a label, and says so in their verdicts',
    load: () => import('./cases/give-up.ts'),
  },

  { path: 'dead-letters', description: 'what could not be read or judged, and why' },
  {
    path: 'dead-letters list',
    description: 'lists dead letters, optionally filtered',
    load: () => import('./dead-letters/list.ts'),
  },
  {
    path: 'dead-letters replay',
    description: 'sends the original messages to their topics again; each only once, unless --again',
    load: () => import('./dead-letters/replay.ts'),
  },

  {
    path: 'recover',
    description: 'restores revisions and threads from the topics, after Redis was emptied or failed over',
    load: () => import('./recover.ts'),
  },
  { path: 'record', description: 'what was judged and said, kept for longer than the topics keep it' },
  {
    path: 'record export',
    description: 'prints every subject of the record as a line of JSON: its verdicts, and what people said of them',
    load: () => import('./record/export.ts'),
  },
  {
    path: 'record rebuild',
    description: 'makes the record anew from what the topics still have',
    load: () => import('./record/rebuild.ts'),
  },
  { path: 'review', description: 'what people should look at, the dearest mistake first; and how far they agree' },
  {
    path: 'review list',
    description: 'verdicts that are undecided, contested, degraded, asked about again, or drawn for audit',
    load: () => import('./review/list.ts'),
  },
  {
    path: 'review claim',
    argument: '[item]',
    argumentIs: 'a verdict’s id, as review list names it',
    description: 'takes one for a while, the first unless it is named, and shows its post and comments',
    load: () => import('./review/claim.ts'),
  },
  {
    path: 'review release',
    argument: '<item>',
    argumentIs: 'a verdict’s id, as review list names it',
    description: 'gives one back before its claim lapses',
    load: () => import('./review/release.ts'),
  },
  {
    path: 'review decide',
    argument: '<item>',
    argumentIs: 'a verdict’s id, as review list names it',
    description: 'a person’s verdict on one, or a second opinion where that is asked for',
    load: () => import('./review/decide.ts'),
  },
  {
    path: 'review stats',
    description: 'how far people agree with machines and with one another, with intervals',
    load: () => import('../lab/commands/review/stats.ts'),
  },
  {
    path: 'judge-again',
    description: 'has the services judge again what ended without a label, at a rate, the price first',
    load: () => import('./judge-again.ts'),
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
    description: 'finds the nearest items, as a protocol would; leaves out the same text',
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
    description: 'undoes one change: removes what it added, restores what it replaced',
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
    description: 'finds the verdicts that rest on a precedent, by its id, its proposal or its change',
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
    argumentIs: 'feedback, in the form that "gavel produce" accepts',
    description: "turns people's feedback on verdicts into proposals for the shelves",
    load: () => import('./learn/learn.ts'),
  },
  {
    path: 'learn list',
    description: 'lists proposals, oldest first, with those that they contradict',
    load: () => import('./learn/list.ts'),
  },
  {
    path: 'learn show',
    argument: '<id>',
    description: 'shows everything known about a proposal',
    load: () => import('./learn/show.ts'),
  },
  {
    path: 'learn approve',
    argument: '[ids...]',
    description: 'puts proposals on their shelves, as one change per shelf',
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
    description: 'undoes one change; its proposals are waiting again',
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
    description: 'lists every protocol: on or off in the settings, paused or not',
    load: () => import('./protocols/list.ts'),
  },
  {
    path: 'protocols pause',
    argument: '<protocol>',
    description: 'stops every process from opening cases of this protocol until it is resumed',
    load: () => import('./protocols/pause.ts'),
  },
  {
    path: 'protocols resume',
    argument: '<protocol>',
    description: 'resumes a protocol, and judges what became due meanwhile',
    load: () => import('./protocols/resume.ts'),
  },

  { path: 'keys', description: 'API keys of the HTTP door, by tenant and by what they may do' },
  {
    path: 'keys create',
    description: 'makes a key, and prints it this once',
    load: () => import('./keys/create.ts'),
  },
  { path: 'keys list', description: 'lists keys by their ids', load: () => import('./keys/list.ts') },
  {
    path: 'keys revoke',
    argument: '<ids...>',
    description: 'takes keys out of use, at every door within 2 s',
    load: () => import('./keys/revoke.ts'),
  },

  {
    path: 'stack',
    description: 'runs local Redis, Kafka and understudy until it is stopped',
    load: () => import('../kit/stack/command.ts'),
  },
  {
    path: 'doctor',
    description: 'checks settings, prompts, Kafka, Redis and the model, and says what to fix',
    load: () => import('./doctor.ts'),
  },
  {
    path: 'health',
    description: 'asks the service that runs on this machine how it is; for health checks of containers',
    load: () => import('./health.ts'),
  },
  {
    path: 'capacity',
    description: 'how many replicas a stream takes, and what the model, Redis and Kafka must bear',
    load: () => import('../kit/capacity/command.ts'),
  },
  {
    path: 'bench',
    description: 'loads the whole pipeline, with a model of fixed latency; prints one JSON report',
    load: () => import('../kit/bench/command.ts'),
  },
  {
    path: 'completion',
    argument: '<shell>',
    argumentIs: 'bash, zsh or fish',
    description: 'prints the script by which a shell completes commands, options and names',
    withoutSettings: true,
    load: () => import('./completion.ts'),
  },
  {
    path: 'complete',
    argument: '[words...]',
    description: 'what may follow these words; for the scripts of "gavel completion"',
    withoutSettings: true,
    hidden: true,
    load: () => import('./complete.ts'),
  },
  {
    path: 'demo',
    description: 'judges a sample event live; starts any missing servers; no API key needed',
    withoutSettings: true,
    load: () => import('../kit/demo/command.ts'),
  },
]
