import { describe, expect, it, test } from 'vitest'
import {
  type DecisionOutcome,
  decisionMessage,
  decisionOutcome,
  MAX_WHY_CHARS,
  namedSubject,
  proposal,
  type Review,
  review,
  reviewId,
  subjectIn,
  subjectOf,
  type VerdictProposal,
} from '../../../src/contracts/facts/decision-messages.ts'
import { subjectKeyOf } from '../../../src/contracts/facts/messages.ts'
import { ruling, verdict } from '../../../src/contracts/facts/verdict.ts'
import { proposalIdFor, scopeOf, verdictId } from '../../../src/contracts/facts/verdict-id.ts'
import { labelsForPeople } from '../../../src/judging/engine/script.ts'
import { aVerdict } from '../../support/verdicts.ts'

const DECISION = {
  subjectId: 'p1',
  protocol: 'rumor',
  label: 'non-rumor',
  against: 2,
  by: 'ann',
  why: 'Ticket 88.',
  at: '2026-05-01T11:20:00Z',
}

describe('a decision', () => {
  it('gives a label against a revision, and is of the default tenant unless it says another', () => {
    expect(decisionMessage.parse(DECISION)).toMatchObject({ tenant: 'default', createdAt: Date.parse(DECISION.at) })
    expect(decisionMessage.parse({ ...DECISION, kind: null, force: null, withdraw: null })).toMatchObject({
      against: 2,
    })
  })

  test.each<[string, object]>([
    ['both a label and a withdrawal', { withdraw: true }],
    ['neither', { label: null }],
    ['a withdrawal that is false', { label: null, withdraw: false }],
    ['no reason', { why: null }],
    ['an empty reason', { why: ' \n' }],
    ['half a character in it', { why: 'a\ud800' }],
    ['no person', { by: null }],
    ['a revision below zero', { against: -1 }],
    ['half a revision', { against: 1.5 }],
    ['a revision as text', { against: '2' }],
    ['no revision', { against: null }],
    ['a kind that is none', { kind: 'comment' }],
    ['a subject of a kind that is none', { subjectKind: 'account' }],
    ['a comment without its post', { subjectKind: 'comment' }],
    ['a comment whose post is none', { subjectKind: 'comment', postId: '' }],
    ['a kind, and another one', { kind: 'post', subjectKind: 'reply' }],
    ['a kind, and a comment', { kind: 'post', subjectKind: 'comment', postId: 'p1' }],
    ['an answer to a golden item, and no opinion', { golden: 'answer' }],
    ['the same with an opinion that is false', { golden: 'key', opinion: false }],
    ['a tenant that is none', { tenant: 'a/b' }],
    ['a time that is none', { at: 'yesterday' }],
  ])('is refused with %s', (_, change) => {
    expect(decisionMessage.safeParse({ ...DECISION, ...change }).success).toBe(false)
  })

  it('is refused, and never cut, where its reason is too long', () => {
    const why = 'x'.repeat(MAX_WHY_CHARS)
    expect(decisionMessage.parse({ ...DECISION, why }).why).toBe(why)
    expect(decisionMessage.safeParse({ ...DECISION, why: `${why}x` }).success).toBe(false)
  })

  it('is about what its protocol judges, unless it says what', () => {
    const decision = decisionMessage.parse(DECISION)
    expect(subjectOf(decision, 'post')).toEqual({ tenant: 'default', postId: 'p1', kind: 'post' })
    for (const said of [{ kind: 'reply' }, { subjectKind: 'reply' }] as const)
      expect(subjectOf({ ...decision, ...said }, 'post')?.kind).toBe('reply')
  })

  it('about a comment is about no post of its id, and goes where its post’s messages go', () => {
    const decision = decisionMessage.parse({ ...DECISION, subjectKind: 'comment', postId: 'p9' })
    expect(subjectOf(decision, 'post')).toEqual({ tenant: 'default', postId: 'p9~p1', kind: 'comment' })
    expect(subjectKeyOf(decision)).toBe('p9')
    // Beside anything else it was ignored before comments could be named.
    expect(subjectKeyOf(decisionMessage.parse({ ...DECISION, postId: 'p9' }))).toBe('p1')
  })

  it('has an outcome that names its subject, a comment beside its post, or one of a later version', () => {
    const outcome = { kind: 'post', tenant: 't', subjectId: 'c~1' } as const
    const post = { tenant: 't', postId: 'c~1', kind: 'post' } as const
    const comment = { tenant: 't', postId: 'p%7E1~c%7E1', kind: 'comment' } as const
    expect(
      [undefined, 'post', 'reply', 'comment', 'story'].map((subjectKind) => subjectIn({ ...outcome, subjectKind })),
    ).toEqual([post, post, null, null, null])
    expect(subjectIn({ ...outcome, subjectKind: 'comment', postId: 'p~1' })).toEqual(comment)
    for (const ref of [post, comment, { ...post, kind: 'reply' } as const])
      expect(subjectIn(namedSubject(ref))).toEqual(ref)
  })
})

