import type { Ask } from '../domain/ask.ts'
import { entryOf } from '../domain/entry-of.ts'
import { PermanentError, RetryLaterError } from '../domain/errors.ts'
import type { ThreadRef } from '../domain/thread.ts'
import { addUsage, type ChatMessage, noUsage } from '../domain/verdict.ts'
import type { Budgets } from '../ports/budgets.ts'
import type { Clock } from '../ports/clock.ts'
import type { LoadImage } from '../ports/images.ts'
import type { Limits } from '../ports/limits.ts'
import type { Memo } from '../ports/memo.ts'
import type { Model } from '../ports/model.ts'
import type { Report } from '../ports/report.ts'
import { type BreakerSettings, breaker, type Pass } from './breaker.ts'
import {
  type Answered,
  type Calling,
  type CallSettings,
  callOnce,
  chargeOf,
  type Guards,
  NotMade,
  type Price,
} from './call.ts'
import { repair, withFormat } from './format.ts'
import { type HeldImages, type HeldImagesSettings, heldImages } from './held-images.ts'
import { askOnce, type MemoSettings, type Paid, type Remembered } from './memo.ts'

export interface GatewaySettings extends CallSettings {
  /** By PROTOCOL.ROLE or ROLE: models in order of preference; `default` for roles that are not named. */
  readonly roles: Readonly<Record<string, readonly string[]>>
  readonly breaker: BreakerSettings
  /** Null where nothing is remembered. */
  readonly memo: MemoSettings | null
  readonly images: HeldImagesSettings
  /** Keys the names of questions. */
  readonly secret: string
}

/** How an ask ended, and what it took. */
export type Settled = Omit<Remembered, 'saved'>

/** One attempt at an ask. */
export interface Asking extends Omit<Calling, 'tenant' | 'others'> {
  /** Whose content is asked about. */
  readonly subject: ThreadRef
  /** False where every question must reach a model, as in the papers. */
  readonly remember: boolean
}

/**
 * Stands between asks and models: what is known is not asked again; who does not answer is left alone; nothing is spent or
 * asked beyond what the settings allow, with any number of processes. An ask ends with a readable answer or a named failure;
 * an answer that can't be read is asked for once more, then the ask has failed. Throws `RetryLaterError` where the queue
 * should try again.
 */
export interface Gateway {
  ask(ask: Ask, asking: Asking): Promise<Settled>
  /** Asks that hold a slot now, and asks that wait for one. */
  readonly busy: number
  readonly waiting: number
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
  const images = heldImages(deps.loadImage, settings.images, clock)
  const breakers = breaker({
    settings: settings.breaker,
    clock,
    changed: (change) => report('breaker:changed', { model: change.model, to: change.to }),
  })
  const calls = callOnce({ ...deps, breakers })
  const once =
    settings.memo === null ? null : askOnce({ memo, settings: settings.memo, secret: settings.secret, clock, report })

  /** Leave to call this model; `KeptAway` where there is none. */
  function leaveFor(ask: Ask, chain: readonly string[], model: string, { attempt }: Asking): Pass {
    const leave = breakers.allow(model)
    if (leave.ok) return leave.pass
    const delayMs = Math.min(leave.retryInMs, breakers.preferred(chain, attempt).retryInMs)
    const why = `no model of the role ${ask.role} answers at present`
    throw new KeptAway('unavailable', why, { delayMs, costsAttempt: false })
  }

  /** The models that one ask turns to, one after the other, each once. */
  function turnsOf(ask: Ask, chain: readonly string[], asking: Asking) {
    let left = chain
    const others = (model: string) => left.some((other) => other !== model)
    return {
      first: breakers.preferred(chain, asking.attempt).model,
      async pay(asked: Ask, messages: readonly ChatMessage[], model: string): Promise<Paid> {
        return payFor(asked, leaveFor(ask, chain, model, asking), messages, { ...asking, others: others(model) })
      },
      /** The model to ask after this error of another; null where the error is the ask's. */
      instead(error: unknown, model: string): string | null {
        left = left.filter((other) => other !== model)
        if (left.length === 0 || !elsewhere(error)) return null
        const next = breakers.preferred(left, 1)
        return next.retryInMs === 0 ? next.model : null
      },
    }
  }

  /** Asks the model whose turn it is, and where another may do better, that one. */
  async function payNow(ask: Ask, turns: ReturnType<typeof turnsOf>, messages: readonly ChatMessage[]): Promise<Paid> {
    for (let model = turns.first; ; ) {
      try {
        return await turns.pay(ask, messages, model)
      } catch (error) {
        const next = turns.instead(error, model)
        if (next === null) throw error
        model = next
      }
    }
  }

  /** Asks, and once more if the answer can't be read. */
  async function payFor(
    ask: Ask,
    pass: Pass,
    messages: readonly ChatMessage[],
    asking: Asking & { others: boolean },
  ): Promise<Paid> {
    const calling = { ...asking, tenant: asking.subject.tenant }
    try {
      return await calls.withPlace(pass.model, asking.signal, async (guards) => {
        const first = await calls.call(ask, pass, messages, calling, guards)
        if (first.reading.readable) return paidFor(pass.model, [first], settings.prices)
        const again = [...messages, ...repair(ask, first.reply, first.reading.why)]
        const second = await repaired(ask, pass.model, again, calling, guards)
        return paidFor(pass.model, second === null ? [first] : [first, second], settings.prices)
      })
    } finally {
      // Counts only where the call was never made: who waited for a place may have been stopped.
      breakers.note(pass, 'not-made')
    }
  }

