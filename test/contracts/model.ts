import { fences } from '../../src/contracts/facts/fence.ts'
import type { Model, ModelRequest } from '../../src/contracts/ports/model.ts'

export const SCHEMA = {
  type: 'object',
  properties: { reasoning: { type: 'string' }, answer: { type: 'string', enum: ['Real', 'Fake'] } },
  required: ['reasoning', 'answer'],
  additionalProperties: false,
}

/** What a request may hold that must not turn up in an error. */
export const SECRET = 'SECRET-claim-of-the-post'

export const requestOf = (change: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gpt-x',
  messages: [
    { role: 'system', content: 'You judge.' },
    {
      role: 'user',
      content: `${fences('key', 1_000)('claim', SECRET)}\nAnswer format (opinion): ${JSON.stringify(SCHEMA)}`,
    },
  ],
  temperature: 0.2,
  maxTokens: 500,
  answer: { name: 'opinion', schema: SCHEMA },
  callId: 'call-7',
  timeoutMs: 10_000,
  signal: new AbortController().signal,
  ...change,
})

/** The error in which a call ends. */
export async function failureOf(model: Model, change: Partial<ModelRequest> = {}): Promise<unknown> {
  try {
    await model.complete(requestOf(change))
  } catch (error) {
    return error
  }
  throw new Error('the call was answered')
}
