import { expect, test } from 'vitest'
import { recordAuthors } from '../../consumers/record-authors.ts'
import type { AuthorErasure } from '../../src/contracts/facts/author-erasure.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { AuthorErasures, RecordErasure } from '../../src/contracts/ports/authors.ts'
import type { WrittenPage } from '../../src/contracts/ports/record.ts'
import { T0, thread } from '../contracts/samples.ts'

const ONE: AuthorErasure = {
  id: 'hash-of-ann',
  tenant: 'default',
  author: 'ann',
  by: 'lea',
  askedAt: T0,
  state: 'sent',
  waitsFor: 'record',
  sent: 1,
  upTo: { 'gavel.posts/0': '7' },
}

interface Given {
  readonly before: RecordErasure | null
  readonly next?: number
  readonly bounds?: { readonly low: number; readonly high: number }
  /** Tenants under whose deleted posts something stands still. */
  readonly dependents?: () => readonly string[]
  readonly page?: (after: string | null) => WrittenPage
}

function recording({ before, next, bounds = WHOLE, dependents = () => [], page = () => LAST }: Given) {
  let state = before
  const noted: ThreadRef[] = []
  const erasures: Pick<AuthorErasures, 'noteRecord' | 'all' | 'recordOf' | 'saveRecord'> = {
    noteRecord: async () => {},
    all: async () => [ONE],
    recordOf: async () => state,
    saveRecord: async (_, saved) => {
      state = saved
    },
  }
  const { step } = recordAuthors({
    store: {
      writtenBy: async (_, after) => page(after),
      positions: async () => new Map(next === undefined ? [] : [['posts/0', next]]),
      hasDependents: async (tenant) => dependents().includes(tenant),
    },
    bounds: async () => bounds,
    index: { note: async (all) => void noted.push(...all.map(({ subject }) => subject)) },
    erasures,
    topics: new Map([['gavel.posts', 'posts']]),
    keepMs: 1,
  })
  return { step, noted, state: () => state }
}

const WHOLE = { low: 0, high: 7 }
const LAST: WrittenPage = { subjects: [], next: null, isComplete: true }

test('it is clean once it has read the deletions', async () => {
  const short = recording({ before: 'searched', next: 6 })
  await short.step()
  expect(short.state()).toBe('searched')
  const through = recording({ before: 'searched', next: 7 })
  await through.step()
  expect(through.state()).toBe('clean')
})

test('it is clean only once what stood under the person’s posts is erased', async () => {
  let dependents = ['default', 'other']
  const { step, state } = recording({ before: 'searched', next: 7, dependents: () => dependents })
  await step()
  expect(state()).toBe('searched')
  dependents = ['other']
  await step()
  expect(state()).toBe('clean')
})

test('it waits for nothing that Kafka has deleted, or that was in a topic before it was made anew', async () => {
  for (const bounds of [
    { low: 7, high: 7 },
    { low: 0, high: 0 },
  ]) {
    const { step, state } = recording({ before: 'searched', bounds })
    await step()
    expect(state()).toBe('clean')
  }
})

test('the search begins anew once all of an earlier version is looked through', async () => {
  let isComplete = false
  const late = thread('late')
  const { step, noted, state } = recording({
    before: null,
    // Between the two pages the last transcript of an earlier version is looked through.
    page: (after) => (after === null ? { subjects: isComplete ? [late] : [], next: 'far', isComplete } : LAST),
  })
  await step()
  isComplete = true
  await step()
  expect(noted).toEqual([late])
  expect(state()).toBe('searched')
})
