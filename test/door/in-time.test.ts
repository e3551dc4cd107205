import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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
  begin().ofCall.checkAnswers('kafka')
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

test('no answer is kept in memory once it is given, for as long as its connection is', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const client = new AbortController()
  const timeOf = answerTimes(() => false)
  const given = async () => {
    const { ofCall, answer } = timeOf('redis', client.signal)
    ofCall.gone()
    return new WeakRef(await answer(Promise.resolve(new Response('said'))))
  }
  const answers = await Promise.all(Array.from({ length: 20 }, given))
  await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  expect(answers.map((one) => one.deref())).toEqual(answers.map(() => undefined))
  expect(client.signal.aborted).toBe(false)
})
