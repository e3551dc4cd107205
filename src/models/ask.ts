import { ParameterRefused, PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import { answered, beginCall, failed, requestOf } from './call.ts'
import { type AskContext, CallDeferred, type Settled } from './context.ts'
import { beginChain, mustNotBeFiltered, takePass, turnToNext } from './fallback.ts'
import { findQuestions, keep, lookUp, openQuestions, release, waitForOthers } from './memo.ts'
import { writeMessages, writeQuestion } from './messages.ts'
import type { GatewayState } from './parts.ts'
import { settledOf } from './questions.ts'
import { asksFurther, together } from './repair.ts'
import { mustBeGranted, reserve, settle } from './reservations.ts'

// The way of an ask to a model and back, from top to bottom. The steps are numbered in the order in which they act; each is
// told in the file that it is imported from. They share the ask's context: what one finds, the next reads there.

/** Answers an ask through the models of its role. */
export async function ask(gateway: GatewayState, context: AskContext): Promise<Settled> {
  const { images, hold, clock, report } = gateway
  const { protocol, caseId, askId } = context
  const beganAt = clock()
  try {
    beginChain(gateway, context)
    // Images come first: the memo knows a question by what they show.
    await writeMessages(gateway, context)
    await askInTurn(gateway, context, askModel)
    const { saved, ...settled } = settledOf(context)
    images.forget(askId)
    const { memoHits: hits } = settled.usage
    if (hits > 0) report('memo:hit', { protocol, stage: context.ask.stage, hits, ...saved, caseId })
    if (!settled.memo) hold?.answered(context.chain, context, beganAt)
    return settled
  } catch (thrown) {
    // If none of them answers anybody, the ask is held.
    const error = hold === null || context.chain.length === 0 ? thrown : hold.errorFor(thrown, context.chain, context)
    if (error instanceof RetryLaterError) images.release(askId)
    else images.forget(askId)
    throw error
  }
}

/** Goes through the list once for each model of the chain, until all that was not known before has been answered. */
export async function askInTurn(
  gateway: GatewayState,
  context: AskContext,
  askOne: (gateway: GatewayState, context: AskContext) => Promise<Settled>,
): Promise<void> {
  findQuestions(gateway, context)
  const wanted = stopWhenUnwanted(context)
  try {
    while (openQuestions(context).length > 0) {
      // 1. Memo: what is known leaves the list here, and what others are asking.
      const mine = await lookUp(gateway, context)
      if (mine.length > 0) {
        const keys = mine.map(({ key }) => key)
        const end = context.sharing?.lease.hold(keys)
        if (context.sharing !== null) context.sharing.mine = keys
        try {
          await writeQuestion(gateway, context, mine)
          keep(context, mine, await askOne(gateway, context))
        } catch (error) {
          turnToNext(gateway, context, error)
          findQuestions(gateway, context)
          continue
        } finally {
          end?.()
          if (context.sharing !== null) context.sharing.mine = []
          await release(context, mine)
        }
      }
      await waitForOthers(gateway, context)
    }
  } finally {
    wanted()
    context.sharing?.waiter.leave()
  }
}

/** Has the model whose turn it is answer what it is asked now. */
async function askModel(gateway: GatewayState, context: AskContext): Promise<Settled> {
  const { slots, thinkingRooms } = gateway
  const { model, signal, now } = context
  // 2. Breaker
  const giveBack = takePass(gateway, context)
  try {
    // 3. Slots
    const slot = await slots.take(model, signal)
    now.slot = slot
    try {
      now.thinkingTokens = thinkingRooms.of(model)
      let settled = await askQuestion(gateway, context)
      // 7. More room for thoughts, or the repair question
      while (asksFurther(gateway, context, settled)) {
        const last = await askAgain(gateway, context)
        if (last === null) break
        settled = together(gateway, context, settled, last)
      }
      mustNotBeFiltered(gateway, context, settled)
      return settled
    } finally {
      slot.free()
    }
  } finally {
    giveBack()
  }
}

/** One more question to the model, under a pass of its own; null if it can't be asked now. What was paid for is kept. */
async function askAgain(gateway: GatewayState, context: AskContext): Promise<Settled | null> {
  let giveBack = () => {}
  try {
    giveBack = takePass(gateway, context)
    return await askQuestion(gateway, context)
  } catch (error) {
    if (error instanceof CallDeferred || (error instanceof PermanentError && error.code === 'budget')) return null
    throw error
  } finally {
    giveBack()
  }
}

/** One question: a call, and one more for each parameter that the model refuses. */
export async function askQuestion(gateway: GatewayState, context: AskContext): Promise<Settled> {
  let refused: ParameterRefused
  // 4. Budgets and limits
  const reservation = await reserve(gateway, context, context.model, context.now)
  try {
    mustBeGranted(reservation)
    await context.mayAsk?.()
    // 5. The call
    const flight = beginCall(gateway, context, reservation)
    try {
      const said = await gateway.model.complete(requestOf(gateway, context, flight))
      // 6. Reading
      return answered(gateway, context, flight, said)
    } catch (thrown) {
      throw failed(gateway, context, flight, thrown)
    }
  } catch (error) {
    if (!(error instanceof ParameterRefused)) throw error
    refused = error
  } finally {
    settle(gateway, context, reservation)
  }
  return refused.again((trial) => {
    context.now.trial = trial
    return askQuestion(gateway, context)
  }, context.signal)
}

/**
 * Stops the ask, and with it its call in flight, as soon as it is unwanted, unless others wait for one of the answers: then it
 * continues, and they get it. Returns what ends this.
 */
function stopWhenUnwanted(context: AskContext): () => void {
  const { unwanted } = context
  if (unwanted === undefined) return () => {}
  let isOver = false
  const look = async () => {
    if ((await isAwaited(context)) || isOver) return
    context.stop(new RetryLaterError('aborted', 'nobody waits for its answer', { costsAttempt: false }))
  }
  const begin = () => void look()
  unwanted.addEventListener('abort', begin, { once: true })
  if (unwanted.aborted) begin()
  return () => {
    isOver = true
    unwanted.removeEventListener('abort', begin)
  }
}

/** Whether anybody else waits for what it asks at the moment. Where nobody does, others may ask it from now on. */
async function isAwaited({ sharing }: AskContext): Promise<boolean> {
  if (sharing === null || sharing.mine.length === 0) return false
  const { waiter, lease, mine } = sharing
  const isJoined = () => mine.some((key) => (waiter.flightOf(key)?.waiters ?? 0) > 1)
  // Somebody here may join while the memo is asked.
  return isJoined() || !(await lease.abandon(mine)) || isJoined()
}
