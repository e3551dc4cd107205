import type { Ask } from '../contracts/facts/ask.ts'
import { ParameterRefused, PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import { imageHash } from '../contracts/facts/image-bytes.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
import { LargerThanLimit } from '../contracts/ports/call-limits.ts'
import type { MemoEntry } from '../contracts/ports/memo.ts'
import { type Admission, type AnsweredCall, beginCall, failCall, priceReply, readCall, requestOf } from './call.ts'
import { NO_USE, reserve, settle, throwIfNotGranted } from './call-reservations.ts'
import {
  type AskContext,
  type AskResult,
  CallDeferred,
  callOwnerOf,
  firstPrompt,
  leaveLine,
  type ModelPrompt,
} from './context.ts'
import { acquirePass, chainOf, fallBack, firstChoice, type ModelChoice, throwIfFiltered } from './fallback.ts'
import {
  claimQuestions,
  keep,
  keyedQuestions,
  type QuestionSharing,
  release,
  sharingOf,
  waitForOthers,
} from './memo.ts'
import { writeMessages } from './messages.ts'
import type { ModelSlot } from './model-slots.ts'
import type { GatewayState } from './parts.ts'
import { type AskAnswers, askOf, frameOf, itemsOf, type KnownAnswers, settledOf } from './questions.ts'
import { furtherPrompt, mergeAnswers } from './repair.ts'

// The way of an ask to a model and back, from top to bottom. The steps are numbered in the order in which they act; each is
// described in the file that it is imported from, 2 in breaker.ts and 6 in read-answer.ts as well; a repair passes 2, 4, 5 and 6 again. A step is given what it needs and returns what it found: the context of the ask
// is the same for all of them, and where the ask stands is in the variables of the functions here.

/** Answers an ask through the models of its role. */
export async function ask(gateway: GatewayState, context: AskContext): Promise<AskResult> {
  const { settings, images, outageDeferral, clock, report } = gateway
  const { protocol, caseId, askId } = context
  const beganAt = clock()
  const all = chainOf(settings.roles, protocol, context.ask.role)
  // An answer that can be done without is not paid for twice.
  const chain = context.ask.spared === true ? all.slice(0, 1) : all
  try {
    const first = firstChoice(gateway, context, chain)
    const sharing = sharingOf(gateway, context)
    // Images come first: the memo knows a question by what they show.
    const frame = await writeMessages(gateway, context, chain, sharing === null ? context.ask : frameOf(context.ask))
    const answers = await askInTurn(gateway, context, sharing, first, frame, askModel)
    const { saved, ...settled } = settledOf(context.ask, answers)
    images.forget(askId)
    const { memoHits: hits } = settled.usage
    if (hits > 0) report('memo:hit', { protocol, stage: context.ask.stage, hits, ...saved, caseId })
    if (!settled.memo) outageDeferral?.answered(chain, context, beganAt)
    const imageHashes = frame.flatMap(({ images: seen = [] }) => seen.map(imageHash))
    return imageHashes.length === 0 ? settled : { ...settled, imageHashes }
  } catch (thrown) {
    // If none of them answers anybody, the ask waits until one does.
    const error =
      outageDeferral === null || chain.length === 0 ? thrown : outageDeferral.errorFor(thrown, chain, context)
    if (error instanceof RetryLaterError) images.release(askId)
    else images.forget(askId)
    throw error
  }
}

/**
 * Goes through the list once for each model of the chain, until each question is known or a call has been made for it. `frame`: the
 * messages as sent that all questions of the ask have in common; unshared, the whole question.
 */
export async function askInTurn(
  gateway: GatewayState,
  context: AskContext,
  sharing: QuestionSharing | null,
  first: ModelChoice,
  frame: readonly ChatMessage[],
  askOne: typeof askModel,
): Promise<AskAnswers> {
  let choice = first
  let questions = keyedQuestions(gateway, context, sharing, choice.model, frame)
  const known = new Map<string, MemoEntry>()
  /** Questions for which a call has been made, whether or not it answered them. */
  const attempted = new Set<string>()
  const paid: AskResult[] = []
  let waitedMs = 0
  let isErased = false
  /** Keys of questions whose call is in flight now. */
  let inFlight: readonly string[] = []
  const isOpen = ({ key }: { readonly key: string }) => !known.has(key) && !attempted.has(key)
  const note = (answers: KnownAnswers) => {
    for (const [key, entry] of answers) known.set(key, entry)
  }
  const stopListening = stopWhenUnwanted(context, () => releaseUnlessAwaited(sharing, inFlight))
  try {
    while (questions.some(isOpen)) {
      // 1. Memo: what is known leaves the list here, and what others are asking.
      const looked = await claimQuestions(gateway, sharing, questions.filter(isOpen), isErased)
      note(looked.known)
      const { toAsk } = looked
      if (toAsk.length > 0) {
        const keys = toAsk.map(({ key }) => key)
        const stopRenewing = sharing?.lease.startRenewing(keys)
        inFlight = keys
        try {
          const part = askOf(context.ask, toAsk)
          const isPart = sharing !== null && context.ask.batch !== undefined
          const messages = isPart ? await writeMessages(gateway, context, choice.chain, part) : frame
          const settled = await askOne(gateway, context, choice, part, messages)
          paid.push({ ...settled, sent: [itemsOf(toAsk)] })
          for (const key of keys) attempted.add(key)
          note(keep(context, sharing, toAsk, settled))
        } catch (error) {
          choice = fallBack(gateway, context, choice, error)
          const anew = keyedQuestions(gateway, context, sharing, choice.model, frame)
          questions = questions.map((one, at) => (isOpen(one) ? (anew[at] ?? one) : one))
          continue
        } finally {
          stopRenewing?.()
          inFlight = []
          await release(
            sharing,
            keys.filter((key) => !known.has(key)),
          )
        }
      }
      const others = questions.filter(isOpen)
      if (sharing === null || others.length === 0) continue
      const waited = await waitForOthers(gateway, context, sharing, others, waitedMs)
      note(waited.known)
      waitedMs += waited.waitedMs
      isErased = waited.isErased
    }
  } finally {
    stopListening()
    sharing?.waiter.leave()
  }
  return { questions, known, paid, waitedMs }
}

/** Has the model whose turn it is answer this part of the ask. */
async function askModel(
  gateway: GatewayState,
  context: AskContext,
  choice: ModelChoice,
  part: Ask,
  messages: readonly ChatMessage[],
): Promise<AskResult> {
  const { slots, thinkingRooms } = gateway
  const { model } = choice
  // 2. Breaker
  const { pass, release: releasePass } = acquirePass(gateway, context, choice)
  try {
    // 3. Slot
    const slot = await slots.take(model, callOwnerOf(context), context.signal)
    try {
      const prompt = firstPrompt(part, messages, thinkingRooms.of(model))
      const first = await callModel(gateway, context, choice, { pass, slot }, prompt)
      const settled = await askFurther(gateway, context, choice, slot, prompt, first)
      throwIfFiltered(gateway, choice, settled)
      return settled
    } finally {
      slot.free()
    }
  } finally {
    releasePass()
  }
}

/** One question: a call, and one more for each parameter that the model refuses. */
export async function callModel(
  gateway: GatewayState,
  context: AskContext,
  choice: ModelChoice,
  admission: Admission,
  prompt: ModelPrompt,
): Promise<AnsweredCall> {
  let refused: ParameterRefused
  let use = NO_USE
  // 4. Call reservation: budgets and limits
  const reservation = await reserve(gateway, context, choice.model, prompt)
  try {
    throwIfNotGranted(reservation)
    await context.mayAsk?.()
    // 5. Call
    use = { spent: reservation.atMost, counted: false }
    const flight = beginCall(gateway, context, admission, prompt, reservation)
    try {
      const reply = await gateway.model.complete(requestOf(gateway, context, choice, flight))
      const priced = priceReply(gateway, flight, reply)
      use = priced.use
      // 6. Reading
      return readCall(gateway, context, flight, priced)
    } catch (thrown) {
      const failed = failCall(gateway, context, choice, flight, use, thrown)
      use = failed.use
      throw failed.error
    }
  } catch (error) {
    if (!(error instanceof ParameterRefused)) throw error
    refused = error
  } finally {
    settle(gateway, context, reservation, use)
  }
  return refused.again((trial) => callModel(gateway, context, choice, admission, { ...prompt, trial }), context.signal)
}

/**
 * Asks the model further, as long as it is to be and can be. If there is no room for a further question, the answer so far stands; an
 * error of the further call replaces it.
 */
async function askFurther(
  gateway: GatewayState,
  context: AskContext,
  choice: ModelChoice,
  slot: ModelSlot,
  before: ModelPrompt,
  answered: AnsweredCall,
): Promise<AskResult> {
  // 7. Repair: more room for thoughts, or the repair question
  const further = furtherPrompt(gateway, choice.model, before, answered)
  if (further === null) return answered.settled
  const last = await askAgain(gateway, context, choice, slot, further)
  if (last === null) return answered.settled
  const settled = mergeAnswers(gateway, choice.model, further, answered.settled, last.settled)
  return askFurther(gateway, context, choice, slot, further, { settled, reply: last.reply })
}

/** One more question to the model, under a pass of its own; null if breaker, limit or budget has no room for it. */
async function askAgain(
  gateway: GatewayState,
  context: AskContext,
  choice: ModelChoice,
  slot: ModelSlot,
  prompt: ModelPrompt,
): Promise<AnsweredCall | null> {
  let releasePass = () => {}
  try {
    const taken = acquirePass(gateway, context, choice)
    releasePass = taken.release
    return await callModel(gateway, context, choice, { pass: taken.pass, slot }, prompt)
  } catch (error) {
    // It repeats the answer, and may be too large where the first question was not.
    const isRefused = error instanceof CallDeferred || error instanceof LargerThanLimit
    if (!isRefused && !(error instanceof PermanentError && error.code === 'budget')) throw error
    leaveLine(error)
    return null
  } finally {
    releasePass()
  }
}

/**
 * Stops the ask, and with it its call in flight, as soon as it is unwanted, unless others wait for one of the answers: then it
 * continues, and they get it. `release` resolves to false if others wait. The returned function ends this.
 */
function stopWhenUnwanted({ cancelled, stop }: AskContext, release: () => Promise<boolean>): () => void {
  if (cancelled === undefined) return () => {}
  let isOver = false
  const stopUnlessAwaited = async () => {
    if (!(await release()) || isOver) return
    stop(new RetryLaterError('aborted', 'nobody waits for its answer', { costsAttempt: false }))
  }
  const begin = () => void stopUnlessAwaited()
  cancelled.addEventListener('abort', begin, { once: true })
  if (cancelled.aborted) begin()
  return () => {
    isOver = true
    cancelled.removeEventListener('abort', begin)
  }
}

/** Releases the questions in flight, so that others may ask them; resolves to false if somebody else waits for one of the answers. */
async function releaseUnlessAwaited(sharing: QuestionSharing | null, inFlight: readonly string[]): Promise<boolean> {
  if (sharing === null || inFlight.length === 0) return true
  const { waiter, lease } = sharing
  const isJoined = () => inFlight.some((key) => (waiter.flightOf(key)?.waiters ?? 0) > 1)
  // Somebody here may join while the memo is asked.
  return !isJoined() && (await lease.releaseUnlessAwaited(inFlight)) && !isJoined()
}
