import type { Ask } from './ask.ts'
import type { UsedSteps } from './steps.ts'

/** What is rated: a reply, and the hateful statement that it answers. */
export interface RatedText {
  readonly hateSpeech: string
  readonly counterspeech: string
}

/** A text with what people gave it on average. */
export interface RatedExample extends RatedText {
  readonly rating: number
}

/** A text that the scorer rated otherwise than people did. */
export interface MisratedExample extends RatedExample {
  readonly score: number
}

/** What is calibrated: an aspect, its scale, and what it means. */
export interface CalibratedAspect {
  readonly name: string
  readonly lowest: number
  readonly highest: number
}

/** How a protocol that scores by evaluation steps has them found: its questions, for one aspect. */
export interface Calibration {
  readonly aspect: CalibratedAspect
  /** The steps that it scores by today, and what they are; undefined if it has none. */
  readonly stepsNow: string | undefined
  readonly sourceNow: UsedSteps['source']
  /** A model's steps as one text, as a file holds them. */
  textOf(steps: readonly string[]): string
  /** The score of one text by these steps; `expected` is its mean by probabilities, where that is wanted and there are some. */
  score(
    steps: string | undefined,
    text: RatedText,
  ): Ask<{ readonly score: number; readonly expected?: number | undefined }>
  /** Figure 4: steps from rated examples. `draw` tells drafts from the same examples apart. */
  draft(
    examples: readonly RatedExample[],
    how: { temperature: number; draw: string },
  ): Ask<{ readonly steps: string[] }>
  /** Figure 6: better steps, from those on which score and ratings differ most. */
  refine(
    steps: string,
    worst: readonly MisratedExample[],
    how: { temperature: number | null; draw: string },
  ): Ask<{ readonly steps: string[] }>
}
