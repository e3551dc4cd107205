import { withStepsHeader } from '../../contracts/facts/steps.ts'
import type { CalibrationCourse } from './calibrate.ts'
import type { Gain } from './gain.ts'

/** Where steps come from, from the comment at the beginning of their file. */
export interface StepsProvenance {
  readonly aspect: string
  readonly scale: readonly [number, number]
  /** The model that scored: steps are found for it, and for no other. */
  readonly model: string
  /** As its endpoint names it. */
  readonly answeredAs: string
  /** Of the ratings, as `readRatings` makes it. */
  readonly ratings: string
  readonly seed: string
  /** ISO 8601. */
  readonly date: string
  readonly version: string
}

/** A file of calibrated steps: a comment with their origin and their agreement, then the steps. */
export function stepsFile(provenance: StepsProvenance, { best }: CalibrationCourse, gain: Gain | null): string {
  const numberText = (value: number | null) => (value === null ? 'none' : value.toFixed(4))
  return withStepsHeader(
    [
      ['aspect', provenance.aspect],
      ['scale', provenance.scale.join(' to ')],
      ['model', provenance.model],
      ['answered as', provenance.answeredAs],
      ['ratings', provenance.ratings],
      ['seed', provenance.seed],
      ['from', best.from],
      ['spearman on selection', `${numberText(best.agreement.spearman)} (${best.agreement.items} items)`],
      ...(gain === null
        ? ([['spearman on test', 'there was no test part (paper)']] as const)
        : ([
            ['spearman on test', `${numberText(gain.now.spearman)} (${gain.now.items} items)`],
            ['before on test', numberText(gain.before.spearman)],
          ] as const)),
      ['date', provenance.date],
      ['version', provenance.version],
    ],
    best.steps,
  )
}
