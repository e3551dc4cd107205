import { expect, test } from 'vitest'
import { authorEraser } from '../../consumers/author-eraser.ts'
import type { AuthorErasure } from '../../src/contracts/facts/author-erasure.ts'
import type { AuthorErasures } from '../../src/contracts/ports/authors.ts'
import { T0, thread } from '../contracts/samples.ts'

const NOTHING = { oldest: null, count: 0 }

/** An eraser of so many people of these tenants, who each wrote one post; intake has read what was there, and reads no more. */
function erasing({ tenants, lead = () => true }: { tenants: readonly string[]; lead?: () => boolean }) {
  const all = new Map<string, AuthorErasure>(
    tenants.map((tenant, nth) => {
      const asked = { by: 'lea', askedAt: T0, state: 'sending', waitsFor: 'intake', sent: 0 } as const
      return [`${nth}`, { ...asked, id: `${nth}`, tenant, author: `ann-${nth}`, upTo: { 'gavel.posts/0': '7' } }]
    }),
  )
  const sent: string[] = []
  let [end, asks] = [7, 0]
  const erasures: Pick<AuthorErasures, 'all' | 'save' | 'hasRecord'> = {
    all: async () => [...all.values()],
    save: async (one) => void all.set(one.id, one),
    hasRecord: async () => false,
  }
  const { step } = authorEraser({
    index: {
      by: async ({ tenant, author }) => [{ subject: thread(`p${author}`, tenant), at: T0 }],
      forget: async () => {},
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
      return [{ topic: 'gavel.posts', partition: 0, next: 7, end }]
    },
    waiting: async () => ({ shelves: NOTHING, cases: NOTHING }),
    streamNow: async () => T0,
    audit: { note: async () => {} },
    keepMs: 1,
    clock: () => T0,
    report: () => {},
  })
  return { step, sent, asks: () => asks }
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
