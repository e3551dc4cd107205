import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Ask } from '../domain/ask.ts'
import { PermanentError, RetryLaterError } from '../domain/errors.ts'
import { addUsage, type ChatMessage, noUsage, type Usage } from '../domain/verdict.ts'
import type { Clock } from '../ports/clock.ts'
import type { LoadImage } from '../ports/images.ts'
import type { Model, ModelReply } from '../ports/model.ts'
import type { Report } from '../ports/report.ts'
import { readAnswer } from './read-answer.ts'
import { slots } from './slots.ts'

export interface GatewaySettings {
  /** Calls in flight at once from this process. */
  readonly slots: number
  /** Longest wait for one call, in ms. */
  readonly callTimeoutMs: number
  /** By PROTOCOL.ROLE or ROLE: models in order of preference; `default` for roles that are not named. */
  readonly roles: Readonly<Record<string, readonly string[]>>
  /** US dollars per million tokens, by model; a model without a price costs nothing. */
  readonly prices: Readonly<Record<string, { prompt: number; cached: number; completion: number }>>
}

/** How an ask ended, and what it took. */
export interface Settled {
  readonly answer: unknown
  readonly failed?: { readonly code: string; readonly detail: string }
  readonly raw: string | null
  readonly model: string
  readonly usage: Usage
  readonly ms: number
}

export interface Call {
  readonly id: string
  readonly outcome: string
}

/** One attempt at an ask. */
export interface Asking {
  readonly protocol: string
  /** 1 for the first attempt; the nth uses the nth model of the role's chain. */
  readonly attempt: number
  readonly signal: AbortSignal
  /** ms since 1970; no call is begun after it, and one in flight is cut off. */
  readonly deadline: number
  /** Every call is written down here as soon as it has ended, also when this attempt throws. */
  readonly calls: Call[]
}

/**
 * Stands between asks and models. An ask ends with a readable answer or a named failure; an answer that can't be read is
 * asked for once more, then the ask has failed. Throws `RetryLaterError` where the queue should try again.
 */
export interface Gateway {
  ask(ask: Ask, asking: Asking): Promise<Settled>
  /** Asks that hold a slot now, and asks that wait for one. */
  readonly busy: number
  readonly waiting: number
}

export function gateway(deps: {
  model: Model
  loadImage: LoadImage
  settings: GatewaySettings
  clock: Clock
  report: Report
}): Gateway {
  const { model, loadImage, settings, clock, report } = deps
  const places = slots(settings.slots)

  async function call(ask: Ask, name: string, messages: readonly ChatMessage[], asking: Asking) {
    const id = randomUUID()
    const started = clock()
    const left = asking.deadline - started
    if (left <= 0) throw new PermanentError('deadline', "the case's deadline has passed")
    const note = (outcome: string, reply?: ModelReply) => {
      asking.calls.push({ id, outcome })
      report('call:ended', {
        protocol: asking.protocol,
        stage: ask.stage,
        model: name,
        outcome,
        seconds: (clock() - started) / 1000,
        promptTokens: reply?.promptTokens ?? 0,
        completionTokens: reply?.completionTokens ?? 0,
        costUsd: reply === undefined ? 0 : costOf(reply, settings.prices[name]),
      })
    }
    try {
      const reply = await model.complete({
        model: name,
        messages,
        temperature: ask.temperature,
        maxTokens: ask.maxTokens,
        answer: { name: ask.stage, schema: jsonSchema(ask.answer) },
        callId: id,
        timeoutMs: Math.min(settings.callTimeoutMs, left),
        signal: asking.signal,
      })
      const reading = read(reply, ask)
      note(reading.readable ? 'answered' : reading.code, reply)
      return { reply, reading, ms: clock() - started }
    } catch (error) {
      note(error instanceof RetryLaterError || error instanceof PermanentError ? error.code : 'error')
      throw error
    }
  }

  return {
    async ask(ask, asking) {
      const { roles } = settings
      const chain = roles[`${asking.protocol}.${ask.role}`] ?? roles[ask.role] ?? roles.default ?? []
      const name = chain[Math.min(asking.attempt, chain.length) - 1]
      if (name === undefined) throw new PermanentError('rejected', `no model is set for the role ${ask.role}`)
      return places.run(asking.signal, async () => {
        const messages = await withImages(withFormat(ask), loadImage, asking.signal)
        const first = await call(ask, name, messages, asking)
        if (first.reading.readable) return settled(name, [first], settings)
        const second = await call(ask, name, [...messages, ...repair(ask, first.reply, first.reading.why)], asking)
        return settled(name, [first, second], settings)
      })
    },
    get busy() {
      return places.busy
    },
    get waiting() {
      return places.waiting
    },
  }
}

