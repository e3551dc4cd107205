import type { Ask } from '../contracts/facts/ask.ts'
import { PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
import { tryReservation } from './call-reservations.ts'
import { type AskContext, firstPrompt } from './context.ts'
import { avoidedError } from './fallback.ts'
import { withFormat } from './format.ts'
import type { GatewayState } from './parts.ts'

/**
 * Returns the messages of the ask, or of a part of it, as sent to the model. Images are fetched only while it may be called and there is room for the call:
 * nothing is fetched for an ask that has to wait or may not be asked. No slot and no room is held meanwhile: a host that
 * stays silent holds up no call. A model is asked only after every image has been fetched and checked; the error of one that
 * was not names its place.
 */
export async function writeMessages(
  gateway: GatewayState,
  context: AskContext,
  chain: readonly string[],
  ask: Ask,
): Promise<readonly ChatMessage[]> {
  const messages = withFormat(ask)
  if (messages.every(({ images }) => images === undefined)) return messages
  const { askId, signal, subject } = context
  const author = context.author === undefined ? `post ${subject.postId}` : `by ${context.author}`
  const mayFetch = () => mustBeAskable(gateway, context, chain, ask, messages)
  await mayFetch()
  const owner = { askId, subject, author, signal, mayFetch }
  const load = (url: string, at: number) =>
    gateway.images.load(url, owner).catch((error: unknown) => {
      if (error instanceof PermanentError || error instanceof RetryLaterError) error.imageAt = at
      throw error
    })
  return Promise.all(
    messages.map(async (message) =>
      message.images === undefined ? message : { ...message, images: await Promise.all(message.images.map(load)) },
    ),
  )
}

/** Throws like the call itself if it could not be made now. */
async function mustBeAskable(
  gateway: GatewayState,
  context: AskContext,
  chain: readonly string[],
  ask: Ask,
  messages: readonly ChatMessage[],
): Promise<void> {
  const { breakers, thinkingRooms } = gateway
  const { attempt, accountKey } = context
  const { model } = breakers.preferred(chain, attempt, accountKey)
  const retryInMs = breakers.waitMs(model, accountKey)
  if (retryInMs > 0) throw avoidedError(gateway, context, chain, retryInMs)
  await context.mayAsk?.()
  await tryReservation(gateway, context, model, firstPrompt(ask, messages, thinkingRooms.of(model)))
}
