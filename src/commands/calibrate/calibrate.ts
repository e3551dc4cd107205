import { Option } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import type { Gain } from '../../calibration/gain.ts'
import { type Parts, partsOf } from '../../calibration/parts.ts'
import { type Ratings, readRatings } from '../../calibration/read-ratings.ts'
import { calibrationOf } from '../../composition/calibration.ts'
import type { Calibration } from '../../domain/calibration.ts'
import { entryOf } from '../../domain/entry-of.ts'
import { OperatorError } from '../../domain/errors.ts'
import { faultIn } from '../../evaluation/file-message.ts'
import { FEWEST_UNITS } from '../../evaluation/statistics/intervals.ts'
import type { ProtocolKind } from '../../protocols/kind.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'
import type { Command } from '../command.ts'
import { notNegative, positive } from '../options.ts'
import { printable } from '../terminal.ts'
import { type CalibrationCost, costOf } from './plan.ts'
import { type CalibrateOptions, type CalibrationResult, modelsOf, runCalibration, sizesOf } from './run.ts'

const sizes = (text: string) => text.split(',').map((one) => positive(one.trim()))

/** `gavel calibrate`: evaluation steps that score as people do (Auto-CSEval, Algorithm 1). */
export const command: Command<CalibrateOptions, CalibrationResult> = {
  options: [
    new Option('--aspect <name>', 'the aspect whose steps are to be found').makeOptionMandatory(),
    new Option(
      '--ratings <file>',
      'JSON Lines: hateSpeech, text, and ratings with one or several numbers an aspect',
    ).makeOptionMandatory(),
    new Option('--protocol <name>', 'the protocol that scores by them').default('counterspeech'),
    new Option('--few-shot <sizes>', 'how many examples a draft is shown, one size after the other')
      .default([4, 8], '4,8')
      .argParser(sizes),
    new Option('--trials <n>', 'drafts of each size').default(6).argParser(positive),
    new Option('--keep <k>', 'candidates that are refined').default(3).argParser(positive),
    new Option('--refinements <n>', 'refinements of each in an iteration').default(2).argParser(positive),
    new Option('--iterations <n>', 'at most so many iterations; it ends before, when one gains nothing')
      .default(3)
      .argParser(notNegative),
    new Option('--no-halving', 'score every candidate on all items, also hopeless ones'),
    new Option(
      '--paper',
      'as the paper does: its wording, selection on all ratings, every candidate scored on all; no part is left to tell the gain on',
    ),
    new Option('--seed <seed>', 'seed of the parts and of the drafts').default('1'),
    new Option('--out <folder>', 'keep every answer there; run again, it goes on'),
    new Option('--steps <folder>', 'where the steps are written').default('.gavel/steps'),
    new Option('--yes', 'pay what the plan says'),
    new Option('--max-cost <usd>', 'stop when this run has paid so much').argParser(positive),
  ],
  json: true,
  help: [
    'Without --yes only the plan is printed: what would be asked, and for how much.',
    '\nExample:',
    '  $ gavel calibrate --aspect relevance --ratings ratings.jsonl --out .gavel/relevance --yes',
  ].join('\n'),
  async run({ options, settings: load, terminal, signal }) {
    const settings = asSet(load(), options)
    const kind = PROTOCOLS.find(({ name }) => name === options.protocol)
    if (kind === undefined) throw new OperatorError(`No protocol is called ${options.protocol}.`)
    const calibration = calibrationOf(settings, kind, options.aspect)
    const ratings = await readRatings(options.ratings, calibration.aspect, (bad) =>
      terminal.say(printable(faultIn(options.ratings, bad), 400)),
    )
    const { seed, paper = false } = options
    const parts = partsOf(ratings.items, { seed, paper })
    const tooFew = options.fewShot.find((size) => size > parts.development.length)
    if (tooFew !== undefined)
      throw new OperatorError(
        `--few-shot ${tooFew} is more than the ${parts.development.length} items of the development part.`,
      )
    const plan = planOf(settings, kind, calibration, parts, options)
    for (const line of planLines(plan, parts, ratings)) terminal.say(line)
    const result = {
      ...{ aspect: options.aspect, plan, alpha: ratings.alpha },
      items: { development: parts.development.length, selection: parts.selection.length, test: parts.test.length },
    }
    if (options.yes !== true) return { ...result, calibrated: null }
    const calibrated = await runCalibration(
      settings,
      { kind, calibration, parts, ratings, plan },
      { options, terminal, signal },
    )
    return { ...result, calibrated }
  },
  print(result, { json, terminal, options }) {
    const { calibrated } = result
    if (json) return terminal.out(JSON.stringify(result))
    if (calibrated === null) return terminal.say('Nothing was asked. Run it again with --yes to go on.')
    for (const { from, spearman } of calibrated.course) terminal.out(`ρ ${told(spearman)} on selection: ${from}`)
    const { gain, file } = calibrated
    if (gain !== null)
      terminal.out(
        `On ${gain.now.items} unseen items: ρ ${told(gain.before.spearman)} before, ${told(gain.now.spearman)} now${changeOf(gain)}.`,
      )
    if (file === null) {
      terminal.out(`No gain on unseen items: the steps of ${options.aspect} stay as they are.`)
      return
    }
    terminal.out(`Written: ${file}`)
    const folder = options.steps.includes('/') ? options.steps : `./${options.steps}`
    terminal.say(`To score by them, set protocols.${options.protocol}.steps to calibrated and stepsFor to ${folder}.`)
  },
}

/** The settings, with `--paper` under the protocol's preset of that name: the wording and the temperature of the paper. */
function asSet(settings: Settings, { protocol, paper = false }: CalibrateOptions): Settings {
  const own = entryOf(settings.protocols, protocol)
  if (!paper || own === undefined) return settings
  return { ...settings, protocols: { ...settings.protocols, [protocol]: { ...own, preset: 'paper' } } } as Settings
}

function told(value: number | null): string {
  return value === null ? '–' : value.toFixed(3)
}

function changeOf({ change }: Gain): string {
  const { value, interval, why } = change
  if (value === null || interval === null) return ` (${why})`
  return ` (${value > 0 ? '+' : ''}${value.toFixed(3)} [${interval.low.toFixed(3)}, ${interval.high.toFixed(3)}])`
}

function planOf(
  settings: Settings,
  kind: ProtocolKind,
  calibration: Calibration,
  parts: Parts,
  options: CalibrateOptions,
) {
  const { prices, slots } = settings.models
  return costOf(calibration, parts, sizesOf(options), { models: modelsOf(settings, kind), prices, slots })
}

function planLines(plan: CalibrationCost, parts: Parts, { alpha }: Ratings): string[] {
  const { drafts, refinements, scores, tokens, usd, secondsAtOneSecond } = plan
  const { development, selection, test } = parts
  const unseen = new Set(test.map(({ unit }) => unit)).size
  const agreed =
    alpha === null
      ? []
      : [
          `The raters' agreement is ${alpha.toFixed(2)} (Krippendorff's alpha)${alpha <= 0 ? ': no better than chance' : ''}.`,
        ]
  return [
    `Items: ${development.length} for drafts, ${selection.length} for selection, ${test.length} unseen.`,
    ...agreed,
    ...(test.length > 0 && unseen < FEWEST_UNITS
      ? [`The unseen items answer ${unseen} statements: with fewer than ${FEWEST_UNITS} no gain can be claimed.`]
      : []),
    `At most ${drafts} drafts, ${refinements} refinements and ${scores} scores: about ${tokens} tokens, $${usd.toFixed(2)}, ${secondsAtOneSecond} s with a model of one second.`,
  ]
}
