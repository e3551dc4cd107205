import { type AnswerOrFailure, failure } from '../../contracts/facts/ask.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { FailureCode } from '../../contracts/facts/errors.ts'
import { round, type SubScript } from '../../judging/engine/script.ts'
import { chunks } from '../chunks.ts'
import { inOrder } from '../order.ts'
import { annotator, type StanceAnswer } from './answers.ts'
import type { HateContext } from './context.ts'
import type { HateSide, Perspective } from './perspectives.ts'
import type { Example } from './questions.ts'
import type { HateSettings } from './settings.ts'

/** A perspective's stance, and why. */
export interface PerspectiveStance {
  readonly perspective: Perspective
  readonly side: HateSide
  readonly reason: string
  readonly answer: StanceAnswer
  /** It could not tell, and was filed under this side (`abstentions: else`). */
  readonly abstained?: true
}

/** A perspective's stance (S) and reason (R); none if it failed or abstained, which is noted. */
export function stanceOf(
  { settings, degraded }: HateContext,
  perspective: Perspective,
  reply: AnswerOrFailure<StanceAnswer> | undefined,
): PerspectiveStance[] {
  const { name } = perspective
  if (reply === undefined) throw new Error(`no answer of ${name}`)
  if (!reply.ok) {
    degraded.push(`perspective ${name} failed: ${failure(reply)}`)
    return []
  }
  const { label, reason } = reply.answer
  const side = perspective.side(label)
  if (side !== undefined) return [{ perspective, side, reason, answer: reply.answer }]
  if (settings.abstentions === 'else') {
    degraded.push(`perspective ${name} abstained: filed under non-hate`)
    return [{ perspective, side: 'non-hate', reason, answer: reply.answer, abstained: true }]
  }
  degraded.push(`perspective ${name} abstained: in neither reference`)
  return []
}

/** Failures of a call that asking each of its perspectives alone may mend: an answer in one form fewer, a shorter question. */
const MENDED_ALONE: ReadonlySet<string> = new Set<FailureCode>(['unreadable', 'refused', 'content-filter', 'rejected'])

/** What each perspective answers: asked alone, or `batchSize` in a call, and then alone where that call brought no answers. */
export function* answersOf(
  { ask, perspectives, settings, degraded, lastFirst }: HateContext,
  similar: ReadonlyMap<Perspective, readonly Example[]>,
): SubScript<ReadonlyMap<Perspective, AnswerOrFailure<StanceAnswer>>> {
  const shown = (perspective: Perspective) => similar.get(perspective) ?? []
  const alone = (one: Perspective) => ask.perspective(one, shown(one))
  const answers = new Map<Perspective, AnswerOrFailure<StanceAnswer>>()
  const batches = chunks(perspectives, batchSizeIn(settings)).map((batch) => inOrder(batch, lastFirst))
  const asks = batches.map((batch) => {
    const [only] = batch
    return batch.length === 1 && only !== undefined
      ? alone(only)
      : ask.perspectives(batch.map((perspective) => ({ perspective, similar: shown(perspective) })))
  })
  // An ask of one perspective has a plain answer, and a batch has answers by number: the batch's length decides.
  const replies: readonly AnswerOrFailure<unknown>[] = yield* round(asks)
  const again: Perspective[] = []
  for (const [at, batch] of batches.entries()) {
    const reply = replies[at]
    if (reply === undefined) throw new Error(`no answer of ${batch.map(({ name }) => name).join(', ')}`)
    if (batch.length > 1 && !reply.ok && MENDED_ALONE.has(reply.code)) {
      degraded.push(`perspectives in one call failed: ${failure(reply)}; each asked alone`)
      again.push(...batch)
    } else
      for (const [nth, one] of batch.entries()) answers.set(one, batch.length > 1 ? ofNth(reply, nth) : alike(reply))
  }
  const repeated = yield* round(again.map(alone))
  for (const [nth, one] of again.entries()) {
    const reply = repeated[nth]
    if (reply !== undefined) answers.set(one, reply)
  }
  return answers
}

/** Calls that {@link answersOf} asks for where none fails. */
export function stanceCalls(settings: HateSettings, perspectives: number): number {
  return Math.ceil(perspectives / batchSizeIn(settings))
}

/** Most calls that {@link answersOf} asks for. */
export function mostStanceCalls(settings: HateSettings, perspectives: number): number {
  return stanceCalls(settings, perspectives) + (batchSizeIn(settings) === 1 ? 0 : perspectives)
}

/** Without criteria there is nothing that distinguishes annotators in one question. */
function batchSizeIn({ show, batchSize }: HateSettings): number {
  return show === 'examples' ? 1 : batchSize
}

function alike(reply: AnswerOrFailure<unknown>): AnswerOrFailure<StanceAnswer> {
  return reply as AnswerOrFailure<StanceAnswer>
}

function ofNth(reply: AnswerOrFailure<unknown>, nth: number): AnswerOrFailure<StanceAnswer> {
  if (!reply.ok) return reply
  const answer = entryOf(reply.answer as Readonly<Record<string, StanceAnswer>>, annotator(nth))
  if (answer === undefined) throw new Error(`an answer without its ${annotator(nth)}`)
  return { ...reply, answer }
}
