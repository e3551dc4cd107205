import { expect, test } from 'vitest'
import { forAsker, forNobody, isAskedFor, readTurns } from '../../src/platform/asked-for.ts'
import { madeInPauses } from '../../src/platform/pauses.ts'

const NEVER = () => new AbortController().signal
const keyOf = (tenant: string, key = 'k') => ({ network: '1', tenant, key })
const someTurns = async () => {
  for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** A reader that answers when it is let in, and who was read for. */
function reader() {
  const [inTurn, read, waiting] = [readTurns(), [] as string[], [] as (() => void)[]]
  const once = (who: string) =>
    inTurn(() => {
      read.push(who)
      return new Promise<void>((resolve) => void waiting.push(resolve))
    })
  const letIn = async () => {
    waiting.shift()?.()
    await someTurns()
  }
  return { once, read, waiting, letIn }
}

test('who asks for a hundred readings at once keeps nobody else waiting for more than two', async () => {
  const { once, read, waiting, letIn } = reader()
  const flood = forAsker(keyOf('acme'), { gone: NEVER }, () =>
    Promise.all(Array.from({ length: 100 }, () => once('acme'))),
  )
  const other = forAsker(keyOf('other'), { gone: NEVER }, () => once('other'))
  await someTurns()
  expect(read).toEqual(['acme', 'acme', 'other'])
  while (waiting.length > 0) await letIn()
  await Promise.all([flood, other])
  expect(read).toHaveLength(101)
})

test('nothing more is read for who has gone, but what several wait for is', async () => {
  const { once, read, letIn } = reader()
  const leaving = new AbortController()
  const left = forAsker(keyOf('acme'), { gone: () => leaving.signal }, async () => {
    const shared = forNobody(() => once('shared'))
    await once('acme')
    await Promise.allSettled([once('acme, gone'), shared])
    return once('acme, later')
  })
  const ended = expect(left).rejects.toThrow('left')
  await someTurns()
  leaving.abort(new Error('left'))
  await letIn()
  await letIn()
  await ended
  expect(read).toEqual(['shared', 'acme'])
})

test('what is read for somebody is known wherever it is read, and how long it took', async () => {
  const inTurn = readTurns()
  let readMs = 0
  const owes = (ms: number) => {
    readMs = ms
  }
  const result = await forAsker(keyOf('acme'), { gone: NEVER, owes }, async () => {
    await inTurn(() => new Promise((resolve) => setTimeout(resolve, 20)))
    return isAskedFor()
  })
  expect([result, isAskedFor(), readMs >= 15]).toEqual([true, false, true])
})

test('other work has its turn after each 32 KiB of what is made', async () => {
  let turns = 0
  const counting = setImmediate(function count() {
    turns++
    if (turns < 1_000) setImmediate(count)
  })
  await madeInPauses(
    Array.from({ length: 64 }, () => 16 * 1024),
    (bytes) => bytes,
    String,
  )
  clearImmediate(counting)
  expect(turns).toBeGreaterThanOrEqual(32)
})
