import { stat } from 'node:fs/promises'
import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import type { Command } from '../../../cli/command.ts'
import { readingOf, repliesReadingOptions } from '../../../cli/file-options.ts'
import { positive, positiveWhole, protocolName } from '../../../cli/options.ts'
import { printable } from '../../../cli/terminal.ts'
import { onTier, tierOption } from '../../../cli/tier.ts'
import type { Calibration } from '../../../contracts/facts/calibration.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { faultIn } from '../../../data-files/file-message.ts'
import { OWN_FORMATS } from '../../../data-files/own-rows.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { PROTOCOLS } from '../../../protocols/registry.ts'
import { RANKINGS } from '../../calibration/agreement.ts'
import { type Gain, isNoChance } from '../../calibration/gain.ts'
import { partsOf, type RatingParts } from '../../calibration/parts.ts'
import { type Ratings, readRatings } from '../../calibration/read-ratings.ts'
import { FEWEST_UNITS } from '../../evaluation/statistics/intervals.ts'
import { pText } from '../../evaluation/summary.ts'
import { calibrationOf } from './calibration-questions.ts'
import { type CalibrationCost, costOf } from './plan.ts'
import { type CalibrateOptions, type CalibrationResult, modelsOf, runCalibration, sizesOf } from './run.ts'

const sizes = (text: string) => [...new Set(text.split(',').map((one) => positiveWhole(one.trim())))]
const wholeOrNone = (text: string) => (text.trim() === '0' ? 0 : positiveWhole(text))

