import { z } from 'zod'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { probability, said } from '../answer-fields.ts'

/** What a perspective or the base agent answers if it can't tell: no stance, and no label. */
export const ABSTAIN = "I don't know"

/** A perspective's reason and stance, the stance under its own label names. */
export function stanceAnswer(labels: readonly string[]) {
  return z.object({ reason: said, label: z.enum([...labels, ABSTAIN]) })
}

export type StanceAnswer = z.infer<ReturnType<typeof stanceAnswer>>

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
export type HateJudgement = z.infer<typeof paperJudgement> & Partial<z.infer<typeof judgeAnswer>>

/** The same answers, offered in the reverse order where it is turned. */
export function zeroShotIn(turned: boolean): typeof zeroShotAnswer {
  return turned ? turnedZeroShot : zeroShotAnswer
}

export function judgementIn({
  paper,
  turned,
}: {
  readonly paper: boolean
  readonly turned: boolean
}): z.ZodType<HateJudgement> {
  if (paper) return paperJudgement
  return turned ? turnedJudgement : judgeAnswer
}
