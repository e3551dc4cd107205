import { expect, test } from 'vitest'
import { framesOfCall, typesOf } from './ask.ts'

test('an ask passes through nine functions from the engine to its HTTP call, beside the gateway that hands it on, in six types', async () => {
  const frames = await framesOfCall()
  expect(frames.map(({ name }) => name).filter((name) => name !== '')).toEqual([
    ...['answer', 'answerFound'],
    ...['ask', 'askInTurn', 'askModel', 'askQuestion'],
    ...['complete', 'Endpoint.post', 'Endpoint.#exchange'],
  ])
  expect(typesOf(frames)).toEqual(['AskContext', 'Attempt', 'AttemptEnd', 'ModelReply', 'ModelRequest', 'Settled'])
})
