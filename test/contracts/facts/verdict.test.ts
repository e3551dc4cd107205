import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { byTimeThenId, type Comment } from '../../../src/contracts/facts/thread.ts'
import { addUsage, noUsage, verdict } from '../../../src/contracts/facts/verdict.ts'
import {
  commentKey,
  commentKeysOf,
  isCrossKind,
  namedIn,
  otherRevision,
  proposalIdFor,
  readVerdictId,
  recordKeyOf,
  requestIn,
  revisionIn,
  scopeOf,
  threadIn,
  verdictId,
  verdictScope,
} from '../../../src/contracts/facts/verdict-id.ts'
import { WRITTEN_IN_ONE } from '../../support/both-schemas.ts'
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
    const kind = (id: string) => threadIn(id, new Set(['counterspeech']))?.kind ?? null
    expect(['rumor~p~r1', 'hate@acme~a/b~r1', 'hate/reply~p~r1', 'counterspeech@acme~s~r1'].map(kind)).toEqual([
      'post',
      'post',
      'reply',
      'reply',
    ])
    expect(['hate/comment~p~c~r1', 'hate/asked~q~r1', 'hate/asked@acme~q~r1'].map(kind)).toEqual([
      'comment',
      null,
      null,
    ])
    const [postId, subjectId] = ['p~1%', 'c~2']
    const comment = { tenant: 'acme', postId: commentKey(postId, subjectId), kind: 'comment' } as const
    expect(
      threadIn(verdictId({ protocol: 'hate', tenant: 'acme', ...namedIn(comment), revision: 3 }), new Set()),
    ).toEqual(comment)
    expect([namedIn(comment), recordKeyOf(comment)]).toEqual([{ postId, subjectId }, postId])
    const [first, last] = commentKeysOf(postId)
    const others = ['p~1', 'p~1%%', 'p~1%~', 'p', 'p~1%25'].map((post) => commentKey(post, subjectId))
    expect([comment.postId, ...others].map((key) => key >= first && key < last)).toEqual([
      true,
      ...others.map(() => false),
    ])
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

  test('says what it was made of, whatever its ids hold; so does a proposal’s', () => {
    const pieces = fc.array(fc.constantFrom('a', '~', '@', '/', '%', '%7E', '%25', '~r1', '~p1', '\n'), {
      minLength: 1,
      maxLength: 6,
    })
    const text = pieces.map((all) => all.join(''))
    const base = { protocol: fc.constantFrom('rumor', 'hate'), tenant: fc.constantFrom('default', 'a.b') }
    const ids = { subjectId: text, revision: fc.integer({ min: 0, max: 1_000 }) }
    const of = fc.oneof(
      fc.record({ ...base, ...ids }),
      fc.record({ ...base, ...ids, crossKind: fc.constant(true) }),
      fc.record({ ...base, ...ids, asked: fc.constant(true) }),
      fc.record({ ...base, ...ids, postId: text }),
    )
    fc.assert(
      fc.property(of, (made) => {
        const { protocol, tenant, subjectId, revision } = made
        const kind = 'crossKind' in made ? 'reply' : 'asked' in made ? 'asked' : 'postId' in made ? 'comment' : null
        const post = 'postId' in made ? { postId: made.postId } : {}
        const said = { protocol, tenant, kind, subjectId, ...post, scope: verdictScope(made), number: revision }
        const id = verdictId(made)
        expect(readVerdictId(id)).toEqual({ ...said, isProposal: false })
        expect([revisionIn(id), scopeOf(id), isCrossKind(id)]).toEqual([
          revision,
          { protocol, tenant },
          kind === 'reply',
        ])
        expect(otherRevision(id, 7)).toBe(verdictId({ ...made, revision: 7 }))
        expect(requestIn(id)?.request ?? null).toBe(kind === 'asked' && !subjectId.includes('~') ? subjectId : null)
        const scope = verdictScope(made).replace(/r$/, 'p')
        expect(readVerdictId(proposalIdFor(id))).toEqual({ ...said, scope, isProposal: true })
        expect(revisionIn(proposalIdFor(id))).toBeNull()
      }),
    )
  })

  test('of the last version that wrote schema 1 is made the same today', () => {
    for (const { id, protocol, tenant, subjectId, revision } of WRITTEN_IN_ONE) {
      const crossKind = isCrossKind(id)
      expect(verdictId({ protocol, tenant, subjectId, revision, crossKind })).toBe(id)
    }
  })

  test('is none where a part is missing, or a comment’s post', () => {
    for (const id of [
      '',
      'rumor',
      'rumor~p',
      'rumor~r1',
      'rumor~p~r',
      'rumor~p~r1x',
      'hate/comment~c~r1',
      'hate/comment~p~c~d~r1',
    ])
      expect([id, readVerdictId(id), threadIn(id, new Set())]).toEqual([id, null, null])
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