/** `gavel calibrate`: evaluation steps that score as people do (Auto-CSEval, Algorithm 1). */
export const command: Command<CalibrateOptions, CalibrationResult> = {
  options: [
    new Option('--aspect <name>', 'the aspect to find steps for').makeOptionMandatory(),
    new Option(
      '--ratings <file>',
      'JSON Lines or CSV: hateSpeech, text, and ratings, one or more numbers for each aspect',
    ).makeOptionMandatory(),
    new Option('--format <format>', "the file's format").choices(OWN_FORMATS).default('gavel'),
    ...repliesReadingOptions(),
    new Option('--protocol <name>', 'the protocol that scores by the steps')
      .argParser(protocolName)
      .default('counterspeech'),
    new Option('--few-shot <sizes>', 'numbers of examples in a draft (default: 4,8; with --paper 3)').argParser(sizes),
    new Option('--trials <n>', 'drafts of each size (default: 6; with --paper 10)').argParser(positiveWhole),
    new Option('--keep <k>', 'candidates that are refined (default: 3)').argParser(positiveWhole),
    new Option('--refinements <n>', 'refinements of each in an iteration (default: 2; with --paper 10)').argParser(
      positiveWhole,
    ),
    new Option(
      '--iterations <n>',
      'maximum iterations; fewer if one gains nothing (default: 3; with --paper 1)',
    ).argParser(wholeOrNone),
    new Option('--select <by>', "rank candidates by Spearman's ρ, or by the mean of ρ and Kendall's τ-b")
      .choices(RANKINGS)
      .default('spearman'),
    new Option('--no-halving', 'score every candidate on all items, even hopeless ones'),
    new Option(
      '--paper',
      'follow the paper: its wording, selection on all ratings, every candidate scored on all; the best is written, whether or not it gains',
    ),
    new Option('--size <n>', 'calibrate on this many ratings, drawn at random by --seed (500 in the paper)').argParser(
      positiveWhole,
    ),
    new Option('--split <name>', 'calibrate on the ratings whose `split` has this name'),
    new Option('--seed <seed>', 'seed of the split and the drafts').default('1'),
    new Option('--out <folder>', 'record answers there; an interrupted run resumes'),
    new Option('--steps <folder>', 'where the steps are written').default('.gavel/steps'),
    tierOption(),
    new Option('--yes', 'carry the plan out'),
    new Option('--max-cost <usd>', 'stop when this run has cost this much').argParser(positive),
  ],
  json: true,
  help: [
    'Without --yes it prints only the plan: calls and cost.',
    '\nExample:',
    '  $ gavel calibrate --aspect relevance --ratings ratings.jsonl --out .gavel/relevance --yes',
  ].join('\n'),
  async run({ options, settings: load, terminal, signal }) {
    const settings = onTier(asSet(load(), options), options.tier)
    const kind = PROTOCOLS.find(({ name }) => name === options.protocol)
    if (kind === undefined) throw new OperatorError(`No protocol is called ${options.protocol}.`)
    const calibration = calibrationOf(settings, kind, options.aspect)
    const ratings = await readRatings(
      options.ratings,
      calibration.aspect,
      (bad) => terminal.say(printable(faultIn(options.ratings, bad), 400)),
      { ...readingOf(options), format: options.format, only: options },
    )
    const { seed, paper = false } = options
    const parts = partsOf(ratings.items, { seed, paper })
    const tooFew = sizesOf(options).fewShot.find((size) => size > parts.development.length)
    if (tooFew !== undefined)
      throw new OperatorError(
        `--few-shot ${tooFew} is more than the ${parts.development.length} items of the development part.`,
      )
    const plan = planOf(settings, kind, calibration, parts, options)
    for (const line of planLines(plan, parts, ratings, options.aspect)) terminal.say(line)
    const result = {
      aspect: options.aspect,
      plan,
      alpha: ratings.alpha,
      before: calibration.sourceNow,
      items: { development: parts.development.length, selection: parts.selection.length, test: parts.test.length },
    }
    if (options.yes !== true) return { ...result, calibrated: null }
    if (!paper && unseenOf(parts) < FEWEST_UNITS)
      throw new OperatorError(
        `Nothing was asked: with fewer than ${FEWEST_UNITS} unseen statements no steps could be adopted. At least some ${FEWEST_UNITS * 3} statements are needed.`,
      )
    await checkFolder(options.steps)
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
    if (calibrated === null) return terminal.say('Nothing was asked. Run it again with --yes to start.')
    for (const { from, spearman } of calibrated.course) terminal.out(`ρ ${told(spearman)} on selection: ${from}`)
    const { gain, better, file, scorers, refused, steps } = calibrated
    for (const line of countsOf(calibrated)) terminal.out(line)
    terminal.out(`Scored by ${scorers.map(({ name, scores }) => `${printable(name, 80)} (${scores})`).join(', ')}.`)
    if (gain !== null)
      terminal.out(
        `On the same ${gain.now.items} unseen items: ρ ${told(gain.before.spearman)} before (${BEFORE[result.before]}), ${told(gain.now.spearman)} now (${pOf(gain)}), difference ${changeOf(gain)}.`,
      )
    if (refused !== null) {
      terminal.out(refused)
      return
    }
    if (file === null) {
      terminal.out(`No gain ${whyNone(gain)}: the steps of ${options.aspect} stay as they are.`)
      return
    }
    for (const step of steps.split('\n')) terminal.out(`  ${printable(step, 1_100)}`)
    terminal.out(`Written: ${file}`)
    if (!better)
      terminal.out(
        `They are the best of ${calibrated.tried} candidates, and are not shown to follow the raters better than ${BEFORE[result.before]}.`,
      )
    const folder = options.steps.includes('/') ? options.steps : `./${options.steps}`
    terminal.say(`To score by them, set protocols.${options.protocol}.steps to calibrated and stepsFor to ${folder}.`)
  },
}

const BEFORE: Readonly<Record<CalibrationResult['before'], string>> = {
  shipped: 'the shipped steps',
  calibrated: 'the calibrated steps of before',
  own: 'your steps',
  'model-written': 'steps that the model writes',
  none: 'without steps',
}

