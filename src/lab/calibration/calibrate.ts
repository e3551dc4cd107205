import type { MisratedExample, RatedExample } from '../../contracts/facts/calibration.ts'
import { normalized } from '../../contracts/facts/normalized.ts'
import { seededRandom } from '../evaluation/statistics/random.ts'
import { agreementOf, byAgreement, type Ranking, type RatingAgreement, type StepsScores, worstOf } from './agreement.ts'
import type { RatingParts } from './parts.ts'
import type { RatedItem } from './rated-item.ts'

/** The numbers of Algorithm 1. */
export interface CalibrationSizes {
  /** L: how many rated examples a draft is shown, one size after the other. */
  readonly fewShot: readonly number[]
  /** N: Monte-Carlo trials of each size. */
  readonly trials: number
  /** k: candidates that are refined. */
  readonly keep: number
  /** Refinements of each kept candidate in one iteration. */
  readonly refinements: number
  /** Most iterations of selection and refinement; it ends before, when one gains nothing. */
  readonly iterations: number
  /** Cases of the strongest disagreement that a refinement is shown: 3 in the paper. */
  readonly worst: number
  /** Drafts are drawn at temperatures from 0 to this: 0.5 in the paper. */
  readonly highestTemperature: number
  /** By what candidates are ranked. */
  readonly select: Ranking
  /** Stop hopeless candidates early (Jamieson and Talwalkar 2016): each is scored on a part first, and the better half goes on. */
  readonly halving: boolean
}

/** What asks the model. An answer that can't be had is null. */
export interface CalibrationModel {
  draft(examples: readonly RatedExample[], how: { temperature: number; draw: string }): Promise<string | null>
  /** `temperature` is null for the first of several refinements: that of the settings. */
  refine(
    steps: string,
    worst: readonly MisratedExample[],
    how: { temperature: number | null; draw: string },
  ): Promise<string | null>
  /** The score of an item by these steps; never asked twice for the same. */
  score(steps: string | undefined, item: RatedItem): Promise<number | null>
}

/** Steps and how well they do on the part by which candidates are chosen. */
export interface Candidate {
  readonly steps: string
  /** `draft 3 of 8 examples`, `refined from …`. */
  readonly from: string
  readonly agreement: RatingAgreement
  readonly scores: StepsScores
}

/** How a calibration went. */
export interface CalibrationCourse {
  readonly best: Candidate
  /** The best of each iteration, that of the drafts first. */
  readonly course: readonly Candidate[]
  /** Drafts and refinements that were the same as another, and that could not be had. */
  readonly repeated: number
  readonly lost: number
  /** Candidates that halving stopped. */
  readonly stopped: number
  /** Candidates in all, of which the best was chosen. */
  readonly tried: number
}

/**
 * Algorithm 1: for each few-shot size, Monte-Carlo drafts from rated examples at temperatures in their range; each scored on the
 * selection part; the top k by Spearman (or `select`), of equal ones by Kendall; each refined on its worst disagreements; refined ones
 * joined with the drafts, and again until an iteration gains nothing. The stray `end for` of the paper is read so. Everything of
 * one stage is asked at once. Null where no draft could be had.
 */