type Heard = { readable: true; answer: unknown } | { readable: false; code: string; why: string }
type Ended = { readonly reply: ModelReply; readonly reading: Heard; readonly ms: number }

function read(reply: ModelReply, ask: Ask): Heard {
  if (reply.finish === 'refusal') return { readable: false, code: 'refused', why: 'the model refused' }
  if (reply.finish === 'content-filter')
    return { readable: false, code: 'content-filter', why: "the endpoint's filter stopped it" }
  const reading = readAnswer(reply.text ?? '', ask.answer)
  if (reading.readable) return reading
  const cut = reply.finish === 'length' ? ', cut at the token limit' : ''
  return { readable: false, code: 'unreadable', why: `${reading.why}${cut}` }
}

function settled(name: string, ended: readonly Ended[], settings: GatewaySettings): Settled {
  const last = ended.at(-1)
  if (last === undefined) throw new Error('an ask settled without a call')
  const { reading, reply } = last
  return {
    answer: reading.readable ? reading.answer : null,
    ...(reading.readable ? {} : { failed: { code: reading.code, detail: reading.why } }),
    raw: reply.text,
    model: reply.model,
    usage: ended.map(({ reply }) => usageOf(reply, settings.prices[name])).reduce(addUsage, noUsage()),
    ms: ended.reduce((sum, { ms }) => sum + ms, 0),
  }
}

function usageOf(reply: ModelReply, price: GatewaySettings['prices'][string] | undefined): Usage {
  return {
    calls: 1,
    memoHits: 0,
    promptTokens: reply.promptTokens,
    cachedTokens: reply.cachedTokens,
    completionTokens: reply.completionTokens,
    costUsd: costOf(reply, price),
  }
}

/** US dollars; cached prompt tokens are a part of the prompt tokens. */
function costOf(reply: ModelReply, price: GatewaySettings['prices'][string] | undefined): number {
  if (price === undefined) return 0
  const fresh = Math.max(0, reply.promptTokens - reply.cachedTokens)
  return (fresh * price.prompt + reply.cachedTokens * price.cached + reply.completionTokens * price.completion) / 1e6
}

/** The messages with their images as data URLs. A model is asked only when every image has been fetched and checked. */
async function withImages(
  messages: readonly ChatMessage[],
  loadImage: LoadImage,
  signal: AbortSignal,
): Promise<readonly ChatMessage[]> {
  if (messages.every(({ images }) => images === undefined)) return messages
  return Promise.all(
    messages.map(async (message) => {
      if (message.images === undefined) return message
      return { ...message, images: await Promise.all(message.images.map((url) => loadImage(url, signal))) }
    }),
  )
}

/** The messages as they are sent, but for the images in them: the form of the answer stands once more, for machines, at the end. */
export function withFormat(ask: Ask): ChatMessage[] {
  if (ask.lookup !== undefined) return []
  const line = formatLine(ask)
  const last = ask.messages.at(-1)
  if (last?.role !== 'user') return [...ask.messages, { role: 'user', content: line }]
  return [...ask.messages.slice(0, -1), { ...last, content: `${last.content}\n\n${line}` }]
}

function formatLine(ask: Ask): string {
  return `Answer format (${ask.stage}): ${schemaLine(ask.answer)}`
}

/** The one repair question: what came back, what was wrong with it, and the form once more. */
function repair(ask: Ask, reply: ModelReply, why: string): ChatMessage[] {
  const said: ChatMessage[] = reply.text ? [{ role: 'assistant', content: reply.text }] : []
  return [
    ...said,
    {
      role: 'user',
      content: `That answer could not be read (${why}). Give your answer once more, as one JSON object in the form asked for, and nothing else.\n\n${formatLine(ask)}`,
    },
  ]
}

const schemas = new WeakMap<z.ZodType, { schema: unknown; line: string }>()

function described(answer: z.ZodType): { schema: unknown; line: string } {
  const known = schemas.get(answer)
  if (known !== undefined) return known
  const { $schema: _, ...schema } = z.toJSONSchema(answer)
  const made = { schema, line: JSON.stringify(schema) }
  schemas.set(answer, made)
  return made
}

function jsonSchema(answer: z.ZodType): unknown {
  return described(answer).schema
}

function schemaLine(answer: z.ZodType): string {
  return described(answer).line
}
