import type { Invocation, ListedCommand } from './cli/command.ts'
import { LEARN_COMMANDS } from './learn-commands.ts'
import { STREAM_COMMANDS } from './stream-commands.ts'
import { VARIANT_COMMANDS } from './variant-commands.ts'

/** The understudy answers where no model is set. It is imported only then. */
export const startStandIn: NonNullable<Invocation['startStandIn']> = async () =>
  (await import('./kit/understudy/server.ts')).startUnderstudy()

/** Every command, in the order of `--help`. A command's file is imported only when that command is called. */
export const COMMANDS: readonly ListedCommand[] = [
  {
    path: 'run',
    description: 'runs the service: intake, judging and publication',
    logs: true,
    load: () => import('./app/commands/run.ts'),
  },
  {
    path: 'serve',
    description: 'serves the HTTP API (the door), which takes messages and returns verdicts; "gavel run" judges',
    logs: true,
    load: () => import('./app/commands/serve.ts'),
  },
  {
    path: 'reload',
    description: 'has the services on this machine read their settings, prompts and routes again',
    withoutSettings: true,
    load: () => import('./app/commands/reload.ts'),
  },
  {
    path: 'produce',
    argument: '<file>',
    description: "sends a file's posts and comments to Kafka",
    load: () => import('./app/commands/produce.ts'),
  },
  { path: 'verdicts', description: 'reads the verdicts topic', load: () => import('./app/commands/verdicts.ts') },
  {
    path: 'show',
    argument: '<id>',
    argumentIs: 'the id of a post, or of a reply with --kind reply',
    description: 'shows everything about one post: messages, thread, cases, verdicts, debates',
    load: () => import('./app/commands/show/show.ts'),
  },
  {
    path: 'decide',
    argument: '<id>',
    argumentIs: 'the id of a post, or of a reply with --kind reply',
    description: 'publishes or withdraws a human verdict on one subject',
    load: () => import('./app/commands/decide.ts'),
  },
  {
    path: 'appeal',
    argument: '<id>',
    argumentIs: 'the appeal’s own id',
    description: 'sends an objection of who wrote or reported something, or takes it back',
    load: () => import('./app/commands/appeal.ts'),
  },
  {
    path: 'act',
    argument: '<id>',
    argumentIs: 'the id of a post, a reply or a comment',
    description: 'notes what the platform did about a subject, or that this is over',
    load: () => import('./app/commands/act.ts'),
  },
  {
    path: 'reasons',
    argument: '<action>',
    argumentIs: 'the id of an action',
    description: 'prints the statement of reasons for an action',
    load: () => import('./app/commands/reasons/reasons.ts'),
  },
  {
    path: 'reasons appeal',
    argument: '<appeal>',
    argumentIs: 'the id of an appeal',
    description: 'prints a person’s answer to an appeal, for the one who appealed',
    load: () => import('./app/commands/reasons/appeal.ts'),
  },
  {
    path: 'reasons send',
    description: 'sends statements of reasons to the EU’s Transparency Database, each once',
    load: () => import('./app/commands/reasons/send.ts'),
  },
  {
    path: 'report',
    description: 'prints the figures of a transparency report as CSV: actions, times, error rates',
    load: () => import('./app/commands/report/report.ts'),
  },
  {
    path: 'report reconcile',
    description: 'holds the report, statements, record and topic of actions against each other',
    load: () => import('./app/commands/report/reconcile.ts'),
  },
  {
    path: 'erase',
    description: 'erases all that a person wrote, wherever it is held',
    load: () => import('./app/commands/erase.ts'),
  },
  {
    path: 'console',
    description: 'serves web pages to watch verdicts, read debates and decide, from the record of this machine',
    load: () => import('./app/commands/console.ts'),
  },
  {
    path: 'top',
    description: 'shows the service live: stages, lag, slots, tenants, spend, oldest waits',
    load: () => import('./app/commands/top/top.ts'),
  },
  {
    path: 'judge',
    argument: '<file>',
    description: 'judges the subjects of a file in this process, without Kafka or Redis',
    load: () => import('./app/commands/judge.ts'),
  },
  {
    path: 'eval',
    description: 'measures verdicts against people’s labels, and whether the debate is worth its cost',
    load: () => import('./lab/commands/eval/eval.ts'),
  },
  {
    path: 'prove',
    description:
      'measures every protocol over public data sets within a budget: quality, cost, latency, doubts, on one page',
    load: () => import('./lab/commands/prove/prove.ts'),
  },
  {
    path: 'calibrate',
    description: 'finds evaluation steps with which a model scores counterspeech as people do',
    load: () => import('./lab/commands/calibrate/calibrate.ts'),
  },

  { path: 'lane', description: 'settles at once what a decider is sure enough of' },
  {
    path: 'lane fit',
    description: "finds from which confidence a decider's labels hold, with a promise of how often they are wrong",
    load: () => import('./lab/commands/lane/fit.ts'),
  },
  {
    path: 'scores',
    argument: '<file>',
    argumentIs: 'a table or JSON Lines with texts and labels',
    description: 'scores labelled texts as the HTTP API does, to migrate old thresholds',
    load: () => import('./lab/commands/scores/scores.ts'),
  },

  { path: 'cases', description: 'lists, retries and ends open cases' },
  {
    path: 'cases list',
    description: 'lists open cases and what each waits for, the longest idle first',
    load: () => import('./app/commands/cases/list.ts'),
  },
  ...VARIANT_COMMANDS,
  {
    path: 'what-if',
    description: 'replays recorded cases under another policy, prompt, model or setting; tells the price first',
    load: () => import('./lab/commands/what-if/what-if.ts'),
  },
  { path: 'veto', description: 'compares with lists of what no model is asked about, and packs them' },
  {
    path: 'veto check',
    argument: '<files...>',
    argumentIs: 'pictures, or texts',
    description: 'compares files with the lists of vetoes, as a service does, and prints their hashes',
    load: () => import('./app/commands/veto/check.ts'),
  },
  {
    path: 'veto pack',
    argument: '<list>',
    argumentIs: 'a file with one hash a line',
    description: 'makes a long list one that is not held in memory',
    load: () => import('./app/commands/veto/pack.ts'),
  },
  { path: 'webhooks', description: 'lists and retries verdicts that could not be delivered' },
  {
    path: 'webhooks list',
    description: 'lists verdicts that could not be delivered',
    load: () => import('./app/commands/webhooks/list.ts'),
  },
  {
    path: 'webhooks retry',
    argument: '<ids...>',
    description: 'sends undelivered verdicts again, unless the subject has a newer one',
    load: () => import('./app/commands/webhooks/retry.ts'),
  },
  {
    path: 'cases retry',
    argument: '<ids...>',
    description: 'retries deferred asks now; gives cases without a job a new one',
    load: () => import('./app/commands/cases/retry.ts'),
  },
  {
    path: 'cases give-up',
    argument: '<ids...>',
    description: 'ends cases: publishes verdicts without a label',
    load: () => import('./app/commands/cases/give-up.ts'),
  },

  ...STREAM_COMMANDS,

  {
    path: 'recover',
    description: 'restores revisions and threads from the topics, after Redis was emptied or failed over',
    load: () => import('./app/commands/recover.ts'),
  },
  { path: 'record', description: 'exports and rebuilds the long-term record of verdicts' },
  {
    path: 'record export',
    description: "prints every subject of the record as a line of JSON, with verdicts and people's decisions",
    load: () => import('./app/commands/record/export.ts'),
  },
  {
    path: 'record rebuild',
    description: 'rebuilds the record from the topics',
    load: () => import('./app/commands/record/rebuild.ts'),
  },
  { path: 'review', description: 'works through the review queue; measures agreement' },
  {
    path: 'review list',
    description: 'lists verdicts for review, the costliest mistake first',
    load: () => import('./app/commands/review/list.ts'),
  },
  {
    path: 'review reserve',
    formerly: 'claim',
    argument: '[item]',
    argumentIs: 'a verdict’s id, from "gavel review list"',
    description: 'reserves an item, by default the first, and shows its post and comments',
    load: () => import('./app/commands/review/reserve.ts'),
  },
  {
    path: 'review release',
    argument: '<item>',
    argumentIs: 'a verdict’s id, from "gavel review list"',
    description: 'returns a reserved item',
    load: () => import('./app/commands/review/release.ts'),
  },
  {
    path: 'review decide',
    argument: '<item>',
    argumentIs: 'a verdict’s id, from "gavel review list"',
    description: 'decides an item, or gives a second opinion',
    load: () => import('./app/commands/review/decide.ts'),
  },
  {
    path: 'review quality',
    description: 'tells how each person decided of late, without names',
    load: () => import('./app/commands/review/quality.ts'),
  },
  {
    path: 'review stats',
    description: "measures how often machines are wrong, and people's agreement with them and with one another",
    load: () => import('./lab/commands/review/stats.ts'),
  },
  {
    path: 'judge-again',
    description: 'judges subjects without a label again; --dry-run estimates the cost',
    load: () => import('./app/commands/judge-again.ts'),
  },

  ...LEARN_COMMANDS,

  { path: 'protocols', description: 'lists, pauses and resumes protocols' },
  {
    path: 'protocols list',
    description: 'lists every protocol: on or off in the settings, paused or not',
    load: () => import('./app/commands/protocols/list.ts'),
  },
  {
    path: 'protocols pause',
    argument: '<protocol>',
    description: 'stops every process from opening cases of this protocol until it is resumed',
    load: () => import('./app/commands/protocols/pause.ts'),
  },
  {
    path: 'protocols resume',
    argument: '<protocol>',
    description: 'resumes a protocol; work that fell due meanwhile is judged',
    load: () => import('./app/commands/protocols/resume.ts'),
  },

  { path: 'keys', description: 'creates, lists and revokes keys of the HTTP API' },
  {
    path: 'keys create',
    description: 'creates a key, and prints it once',
    load: () => import('./app/commands/keys/create.ts'),
  },
  { path: 'keys list', description: 'lists keys by id', load: () => import('./app/commands/keys/list.ts') },
  {
    path: 'keys revoke',
    argument: '<ids...>',
    description: 'revokes keys; every door refuses them within 2 s',
    load: () => import('./app/commands/keys/revoke.ts'),
  },

  {
    path: 'stack',
    description: 'runs local Redis, Kafka and a stand-in model (the understudy) until it is stopped',
    load: () => import('./kit/stack/command.ts'),
  },
  {
    path: 'doctor',
    description: 'checks settings, prompts, Kafka, Redis and models, and names what to fix',
    load: () => import('./app/commands/doctor.ts'),
  },
  {
    path: 'health',
    description: 'checks the service on this machine, for container health checks',
    load: () => import('./app/commands/health.ts'),
  },
  {
    path: 'capacity',
    description: 'computes how many replicas a stream needs, and the load on model, Redis and Kafka',
    load: () => import('./kit/capacity/command.ts'),
  },
  {
    path: 'bench',
    description: 'measures the pipeline under load, with a model of fixed latency, as JSON',
    load: () => import('./kit/bench/command.ts'),
  },
  {
    path: 'completion',
    argument: '<shell>',
    argumentIs: 'bash, zsh or fish',
    description: 'prints a script for shell completion',
    withoutSettings: true,
    load: () => import('./app/commands/completion.ts'),
  },
  {
    path: 'complete',
    argument: '[words...]',
    description: 'prints completions, for the scripts of "gavel completion"',
    withoutSettings: true,
    hidden: true,
    load: () => import('./app/commands/complete.ts'),
  },
  {
    path: 'demo',
    description: 'judges a sample event live; starts any missing servers; no API key needed',
    withoutSettings: true,
    load: () => import('./kit/demo/command.ts'),
  },
]
