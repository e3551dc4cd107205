import { hash } from 'node:crypto'
import type { Ask } from '../domain/ask.ts'
import { hmac } from '../domain/hmac.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import type { ThinkingSettings } from './thinking.ts'

/** Returns the keys under which the memo stores the answers to a question: of a batch, to each of its items. */
export type QuestionKeys = (
  model: string,
  tenant: string,
  /** A question, or a batch without its items. */
  asked: Pick<Ask, 'stage' | 'temperature' | 'maxTokens' | 'draw' | 'expected'>,
  messages: readonly ChatMessage[],
  /** The words of a batch's items. */
  items?: readonly string[],
) => string[]

/**
 * Raised when the stored form of an answer changes, or what a key is made of: version 3 had no frame in the keys of a
 * batch's items.
 */
const FORM = 4
/** Length of an item's hash, 132 bits: no two of one prompt have the same. */
const ITEM_CHARS = 22

/**
 * A question's key: a keyed hash of the model, the tenant whose content it quotes, the messages as sent (which end with
 * the schema) and the parameters, effort and thinking room of the model's dialect among them, so that it does not reveal what was asked. Images count by their data. The keys of a
 * batch's items are that of the prompt that they have in common, a dot, and a keyed hash of the item's words.
 */
export function questionKeys(secret: string, thinkingOf: ThinkingSettings['thinkingOf'] = NOT): QuestionKeys {
  const keyed = hmac(secret)
  return (model, tenant, { stage, temperature, maxTokens, draw, expected }, messages, items) => {
    const sent = messages.map(({ role, content, images = [] }) => [role, content, ...images.map(digest)])
    const { tokens, effort } = thinkingOf(model)
    const thinking = tokens === 0 && effort === null ? undefined : `thinking ${effort ?? ''} ${tokens}`
    const added = [draw, expected === undefined ? undefined : 'expected', thinking].filter((one) => one !== undefined)
    const question = [FORM, model, tenant, stage, temperature, maxTokens, ...added, sent]
    const frame = keyed(JSON.stringify(question), 'base64url')
    if (items === undefined) return [frame]
    return items.map((text) => `${frame}.${keyed(`${frame} ${text}`, 'base64url').slice(0, ITEM_CHARS)}`)
  }
}

const NOT = () => ({ tokens: 0, effort: null })

function digest(data: string): string {
  return hash('sha256', data, 'base64url')
}
