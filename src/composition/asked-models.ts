import { PermanentError } from '../domain/errors.ts'
import type { Model } from '../ports/model.ts'

const WAIT_MS = 10_000

/**
 * Those of the models that their endpoint does not have, by one tiny question to each. An endpoint that does not answer, or
 * refuses for another reason, says nothing of its models: that is found out by the first real question.
 */
export async function missingModels(model: Model, names: readonly string[], signal: AbortSignal): Promise<string[]> {
  const missing = await Promise.all(
    names.map(async (name) => {
      try {
        await model.complete({
          ...{ model: name, temperature: 0, maxTokens: 16, callId: 'check', timeoutMs: WAIT_MS, signal },
          messages: [{ role: 'user', content: 'Is water wet? Answer in this form: {"answer": "Yes" or "No"}' }],
          answer: { name: 'check', schema: FORM },
        })
        return []
      } catch (error) {
        return error instanceof PermanentError && error.mend === 'model' ? [name] : []
      }
    }),
  )
  return missing.flat()
}

const FORM = {
  type: 'object',
  properties: { answer: { type: 'string', enum: ['Yes', 'No'] } },
  required: ['answer'],
  additionalProperties: false,
}
