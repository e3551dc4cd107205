import { z } from 'zod'
import { offScale, scaleName, scales } from '../contracts/facts/scales.ts'

/**
 * A text that is not empty. Empty reasons would be no reasons, and would leave an empty entry wherever they are quoted.
 */
export const said = z.string().refine((text) => text.trim() !== '', 'is empty')

/** A list of texts. Empty entries and null are left out, without affecting the others. */
export function saidList<Entry extends string>(entries: z.ZodArray<z.ZodType<Entry>>): z.ZodType<Entry[]> {
  return z.preprocess((value) => (Array.isArray(value) ? value.filter(isNonEmpty) : value), entries)
}

function isNonEmpty(entry: unknown): boolean {
  return typeof entry === 'string' ? entry.trim() !== '' : entry !== null
}

/**
 * How far a score may miss an end of its scale, or a whole number, and still count as that: the error of float sums.
 */
const ROUNDING = 1e-6

/**
 * A score on a scale from `min` to `max`. 1.0000000000000002 on a scale that ends at 1 is 1; a number further outside
 * was meant for another scale and can't be read. Its JSON Schema is that of a plain number with these bounds.
 */
export function boundedScore(min: number, max: number): z.ZodType<number> {
  return z.preprocess(
    (value) => (isNear(value, min, max) ? clamped(value, min, max) : value),
    onScale(z.number().min(min, offScale(min, max)).max(max, offScale(min, max)), min, max),
  )
}

function onScale(number: z.ZodNumber, min: number, max: number): z.ZodNumber {
  return number.register(scales, { scale: scaleName(min, max) })
}

/** A whole number on a scale from `min` to `max`; 4.0000001 is 4, 4.5 can't be read. */
export function wholeScore(min: number, max: number): z.ZodType<number> {
  const nearest = (value: unknown) =>
    typeof value === 'number' && Math.abs(value - Math.round(value)) <= ROUNDING ? Math.round(value) : value
  const wrong = offScale(min, max)
  const whole = z.int({ error: ({ input }) => (typeof input === 'number' ? wrong : undefined) })
  return z.preprocess(nearest, onScale(whole.min(min, wrong).max(max, wrong), min, max))
}

/**
 * How probable a model holds its answer to be right, from 0 to 1; null where it gives no such number. The answer counts without
 * it: nobody is asked again for how sure they are, unless that shows that the scores beside it are on another scale.
 */
export const probability: z.ZodType<number | null> = z.preprocess(
  (value) => {
    const read = boundedScore(0, 1).safeParse(value)
    return read.success ? read.data : null
  },
  // Shown as the number that is wanted.
  z
    .any()
    .meta({ type: 'number', minimum: 0, maximum: 1 })
    .register(scales, { scale: scaleName(0, 1), aside: true }),
)

function isNear(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && value >= min - ROUNDING && value <= max + ROUNDING
}

function clamped(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value))
}
