import { expect, test } from 'vitest'
import { authorEraser } from '../../consumers/author-eraser.ts'
import type { AuthorErasure } from '../../src/contracts/facts/author-erasure.ts'
import type { AuthorErasures } from '../../src/contracts/ports/authors.ts'
import { HOUR, T0, thread } from '../contracts/samples.ts'

const NOTHING = { oldest: null, count: 0 }

/** An eraser of so many people of these tenants, who each wrote one post, or none; intake has read what was there, and reads no more. */
function erasing({
  tenants,
  lead = () => true,
  posts = 1,
}: {
  tenants: readonly string[]
  lead?: () => boolean
  posts?: number
}) {
  const all = new Map<string, AuthorErasure>(
    tenants.map((tenant, nth) => {
      const asked = { by: 'lea', askedAt: T0, state: 'sending', waitsFor: 'intake', sent: 0 } as const
      return [`${nth}`, { ...asked, id: `${nth}`, tenant, author: `ann-${nth}`, upTo: { 'gavel.posts/0': '7' } }]
    }),
  )
  const sent: string[] = []
  const finished: [AuthorErasure, number][] = []
  let [end, asks, hasRead] = [7, 0, false]
  const erasures: Pick<AuthorErasures, 'all' | 'save' | 'hasRecord' | 'finish'> = {
    async finish(one, keepMs) {
      all.delete(one.id)
      finished.push([one, keepMs])
    },
    all: async () => [...all.values()],
    save: async (one) => void all.set(one.id, one),
    hasRecord: async () => false,
  }
  const left = new Set(posts === 0 ? [] : all.keys())
  const { step } = authorEraser({
    index: {
      by: async ({ tenant, author }) => (left.has(author) ? [{ subject: thread(`p${author}`, tenant), at: T0 }] : []),
      forget: async ({ author }) => void left.delete(author),
      tidy: async () => {},
    },
    erasures: erasures as AuthorErasures, // nothing else is called before they are sent
    lead: async () => lead(),
    writer: {
      async send(messages) {
        end += messages.length
        for (const { value } of messages) sent.push(String(JSON.parse(String(value)).tenant))
      },
    },
    topicOf: () => 'gavel.posts',
    progress: async () => {
      asks++
      return [{ topic: 'gavel.posts', partition: 0, next: hasRead ? end : 7, end }]
    },
    waiting: async () => ({ shelves: NOTHING, cases: NOTHING }),
    streamNow: async () => T0,
    audit: { note: async () => {} },
    keepMs: 7 * 24 * HOUR,
    clock: () => T0,
    report: () => {},
  })
  return {
    step,
    sent,
    finished,
    readAll: () => {
      hasRead = true
    },
    asks: () => asks,
  }
}

test('deletions of five people of a tenant are on their way at a time, whatever others send', async () => {
  const { step, sent, asks } = erasing({ tenants: [...Array.from({ length: 20 }, () => 'acme'), 'other'] })
  await step()
  const before = asks()
  await step()
  // How far intake is, is asked once for all that wait.
  expect(asks()).toBe(before + 1)
  expect(sent.filter((tenant) => tenant === 'acme')).toHaveLength(5)
  expect(sent.filter((tenant) => tenant === 'other')).toHaveLength(1)
})

test('who leads no more goes on with no other', async () => {
  let asked = 0
  const { step, sent } = erasing({ tenants: ['acme', 'acme', 'acme'], lead: () => ++asked <= 2 })
  await step()
  expect(sent).toHaveLength(1)
})

test.each([
  ['of somebody of whom nothing is held is remembered for an hour: anybody may be named', 0, HOUR],
  ['of somebody is remembered as deletions are', 1, 7 * 24 * HOUR],
])('an erasure %s, and not how far intake was', async (_, posts, keepMs) => {
  const { step, finished, readAll } = erasing({ tenants: ['acme'], posts })
  readAll()
  for (let n = 0; n < 4; n++) await step()
  expect(finished.map(([{ upTo, sent }, kept]) => [upTo, sent, kept])).toEqual([[{}, posts, keepMs]])
})
