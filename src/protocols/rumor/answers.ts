import { z } from 'zod'
import { boundedScore, probability } from '../answer-fields.ts'
import { inOrder } from '../order.ts'

/** Equation 1: the range of a stance score. In the paper 0 is for what contradicts common knowledge; by default also for what takes no side. */
const score = boundedScore(-1, 1)

/** Whether a score comes after a reason for it. */
export type Reasons = 'given' | 'none'

export interface Stance {
  readonly reason?: string | undefined
  readonly score: number
}

export const stanceAnswer = z.object({ reason: z.string(), score })
const bareStance = z.object({ score })

export function stanceAnswerIn(reasons: Reasons): z.ZodType<Stance> {
  return reasons === 'given' ? stanceAnswer : bareStance
}

/** The score of one of several comments, by its number. */
export interface NumberedStance extends Stance {
  readonly comment: number
}

/**
 * Scores for the comments numbered 1 to `count`. An entry with an unreadable reason or score is left out, and affects
 * no other. An unknown or repeated number makes the whole answer unreadable: it is then unclear which comments the
 * other entries mean. So does, where a model's answer is read, a score beyond the scale (`contracts/facts/scales.ts`).
 */
export function stanceBatchAnswer(count: number, reasons: Reasons = 'given'): z.ZodType<StanceBatchAnswer> {
  const made = batchAnswers[reasons]
  const known = made.get(count)
  if (known !== undefined) return known
  const answer = batchAnswerOf(count, reasons)
  made.set(count, answer)
  return answer
}

export interface StanceBatchAnswer {
  readonly scores: readonly NumberedStance[]
}
const batchAnswers: Readonly<Record<Reasons, Map<number, z.ZodType<StanceBatchAnswer>>>> = {
  given: new Map(),
  none: new Map(),
}

const numbered = z.array(z.looseObject({ comment: z.int() }))

function entryOf(count: number, reasons: Reasons): z.ZodType<NumberedStance> {
  const comment = z.int().min(1).max(count)
  return reasons === 'given' ? z.object({ comment, reason: z.string(), score }) : z.object({ comment, score })
}

function batchAnswerOf(count: number, reasons: Reasons): z.ZodType<StanceBatchAnswer> {
  const entry = entryOf(count, reasons)
  const readable = (given: unknown, context: z.RefinementCtx): unknown => {
    const whole = entries.safeParse(given)
    const all = whole.success ? whole : numbered.safeParse(given)
    if (!all.success) return given
    const numbers = all.data.map(({ comment }) => comment)
    if (numbers.some((number) => number < 1 || number > count) || new Set(numbers).size < numbers.length) {
      context.addIssue({ code: 'custom', message: `comments are not numbered 1 to ${count}, each once` })
      return z.NEVER
    }
    return whole.success ? given : all.data.filter((one) => entry.safeParse(one).success)
  }
  // One entry per comment is asked for, and a grammar allows no more; an answer with fewer is still read.
  const entries = z.array(entry).min(1).max(count).meta({ minItems: count })
  return z.object({ scores: z.preprocess(readable, entries) })
}

/** The claim's subjectivity, and scores for the comments numbered 1 to `count`: every one of them. */
export interface StancesAndKind {
  readonly subjectivity?: z.infer<typeof subjectivityAnswer> | undefined
  readonly scores?: readonly NumberedStance[] | undefined
}

/** As a model gives it. Without one of the entries it would be unclear which of the batch's items the others are. */
export function stancesAndKindAnswer(count: number, reasons: Reasons, turned: boolean): z.ZodType<StancesAndKind> {
  const all = z
    .array(entryOf(count, reasons))
    .length(count)
    .refine((scores) => new Set(scores.map(({ comment }) => comment)).size === count, 'a comment comes twice')
  return z.object({ subjectivity: subjectivityIn(turned), scores: all })
}

/** As it is kept: single items may be missing. */
export const keptStancesAndKind: z.ZodType<StancesAndKind> = z.object({
  subjectivity: z.object({ reason: z.string(), answer: z.enum(['Yes', 'No']) }).optional(),
  scores: z.array(z.object({ comment: z.int().min(1), reason: z.string().optional(), score })).optional(),
})

/** A batch's scores as they are kept where reasons may be missing. */
export const keptStances: z.ZodType<StanceBatchAnswer> = z.object({
  scores: z.array(z.object({ comment: z.int().min(1), reason: z.string().optional(), score })),
})

/** What a question of subjectivity, and of a view, may be answered with, in the paper's order. */
export const YES_NO = ['Yes', 'No'] as const
export const FAKE_REAL = ['Fake', 'Real'] as const

const subjectivityOf = (offered: readonly (typeof YES_NO)[number][]) =>
  z.object({ reason: z.string(), answer: z.enum(offered) })
const viewOf = (offered: readonly (typeof FAKE_REAL)[number][]) =>
  z.object({ reasoning: z.string(), answer: z.enum(offered) })

export const subjectivityAnswer = subjectivityOf(YES_NO)
const turnedSubjectivity = subjectivityOf(YES_NO.toReversed())

/** A debater's view of the claim, and under `paper` the judge's. */
export const view = viewOf(FAKE_REAL)
export type View = z.infer<typeof view>
const turnedView = viewOf(FAKE_REAL.toReversed())

/** What a judge may answer beside the debaters' answers: the debate showed neither. */
const UNVERIFIED = 'Unverified'
export type JudgeAnswer = View['answer'] | typeof UNVERIFIED

/** What the judge decides, and how probable it holds that to be right; undefined where it was not asked for that. */
export interface RumorJudgement {
  readonly reasoning: string
  readonly answer: JudgeAnswer
  readonly probability?: number | null
}

/** What the judge is offered, the third answer last. */
export function judgeAnswers(turned: boolean, unverified: boolean): readonly JudgeAnswer[] {
  return [...inOrder(FAKE_REAL, turned), ...(unverified ? ([UNVERIFIED] as const) : [])]
}

/** The judge's form; made once for each, since forms are described once each. */
export function judgementIn(turned: boolean, unverified: boolean): z.ZodType<RumorJudgement> {
  const key = `${turned} ${unverified}`
  const known = judgements.get(key)
  if (known !== undefined) return known
  const answer = z.enum(judgeAnswers(turned, unverified))
  const made = z.object({ reasoning: z.string(), answer, probability })
  judgements.set(key, made)
  return made
}
const judgements = new Map<string, z.ZodType<RumorJudgement>>()

/** The same answers, offered in the reverse order where it is turned. */
export function subjectivityIn(turned: boolean): typeof subjectivityAnswer {
  return turned ? turnedSubjectivity : subjectivityAnswer
}

export function viewIn(turned: boolean): typeof view {
  return turned ? turnedView : view
}
