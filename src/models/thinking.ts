import { isBlank } from '../contracts/facts/blank.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { ModelReply } from '../contracts/ports/model.ts'
import { beginsAsAnswer, isOneObject, thoughtsApart } from './reading/text.ts'

export interface ThinkingSettings {
  /** The part of a model's dialect about thinking: the tokens set aside for its thoughts, and its requested effort. */
  readonly thinkingOf: (model: string) => { readonly tokens: number; readonly effort: string | null }
  /** Most tokens that are set aside for the thoughts of one answer. */
  readonly thinkingTokens: number
  /** Whether thoughts stand before the answer in transcripts. */
  readonly keepThoughts: boolean
}

/** How many tokens models are given for their thoughts, beside the longest answer. */
export interface ThinkingRooms {
  of(model: string): number
  /** A larger room, after the answer in this one was cut off while the model thought; null if there is none. */
  larger(model: string, room: number): number | null
  /** Notes that an answer in this room was whole. */
  sufficed(model: string, room: number): void
}

/** A larger room is given to all questions of a model for this long, in ms. */
const KEPT_MS = 3_600_000
const LEAST_TOKENS = 2_048
const GROWS = 4

export function thinkingRooms(settings: ThinkingSettings, clock: Clock): ThinkingRooms {
  const learnt = new Map<string, { readonly room: number; readonly at: number }>()
  const bounded = (tokens: number) => Math.min(tokens, settings.thinkingTokens)
  return {
    of(model) {
      const known = learnt.get(model)
      const room = known === undefined || clock() - known.at >= KEPT_MS ? 0 : known.room
      return Math.max(bounded(settings.thinkingOf(model).tokens), room)
    },
    larger(model, room) {
      const larger = bounded(Math.max(LEAST_TOKENS, GROWS * room, settings.thinkingOf(model).tokens))
      return larger > room ? larger : null
    },
    sufficed(model, room) {
      learnt.set(model, { room, at: clock() })
    },
  }
}

/**
 * A reply whose text holds no thoughts: they stand apart, whichever tags they were in. Some servers take an answer that no thoughts
 * came before for thoughts: what has ended and is one object as a whole is the text.
 */
export function withThoughtsApart(reply: ModelReply, messages: readonly ChatMessage[]): ModelReply {
  if (reply.text === null || isBlank(reply.text)) {
    const { thoughts, ...answer } = reply
    return reply.finish === 'stop' && thoughts !== undefined && isOneObject(thoughts)
      ? { ...answer, text: thoughts }
      : reply
  }
  // A mark that stands in the question may be quoted from it, and ends no thoughts.
  const isQuoted = (mark: string) => messages.some(({ content }) => content.toLowerCase().includes(mark.toLowerCase()))
  const { thoughts, text } = thoughtsApart(reply.text, isQuoted)
  return thoughts === null ? reply : { ...reply, text, thoughts: [reply.thoughts ?? '', thoughts].join('') }
}

/**
 * Whether a reply that can't be read ended for its length while the model thought. Some gateways leave out why an answer
 * ended, and some its usage: then it may have.
 */
export function wasCutInThought(
  { text, finish, thoughts, completionTokens }: ModelReply,
  { readable, most }: { readonly readable: boolean; readonly most: number },
): 'yes' | 'perhaps' | 'no' {
  if (readable) return 'no'
  if (finish === 'length') return thoughts !== undefined || !beginsAsAnswer(text ?? '') ? 'yes' : 'no'
  const isLong = completionTokens === 0 || completionTokens >= most * 0.9
  return finish === 'stop' && thoughts !== undefined && isLong ? 'perhaps' : 'no'
}
