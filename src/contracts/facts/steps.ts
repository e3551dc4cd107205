import { z } from 'zod'

/**
 * Where the evaluation steps of an aspect come from. `shipped`: with Gavel, for no model in particular; `calibrated`: found by
 * `gavel calibrate`, as their file states; `own`: the operator's, of unknown origin; `model-written`: by the model, for this
 * one verdict (G-EVAL); `none`: the scorer is given no steps.
 */
export const stepsUsed = z.object({
  source: z.enum(['shipped', 'calibrated', 'own', 'model-written', 'none']),
  /** SHA-256 of their text, in 16 hex digits; absent where there are none. */
  digest: z.string().optional(),
  /**
   * Of calibrated ones: the model that they were found for, as the settings name it and as its endpoint does, a digest of the
   * ratings, and the date (ISO 8601).
   */
  model: z.string().optional(),
  answeredAs: z.string().optional(),
  ratings: z.string().optional(),
  date: z.string().optional(),
})
export type UsedSteps = z.infer<typeof stepsUsed>

/** The fields of the comment at the beginning of a file of calibrated steps, by name and in order. */
export type StepsHeader = readonly (readonly [name: string, value: string])[]

const OPENING = '<!-- Calibrated by Gavel (Auto-CSEval, Algorithm 1).\n'
const COMMENT = /^\s*<!--([\s\S]*?)-->/

/** Longest value in such a comment, in characters: names of models come from their endpoints. */
const MAX_VALUE_CHARS = 300

/** A file of calibrated steps: the comment, then the steps. Nothing in a value ends the comment, or begins another line. */
export function withStepsHeader(header: StepsHeader, steps: string): string {
  const lines = header.map(([name, value]) => `${name}: ${plain(value)}`)
  return `${OPENING}${lines.join('\n')}\n-->\n${steps}\n`
}

/** One line without control characters, in which no two dashes follow one another. */
function plain(value: string): string {
  return value
    .slice(0, MAX_VALUE_CHARS)
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .replace(/-{2,}/g, '-')
}

/** A file's steps without the comment at its beginning, and that comment's fields; null where it is not that of a calibration. */
export function readSteps(written: string): {
  readonly text: string
  readonly header: ReadonlyMap<string, string> | null
} {
  const file = written.replace(/\r\n?/g, '\n')
  const text = file.replace(COMMENT, '').trim()
  if (!file.trimStart().startsWith(OPENING)) return { text, header: null }
  const lines = (COMMENT.exec(file)?.[1] ?? '').split('\n').slice(1)
  const header = new Map(
    lines.flatMap((line) => {
      const colon = line.indexOf(': ')
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 2).trim()] as const]
    }),
  )
  return { text, header }
}

/** Whether two names are of one model: a date at the end of one tells only which version of it answered. */
export function sameModel(one: string, other: string): boolean {
  const dateless = (name: string) => name.replace(/-(\d{4}|\d{8}|\d{4}-\d{2}-\d{2})$/, '')
  return one === other || dateless(one) === other || one === dateless(other)
}