/** What was lost or left out on the way; nothing where all went well. */
function countsOf({
  unreadable,
  lost,
  repeated,
  stopped,
  withoutTemperature,
}: NonNullable<CalibrationResult['calibrated']>): string[] {
  const told = [
    ...(unreadable > 0 ? [`${unreadable} scores of the best could not be read`] : []),
    ...(lost > 0 ? [`${lost} drafts and refinements got no answer`] : []),
    ...(repeated > 0 ? [`${repeated} were the same as another`] : []),
    ...(withoutTemperature > 0
      ? [
          `${withoutTemperature} drafts and refinements were written by a model without a temperature setting, so they differ only by chance`,
        ]
      : []),
    ...(stopped > 0 ? [`${stopped} were stopped early`] : []),
  ]
  return told.length === 0 ? [] : [`Of the candidates: ${told.join(', ')}.`]
}

/** Throws an `OperatorError` where steps could not be written: it would be found out only after everything is paid. */
async function checkFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => null)
  if (found !== null && !found.isDirectory()) throw new OperatorError(`--steps ${folder} is a file; name a folder.`)
}

function unseenOf({ test }: RatingParts): number {
  return new Set(test.map(({ unit }) => unit)).size
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

function changeOf({ change: { value, interval, why } }: Gain): string {
  if (value === null) return `– (${why})`
  const signed = `${value > 0 ? '+' : ''}${value.toFixed(3)}`
  return interval === null
    ? `${signed} (${why})`
    : `${signed} [${interval.low.toFixed(3)}, ${interval.high.toFixed(3)}]`
}

function pOf({ follows: { pValue } }: Gain): string {
  if (pValue === null) return 'no p-value'
  const told = pText(pValue)
  return told.startsWith('<') ? `p ${told}` : `p = ${told}`
}

/** Where no gain was found, and, where the new steps beat those of before and follow nobody, that. */
function whyNone(gain: Gain | null): string {
  const beats = (gain?.change.interval?.low ?? 0) > 0
  return gain !== null && beats && !isNoChance(gain.follows)
    ? 'on unseen items, because the new steps are not shown to follow the raters'
    : 'on unseen items'
}

function planOf(
  settings: Settings,
  kind: ProtocolKind,
  calibration: Calibration,
  parts: RatingParts,
  options: CalibrateOptions,
) {
  const { prices, slots } = settings.models
  return costOf(calibration, parts, sizesOf(options), { models: modelsOf(settings, kind), prices, slots })
}

function planLines(
  plan: CalibrationCost,
  parts: RatingParts,
  { alpha, unrated, leftOut, others }: Ratings,
  aspect: string,
): string[] {
  const { drafts, refinements, scores, tokens, usd, unpriced, secondsAtOneSecond } = plan
  const { development, selection, test } = parts
  const unseen = unseenOf(parts)
  const agreed =
    alpha === null
      ? []
      : [
          `The raters' agreement is ${alpha.toFixed(2)} (Krippendorff's alpha)${alpha <= 0 ? ': no better than chance' : ''}.`,
        ]
  return [
    `Items: ${development.length} for drafts, ${selection.length} for selection, ${test.length} unseen.`,
    ...(unrated === 0
      ? []
      : [
          `${unrated} lines have no rating of ${aspect}; they rate ${others.map((name) => printable(name, 80)).join(', ') || 'nothing'}.`,
        ]),
    ...(leftOut === 0 ? [] : [`${leftOut} ratings were left out: missing, or outside the scale.`]),
    ...agreed,
    ...(test.length > 0 && unseen < FEWEST_UNITS
      ? [`The unseen items answer ${unseen} statements: with fewer than ${FEWEST_UNITS} no gain can be shown.`]
      : []),
    `At most ${drafts} drafts, ${refinements} refinements and ${scores} scores, and repairs of unreadable answers: about ${tokens} tokens, $${usd.toFixed(2)}, ${secondsAtOneSecond} s with a model of one second.`,
    ...(unpriced.length === 0
      ? []
      : [`The settings have no price of ${unpriced.join(', ')} (models.prices): it counts as free here.`]),
  ]
}
