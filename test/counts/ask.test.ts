import { expect, test } from 'vitest'
import { framesOfCall, typesOf } from './ask.ts'

test('an ask passes through nine functions from the engine to its HTTP call, beside the gateway that hands it on, and each says by its types what it takes and gives', async () => {
  const frames = await framesOfCall()
  expect(frames.map(({ name }) => name).filter((name) => name !== '')).toEqual([
    'answer',
    'answerFound',
    'ask',
    'askInTurn',
    'askModel',
    'callModel',
    'complete',
    'Endpoint.post',
    'Endpoint.#exchange',
  ])
  expect(typesOf(frames)).toEqual([
    'Admission',
    'AnsweredCall',
    'Ask',
    'AskAnswers',
    'AskContext',
    'AskResult',
    'Attempt',
    'AttemptEnd',
    'ChatMessage',
    'ModelChoice',
    'ModelPrompt',
    'ModelReply',
    'ModelRequest',

    'QuestionSharing',
  ])
})
