import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { byTimeThenId, type Comment } from '../../../src/contracts/facts/thread.ts'
import { addUsage, noUsage, verdict, verdictId } from '../../../src/contracts/facts/verdict.ts'
import { aVerdict } from '../../support/verdicts.ts'

describe('a verdict’s id', () => {
  test('reads as protocol, post and revision, with the tenant where it is not the default one', () => {
    const of = { protocol: 'rumor', tenant: 'default', subjectId: 'at://did:plc:x/app.bsky.feed.post/3k', revision: 2 }
    expect(verdictId(of)).toBe('rumor~at://did:plc:x/app.bsky.feed.post/3k~r2')
    expect(verdictId({ ...of, tenant: 'acme' })).toBe('rumor@acme~at://did:plc:x/app.bsky.feed.post/3k~r2')
  })

  test('is shared by no two subjects, whatever their ids hold', () => {
    const pieces = fc.array(fc.constantFrom('a', '~', '@', '~r1', '~r2', 'default', 'rumor'), {
      minLength: 1,
      maxLength: 6,
    })
    const of = fc.record({
      protocol: fc.constantFrom('rumor', 'hate'),
      tenant: fc.constantFrom('default', 'a', 'b'),
      subjectId: pieces.map((all) => all.join('')),
      revision: fc.integer({ min: 1, max: 12 }),
    })
    fc.assert(
      fc.property(of, of, (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b)
        expect(verdictId(a) === verdictId(b)).toBe(same)
      }),
    )
  })
})

describe('usage', () => {
  test('adds up field by field, from nothing', () => {
    const one = { calls: 1, memoHits: 2, promptTokens: 3, cachedTokens: 4, completionTokens: 5, costUsd: 6 }
    expect(addUsage(one, noUsage())).toEqual(one)
    expect(addUsage(one, one)).toEqual({
      calls: 2,
      memoHits: 4,
      promptTokens: 6,
      cachedTokens: 8,
      completionTokens: 10,
      costUsd: 12,
    })
  })
})

describe('the order of comments', () => {
  test('is time, then id, and total', () => {
    const comment = (id: string, createdAt: number): Comment => ({ id, text: '', createdAt })
    const sorted = [comment('b', 1), comment('a', 2), comment('b', 2), comment('a', 3)]
    fc.assert(
      fc.property(fc.shuffledSubarray(sorted, { minLength: 4 }), (mixed) => {
        expect([...mixed].sort(byTimeThenId)).toEqual(sorted)
      }),
    )
    expect(byTimeThenId(comment('a', 1), comment('a', 1))).toBe(0)
  })
})

describe('a published verdict', () => {
  const published = aVerdict('2026-01-01T00:00:00.000Z')

  test('is read with values and fields that only the next version knows', () => {
    const next = { ...published, decidedBy: 'quorum', faults: ['weather'] }
    expect(verdict.parse({ ...next, added: true })).toEqual(next)
  })

  test.each([{ schema: 2 }, { decidedBy: '\u001b[2J' }, { faults: ['Two words'] }])(
    'of another schema, or with what is no plain word for such a value, is not read: %j',
    (change) => {
      expect(verdict.safeParse({ ...published, ...change }).success).toBe(false)
    },
  )
})
