import { scoreInterval } from './score-interval.ts'
import type { ShadowVerdict } from './shadow-verdict.ts'

/** A share of what was compared, with Wilson's 95 % interval; null of nothing. */
export interface ComparedShare {
  readonly count: number
  readonly of: number
  readonly interval: { readonly low: number; readonly high: number } | null
}

/** One number of the live settings, and of a variant. */
interface BothSides<Value> {
  readonly live: Value
  readonly variant: Value
}

/** What a side said of a subject, and the label that people decided on; null where they did not. */
export interface ComparedVerdict {
  readonly label: string | null
  readonly isDegraded: boolean
  readonly costUsd: number
  readonly person: string | null
}

/** The live settings and a variant in numbers, of the newest revision of each subject. */
export interface ComparedSides {
  readonly cases: BothSides<number>
  /** How often each has a label, the most frequent first. */
  readonly labels: readonly ({ readonly label: string } & BothSides<number>)[]
  readonly undecided: BothSides<number>
  readonly degraded: BothSides<number>
  /** US dollars a thousand verdicts. */
  readonly usdPerThousand: BothSides<number | null>
  /** On subjects that people decided: how often each has their label. */
  readonly people: BothSides<ComparedShare>
}

/** A variant in the shadow beside the live verdicts on the same subjects. */
export interface VariantComparison extends Omit<ComparedSides, 'cases'> {
  readonly schema: 1
  readonly variant: string
  readonly subjects: number
  /** Where both have a label, another one. */
  readonly flips: ComparedShare
  /** By the live label and the variant's, the most frequent first; null where nothing was decided. */
  readonly directions: readonly { readonly from: string | null; readonly to: string | null; readonly count: number }[]
  /** How often the variant cites each clause. */
  readonly clauses: Readonly<Record<string, number>>
}

export function variantComparison(
  variant: string,
  all: readonly ShadowVerdict[],
  labelOf: (one: ShadowVerdict) => string | null,
): VariantComparison {
  const newest = new Map<string, ShadowVerdict>()
  for (const one of all) {
    const subject = JSON.stringify([one.protocol, one.tenant, one.subjectKind, one.subjectId])
    if ((newest.get(subject)?.revision ?? 0) <= one.revision) newest.set(subject, one)
  }
  const shadows = [...newest.values()]
  const decided = shadows.filter(({ label, live }) => label !== null && live.label !== null)
  const changed = shadows.filter(({ label, live }) => label !== live.label)
  const directions = Map.groupBy(changed, ({ label, live }) => JSON.stringify([live.label, label]))
  const cited = Map.groupBy(
    shadows.flatMap(({ clauses = [] }) => clauses),
    (id) => id,
  )
  const { cases, ...sides } = comparedSides(
    shadows.map((one) => ({ ...sideOf(one.live.label, one.live.faults, one.live.costUsd), person: labelOf(one) })),
    shadows.map((one) => ({ ...sideOf(one.label, one.faults, one.usage.costUsd), person: labelOf(one) })),
  )
  return {
    schema: 1,
    variant,
    subjects: cases.variant,
    flips: shareOf(decided.filter(({ label, live }) => label !== live.label).length, decided.length),
    directions: [...directions]
      .map(([key, of]) => {
        const [from = null, to = null] = JSON.parse(key)
        return { from, to, count: of.length }
      })
      .toSorted((one, other) => other.count - one.count),
    ...sides,
    clauses: Object.fromEntries([...cited].map(([id, of]) => [id, of.length])),
  }
}

function sideOf(label: string | null, faults: readonly string[], costUsd: number) {
  return { label, isDegraded: faults.length > 0, costUsd }
}

/** Both sides in numbers; each may be of subjects of its own. */
export function comparedSides(live: readonly ComparedVerdict[], variant: readonly ComparedVerdict[]): ComparedSides {
  const both = <Value>(of: (verdicts: readonly ComparedVerdict[]) => Value) => ({
    live: of(live),
    variant: of(variant),
  })
  const labels = new Set([...live, ...variant].flatMap(({ label }) => (label === null ? [] : [label])))
  return {
    cases: both((verdicts) => verdicts.length),
    labels: [...labels]
      .map((label) => ({ label, ...both((verdicts) => verdicts.filter((one) => one.label === label).length) }))
      .toSorted((one, other) => other.live + other.variant - one.live - one.variant),
    undecided: both((verdicts) => verdicts.filter(({ label }) => label === null).length),
    degraded: both((verdicts) => verdicts.filter(({ isDegraded }) => isDegraded).length),
    usdPerThousand: both((verdicts) =>
      verdicts.length === 0 ? null : (1000 * verdicts.reduce((sum, one) => sum + one.costUsd, 0)) / verdicts.length,
    ),
    people: both((verdicts) => {
      const decided = verdicts.filter(({ person }) => person !== null)
      return shareOf(decided.filter(({ label, person }) => label === person).length, decided.length)
    }),
  }
}

function shareOf(count: number, of: number): ComparedShare {
  return { count, of, interval: of === 0 ? null : scoreInterval(count / of, of) }
}

/** What a variant must hold to. */
export interface VariantGates {
  /** The share of flips at most. */
  readonly mostFlips?: number | undefined
  /** It agrees with people at least as often as the live settings do. */
  readonly people?: boolean | undefined
}

/** A gate as it stands, with its figures in words. One with nothing to go by is not held to. */
export interface GateState {
  readonly gate: keyof VariantGates
  readonly isHeld: boolean
  /** There is something to go by. */
  readonly isKnown: boolean
  readonly says: string
}

/** The gates as they stand. A ramp has no flips: each subject has one side's verdict. */
export function gateStates(
  { flips, people }: Pick<ComparedSides, 'people'> & Partial<Pick<VariantComparison, 'flips'>>,
  { mostFlips, people: agrees }: VariantGates,
): GateState[] {
  const states: GateState[] = []
  if (mostFlips !== undefined && flips !== undefined)
    states.push({
      gate: 'mostFlips',
      isKnown: flips.of > 0,
      isHeld: flips.of > 0 && flips.count / flips.of <= mostFlips,
      says: `${inPercent(flips.count, flips.of)} of verdicts flip; at most ${inPercent(mostFlips, 1)} may`,
    })
  const { live, variant } = people
  if (agrees === true)
    states.push({
      gate: 'people',
      isKnown: live.of > 0 && variant.of > 0,
      isHeld: live.of > 0 && variant.of > 0 && variant.count * live.of >= live.count * variant.of,
      says: `people agree with ${variant.count} of ${variant.of} of its labels, and with ${live.count} of ${live.of} of the live ones`,
    })
  return states
}

/** A share in percent; a dash where there is nothing to share. */
export function inPercent(count: number, of: number): string {
  return of === 0 ? '–' : `${((100 * count) / of).toFixed(1)} %`
}

/** A share in percent with its interval; a dash of nothing. */
export function shareInWords({ count, of, interval }: ComparedShare): string {
  if (interval === null) return '–'
  return `${inPercent(count, of)} [${(100 * interval.low).toFixed(1)}, ${(100 * interval.high).toFixed(1)}]`
}
