import { expect, test } from 'vitest'
import { recordAuthors } from '../../consumers/record-authors.ts'
import type { AuthorErasure } from '../../src/contracts/facts/author-erasure.ts'
import { HOUR, T0 } from '../contracts/samples.ts'

test('the record is clean of a person once it has read the deletions, and what stood under their posts is erased', async () => {
  const given = { id: 'hash', tenant: 'acme', by: 'ann', askedAt: T0, sent: 1, waitsFor: 'record' } as const
  const erasure: AuthorErasure = { ...given, author: 'someone', state: 'sent', upTo: { 'posts.in/0': '5' } }
  let [state, position, dependents]: ['searched' | 'clean', number, string[]] = ['searched', 4, ['acme', 'other']]
  const { step } = recordAuthors({
    store: {
      writtenBy: async () => ({ subjects: [], next: null, isComplete: true }),
      positions: async () => new Map([['posts/0', position]]),
      hasDependents: async (tenant) => dependents.includes(tenant),
    },
    index: { note: async () => {} },
    erasures: {
      ask: async (one) => one,
      all: async () => [erasure],
      read: async () => erasure,
      save: async () => {},
      drop: async () => {},
      noteRecord: async () => {},
      hasRecord: async () => true,
      recordOf: async () => state,
      saveRecord: async (_, to) => {
        state = to
      },
    },
    topics: new Map([['posts.in', 'posts']]),
    keepMs: HOUR,
  })
  await step()
  expect(state).toBe('searched')
  position = 5
  await step()
  expect(state).toBe('searched')
  dependents = ['other']
  await step()
  expect(state).toBe('clean')
})
