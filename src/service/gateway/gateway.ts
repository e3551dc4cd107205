import type { Ask } from '../domain/ask.ts'
import { PermanentError, RetryLaterError } from '../domain/errors.ts'
import type { ShownItem } from '../domain/library.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import type { Budgets } from '../ports/budgets.ts'
import type { Clock } from '../ports/clock.ts'
import type { LoadImage } from '../ports/images.ts'
import type { Limits } from '../ports/limits.ts'
import type { Memo } from '../ports/memo.ts'
import type { Model } from '../ports/model.ts'
import type { ModelCapacity, Report } from '../ports/report.ts'
import { askModel } from './ask-model.ts'
import type { Remembered } from './batch.ts'
import { type BreakerSettings, breaker } from './breaker.ts'
import { breakerReport } from './breaker-report.ts'
import { type CallSettings, modelCalls } from './call.ts'
import { type AskContext, askerOf } from './context.ts'
import { avoided, chainOf, fallbackChain, type OnFiltered, payInTurn, type Roles } from './fallback.ts'
import { withFormat } from './format.ts'
import { holding } from './held.ts'
import { type ImageCache, type ImageCacheSettings, type ImageOwner, imageCache } from './image-cache.ts'
import { askOnce, type MemoSettings } from './memo.ts'
import { modelSlots, type SlotSettings } from './model-slots.ts'
import { thinkingRooms } from './thinking.ts'

export interface GatewaySettings extends CallSettings, SlotSettings {
  readonly roles: Roles
  readonly onFiltered: OnFiltered
  /** A model's endpoint, by its name in the settings: models of one share its key. */
  readonly endpointOf: (model: string) => string
  readonly breaker: BreakerSettings
  /** Null if nothing is remembered. */
  readonly memo: MemoSettings | null
  readonly images: ImageCacheSettings
  /** The key of the hashes that identify questions. */
  readonly secret: string
}

/** How an ask ended, and its usage. */
export type Settled = Omit<Remembered, 'saved'> & {
  /** Of a lookup: the items that are some subject's content. */
  readonly shown?: readonly ShownItem[]
}

/**
 * Answers asks through models. A known answer is not asked for again; a model that does not answer is avoided for a
 * while; nothing is spent beyond the budgets and limits, with any number of processes. An ask ends with a readable
 * answer or a failure code; an unreadable answer is asked for once more, then the ask has failed. Throws
 * `RetryLaterError` if the queue should try again.
 */
export interface Gateway {
  ask(ask: Ask, context: AskContext): Promise<Settled>
  /** Asks that hold a slot now, and asks that wait for one. */
  readonly busy: number
  readonly waiting: number
  /** The load on models as of now. A breaker whose wait is over becomes half-open by this, also if nobody asks. */
  load(): GatewayLoad
}

export interface GatewayLoad {
  readonly busy: number
  readonly waiting: number
  /** All slots of this process. */
  readonly all: number
  readonly models: readonly ModelCapacity[]
}

export interface GatewayParts {
  readonly model: Model
  readonly loadImage: LoadImage
  readonly memo: Memo
  readonly limits: Limits
  readonly budgets: Budgets
}

export function gateway(deps: GatewayParts & { settings: GatewaySettings; clock: Clock; report: Report }): Gateway {
  const { memo, settings, clock, report } = deps
  const { secret } = settings
  const images = imageCache(deps.loadImage, settings.images, clock)
  const away = breakerReport(report, clock, settings.endpointOf)
  const breakers = breaker({ settings: settings.breaker, clock, changed: away.changed })
  const hold = settings.holds ? holding({ breakers, clock }) : null
  const slots = modelSlots(settings, clock)
  const rooms = thinkingRooms(settings, clock)
  const calls = modelCalls({ ...deps, breakers })
  const { onFiltered, endpointOf } = settings
  const asking = {
    askModel: askModel({ calls, slots, breakers, rooms, settings }),
    breakers,
    onFiltered,
    endpointOf,
  }
  const once =
    settings.memo === null
      ? null
      : askOnce({ memo, settings: settings.memo, secret, clock, report, thinkingOf: settings.thinkingOf })

  /**
   * The messages as sent to the model. Images are fetched only while it may be called and there is room for the call:
   * nothing is fetched for an ask that has to wait or may not be asked. No slot and no room is held meanwhile: a host that
   * says nothing holds up no call.
   */
  async function messagesOf(ask: Ask, chain: readonly string[], context: AskContext): Promise<readonly ChatMessage[]> {
    const messages = withFormat(ask)
    if (messages.every(({ images: shown }) => shown === undefined)) return messages
    const { askId, signal, subject } = context
    const mayFetch = async () => {
      const { model } = breakers.preferred(chain, context.attempt, whose(context))
      const retryInMs = breakers.waitMs(model, whose(context))
      if (retryInMs > 0) avoided(breakers, ask, chain, { attempt: context.attempt, asker: whose(context) })(retryInMs)
      await context.mayAsk?.()
      await calls.checkRoom(
        ask,
        model,
        messages,
        { ...context, tenant: subject.tenant, others: false },
        rooms.of(model),
      )
    }
    const author = context.author === undefined ? `post ${subject.postId}` : `by ${context.author}`
    await mayFetch()
    return withImages(messages, images, { askId, tenant: subject.tenant, author, signal, mayFetch })
  }

  async function settle(ask: Ask, context: AskContext): Promise<Settled> {
    const models = chainOf(settings.roles, context.protocol, ask.role)
    if (models.length === 0) throw new PermanentError('rejected', `no model is set for the role ${ask.role}`)
    const { subject, signal, deadline } = context
    const chain = fallbackChain(asking, ask, models, context)
    if (once === null || !context.remember)
      return { ...(await payInTurn(chain, ask, await messagesOf(ask, models, context))), memo: false }
    const { saved, ...settled } = await once(ask, {
      ...{ model: chain.first, subject, signal, deadline },
      messagesOf: (asked) => messagesOf(asked, models, context),
      ...{ pay: chain.pay, instead: chain.instead },
    })
    const { memoHits: hits } = settled.usage
    if (hits > 0)
      report('memo:hit', { protocol: context.protocol, stage: ask.stage, hits, ...saved, caseId: context.caseId })
    return settled
  }

  return {
    async ask(ask, context) {
      const began = clock()
      const chain = chainOf(settings.roles, context.protocol, ask.role)
      try {
        const settled = await settle(ask, context)
        images.forget(context.askId)
        if (!settled.memo) hold?.answered(chain, context, began)
        return settled
      } catch (thrown) {
        const error =
          hold === null || chain.length === 0
            ? thrown
            : hold.errorFor(thrown, chain, { ...context, asker: whose(context) })
        if (error instanceof RetryLaterError) images.release(context.askId)
        else images.forget(context.askId)
        throw error
      }
    },
    get busy() {
      return slots.busy
    },
    get waiting() {
      return slots.waiting
    },
    load() {
      breakers.states()
      away.look()
      return { busy: slots.busy, waiting: slots.waiting, all: settings.slots, models: slots.limits() }
    },
  }
}

function whose(context: AskContext): string {
  return askerOf({ ...context, tenant: context.subject.tenant })
}

/** The messages with their images as data URLs. A model is asked only after every image has been fetched and checked. */
async function withImages(
  messages: readonly ChatMessage[],
  images: ImageCache,
  owner: ImageOwner,
): Promise<readonly ChatMessage[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (message.images === undefined) return message
      return { ...message, images: await Promise.all(message.images.map((url) => images.load(url, owner))) }
    }),
  )
}