export async function calibrate(
  parts: RatingParts,
  sizes: CalibrationSizes,
  asking: CalibrationModel,
  seed: string,
): Promise<CalibrationCourse | null> {
  const seen = new Set<string>()
  const tally = { repeated: 0, lost: 0, stopped: 0 }
  /** Only what is new becomes a candidate. */
  const isNew = (steps: string | null): steps is string => {
    if (steps === null) tally.lost++
    else if (seen.has(sameText(steps))) tally.repeated++
    else {
      seen.add(sameText(steps))
      return true
    }
    return false
  }
  const scored = (fresh: readonly NewCandidate[]) => scoredOn(parts.selection, fresh, sizes, asking, tally)

  const drafts = await Promise.all(
    trialsOf(parts.development, sizes, seed).map(async ({ examples, temperature, from }) => ({
      steps: await asking.draft(examples, { temperature, draw: from }),
      from,
    })),
  )
  const best = (candidates: readonly Candidate[]) => bestOf(candidates, sizes.select)
  let pool = best(await scored(drafts.flatMap(({ steps, from }) => (isNew(steps) ? [{ steps, from }] : []))))
  if (pool[0] === undefined) return null
  const course: Candidate[] = [pool[0]]

  for (let iteration = 1; iteration <= sizes.iterations; iteration++) {
    const kept = pool.slice(0, sizes.keep)
    const refined = await Promise.all(
      kept.flatMap((one) =>
        Array.from({ length: sizes.refinements }, async (_, nth) => {
          const from = `refinement ${nth + 1} in iteration ${iteration}, of ${one.from}`
          const worst = worstOf(parts.selection, one.scores, sizes.worst)
          // Each after the first is drawn at a temperature of its own, as drafts are: at 0 all would be the same.
          const random = seededRandom(`refinement ${seed} ${iteration} ${one.from} ${nth}`)
          const how =
            nth === 0
              ? { temperature: null, draw: '' }
              : { temperature: random.unit() * sizes.highestTemperature, draw: `draw ${nth + 1}` }
          return { steps: await asking.refine(one.steps, worst, how), from }
        }),
      ),
    )
    const fresh = refined.flatMap(({ steps, from }) => (isNew(steps) ? [{ steps, from }] : []))
    pool = best([...pool, ...(await scored(fresh))])
    const [first] = pool as [Candidate]
    const gained = byAgreement(first.agreement, (course.at(-1) as Candidate).agreement, sizes.select) < 0
    if (!gained) break
    course.push(first)
  }
  return { best: course.at(-1) as Candidate, course, ...tally, tried: seen.size }
}

type NewCandidate = Pick<Candidate, 'steps' | 'from'>

/** The examples and the temperature of each draft: few-shot sizes in order, trials of each. */
function trialsOf(
  development: readonly RatedItem[],
  { fewShot, trials, highestTemperature }: CalibrationSizes,
  seed: string,
) {
  return fewShot.flatMap((size) =>
    Array.from({ length: trials }, (_, nth) => {
      const random = seededRandom(`draft ${seed} ${size} ${nth}`)
      const examples = random.shuffled(development).slice(0, size)
      return { examples, temperature: random.unit() * highestTemperature, from: `draft ${nth + 1} of ${size} examples` }
    }),
  )
}

/** Fewer items than this tell hopeless candidates from others by chance. */
const FEWEST_TO_STOP_BY = 20

/** Scores candidates on all items; with halving on a part first, after which only the better half goes on, and at least `keep`. */
async function scoredOn(
  items: readonly RatedItem[],
  fresh: readonly NewCandidate[],
  { halving, keep, select }: CalibrationSizes,
  asking: CalibrationModel,
  tally: { stopped: number },
): Promise<Candidate[]> {
  const rungs = halving && fresh.length > 3 ? [Math.ceil(items.length / 4), Math.ceil(items.length / 2)] : []
  let left = fresh
  for (const rung of rungs) {
    const some = items.slice(0, rung)
    if (rung < FEWEST_TO_STOP_BY || some.every(({ rating }) => rating === some[0]?.rating)) continue
    const tried = bestOf(await scoresOf(some, left, asking), select)
    left = tried.slice(0, Math.max(keep, Math.ceil(tried.length / 2)))
    tally.stopped += tried.length - left.length
  }
  return scoresOf(items, left, asking)
}

async function scoresOf(
  items: readonly RatedItem[],
  fresh: readonly NewCandidate[],
  asking: CalibrationModel,
): Promise<Candidate[]> {
  return Promise.all(
    fresh.map(async ({ steps, from }) => {
      const given = await Promise.all(items.map(async (item) => [item.id, await asking.score(steps, item)] as const))
      const scores = new Map(given)
      return { steps, from, scores, agreement: agreementOf(items, scores) }
    }),
  )
}

/** The best first; those that agree alike in the order in which they came. */
function bestOf(candidates: readonly Candidate[], select: Ranking): Candidate[] {
  return candidates.toSorted((one, other) => byAgreement(one.agreement, other.agreement, select))
}

/** Two texts with the same words are one candidate. */
function sameText(steps: string): string {
  return normalized(steps, 'NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}
