import { z } from 'zod'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { probability, said } from '../answer-fields.ts'
import type { CitingAnswer, CitingForm } from '../clauses.ts'

/** What a perspective or the base agent answers if it can't tell: no stance, and no label. */
export const ABSTAIN = "I don't know"

/** A perspective's reason and stance, the stance under its own label names. */
export function stanceAnswer(labels: readonly string[], citing?: CitingForm): z.ZodType<StanceAnswer> {
  const answer = z.object({ reason: said, label: z.enum([...labels, ABSTAIN]) })
  return citing === undefined ? answer : answer.extend({ clauses: citing.field })
}

export interface StanceAnswer extends CitingAnswer {
  readonly reason: string
  readonly label: string
}

/** What several annotators answer in one call: each, by its number from 1, in the form in which it answers alone. */
export function stanceBatchAnswer(
  each: readonly ReturnType<typeof stanceAnswer>[],
): z.ZodType<Readonly<Record<string, StanceAnswer>>> {
  return z.object(Object.fromEntries(each.map((answer, at) => [annotator(at), answer])))
}

/** What the answer of the nth annotator, from 0, is called. */
export function annotator(at: number): string {
  return `annotator${at + 1}`
}

const labelled = z.object({ label: z.string() })

/** The label in an answer; undefined where there is none. */
export function labelIn(answer: unknown): string | undefined {
  return labelled.safeParse(answer).data?.label
}

/** The answer of the nth annotator, from 0, in an answer of several. */
export function nthIn(answer: unknown, nth: number): unknown {
  return entryOf(z.record(z.string(), z.unknown()).safeParse(answer).data ?? {}, annotator(nth))
}

const LABELS = ['non-hate', 'hate'] as const

const zeroShotOf = (labels: readonly (typeof LABELS)[number][]) =>
  z.object({ reason: said, label: z.enum([...labels, ABSTAIN]) })
const paperJudgementOf = (labels: readonly (typeof LABELS)[number][]) =>
  z.object({ reason: said, label: z.enum(labels) })
const judgementOf = (labels: readonly (typeof LABELS)[number][]) => paperJudgementOf(labels).extend({ probability })

/** What the base agent of Table 1 answers. */
export const zeroShotAnswer = zeroShotOf(LABELS)
const turnedZeroShot = zeroShotOf(LABELS.toReversed())

/** One turn of the debate. */
export const turnAnswer = z.object({ argument: said })
/** The same with a way out: `holds` is `no` where the debater finds nothing that can honestly be said for its side. */
export const honestTurn = turnAnswer.extend({ holds: z.enum(['yes', 'no']) })
export type HateArgument = z.infer<typeof turnAnswer> & Partial<z.infer<typeof honestTurn>>

/** The outcome of Algorithm 2, line 20, and how probable the judge holds it to be right. */
const judgeAnswer = judgementOf(LABELS)
const turnedJudgement = judgementOf(LABELS.toReversed())
/** Under `paper` nobody asks for a probability. */
const paperJudgement = paperJudgementOf(LABELS)
export type HateJudgement = z.infer<typeof paperJudgement> & Partial<z.infer<typeof judgeAnswer>> & CitingAnswer

/** By the form in which they cite, both orders of its labels: a form that is made anew is described anew. */
const citingJudgements = new WeakMap<CitingForm, readonly [z.ZodType<HateJudgement>, z.ZodType<HateJudgement>]>()

function judgementsCiting(citing: CitingForm) {
  const known = citingJudgements.get(citing)
  if (known !== undefined) return known
  const field = { clauses: citing.field }
  const made = [judgeAnswer.extend(field), turnedJudgement.extend(field)] as const
  citingJudgements.set(citing, made)
  return made
}

/** The same answers, offered in the reverse order where it is turned. */
export function zeroShotIn(turned: boolean): typeof zeroShotAnswer {
  return turned ? turnedZeroShot : zeroShotAnswer
}

export function judgementIn({
  paper,
  turned,
  citing,
}: {
  readonly paper: boolean
  readonly turned: boolean
  readonly citing?: CitingForm | undefined
}): z.ZodType<HateJudgement> {
  if (paper) return paperJudgement
  if (citing !== undefined) return judgementsCiting(citing)[turned ? 1 : 0]
  return turned ? turnedJudgement : judgeAnswer
}
