import { expect, test } from 'vitest'
import { largeCases } from '../../../src/judging/engine/large-cases.ts'

function setUp(lengths: Readonly<Record<string, number>>) {
  const looked: string[] = []
  const recordLength = async (id: string) => {
    looked.push(id)
    return lengths[id] ?? 0
  }
  return { ...largeCases({ recordLength }), looked }
}

test('of large cases so many are used at a time as have sixteen million characters, and of others any number', async () => {
  const { takeTurn } = setUp({ a: 9_000_000, b: 9_000_000, c: 7_000_000, d: 62_499 })
  const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((id) => takeTurn(id)))
  expect([a, b, c, d].map((one) => one !== null)).toEqual([true, false, true, true])
  d?.end()
  expect(await takeTurn('b')).toBeNull()
  a?.end()
  expect(await takeTurn('b')).not.toBeNull()
})

test('one is used however large it is', async () => {
  const { takeTurn } = setUp({ a: 99_000_000, b: 1_000_000 })
  const a = await takeTurn('a')
  expect(await takeTurn('b')).toBeNull()
  a?.end()
  expect(await takeTurn('b')).not.toBeNull()
})

test('what is used already has room, until the last use has ended, and is not looked at again', async () => {
  const { takeTurn, looked } = setUp({ a: 15_000_000, b: 2_000_000 })
  const uses = [await takeTurn('a'), await takeTurn('a'), await takeTurn('a')]
  expect(looked).toEqual(['a'])
  for (const one of uses) {
    expect(await takeTurn('b')).toBeNull()
    one?.end()
  }
  expect(await takeTurn('b')).not.toBeNull()
})

test('a length that is known is not asked for', async () => {
  const { takeTurn, looked } = setUp({})
  await takeTurn('a', 16_000_000)
  expect(await takeTurn('b', 1_000_000)).toBeNull()
  expect(looked).toEqual([])
})

test('of several that look at once each counts once', async () => {
  const { takeTurn } = setUp({ a: 9_000_000, b: 9_000_000 })
  const all = await Promise.all([takeTurn('a'), takeTurn('a'), takeTurn('b'), takeTurn('b')])
  expect(all.map((one) => one !== null)).toEqual([true, true, false, false])
  for (const one of all) one?.end()
  expect((await Promise.all([takeTurn('b'), takeTurn('b')])).every((one) => one !== null)).toBe(true)
})
