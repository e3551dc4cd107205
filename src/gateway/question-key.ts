import { createHash, createHmac } from 'node:crypto'
import type { Ask } from '../domain/ask.ts'
import type { ChatMessage } from '../domain/verdict.ts'

/** Returns the key under which the memo stores a question's answer. */
export type QuestionKey = (model: string, tenant: string, ask: Ask, messages: readonly ChatMessage[]) => string

/** Raised when the stored form of an answer changes, or who may see it: version 1 did not separate tenants. */
const FORM = 2

/**
 * A question's key: a keyed hash of the model, the tenant whose content it quotes, the messages as sent (which end with
 * the schema) and the parameters, so that it does not reveal what was asked. Images count by their data.
 */
export function questionKeys(secret: string): QuestionKey {
  return (model, tenant, { stage, temperature, maxTokens, draw, expected }, messages) => {
    const sent = messages.map(({ role, content, images = [] }) => [role, content, ...images.map(digest)])
    const added = [draw, expected === undefined ? undefined : 'expected'].filter((one) => one !== undefined)
    const parameters = [stage, temperature, maxTokens, ...added]
    const question = JSON.stringify([FORM, model, tenant, ...parameters, sent])
    return createHmac('sha256', secret).update(question).digest('base64url')
  }
}

function digest(data: string): string {
  return createHash('sha256').update(data).digest('base64url')
}
