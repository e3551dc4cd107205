import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { labelFieldOption, readingOptions } from '../../../cli/file-options.ts'
import { positive, share } from '../../../cli/options.ts'
import { counted, printable, table } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { ATTRIBUTES, type Attribute } from '../../../door/scoring/attributes.ts'
import { SCORING_VERSION } from '../../../door/scoring/score-text.ts'
import { carriedOver, ourThresholds, type ThresholdEffect, type ThresholdMatch } from '../../evaluation/thresholds.ts'
import { paidRun } from '../paid-run.ts'
import { badLines, readTexts, type TextFields } from './labelled-texts.ts'
import { type ScoredTexts, scoredTexts } from './scored-texts.ts'

interface ScoresOptions extends TextFields {
  readonly attribute: Attribute
  readonly at: readonly number[]
  readonly out?: string
  readonly maxCost?: number
}

interface ScoresResult {
  readonly attribute: Attribute
  readonly version: string
  readonly models: readonly string[]
  readonly texts: number
  readonly positive: number
  readonly unscored: ScoredTexts['unscored']
  readonly spent: { readonly calls: number; readonly tokens: number; readonly usd: number }
  /** Old thresholds, and ours by which they may be carried over; empty where the file has no old scores. */
  readonly carried: readonly ThresholdMatch[]
  /** What our thresholds do, the strictest first. */
  readonly thresholds: readonly ThresholdEffect[]
}

/** Fewer texts of a kind than these tell a share to no more than ten points or so. */
const FEW = 100
/** Steps of the table of our own thresholds. */
const STEPS = Array.from({ length: 19 }, (_, at) => (19 - at) / 20)

/** `gavel scores`: thresholds of old scores, carried over to the door's by one's own labelled texts. */
export const command: Command<ScoresOptions, ScoresResult> = {
  options: [
    new Option('--attribute <name>', 'the Perspective attribute that the labels are about')
      .choices(Object.keys(ATTRIBUTES))
      .default('TOXICITY'),
    ...readingOptions(),
    labelFieldOption(),
    new Option(
      '--positive <labels>',
      'labels to flag, comma-separated (default: true, yes, and numbers from 0.5)',
    ).argParser((text) => text.split(',').map((one) => one.trim())),
    new Option('--old-field <name>', 'the field or column that holds the old score, from 0 to 1 (default: none)'),
    new Option('--at <thresholds>', 'old thresholds to migrate')
      .default([0.9, 0.8, 0.7, 0.6, 0.5], '0.9,0.8,0.7,0.6,0.5')
      .argParser((text) => text.split(',').map((one) => share(one.trim()))),
    new Option('--out <folder>', 'record answers there; an interrupted run resumes'),
    new Option('--max-cost <usd>', 'stop when this run has cost this much').argParser(positive),
  ],
  json: true,
  help: [
    'FILE is a table or JSON Lines, with a text and a label on each line: 1 or 0, true or false, yes or no, or a share of readers.',
    '\nExample:',
    '  $ gavel scores labelled.csv --old-field perspective --at 0.8,0.7 --out .gavel/scores',
  ].join('\n'),
  async run(invocation) {
    const { args, options, settings: load, terminal } = invocation
    const [file = ''] = args
    const settings = load()
    const bad = badLines(file, (line) => terminal.say(printable(line, 400)))
    const texts = await readTexts(file, options, bad.tell)
    bad.end()
    const { attribute, out, maxCost } = options
    const of = { texts: texts.length, did: 'scored', keep: out, keepOption: '--out', maxCost }
    return paidRun(settings, invocation, of, async ({ settings: reachable, model, signal, done, spent }) => {
      const scores = await scoredTexts(reachable, { texts, attribute, model }, { signal, done })
      if (scores.texts.length === 0)
        throw new OperatorError(`No text has a score (${why(scores)}): gavel doctor shows whether the model answers.`)
      return resultOf(attribute, options, scores, spent)
    })
  },
  print(result, { json, terminal }) {
    if (json) return terminal.out(JSON.stringify(result))
    const { attribute, version, models, texts, positive: marked, carried, thresholds } = result
    terminal.say(
      `${attribute} of ${counted(texts, 'text')}, ${marked} of them to be flagged, by ${models.map((name) => printable(name, 80)).join(', ')} (${version}).`,
    )
    const lost = Object.values(result.unscored).reduce((sum, one) => sum + one, 0)
    if (lost > 0) terminal.say(`${counted(lost, 'text')} without a score (${why(result)}), and not counted below.`)
    if (Math.min(marked, texts - marked) < FEW)
      terminal.say(`Fewer than ${FEW} texts of a kind: each share below may be off by ten points and more.`)
    if (carried.length > 0) {
      terminal.out('Old thresholds, and ours with the same share, the same recall, or the same precision:')
      terminal.out(
        table(
          ['old', 'its share, precision, recall', 'same share', 'same recall', 'same precision'],
          carried.map(carriedRow),
        ),
      )
    }
    terminal.out('What our thresholds do:')
    const rows = STEPS.flatMap((step) => {
      // Between two scores a threshold does what the next score above it does.
      const one = thresholds.findLast(({ threshold }) => threshold >= step)
      return one === undefined ? [] : [[step.toFixed(2), String(one.flagged), ...shares(one)]]
    })
    terminal.out(table(['ours', 'flagged', 'share', 'precision', 'recall'], rows))
  },
}

function resultOf(
  attribute: Attribute,
  { at, oldField }: ScoresOptions,
  { texts, unscored, models }: ScoredTexts,
  spent: ScoresResult['spent'],
): ScoresResult {
  return {
    attribute,
    version: `gavel-score-${SCORING_VERSION}`,
    models,
    unscored,
    spent: { ...spent },
    texts: texts.length,
    positive: texts.filter(({ isPositive }) => isPositive).length,
    carried: oldField === undefined ? [] : carriedOver(texts, at),
    thresholds: ourThresholds(texts),
  }
}

function carriedRow({ old, sameShare, sameRecall, samePrecision }: ThresholdMatch): string[] {
  const ours = (one: ThresholdEffect | null) =>
    one === null ? 'none' : `${one.threshold.toFixed(2)} (${shares(one).join(', ')})`
  return [old.threshold.toFixed(2), shares(old).join(', '), ours(sameShare), ours(sameRecall), ours(samePrecision)]
}

/** Share of all, precision and recall. */
function shares({ share, precision, recall }: ThresholdEffect): string[] {
  return [share, precision, recall].map((one) => (one === null ? '–' : `${(100 * one).toFixed(1)} %`))
}

function why({ unscored }: Pick<ScoredTexts, 'unscored'>): string {
  return Object.entries(unscored)
    .map(([name, count]) => `${name}: ${count}`)
    .join(', ')
}
