import { createHash, createHmac } from 'node:crypto'
import type { Ask } from '../domain/ask.ts'
import type { ChatMessage } from '../domain/verdict.ts'

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

/** Raised when the stored form of an answer changes, or what a key is made of: version 2 hashed each item's whole prompt. */
const FORM = 3

/**
 * A question's key: a keyed hash of the model, the tenant whose content it quotes, the messages as sent (which end with
 * the schema) and the parameters, so that it does not reveal what was asked. Images count by their data.
 */
export function questionKeys(secret: string): QuestionKeys {
  const keyed = (parts: unknown) => createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url')
  return (model, tenant, { stage, temperature, maxTokens, draw, expected }, messages, items) => {
    const sent = messages.map(({ role, content, images = [] }) => [role, content, ...images.map(digest)])
    const added = [draw, expected === undefined ? undefined : 'expected'].filter((one) => one !== undefined)
    const question = [FORM, model, tenant, stage, temperature, maxTokens, ...added, sent]
    if (items === undefined) return [keyed(question)]
    // The items of a batch have their prompt in common: it is hashed once.
    const frame = digest(JSON.stringify(question))
    return items.map((text) => keyed([frame, text]))
  }
}

function digest(data: string): string {
  return createHash('sha256').update(data).digest('base64url')
}
