import { expect, test } from 'vitest'
import type { IncomingMessage } from '../../../src/contracts/ports/topic.ts'
import { type InspectionParts, inspect } from '../../../src/recovery/inspection/inspection.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { aVerdict } from '../../support/verdicts.ts'

const AT = Date.UTC(2026, 0, 1, 12)

test('of verdicts on a deleted subject neither the reasons nor the words that they cite are shown', async () => {
  const at = new Date(AT).toISOString()
  const cited = aVerdict(at, {
    protocol: 'hate',
    label: 'hate',
    rationale: 'It calls them vermin.',
    clauses: [{ id: 'H1', quote: 'they are vermin' }],
  })
  const deleted = aVerdict(at, { protocol: 'hate', revision: 2, label: null, decidedBy: 'deleted' })
  const published = [cited, deleted].map(
    (verdict, nth): IncomingMessage => ({
      topic: 'verdicts',
      partition: 0,
      offset: String(nth),
      key: 'p',
      value: Buffer.from(JSON.stringify(verdict)),
      headers: {},
      timestamp: AT + nth,
    }),
  )
  const names = ['posts', 'comments', 'counterspeech', 'deadLetters', 'verdicts', 'transcripts', 'proposals', 'reviews']
  const stores = memoryStores(() => AT)
  const parts = {
    ...stores,
    clock: () => AT,
    streamNow: async () => AT,
    topics: Object.fromEntries(names.map((name) => [name, name])),
    ofReplies: new Set<string>(),
    partitionOf: () => 0,
    progress: () => undefined,
    groupProgress: async () => ({ committed: new Map(), read: new Map() }),
    again: () => ({ handlers: new Map(), context: null }),
    history: {
      rangesOf: async (topic: string) => new Map([[0, { from: 0n, to: topic === 'verdicts' ? 2n : 0n }]]),
      read: async (topic: string, _: unknown, take: (records: readonly IncomingMessage[]) => void) =>
        take(topic === 'verdicts' ? published : []),
    },
  } as unknown as InspectionParts // no message is worked off, and no case looked at

  const shown = await inspect(
    parts,
    { tenant: 'default', postId: 'p', kind: 'post' },
    { bound: { since: null, most: 10, everywhere: false }, transcripts: false },
  )
  expect(shown.deleted).toBe(true)
  expect(shown.verdicts.map(({ verdict }) => verdict)).toMatchObject([
    { label: 'hate', rationale: '', clauses: [{ id: 'H1' }] },
    { decidedBy: 'deleted' },
  ])
  expect(JSON.stringify(shown)).not.toContain('vermin')
})
