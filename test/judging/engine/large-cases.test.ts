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
  const { use } = setUp({ a: 9_000_000, b: 9_000_000, c: 7_000_000, d: 62_499 })
  const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((id) => use(id)))
  expect([a, b, c, d].map((one) => one !== null)).toEqual([true, false, true, true])
  d?.end()
  expect(await use('b')).toBeNull()
  a?.end()
  expect(await use('b')).not.toBeNull()
})

test('one is used however large it is', async () => {
  const { use } = setUp({ a: 99_000_000, b: 1_000_000 })
  const a = await use('a')
  expect(await use('b')).toBeNull()
  a?.end()
  expect(await use('b')).not.toBeNull()
})

test('what is used already has room, until the last use has ended, and is not looked at again', async () => {
  const { use, looked } = setUp({ a: 15_000_000, b: 2_000_000 })
  const uses = [await use('a'), await use('a'), await use('a')]
  expect(looked).toEqual(['a'])
  for (const one of uses) {
    expect(await use('b')).toBeNull()
    one?.end()
  }
  expect(await use('b')).not.toBeNull()
})

test('a length that is known is not asked for', async () => {
  const { use, looked } = setUp({})
  await use('a', 16_000_000)
  expect(await use('b', 1_000_000)).toBeNull()
  expect(looked).toEqual([])
})

test('of several that look at once each counts once', async () => {
  const { use } = setUp({ a: 9_000_000, b: 9_000_000 })
  const all = await Promise.all([use('a'), use('a'), use('b'), use('b')])
  expect(all.map((one) => one !== null)).toEqual([true, true, false, false])
  for (const one of all) one?.end()
  expect((await Promise.all([use('b'), use('b')])).every((one) => one !== null)).toBe(true)
})
