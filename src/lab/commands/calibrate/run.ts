import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '../../../../config/schema.ts'
import type { Invocation } from '../../../cli/command.ts'
import type { Calibration } from '../../../contracts/facts/calibration.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { Tier } from '../../../contracts/ports/model.ts'
import type { OwnFormat, OwnReading } from '../../../data-files/own-rows.ts'
import { chainOf } from '../../../models/fallback.ts'
import { version } from '../../../platform/package-folder.js'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { agreementOf, byAgreement, type Ranking } from '../../calibration/agreement.ts'
import { type CalibrationCourse, type CalibrationSizes, calibrate } from '../../calibration/calibrate.ts'
import { type Gain, gainOn, isNoChance, rhoOf } from '../../calibration/gain.ts'
import type { RatingParts } from '../../calibration/parts.ts'
import type { Ratings } from '../../calibration/read-ratings.ts'
import { type StepsProvenance, stepsFile } from '../../calibration/steps-file.ts'
import { type PaidRun, paidWork } from '../paid-run.ts'
import { askingFor, type ScoringModel } from './calibration-questions.ts'
import type { CalibrationCost } from './plan.ts'

/** The understudy's name for itself: it is no language model, and steps that suit it suit none. */
const STAND_IN = 'understudy'

/** Steps are found for one model: it must have given at least this share of the scores. */
const LEAST_OF_ONE_MODEL = 0.95

/** Why steps that these models scored by are not to be written; null where nothing speaks against it. */
function refusal(scorers: readonly ScoringModel[]): string | null {
  if (scorers.some(({ name }) => name === STAND_IN))
    return 'The understudy is no language model: nothing is written. Set OPENAI_BASE_URL and OPENAI_API_KEY, and another --out.'
  const all = scorers.reduce((sum, { scores }) => sum + scores, 0)
  if ((scorers[0]?.scores ?? 0) < all * LEAST_OF_ONE_MODEL)
    return 'Several models scored, but steps are for one model: nothing is written. Name one scorer in models.roles.'
  return null
}

export interface CalibrateOptions extends OwnReading {
  readonly tier?: Tier
  readonly format: OwnFormat
  readonly aspect: string
  readonly ratings: string
  readonly protocol: string
  readonly fewShot?: readonly number[]
  readonly trials?: number
  readonly keep?: number
  readonly refinements?: number
  readonly iterations?: number
  readonly select: Ranking
  readonly size?: number
  readonly split?: string
  readonly halving: boolean
  readonly paper?: boolean
  readonly seed: string
  readonly out?: string
  readonly steps: string
  readonly yes?: boolean
  readonly maxCost?: number
}

export interface CalibrationResult {
  readonly aspect: string
  /** What the steps of before are. */
  readonly before: Calibration['sourceNow']
  readonly plan: CalibrationCost
  readonly items: { readonly development: number; readonly selection: number; readonly test: number }
  /** Krippendorff's alpha of the raters. */
  readonly alpha: number | null
  /** Null where only the plan was asked for. */
  readonly calibrated: {
    readonly steps: string
    readonly from: string
    readonly course: readonly {
      readonly from: string
      readonly spearman: number | null
      readonly kendall: number | null
    }[]
    readonly repeated: number
    readonly lost: number
    readonly stopped: number
    /** Candidates of which the best was chosen. */
    readonly tried: number
    readonly unreadable: number
    /** Drafts and refinements whose model took no temperature: they vary as it does by itself. */
    readonly withoutTemperature: number
    readonly gain: Gain | null
    /** Whether the best are shown to follow the raters better than the steps of before: on unseen items, or on all with `--paper`. */
    readonly better: boolean
    /** The models that scored, most scores first. */
    readonly scorers: readonly ScoringModel[]
    /** Why no steps are written whatever they gain; null where nothing speaks against it. */
    readonly refused: string | null
    /** The file that was written; null where the old steps stay. */
    readonly file: string | null
  } | null
}

/** L, N, k and the refinements in use: ours. */
const OURS = { fewShot: [4, 8], trials: 6, keep: 3, refinements: 2, iterations: 3 } as const
/** The paper gives none of them; these are in its authors' published code. */
const OF_THE_AUTHORS = { fewShot: [3], trials: 10, keep: 3, refinements: 10, iterations: 1 } as const

/** The numbers of Algorithm 1, as the command line has them; where it has none, ours, or with `--paper` those of the authors' code. */
export function sizesOf(options: CalibrateOptions): CalibrationSizes {
  const { halving, select, paper = false } = options
  const absent = paper ? OF_THE_AUTHORS : OURS
  return {
    fewShot: options.fewShot ?? absent.fewShot,
    trials: options.trials ?? absent.trials,
    keep: options.keep ?? absent.keep,
    refinements: options.refinements ?? absent.refinements,
    iterations: options.iterations ?? absent.iterations,
    select,
    worst: 3,
    highestTemperature: 0.5,
    halving: halving && !paper,
  }
}

export function modelsOf(settings: Settings, { name }: ProtocolKind) {
  const first = (role: string) => chainOf(settings.models.roles, name, role)[0] ?? ''
  return { scorer: first('scorer'), writer: first('steps-writer') }
}

