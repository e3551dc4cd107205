import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { byTimeThenId, type Comment } from '../../../src/contracts/facts/thread.ts'
import { addUsage, noUsage, scopeOf, streamedKindIn, verdict, verdictId } from '../../../src/contracts/facts/verdict.ts'
import { aVerdict } from '../../support/verdicts.ts'

const withoutAbsent = <Of extends { postId: string | undefined }>({ postId, ...of }: Of) => ({
  ...of,
  ...(postId === undefined ? {} : { postId }),
})

describe('a verdict’s id', () => {
  test('reads as protocol, post and revision, with the tenant where it is not the default one', () => {
    const of = { protocol: 'rumor', tenant: 'default', subjectId: 'at://did:plc:x/app.bsky.feed.post/3k', revision: 2 }
    expect(verdictId(of)).toBe('rumor~at://did:plc:x/app.bsky.feed.post/3k~r2')
    expect(verdictId({ ...of, tenant: 'acme' })).toBe('rumor@acme~at://did:plc:x/app.bsky.feed.post/3k~r2')
  })

  test('names a comment and its post, each percent-encoded where it would end the other', () => {
    const of = { protocol: 'hate', tenant: 'default', subjectId: '50%~r1', postId: 'p~1', revision: 2 }
    expect(verdictId(of)).toBe('hate/comment~p%7E1~50%25%7Er1~r2')
    expect(verdictId({ ...of, tenant: 'acme' })).toBe('hate/comment@acme~p%7E1~50%25%7Er1~r2')
    expect(scopeOf('hate/comment@acme~p%7E1~50%25%7Er1~r2')).toEqual({ protocol: 'hate', tenant: 'acme' })
  })

  test('tells which thread a verdict is about, or that none of this version is', () => {
    const kind = (id: string) => streamedKindIn(id, new Set(['counterspeech']))
    expect(['rumor~p~r1', 'hate@acme~a/b~r1', 'hate/reply~p~r1', 'counterspeech@acme~s~r1'].map(kind)).toEqual([
      'post',
      'post',
      'reply',
      'reply',
    ])
    expect(['hate/comment~p~c~r1', 'hate/asked~q~r1', 'hate/asked@acme~q~r1'].map(kind)).toEqual([null, null, null])
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
      postId: fc.constantFrom(undefined, 'a', '~', 'a~a'),
      revision: fc.integer({ min: 1, max: 12 }),
    })
    fc.assert(
      fc.property(of.map(withoutAbsent), of.map(withoutAbsent), (a, b) => {
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
    const debated = { held: true, why: 'dare' }
    const confidence = { value: 0.5, how: 'dice' }
    const added = { schema: 2 as const, subjectKind: 'thread', debated, confidence, unverified: { reason: 'mist' } }
    const next = { ...published, decidedBy: 'quorum', faults: ['weather'], ...added }
    expect(verdict.parse({ ...next, added: true })).toEqual(next)
  })

  test.each([{ schema: 3 }, { decidedBy: '\u001b[2J' }, { faults: ['Two words'] }])(
    'of another schema, or with what is no plain word for such a value, is not read: %j',
    (change) => {
      expect(verdict.safeParse({ ...published, ...change }).success).toBe(false)
    },
  )
})