  /** The repair question; null where it may not be asked now: what was paid for stands, and is not thrown away. */
  async function repaired(
    ask: Ask,
    model: string,
    messages: readonly ChatMessage[],
    calling: Calling,
    guards: Guards,
  ): Promise<Answered | null> {
    const leave = breakers.allow(model)
    if (!leave.ok) return null
    try {
      return await calls.call(ask, leave.pass, messages, calling, guards)
    } catch (error) {
      if (error instanceof NotMade || (error instanceof PermanentError && error.code === 'budget')) return null
      throw error
    } finally {
      // Counts only where the call was never made.
      breakers.note(leave.pass, 'not-made')
    }
  }

  /**
   * The messages as the model gets them. Images are fetched in one of its places, and only while it may be called and the
   * call has room: what has to wait, or may not be asked at all, fetches nothing.
   */
  async function messagesOf(ask: Ask, chain: readonly string[], asking: Asking): Promise<readonly ChatMessage[]> {
    const messages = withFormat(ask)
    if (messages.every(({ images: shown }) => shown === undefined)) return messages
    const pass = leaveFor(ask, chain, breakers.preferred(chain, asking.attempt).model, asking)
    // It only looks: the pass for the call itself is another.
    breakers.note(pass, 'not-made')
    const calling = { ...asking, tenant: asking.subject.tenant, others: false }
    return calls.withPlace(pass.model, asking.signal, () =>
      calls.withRoom(ask, pass.model, messages, calling, () => withImages(messages, images, asking)),
    )
  }

  return {
    async ask(ask, asking) {
      try {
        const settled = await settle(ask, asking)
        images.forget(asking.askId)
        return settled
      } catch (error) {
        if (!(error instanceof RetryLaterError)) images.forget(asking.askId)
        throw error
      }
    },
    get busy() {
      return calls.busy
    },
    get waiting() {
      return calls.waiting
    },
  }

  async function settle(ask: Ask, asking: Asking): Promise<Settled> {
    const { roles } = settings
    const chain = chainOf(roles, asking.protocol, ask.role)
    if (chain.length === 0) throw new PermanentError('rejected', `no model is set for the role ${ask.role}`)
    const { subject, signal, deadline } = asking
    const turns = turnsOf(ask, chain, asking)
    if (once === null || !asking.remember)
      return { ...(await payNow(ask, turns, await messagesOf(ask, chain, asking))), memo: false }
    const { saved, ...settled } = await once(ask, {
      ...{ model: turns.first, subject, signal, deadline },
      messagesOf: (asked) => messagesOf(asked, chain, asking),
      ...{ pay: turns.pay, instead: turns.instead },
    })
    const { memoHits: hits } = settled.usage
    if (hits > 0) report('memo:hit', { protocol: asking.protocol, stage: ask.stage, hits, ...saved })
    return settled
  }
}

/** A longer wait than this is not waited for where another model can be asked, in ms. */
const LONG_WAIT_MS = 10_000

/** The breaker keeps calls away from this model; another of the chain may be asked. */
class KeptAway extends NotMade {}

/** Whether another model may do better, now. */
function elsewhere(error: unknown): boolean {
  if (error instanceof NotMade) return error instanceof KeptAway
  if (error instanceof PermanentError) return error.elsewhere !== undefined
  return error instanceof RetryLaterError && (error.delayMs ?? 0) > LONG_WAIT_MS
}

/** The messages with their images as data URLs. A model is asked only when every image has been fetched and checked. */
async function withImages(
  messages: readonly ChatMessage[],
  images: HeldImages,
  { askId, signal }: Asking,
): Promise<readonly ChatMessage[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (message.images === undefined) return message
      return { ...message, images: await Promise.all(message.images.map((url) => images.load(askId, url, signal))) }
    }),
  )
}

function paidFor(name: string, answered: readonly Answered[], prices: Readonly<Record<string, Price>>): Paid {
  const last = answered.at(-1)
  if (last === undefined) throw new Error('an ask settled without a call')
  const { reading, reply } = last
  return {
    answer: reading.readable ? reading.answer : null,
    ...(reading.readable ? {} : { failed: { code: reading.code, detail: reading.why } }),
    raw: reply.text,
    model: reply.model,
    usage: answered
      .map((each) => ({ ...noUsage(), calls: 1, ...chargeOf(each.reply, entryOf(prices, name)) }))
      .reduce(addUsage, noUsage()),
    ms: answered.reduce((sum, { ms }) => sum + ms, 0),
  }
}

/** The models that a role's asks go to, in order of preference. */
export function chainOf(roles: GatewaySettings['roles'], protocol: string, role: string): readonly string[] {
  return entryOf(roles, `${protocol}.${role}`) ?? entryOf(roles, role) ?? roles.default ?? []
}
