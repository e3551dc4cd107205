import { z } from 'zod'
import { boundedScore, probability, said, saidList } from '../answer-fields.ts'
import type { CitingAnswer, CitingForm } from '../clauses.ts'
import type { Preset } from '../preset.ts'

/** 0 is no risk, 1 extreme risk. */
const riskScore = boundedScore(0, 1)

/** What an image shows. `seen` is `no` if the model was given no image that it can or will look at. */
export const description = z.object({
  seen: z.enum(['yes', 'no']),
  description: said.refine((text) => /[\p{L}\p{N}]/u.test(text), 'has no words'),
})
/** Under `paper` the describer is not asked whether it saw anything. */
export const paperDescription = z.object({ description: said })
export type Description = z.infer<typeof paperDescription> & Partial<z.infer<typeof description>>

type Comparison = z.infer<ReturnType<typeof comparison>>

/** The supporter's brief. `precedents` is empty if none were shown. */
export interface Brief {
  readonly summary: string
  readonly precedents: readonly Comparison[]
  readonly patterns: string
}

/**
 * A brief on the precedents numbered 1 to `count`: at least one of them, each at most once. An unreadable comparison is
 * left out, and affects no other; if the numbers are wrong, it is unclear which precedent each one means, and the whole
 * answer is unreadable. All of them are asked for, except under `paper`.
 */
export function briefAnswer(count: number, preset: Preset = 'none'): z.ZodType<Brief> {
  const least = preset === 'paper' ? 1 : count
  const key = `${count} ${least}`
  const known = briefAnswers.get(key)
  if (known !== undefined) return known
  const made = briefAnswerOf(count, least)
  briefAnswers.set(key, made)
  return made
}

const briefAnswers = new Map<string, z.ZodType<Brief>>()

function briefAnswerOf(count: number, least: number): z.ZodType<Brief> {
  return z.object({
    summary: said,
    precedents:
      count === 0
        ? z.array(comparison(1)).max(0)
        : z.preprocess(
            (value) => readable(value, count),
            z
              .array(comparison(count))
              .min(1)
              .max(count)
              .refine(
                (all) => new Set(all.map(({ precedent }) => precedent)).size === all.length,
                'a precedent comes twice',
              )
              .meta({ minItems: least }),
          ),
    patterns: said,
  })
}

/** How the supporter compares one precedent with the input. */
function comparison(count: number) {
  return z.object({
    precedent: z.int().min(1).max(count),
    keyCues: saidList(z.array(z.string())),
    differences: z.string(),
  })
}

/** The readable comparisons if all are numbered correctly; otherwise all of them, so that the schema rejects them. */
function readable(comparisons: unknown, count: number): unknown {
  if (!Array.isArray(comparisons)) return comparisons
  const given = comparisons.filter((one) => one !== null)
  const numbers = given.map((one) => numbering.safeParse(one).data?.precedent ?? 0)
  const isNumbered = new Set(numbers).size === numbers.length && numbers.every((one) => one >= 1 && one <= count)
  return isNumbered ? given.filter((one) => comparison(count).safeParse(one).success) : given
}

const numbering = z.object({ precedent: z.int() })

/** A debater's turn. */
export const assessment = z.object({ reasoning: said, score: riskScore })
export type Assessment = z.infer<typeof assessment>

/** The arbiter's rules, in the order in which they are tested. */
const RULES = ['exoneration', 'confirmation', 'default-safe'] as const

const LABELS = ['unsafe', 'safe'] as const

const fieldsOf = (labels: readonly (typeof LABELS)[number][]) =>
  z.object({
    reasoning: said,
    evidence: saidList(z.array(said)),
    rule: z.enum(RULES),
    categories: saidList(z.array(z.string())),
    score: riskScore,
    label: z.enum(labels),
  })
export type SafetyReport = z.infer<ReturnType<typeof fieldsOf>> & {
  /** How probable the arbiter holds its label to be right, which its risk score does not tell; under `paper` nobody asks. */
  readonly probability?: number | null
} & CitingAnswer

/** The rule decides the label: only a confirmed risk is unsafe. An answer whose label contradicts its rule is unreadable. */
const ruled = <Report extends SafetyReport>(report: z.ZodType<Report>) =>
  report.refine(({ rule, label }) => (rule === 'confirmation') === (label === 'unsafe'), {
    path: ['label'],
    error: 'rule and label contradict each other',
  })

export const paperReport = ruled(fieldsOf(LABELS))
export const report = ruled(fieldsOf(LABELS).extend({ probability }))
const turnedReport = ruled(fieldsOf(LABELS.toReversed()).extend({ probability }))

/** By the form in which they cite, both orders of its labels: a form that is made anew is described anew. */
const citingReports = new WeakMap<CitingForm, readonly [z.ZodType<SafetyReport>, z.ZodType<SafetyReport>]>()

function reportsCiting(citing: CitingForm) {
  const known = citingReports.get(citing)
  if (known !== undefined) return known
  const field = { probability, clauses: citing.field }
  const made = [ruled(fieldsOf(LABELS).extend(field)), ruled(fieldsOf(LABELS.toReversed()).extend(field))] as const
  citingReports.set(citing, made)
  return made
}

/** The arbiter's form, its labels offered in the reverse order where it is turned. */
export function reportIn({
  paper,
  turned,
  citing,
}: {
  readonly paper: boolean
  readonly turned: boolean
  readonly citing?: CitingForm | undefined
}): z.ZodType<SafetyReport> {
  if (paper) return paperReport
  if (citing !== undefined) return reportsCiting(citing)[turned ? 1 : 0]
  return turned ? turnedReport : report
}
