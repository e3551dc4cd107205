import { expect, it } from 'vitest'
import type { Library } from '../../src/contracts/ports/library.ts'
import { memoryLibrary, memoryStorage } from '../../src/shelves/memory.ts'
import { ownerOf } from '../../src/shelves/names.ts'
import type { Storage } from '../../src/shelves/storage.ts'
import { item, signal, wordEmbedder } from '../contracts/library.ts'

const subject = { tenant: 'default', id: 'p1', kind: 'post' as const }
const theirs = item('a fox', 'wild', { subject })
const others = item('a fox', 'tame', { subject: { ...subject, id: 'p2' } })

/** A library, and another on the same storage, of which each step of a kind calls `meanwhile` first. */
function libraries(step: 'rowsBy' | 'changes' | 'proposalsOf', meanwhile: () => Promise<unknown>) {
  const storage = memoryStorage()
  const watched: Storage = {
    ...storage,
    [step]: async (...given: never[]) => {
      await meanwhile()
      return (storage[step] as (...given: never[]) => unknown)(...given)
    },
  }
  return [storage, watched].map((one) => memoryLibrary(wordEmbedder(), { storage: one })) as [Library, Library]
}

/** A step that is taken once, with the call that comes after so many. */
function once(after: number, work: () => Promise<unknown>) {
  let calls = 0
  return async () => {
    if (calls++ === after) await work()
  }
}

/** Also where a table was replaced while it was read: then it is tried again, as everything that erases is. */
async function found(library: Library) {
  const owners = [ownerOf(subject)]
  return library.forget(owners).catch(() => library.forget(owners))
}

const STEPS = [
  ['proposalsOf', 0],
  ['changes', 0],
  ['rowsBy', 0],
  ['changes', 1],
] as const

it.each(STEPS)('finds what a rollback puts back on its shelf meanwhile, before %s, %i', async (step, after) => {
  let later = ''
  const [library, watched] = libraries(
    step,
    once(after, () => library.rollback(later)),
  )
  await library.add('animals', [theirs], 'ann', signal)
  later = (await library.add('animals', [others], 'ann', signal)).id
  expect((await found(watched)).owned).toEqual(new Set([ownerOf(subject)]))
  expect(await library.forget([ownerOf(subject)])).toEqual({ erased: 0, owned: new Set(), damaged: [] })
})

it.each(STEPS)('finds what another item replaces on its shelf meanwhile, before %s, %i', async (step, after) => {
  const [library, watched] = libraries(
    step,
    once(after, () => library.add('animals', [others], 'ann', signal)),
  )
  await library.add('animals', [theirs], 'ann', signal)
  expect((await found(watched)).owned).toEqual(new Set([ownerOf(subject)]))
  expect(await library.forget([ownerOf(subject)])).toEqual({ erased: 0, owned: new Set(), damaged: [] })
})
