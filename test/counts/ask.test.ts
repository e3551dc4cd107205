import { expect, test } from 'vitest'
import { framesOfCall } from './ask.ts'

test('an ask passes through nine functions from the engine to its HTTP call, beside the gateway that hands it on', async () => {
  const names = (await framesOfCall()).map(({ name }) => name).filter((name) => name !== '')
  expect(names).toEqual([
    ...['answer', 'answerFound'],
    ...['ask', 'askInTurn', 'askModel', 'askQuestion'],
    ...['complete', 'Endpoint.post', 'Endpoint.#exchange'],
  ])
})
