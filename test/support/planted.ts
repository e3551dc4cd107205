import { type CalibrationModel, type CalibrationSizes, calibrate } from '../../src/lab/calibration/calibrate.ts'
import { gainOn } from '../../src/lab/calibration/gain.ts'
import { partsOf } from '../../src/lab/calibration/parts.ts'
import type { RatedItem } from '../../src/lab/calibration/rated-item.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'

/** Traits that a reply has or lacks; a rating follows one of them, or none. */
export const TRAITS = Array.from({ length: 24 }, (_, at) => `trait${String.fromCharCode(97 + at)}`)

/** Replies with random traits; ratings of 1 to 5 that follow one trait with noise, or nothing. Two replies answer each statement. */
export function planted(items: number, rule: string | null, seed: string): RatedItem[] {
  const random = seededRandom(`planted ${seed}`)
  return Array.from({ length: items }, (_, at) => {
    const traits = TRAITS.filter(() => random.unit() < 0.5)
    const noise = random.below(3) - 1
    const rating =
      rule === null ? 1 + random.below(5) : Math.min(5, Math.max(1, (traits.includes(rule) ? 4 : 2) + noise))
    return {
      id: `r${at}`,
      unit: `u${at >> 1}`,
      hateSpeech: `statement ${at >> 1}`,
      counterspeech: traits.join(' '),
      ratings: [rating],
      rating,
    }
  })
}

/** What a text has of the traits. */
const traitsIn = (text: string) => TRAITS.filter((trait) => text.includes(trait))

/**
 * A stand-in for a model that knows no rule in advance: it scores by the traits that the steps name, with noise, and writes
 * steps from nothing but the examples or cases that it is shown: the trait that parts them best.
 */
export function standInAsking(seed: string): CalibrationModel & { scored: string[] } {
  const scored: string[] = []
  const noiseOf = (key: string) => seededRandom(`${seed} ${key}`)
  return {
    scored,
    async score(steps, { id, counterspeech }) {
      scored.push(`${steps} ${id}`)
      const named = traitsIn(steps ?? '')
      const has = traitsIn(counterspeech).filter((trait) => named.includes(trait)).length
      const share = named.length === 0 ? 0.5 : has / named.length
      const noise = noiseOf(`score ${steps} ${id}`).below(3) - 1
      return Math.min(5, Math.max(1, Math.round(1 + 4 * share) + (noiseOf(`more ${id}`).unit() < 0.4 ? noise : 0)))
    },
    async draft(examples, { draw }) {
      const random = noiseOf(`draft ${draw}`)
      const [best] = TRAITS.map((trait) => {
        const having = examples.filter(({ counterspeech }) => counterspeech.includes(trait))
        const lacking = examples.filter(({ counterspeech }) => !counterspeech.includes(trait))
        return { trait, gap: meanOf(having) - meanOf(lacking) + random.unit() / 2 }
      }).sort((one, other) => other.gap - one.gap)
      return `1. A reply is the better for having ${best?.trait}.`
    },
    async refine(steps, worst, { draw }) {
      const random = noiseOf(`refine ${steps} ${draw}`)
      const [best] = TRAITS.map((trait) => {
        const explained = worst.filter(({ counterspeech, rating }) => counterspeech.includes(trait) === rating > 3)
        return { trait, count: explained.length + random.unit() }
      }).sort((one, other) => other.count - one.count)
      return `1. A reply is the better for having ${best?.trait}.`
    },
  }
}

function meanOf(examples: readonly { rating: number }[]): number {
  return examples.length === 0 ? 3 : examples.reduce((sum, { rating }) => sum + rating, 0) / examples.length
}

/** A small calibration. */
export const SIZES: CalibrationSizes = {
  fewShot: [8, 16],
  trials: 6,
  keep: 3,
  refinements: 2,
  iterations: 4,
  worst: 3,
  highestTemperature: 0.5,
  select: 'spearman',
  halving: false,
}
const SHIPPED = 'The shipped steps name nothing that the ratings follow.'

/** Scores that run against the ratings, at a ρ of about −0.3. */
function against(items: readonly RatedItem[], seed: string): Map<string, number> {
  const random = seededRandom(`against ${seed}`)
  return new Map(items.map(({ id, rating }) => [id, random.unit() < 0.3 ? 6 - rating : 1 + random.below(5)]))
}

/**
 * Calibrates on ratings that follow this rule, or none, and tells the gain on the unseen part: over steps that the ratings do
 * not follow, or that run against them.
 */
export async function gainOf(
  rule: string | null,
  seed: string,
  { sizes = SIZES, shipped = 'unrelated' }: { sizes?: CalibrationSizes; shipped?: 'unrelated' | 'against' } = {},
) {
  const parts = partsOf(planted(240, rule, seed), { seed, paper: false })
  const asking = standInAsking(seed)
  const calibrated = await calibrate(parts, sizes, asking, seed)
  if (calibrated === null) throw new Error('no draft')
  const scoresBy = async (steps: string) =>
    new Map(await Promise.all(parts.test.map(async (item) => [item.id, await asking.score(steps, item)] as const)))
  return {
    calibrated,
    parts,
    gain: gainOn(
      parts.test,
      shipped === 'against' ? against(parts.test, seed) : await scoresBy(SHIPPED),
      await scoresBy(calibrated.best.steps),
      seed,
    ),
  }
}

/** The stand-in behind a model server: it sees nothing but the text of a question, and knows each stage by its last line. */
export function plantedAnswer(seed: string): (shown: { text: string; stage: string }) => Promise<object> {
  const asking = standInAsking(seed)
  const item = (counterspeech: string, rating: number) => ({
    id: counterspeech,
    unit: counterspeech,
    hateSpeech: '',
    counterspeech,
    ratings: [rating],
    rating,
  })
  return async ({ text, stage }) => {
    const listed = [...text.matchAll(/^\d+: (?:statement )?"(?:[^"\\]|\\.)*", reply ("(?:[^"\\]|\\.)*");/gm)].map(
      ([, said]) => String(JSON.parse(said ?? '""')),
    )
    const fenced = [...text.matchAll(/<<counterspeech:(\w+)>>\n(.*)\n<<end:\1>>/g)].map(([, , said]) => said ?? '')
    const replies = [...listed, ...fenced]
    const ratings = [...text.matchAll(/; the experts' rating: ([\d.]+)/g)].map(([, given]) => Number(given))
    const scores = [...text.matchAll(/; the model's score: ([\d.]+)/g)].map(([, given]) => Number(given))
    const [, steps] = /\n(?:Evaluation|The) steps:\n(?:<<steps:\w+>>\n)?([\s\S]*?)\n(?:<<end:|\n)/.exec(text) ?? []
    const rated = replies.map((reply, at) => ({ ...item(reply, ratings[at] ?? 0), score: scores[at] ?? 0 }))
    const written = (said: string | null) => ({ steps: [String(said).replace(/^1\. /, '')] })
    if (stage === 'draft') return written(await asking.draft(rated, { temperature: 0, draw: text }))
    if (stage === 'refine')
      return {
        findings: 'one trait parts them best',
        ...written(await asking.refine(steps ?? '', rated, { temperature: null, draw: text })),
      }
    return {
      reasoning: 'by the traits that the steps name',
      score: await asking.score(steps, item(replies[0] ?? '', 0)),
    }
  }
}
