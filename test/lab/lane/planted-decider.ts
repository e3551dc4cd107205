import { seededRandom } from '../../../src/lab/evaluation/statistics/random.ts'
import type { DecidedItem, LaneFit, LaneThreshold } from '../../../src/lab/lane/fit-lane.ts'
import { calibrated } from '../../../src/protocols/calibration-map.ts'

/** How a planted decider answers with a label in a language, by the difficulty of the item, from 0 to 1. */
interface PlantedAnswers {
  readonly label: 'hate' | 'non-hate'
  readonly lang: string
  readonly share: number
  /** How often it is wrong, in risks. */
  wrong(difficulty: number): number
  /** The probability that it tells, by how often it is right. */
  tells(right: number, difficulty: number): number
}

const overconfident = (right: number) => 1 - (1 - right) / 4
const underconfident = (right: number) => 0.5 + (right - 0.5) * 0.8
/** Its confidence tells nothing of how often it is right. */
const idle = (_: number, difficulty: number) => 0.95 - difficulty / 4

const by = (label: PlantedAnswers['label'], lang: string, share: number) => ({ label, lang, share })

/** Deciders by what is known of them. */
export const PLANTED = {
  /** The harder, the more often wrong; in one language and label a little too often, however sure it is. */
  ordinary: [
    { ...by('hate', 'en', 0.3), wrong: (d) => 0.1 + 2.5 * d ** 2, tells: overconfident },
    { ...by('non-hate', 'en', 0.3), wrong: (d) => 0.05 + 4 * d ** 3, tells: underconfident },
    { ...by('hate', 'ko', 0.2), wrong: () => 1.02, tells: idle },
    { ...by('non-hate', 'ko', 0.2), wrong: (d) => 0.2 + 2 * d, tells: overconfident },
  ],
  /** Always a little too often wrong: whatever is promised of it is broken. */
  'never good enough': [
    { ...by('hate', 'en', 0.25), wrong: () => 1.01, tells: idle },
    { ...by('non-hate', 'en', 0.25), wrong: () => 1.01, tells: idle },
    { ...by('hate', 'ko', 0.25), wrong: () => 1.01, tells: idle },
    { ...by('non-hate', 'ko', 0.25), wrong: () => 1.01, tells: idle },
  ],
} satisfies Record<string, readonly PlantedAnswers[]>
export type PlantedKind = keyof typeof PLANTED

const OTHER = { hate: 'non-hate', 'non-hate': 'hate' } as const

/** So many items that it has answered; a third of them stand once more, in the same words. */
export function plantedItems(
  kind: PlantedKind,
  risk: number,
  { seed, count }: { seed: number; count: number },
): DecidedItem[] {
  const random = seededRandom(`planted ${seed}`)
  return Array.from({ length: count }, (_, at) => {
    const { label, lang, wrong, tells } = drawn(PLANTED[kind], random.unit())
    const difficulty = random.unit()
    const right = 1 - risk * wrong(difficulty)
    const gold = random.unit() < right ? label : OTHER[label]
    const item = { lang, gold, said: { label, confidence: tells(right, difficulty) } }
    const copies = at % 3 === 0 ? [0, 1] : [0]
    return copies.map((copy) => ({ ...item, id: `${at}.${copy}`, keys: [`${at}.${copy}`, `words ${at}`] }))
  }).flat()
}

/** Each as often as its share. */
function drawn(planted: readonly PlantedAnswers[], place: number): PlantedAnswers {
  let before = 0
  for (const one of planted) {
    before += one.share
    if (place < before) return one
  }
  throw new Error('the shares are less than 1')
}

const DIFFICULTIES = Array.from({ length: 1_000 }, (_, at) => (at + 0.5) / 1_000)

/** How often a threshold is wrong on items without end. */
function trueRisk(kind: PlantedKind, risk: number, { label, lang, from, map }: LaneThreshold): number {
  const planted = PLANTED[kind].find((one) => one.label === label && one.lang === lang)
  if (planted === undefined) throw new Error(`nothing is planted for ${label} in ${lang}`)
  const wrong = DIFFICULTIES.flatMap((one) => {
    const often = risk * planted.wrong(one)
    return calibrated(map, planted.tells(1 - often, one)) >= from ? [often] : []
  })
  return wrong.reduce((sum, one) => sum + one, 0) / wrong.length
}

/** Whether any threshold is wrong more often than was promised. */
export function isBroken(kind: PlantedKind, { groups, promise: { risk } }: LaneFit): boolean {
  return groups.some(({ threshold }) => threshold !== null && trueRisk(kind, risk, threshold) > risk)
}
