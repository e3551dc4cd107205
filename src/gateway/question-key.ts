import { createHash, createHmac } from 'node:crypto'
import type { Ask } from '../domain/ask.ts'
import type { ChatMessage } from '../domain/verdict.ts'

/** The key under which the memo knows a question. */
export type QuestionKey = (model: string, tenant: string, ask: Ask, messages: readonly ChatMessage[]) => string

/** Raised when what is kept of an answer changes, or for whom: version 1 did not tell tenants apart. */
const FORM = 2

/**
 * A question's key: a keyed hash of the model, the tenant whose content it is about, the messages as sent (their last lines
 * hold the schema) and the parameters, so that nobody can tell from it what was asked. Images count by their data.
 */
export function questionKeys(secret: string): QuestionKey {
  return (model, tenant, { stage, temperature, maxTokens }, messages) => {
    const sent = messages.map(({ role, content, images = [] }) => [role, content, ...images.map(digest)])
    const question = JSON.stringify([FORM, model, tenant, stage, temperature, maxTokens, sent])
    return createHmac('sha256', secret).update(question).digest('base64url')
  }
}

function digest(data: string): string {
  return createHash('sha256').update(data).digest('base64url')
}
