import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { table } from '../../../src/cli/terminal.ts'
import { OperatorError } from '../../../src/contracts/facts/errors.ts'
import { untilStopped } from '../../../src/kit/bench/until-stopped.ts'

function setUp() {
  const said: unknown[] = []
  const stop = new AbortController()
  return { said, stop, io: { say: (line: unknown) => void said.push(line), signal: stop.signal } }
}

test('a bench that is stopped ends in one line with what was measured until then, whatever fails of the stop', async () => {
  const { said, stop, io } = setUp()
  const bench = untilStopped(io, async ({ say, signal }) => {
    say('the plain client …')
    say('the plain client: 9 calls')
    say('through the gateway …')
    stop.abort()
    await sleep(60_000, undefined, { signal })
  })
  await expect(bench).rejects.toThrow(
    new OperatorError('Stopped before the end; measured until then: the plain client: 9 calls'),
  )
  expect(said).toHaveLength(3)
})

test('before anything was measured it says that', async () => {
  const { stop, io } = setUp()
  const bench = untilStopped(io, async ({ signal }) => {
    stop.abort()
    signal.throwIfAborted()
  })
  await expect(bench).rejects.toThrow('Stopped before the end; nothing was measured yet')
})

test('a table is printed, and is no part of that line', async () => {
  const { said, stop, io } = setUp()
  const drawing = table(['fault'], [['hang']])
  const bench = untilStopped(io, async ({ say, signal }) => {
    say(drawing)
    say('9 orphans')
    stop.abort()
    signal.throwIfAborted()
  })
  await expect(bench).rejects.toThrow('Stopped before the end; measured until then: 9 orphans')
  expect(said).toEqual([drawing, '9 orphans'])
})

test('an error that is no stop is left as it is', async () => {
  const { io } = setUp()
  const error = new TypeError('x')
  await expect(untilStopped(io, () => Promise.reject(error))).rejects.toBe(error)
})
