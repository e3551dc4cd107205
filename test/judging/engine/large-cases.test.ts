import { expect, test } from 'vitest'
import { largeCases } from '../../../src/judging/engine/large-cases.ts'

function setUp(lengths: Readonly<Record<string, number>>) {
  const looked: string[] = []
  const recordLength = async (id: string) => {
    looked.push(id)
    return lengths[id] ?? 0
  }
  let now = 0
  const pass = (ms: number) => {
    now += ms
  }
  return { ...largeCases({ recordLength }, () => now), looked, pass }
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

test('a tenant that finds no room has it after one case more of another, however many those have', async () => {
  const ids = ['one', 'two', 'three', 'four'].map((id) => `rumor@many~${id}~r1`)
  const [one = '', two = '', three = '', four = ''] = ids
  const few = 'rumor@few~own~r1'
  const { takeTurn, pass } = setUp(Object.fromEntries([...ids, few].map((id) => [id, 9_000_000])))
  const first = await takeTurn(one)
  expect(await takeTurn(few)).toBeNull()
  first?.end()
  const second = await takeTurn(two)
  expect(second).not.toBeNull()
  expect(await takeTurn(few)).toBeNull()
  second?.end()
  expect(await takeTurn(three)).toBeNull()
  const own = await takeTurn(few)
  expect(own).not.toBeNull()
  own?.end()
  const third = await takeTurn(three)
  expect(third).not.toBeNull()
  // Who never comes back holds up nobody.
  expect(await takeTurn(few)).toBeNull()
  third?.end()
  ;(await takeTurn(four))?.end()
  expect(await takeTurn(one)).toBeNull()
  pass(6_001)
  expect(await takeTurn(one)).not.toBeNull()
})

test('tenants that have many each go on, and none waits for one that waits for it', async () => {
  const tenants = ['many', 'more', 'most']
  const ids = tenants.flatMap((tenant) => ['one', 'two', 'three'].map((id) => `rumor@${tenant}~${id}~r1`))
  const { takeTurn, pass } = setUp(Object.fromEntries(ids.map((id) => [id, 9_000_000])))
  const turns = new Map(tenants.map((tenant) => [tenant, 0]))
  for (let round = 0; round < 60; round++)
    for (const id of ids) {
      const turn = await takeTurn(id)
      const tenant = /@(\w+)~/.exec(id)?.[1] ?? ''
      if (turn !== null) turns.set(tenant, (turns.get(tenant) ?? 0) + 1)
      // It is still used when the next one asks.
      if (turn !== null) await takeTurn(ids[(ids.indexOf(id) + 4) % ids.length] ?? '')
      turn?.end()
      pass(500)
    }
  for (const [tenant, count] of turns) expect(count, tenant).toBeGreaterThan(20)
})