describe('a proposal', () => {
  const { revision: _, supersedes: __, ...rest } = aVerdict(DECISION.at)
  const given: VerdictProposal = { ...rest, id: 'rumor~p1~p3', proposal: 3, beneath: 'rumor~p1~r3', differs: true }

  it('is no verdict, and no verdict is one', () => {
    expect(proposal.safeParse(given).success).toBe(true)
    expect(verdict.safeParse(given).success).toBe(false)
    expect(proposal.safeParse(aVerdict(DECISION.at)).success).toBe(false)
  })

  test.each([
    [{ tenant: 'default' }, 'rumor~p~r1~p3'],
    [{ tenant: 'acme' }, 'rumor@acme~p~r1~p3'],
    [{ tenant: 'acme', crossKind: true }, 'rumor/reply@acme~p~r1~p3'],
  ])('has an id that no verdict has, whatever its subject is called: %o', (scope, id) => {
    expect(proposalIdFor(verdictId({ protocol: 'rumor', subjectId: 'p~r1', revision: 3, ...scope }))).toBe(id)
    expect(scopeOf(id)).toEqual({ protocol: 'rumor', tenant: scope.tenant })
  })
})

it('no script can rule as a person', () => {
  const { label, scores, rationale, rounds, evidence, degraded } = aVerdict(DECISION.at)
  const ruled = { label, scores, rationale, rounds, evidence, degraded }
  expect(ruling.safeParse({ ...ruled, decidedBy: 'judge' }).success).toBe(true)
  expect(ruling.safeParse({ ...ruled, decidedBy: 'human' }).success).toBe(false)
})

it('a request for review is one for each verdict, reason, and what speaks against it', () => {
  const asked: Review = {
    schema: 1,
    id: '',
    subjectId: 'p1',
    tenant: 'default',
    kind: 'post',
    protocol: 'rumor',
    why: 'differs',
    verdict: 'rumor~p1~r3',
    label: 'rumor',
    at: DECISION.at,
  }
  expect(review.parse(asked)).toEqual(asked)
  const edited = { verdict: asked.verdict, why: 'edited', label: undefined, of: undefined }
  const refused = { verdict: asked.verdict, why: 'refused', label: 'rumor', of: '2@17' }
  expect([reviewId({ ...asked, of: undefined }), reviewId(edited), reviewId(refused)]).toEqual([
    'rumor~p1~r3~differs~rumor',
    'rumor~p1~r3~edited',
    'rumor~p1~r3~refused~2@17',
  ])
})

it('an outcome says which decision it is of', () => {
  const outcome: DecisionOutcome = {
    schema: 1,
    subjectId: 'p1',
    tenant: 'default',
    kind: 'post',
    protocol: 'rumor',
    outcome: 'stands',
    of: '2@17',
    revision: 3,
    label: 'non-rumor',
    by: 'ann',
    at: DECISION.at,
  }
  expect(decisionOutcome.parse(outcome)).toEqual(outcome)
})

it('people decide by a protocol’s labels, or by labels of their own where it has none', () => {
  // All that it reads of a protocol.
  const protocol = { labels: ['rumor', 'non-rumor'] } as unknown as Parameters<typeof labelsForPeople>[0]
  expect(labelsForPeople(protocol)).toEqual(['rumor', 'non-rumor'])
  expect(labelsForPeople({ ...protocol, labels: [], peopleLabels: ['suitable'] })).toEqual(['suitable'])
})

it('names appeals of so many characters at most: who reads a subject reads hundreds of decisions on it', () => {
  const naming = (of: string) => ({
    ...DECISION,
    code: 'context',
    appeals: Array.from({ length: 200 }, (_, nth) => of.padEnd(100, String(nth))),
  })
  expect(decisionMessage.safeParse(naming('appeal')).success).toBe(true)
  const read = decisionMessage.safeParse(naming('\u0001'.repeat(80)))
  expect(read.error?.issues.map(({ path, message }) => [path, message])).toEqual([
    [['appeals'], 'at most 30000 characters together, as JSON'],
  ])
})
