import { expect, test } from 'vitest'
import { answerTimes } from '../../src/door/in-time.ts'

test('work that goes on for answers that were given up is bounded, and room is there when it ends', async () => {
  const timeOf = answerTimes(() => false)
  const { promise: hangs, resolve: wake } = Promise.withResolvers<Response>()
  const begin = () => timeOf('redis', new AbortController().signal)
  const begun = Array.from({ length: 1_000 }, () => {
    const time = begin()
    time.ofCall.within(0)
    return time.answer(hangs).then(
      () => 'answered',
      (error: { problem?: string }) => error.problem,
    )
  })
  begin().ofCall.checkAnswers('redis')
  expect(new Set(await Promise.all(begun))).toEqual(new Set(['store-away']))
  expect(() => begin().ofCall.checkAnswers('redis')).toThrow('nothing of this was begun')
  wake(new Response())
  await new Promise((resolve) => setImmediate(resolve))
  begin().ofCall.checkAnswers('redis')
})

test('the work hears when nobody waits for it any more: its client has gone, or was told something else', async () => {
  const timeOf = answerTimes(() => false)
  const client = new AbortController()
  const { ofCall, answer } = timeOf('kafka', client.signal)
  ofCall.within(0)
  expect((await answer(Promise.resolve(new Response(null, { status: 204 })))).status).toBe(204)
  expect(ofCall.gone().aborted).toBe(false)
  client.abort()
  expect(ofCall.gone().aborted).toBe(true)
  const late = timeOf('kafka', new AbortController().signal)
  late.ofCall.ifLate(() => new Response(null, { status: 202 }))
  late.ofCall.within(0)
  expect((await late.answer(new Promise(() => {}))).status).toBe(202)
  expect(late.ofCall.gone().aborted).toBe(true)
})
