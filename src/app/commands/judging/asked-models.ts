import { setTimeout as sleep } from 'node:timers/promises'
import { PermanentError, RetryLaterError } from '../../../contracts/facts/errors.ts'
import type { Model, ModelRequest } from '../../../contracts/ports/model.ts'
import type { WatchedEndpoint } from './watched-endpoint.ts'

const WAIT_MS = 10_000

/**
 * Those of the models that their endpoint does not have, by one tiny question to each. An endpoint that does not answer, or
 * refuses for another reason, reveals nothing about its models: the first real question finds that out.
 */
export async function missingModels(model: Model, names: readonly string[], signal: AbortSignal): Promise<string[]> {
  const missing = await Promise.all(
    names.map(async (name) => {
      try {
        await model.complete(tinyQuestion(name, signal))
        return []
      } catch (error) {
        return error instanceof PermanentError && error.operatorAction === 'model' ? [name] : []
      }
    }),
  )
  return missing.flat()
}

/** Silence at the beginning is asked again after this, in ms, so often. */
const AGAIN_MS = 700
const MOST_TRIES = 10

/**
 * Asks the first model of each chain one tiny question, before anything is started for them. Rejects with why an endpoint is
 * given up, if one is: nobody answers, or the operator has to mend what it reports and the chain has no other model.
 */
export async function untilAnswered(
  { model, dead }: WatchedEndpoint,
  chains: Readonly<Record<string, readonly string[]>>,
  signal: AbortSignal,
): Promise<void> {
  const firsts = new Map(Object.values(chains).map(([first = '', ...others]) => [first, others.length === 0]))
  await Promise.all(
    [...firsts].map(async ([name, alone]) => {
      for (let tries = 1; tries <= MOST_TRIES; tries++) {
        const error = await model.complete({ ...tinyQuestion(name, signal), alone }).then(
          () => null,
          (error: unknown) => error,
        )
        const gone = dead()
        if (gone !== null) throw gone
        if (!(error instanceof RetryLaterError && error.code === 'unavailable')) return
        await sleep(AGAIN_MS, undefined, { signal })
      }
    }),
  )
}

function tinyQuestion(model: string, signal: AbortSignal): ModelRequest {
  return {
    model,
    temperature: 0,
    maxTokens: 16,
    callId: 'check',
    timeoutMs: WAIT_MS,
    signal,
    messages: [{ role: 'user', content: 'Is water wet? Answer in this form: {"answer": "Yes" or "No"}' }],
    answer: { name: 'check', schema: FORM },
  }
}

const FORM = {
  type: 'object',
  properties: { answer: { type: 'string', enum: ['Yes', 'No'] } },
  required: ['answer'],
  additionalProperties: false,
}