export interface CalibrationPlan {
  readonly kind: ProtocolKind
  readonly calibration: Calibration
  readonly parts: RatingParts
  readonly ratings: Ratings
  readonly plan: CalibrationCost
}

/** Calibrates, tells the gain on the unseen part, and writes the steps where there is one. */
export async function runCalibration(
  settings: Settings,
  { kind, calibration, parts, ratings, plan }: CalibrationPlan,
  io: Pick<Invocation<CalibrateOptions>, 'options' | 'terminal' | 'startStandIn' | 'signal'>,
): Promise<NonNullable<CalibrationResult['calibrated']>> {
  const { options, terminal } = io
  const { seed, maxCost, out: keep } = options
  const most = plan.drafts + plan.refinements + plan.scores
  const how = keep === undefined ? 'With --out answers are kept' : 'The answers are kept'
  const words = {
    progress: (asked: number, { calls, usd }: PaidRun['spent']) =>
      `${asked} of at most ${most} questions, ${calls} calls, $${usd.toFixed(4)}`,
    stopped: (asked: number) => `${asked} questions were asked. ${how}: run it again to continue.`,
  }
  return paidWork(settings, io, { keep, maxCost, ...words }, async (run) => {
    const { scorer: model } = modelsOf(settings, kind)
    const { signal, done: asked } = run
    const asking = askingFor(run.settings, kind, calibration, run.model, {
      signal,
      asked,
      waiting: (why) => terminal.progress(why),
    })
    const found = await calibrate(parts, sizesOf(options), asking, seed)
    if (found === null) throw new OperatorError('There is no draft: the model gave no readable steps.')
    const { spearman, items } = found.best.agreement
    if (spearman === null)
      throw new OperatorError(
        items < 2
          ? 'Hardly any score was readable: nothing can be calibrated for this model.'
          : `The model gave all ${items} items the same score under every candidate. The steps stay as they are.`,
      )
    const gain = options.paper === true ? null : await gainBy(asking, calibration, parts, found, seed)
    const better = gain === null ? await isBetterOnAll(asking, calibration, parts, found, options.select) : gain.claimed
    const scorers = asking.scorers()
    const refused = refusal(scorers)
    const answeredAs = scorers[0]?.name ?? model
    const file =
      // Algorithm 1 returns the best of its candidates, whether or not it beats other steps.
      (better || options.paper === true) && refused === null
        ? await written({ calibration, ratings, model, answeredAs }, options, found, gain)
        : null
    const { best, course, ...tally } = found
    return {
      steps: best.steps,
      from: best.from,
      ...tally,
      unreadable: best.agreement.unreadable,
      gain,
      better,
      file,
      scorers,
      refused,
      withoutTemperature: asking.withoutTemperature(),
      course: course.map(({ from, agreement: { spearman, kendall } }) => ({ from, spearman, kendall })),
    }
  })
}

/** The gain on the part that nothing was chosen by, over the steps of before. */
async function gainBy(
  asking: ReturnType<typeof askingFor>,
  { stepsNow }: Calibration,
  { test }: RatingParts,
  { best }: CalibrationCourse,
  seed: string,
): Promise<Gain> {
  const scoresBy = async (steps: string | undefined) =>
    new Map(await Promise.all(test.map(async (item) => [item.id, await asking.score(steps, item)] as const)))
  const [before, now] = await Promise.all([scoresBy(stepsNow), scoresBy(best.steps)])
  return gainOn(test, before, now, seed)
}

/**
 * With `--paper` there is no unseen part: whether the best follow all ratings better than the steps of before, and by more than
 * the best of so many candidates would by chance.
 */
async function isBetterOnAll(
  asking: Pick<ReturnType<typeof askingFor>, 'score'>,
  { stepsNow }: Calibration,
  { selection }: RatingParts,
  { best: { agreement, scores: given }, tried }: CalibrationCourse,
  select: Ranking,
): Promise<boolean> {
  const scores = await Promise.all(
    selection.map(async (item) => [item.id, await asking.score(stepsNow, item)] as const),
  )
  return (
    byAgreement(agreement, agreementOf(selection, new Map(scores)), select) < 0 &&
    isNoChance(rhoOf(selection, given), tried)
  )
}

async function written(
  {
    calibration,
    ratings,
    model,
    answeredAs,
  }: Pick<CalibrationPlan, 'calibration' | 'ratings'> & Pick<StepsProvenance, 'model' | 'answeredAs'>,
  { steps: folder, seed }: CalibrateOptions,
  found: CalibrationCourse,
  gain: Gain | null,
): Promise<string> {
  const { name, lowest, highest } = calibration.aspect
  const provenance = {
    aspect: name,
    scale: [lowest, highest] as const,
    model,
    answeredAs,
    ratings: ratings.digest,
    seed,
    date: new Date().toISOString(),
    version: version(),
  }
  await mkdir(folder, { recursive: true })
  const file = join(folder, `${name}.md`)
  const whole = `${file}.${randomUUID()}.new`
  await writeFile(whole, stepsFile(provenance, found, gain))
  // What stood there stays beside it.
  await rename(file, `${file}.old`).catch((error) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(whole, file)
  return file
}
