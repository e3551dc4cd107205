import { expect, it } from 'vitest'
import { answerWatch } from '../../src/operations/answer-watch.ts'

const SAYS = { withinMs: 20, why: (error?: unknown) => (error instanceof Error ? error.message : 'does not answer') }

it('what is silent is away, is asked one question at a time, and is here as soon as it answers', async () => {
  let asked = 0
  let { promise, resolve } = Promise.withResolvers<void>()
  const watch = answerWatch(() => {
    asked++
    return promise
  }, SAYS)
  expect(watch.away).toBeNull()
  expect(await Promise.all([watch.poll(), watch.poll()])).toEqual(['does not answer', 'does not answer'])
  expect([await watch.poll(), watch.away, asked]).toEqual(['does not answer', 'does not answer', 1])
  resolve()
  await promise
  await new Promise((done) => setImmediate(done))
  expect([watch.away, asked]).toEqual([null, 1])
  ;({ promise, resolve } = Promise.withResolvers<void>())
  resolve()
  expect([await watch.poll(), asked]).toEqual([null, 2])
})

it('what fails is away for the reason that it gives, until it answers', async () => {
  let fails = true
  const watch = answerWatch(async () => {
    if (fails) throw new Error('is loading')
  }, SAYS)
  expect(await watch.poll()).toBe('is loading')
  fails = false
  expect(await watch.poll()).toBeNull()
})

it('what answers in pieces is not away because this process is busy', async () => {
  const watch = answerWatch(
    async () => {
      for (let piece = 0; piece < 17; piece++) {
        await new Promise((done) => setImmediate(done))
        for (const until = performance.now() + 80; performance.now() < until; );
      }
    },
    { ...SAYS, withinMs: 1_000 },
  )
  expect(await watch.poll()).toBeNull()
})
