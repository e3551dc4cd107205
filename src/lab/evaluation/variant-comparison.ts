import type { ShadowVerdict } from '../../contracts/facts/shadow-verdict.ts'
import { type Interval, wilson } from './statistics/intervals.ts'

/** A share of what was compared. */
export interface ComparedShare {
  readonly count: number
  readonly of: number
  readonly interval: Interval | null
}

/** A variant beside the live settings, on the newest revision of each subject. */
export interface VariantComparison {
  readonly schema: 1
  readonly variant: string
  readonly subjects: number
  /** Where both have a label, another one. */
  readonly flips: ComparedShare
  /** By the live label and the variant's, the most frequent first; null where nothing was decided. */
  readonly directions: readonly { readonly from: string | null; readonly to: string | null; readonly count: number }[]
  readonly undecided: { readonly live: number; readonly variant: number }
  readonly degraded: { readonly live: number; readonly variant: number }
  /** US dollars a thousand verdicts. */
  readonly usdPerThousand: { readonly live: number | null; readonly variant: number | null }
  /** On subjects that people decided: how often each has their label. */
  readonly people: { readonly live: ComparedShare; readonly variant: ComparedShare }
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
  const judged = shadows.flatMap((one) => {
    const label = labelOf(one)
    return label === null ? [] : [{ live: one.live.label === label, variant: one.label === label }]
  })
  const count = (test: (one: ShadowVerdict) => boolean) => shadows.filter(test).length
  const perThousand = (costOf: (one: ShadowVerdict) => number) =>
    shadows.length === 0 ? null : (1000 * shadows.reduce((sum, one) => sum + costOf(one), 0)) / shadows.length
  const cited = Map.groupBy(
    shadows.flatMap(({ clauses = [] }) => clauses),
    (id) => id,
  )
  return {
    schema: 1,
    variant,
    subjects: shadows.length,
    flips: shareOf(decided.filter(({ label, live }) => label !== live.label).length, decided.length),
    directions: [...directions]
      .map(([key, of]) => {
        const [from = null, to = null] = JSON.parse(key)
        return { from, to, count: of.length }
      })
      .toSorted((one, other) => other.count - one.count),
    undecided: { live: count(({ live }) => live.label === null), variant: count(({ label }) => label === null) },
    degraded: { live: count(({ live }) => live.faults.length > 0), variant: count(({ faults }) => faults.length > 0) },
    usdPerThousand: {
      live: perThousand(({ live }) => live.costUsd),
      variant: perThousand(({ usage }) => usage.costUsd),
    },
    people: {
      live: shareOf(judged.filter(({ live }) => live).length, judged.length),
      variant: shareOf(judged.filter((one) => one.variant).length, judged.length),
    },
    clauses: Object.fromEntries([...cited].map(([id, of]) => [id, of.length])),
  }
}

function shareOf(count: number, of: number): ComparedShare {
  return { count, of, interval: wilson(count, of) }
}

/** What a variant must hold to. */
export interface VariantGates {
  /** The share of flips at most. */
  readonly mostFlips?: number | undefined
  /** It agrees with people at least as often as the live settings do. */
  readonly people?: boolean | undefined
}

/** The gates that it does not hold to, in words. A gate with nothing to go by is not held to. */
export function brokenGates({ flips, people }: VariantComparison, gates: VariantGates): string[] {
  const broken: string[] = []
  const { mostFlips } = gates
  if (mostFlips !== undefined && (flips.of === 0 || flips.count / flips.of > mostFlips))
    broken.push(`${inPercent(flips.count, flips.of)} of verdicts flip; at most ${inPercent(mostFlips, 1)} may`)
  if (gates.people === true && (people.variant.of === 0 || people.variant.count < people.live.count))
    broken.push(
      `people agree with ${people.variant.count} of its labels, and with ${people.live.count} of the live ones, of ${people.live.of}`,
    )
  return broken
}

/** A share in percent; a dash where there is nothing to share. */
export function inPercent(count: number, of: number): string {
  return of === 0 ? '–' : `${((100 * count) / of).toFixed(1)} %`
}
