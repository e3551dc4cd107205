import type { Table } from '@lancedb/lancedb'
import { expect, test } from 'vitest'
import { type ResidentBounds, residentTables } from '../../../src/shelves/lancedb/resident.ts'

/** Tables of vectors of two numbers, eight bytes each; `read` names those that were read whole. */
function tablesOf(bounds: Partial<ResidentBounds> = {}) {
  const tables = new Map<string, { version: number; vectors: number[][] }>()
  const read: string[] = []
  let now = 0
  let gate = Promise.resolve()
  const rowsOf = (vectors: number[][]) =>
    vectors.map((vector, at) => ({
      id: `r${at}`,
      text: 't',
      label: 'l',
      metadata: '{}',
      owner: '',
      source: '',
      change: 'c',
      vector,
    }))
  const open = (name: string) => {
    const here = () => tables.get(name) ?? { version: 0, vectors: [] }
    const query = {
      limit: () => ({ toArray: async () => rowsOf(here().vectors.slice(0, 1)) }),
      async toArray() {
        read.push(name)
        const { vectors } = here()
        await gate
        return rowsOf(vectors)
      },
    }
    return { version: async () => here().version, countRows: async () => here().vectors.length, query: () => query }
  }
  const resident = residentTables(
    // LanceDB's table has fifty methods; these three are all that is read by.
    (name, look) => look(open(name) as unknown as Table),
    { tableBytes: 80, totalBytes: 160, checkEveryMs: 1_000, ...bounds },
    () => now,
  )
  return {
    resident,
    read,
    put(name: string, vectors: number[][]) {
      tables.set(name, { version: (tables.get(name)?.version ?? 0) + 1, vectors })
    },
    pass(ms: number) {
      now += ms
    },
    hold() {
      const held = Promise.withResolvers<void>()
      gate = held.promise
      return held.resolve
    },
    nearest: async (name: string) => (await resident.of(name))?.nearest(Float32Array.from([1, 0]), 9).length,
  }
}
const many = (count: number) => Array.from({ length: count }, (_, at) => [1, at])

test('a table is read once, and again when it has changed', async () => {
  const { put, nearest, read, pass } = tablesOf()
  put('a', many(3))
  expect(await Promise.all([nearest('a'), nearest('a')])).toEqual([3, 3])
  put('a', many(4))
  expect(await nearest('a')).toBe(3)
  pass(1_000)
  expect(await nearest('a')).toBe(4)
  pass(1_000)
  expect(await nearest('a')).toBe(4)
  expect(read).toEqual(['a', 'a'])
})

test('one that this process changes is read anew at once, also while it was being read', async () => {
  const { put, nearest, resident, hold } = tablesOf()
  put('a', many(3))
  const go = hold()
  const before = nearest('a')
  await new Promise(setImmediate)
  put('a', many(5))
  resident.drop('a')
  go()
  expect(await before).toBe(3)
  expect(await nearest('a')).toBe(5)
})

test('one that is too large is left on disk, until it is not', async () => {
  const { put, nearest, read, pass } = tablesOf()
  put('a', many(11))
  expect(await nearest('a')).toBeUndefined()
  expect(read).toEqual([])
  put('a', many(10))
  pass(1_000)
  expect(await nearest('a')).toBe(9)
})

test('the one that was not searched for longest gives way', async () => {
  const { put, nearest, read } = tablesOf()
  for (const name of ['a', 'b', 'c']) put(name, many(10))
  for (const name of ['a', 'b', 'a', 'c', 'a']) await nearest(name)
  expect(read).toEqual(['a', 'b', 'c'])
  await nearest('b')
  expect(read).toEqual(['a', 'b', 'c', 'b'])
})

test('one that nobody searches any more is dropped', async () => {
  const { put, nearest, read, pass } = tablesOf()
  for (const name of ['a', 'b']) put(name, many(2))
  await nearest('a')
  pass(60_000)
  await nearest('b')
  await nearest('a')
  expect(read).toEqual(['a', 'b', 'a'])
})
