import type { Ask } from '../contracts/facts/ask.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
import { type AskContext, asking, type Question } from './context.ts'
import { avoided } from './fallback.ts'
import { withFormat } from './format.ts'
import { isRemembered } from './memo.ts'
import type { GatewayState } from './parts.ts'
import { askOf } from './questions.ts'
import { checkRoom } from './reservations.ts'

/** Writes down the messages of the ask; of a batch that is remembered, those without its items. */
export async function writeMessages(gateway: GatewayState, context: AskContext): Promise<void> {
  const { ask } = context
  const isInParts = ask.batch !== undefined && isRemembered(gateway, context)
  context.messages = await messagesOf(gateway, context, isInParts ? ask.batch.subset([]) : ask)
}

/** Writes down what the model is asked: these questions. */
export async function writeQuestion(
  gateway: GatewayState,
  context: AskContext,
  mine: readonly Question[],
): Promise<void> {
  const { ask, sharing, messages } = context
  const asked = askOf(ask, mine)
  const written = ask.batch === undefined || sharing === null ? messages : await messagesOf(gateway, context, asked)
  context.now = asking(asked, written)
}

/**
 * The messages as sent to the model. Images are fetched only while it may be called and there is room for the call:
 * nothing is fetched for an ask that has to wait or may not be asked. No slot and no room is held meanwhile: a host that
 * says nothing holds up no call. A model is asked only after every image has been fetched and checked.
 */
async function messagesOf(gateway: GatewayState, context: AskContext, ask: Ask): Promise<readonly ChatMessage[]> {
  const messages = withFormat(ask)
  if (messages.every(({ images }) => images === undefined)) return messages
  const { askId, signal, subject } = context
  const author = context.author === undefined ? `post ${subject.postId}` : `by ${context.author}`
  const mayFetch = () => mustBeAskable(gateway, context, ask, messages)
  await mayFetch()
  const owner = { askId, subject, author, signal, mayFetch }
  const load = (url: string) => gateway.images.load(url, owner)
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
  ask: Ask,
  messages: readonly ChatMessage[],
): Promise<void> {
  const { breakers, thinkingRooms } = gateway
  const { chain, attempt, asker } = context
  const { model } = breakers.preferred(chain, attempt, asker)
  const retryInMs = breakers.waitMs(model, asker)
  if (retryInMs > 0) throw avoided(gateway, context, retryInMs)
  await context.mayAsk?.()
  await checkRoom(gateway, context, model, { ask, messages, thinkingTokens: thinkingRooms.of(model) })
}
