import { z } from 'zod'

/** The scales of the scores in answers' forms, which a model may mistake for another; a number that only counts or names has none. */
export const scales = z.registry<{
  readonly scale: string
  /** The answer counts without it. */
  readonly aside?: true
}>()

/** How a scale is called in settings and messages. */
export function scaleName(lowest: number, highest: number): string {
  return `${lowest} to ${highest}`
}

/** Begins the message about a number that is not on its scale. */
export const OFF_SCALE = 'not on its scale, '

/** The error of a question that is put to no model, for those of its role do not keep to its scale. */
export const OTHER_SCALE =
  'the model scores on another scale than this question asks for, as gavel doctor met it or models.dialects says'

/** What is wrong with a number that is not on this scale. */
export function offScale(lowest: number, highest: number): string {
  return `${OFF_SCALE}${scaleName(lowest, highest)}`
}
