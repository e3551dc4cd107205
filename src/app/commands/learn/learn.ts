import { Option } from 'commander'
import type { Command, Invocation } from '../../../cli/command.ts'
import { counted, printable, printableJson } from '../../../cli/terminal.ts'
import type { LearningTally } from '../../../shelves/curator/tally.ts'
import { learnFile, learnTopic } from './learn-feedback.ts'

interface Options {
  readonly judged?: string
  readonly topic?: boolean
  readonly all?: boolean
}

/** Most reasons that are printed. */
const REASONS_SHOWN = 10

/** `gavel learn`: turns people's feedback on verdicts into proposals for the shelves. */
export const command: Command<Options, LearningTally> = {
  options: [
    new Option(
      '--judged <file>',
      'read verdicts and transcripts of "gavel judge --json --transcript" instead of the topics',
    ),
    new Option('--topic', 'read the feedback topic, from where the last run ended'),
    new Option('--all', 'also learn from correct verdicts, to fill a new library'),
  ],
  json: true,
  help: 'Example:\n  $ gavel learn feedback.jsonl --judged judged.jsonl',
  run({ args: [file], options: { judged, topic = false, all = false }, json, settings, misused, ...io }) {
    if ((file === undefined) !== topic || (topic && judged !== undefined))
      misused('give a feedback file (optionally with --judged), or --topic')
    if (file === undefined) return learnTopic(settings(), { all, json }, io)
    return learnFile(settings(), file, { all, json, judged }, io)
  },
  print: printLearning,
}

/** What became of the feedback, and why of some nothing came. */
export function printLearning(
  done: LearningTally,
  { json, terminal, signal }: Pick<Invocation, 'json' | 'terminal' | 'signal'>,
): void {
  terminal.out(json ? printableJson(JSON.stringify(done)) : countsLine(done))
  for (const { why, messages, first } of done.reasons.slice(0, REASONS_SHOWN))
    terminal.say(`${messages} ×  ${printable(why, 160)}  (first: ${printable(first, 120)})`)
  if (done.reasons.length > REASONS_SHOWN)
    terminal.say(`… and ${counted(done.reasons.length - REASONS_SHOWN, 'more reason')}.`)
  if (done.left > 0 || signal.aborted) terminal.say('Stopped before the end. Run it again to continue.')
  if (done.proposed > 0)
    terminal.say('Proposals wait until somebody approves them: "gavel learn list --state waiting".')
}

function countsLine(done: LearningTally): string {
  const parts = [
    `${done.proposed} proposed`,
    `${done.alreadyProposed} proposed before`,
    `${done.agreed} agreed with the verdict`,
    `${done.superseded} superseded`,
    `${done.refused} refused`,
    `${done.invalid} invalid`,
    `${done.unjudgeable} unjudgeable`,
    `${done.curatorFailed} failed by the curator`,
  ]
  const spent = `${done.calls} calls, $${done.costUsd.toFixed(4)}`
  return `${done.read} read: ${parts.join(', ')} (${spent}, ${done.seconds.toFixed(1)} s)`
}
