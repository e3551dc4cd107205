import type { RatedText } from '../../contracts/facts/calibration.ts'

/** A reply that people rated on the aspect. */
export interface RatedItem extends RatedText {
  readonly id: string
  /** What belongs together and stays in one part: all replies to one hateful statement. */
  readonly unit: string
  /** What each rater gave. */
  readonly ratings: readonly number[]
  /** Their mean. */
  readonly rating: number
}
