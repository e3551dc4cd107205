import { describe, expect, it } from 'vitest'
import type { Snapshot } from '../../src/contracts/facts/thread.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { isOver, noteMessage, nothingNew, publishedRevisions, seenIn } from '../../src/recovery/published.ts'
import { aVerdict } from '../support/verdicts.ts'

const HOUR = 3_600_000
const T0 = Date.parse('2026-01-01T00:00:00Z')
const KEEP = { keepAfterFinalMs: 24 * HOUR, keepTombstoneMs: 7 * 24 * HOUR }
const PROTOCOLS = [
  { name: 'rumor', subject: 'thread' as const },
  { name: 'hate', subject: 'post' as const },
  { name: 'counterspeech', subject: 'reply' as const },
]

function verdictOf(change: Partial<Verdict> & { crossKind?: boolean; decidedAt?: number } = {}): Verdict {
  const { decidedAt = T0, ...own } = change
  return aVerdict(new Date(decidedAt).toISOString(), own)
}

const thread = (...comments: string[]): Snapshot => ({
  post: { id: 'p', text: 'The dam has burst.', createdAt: T0 },
  comments: comments.map((text, at) => ({ id: `c${at}`, text, createdAt: T0 + at })),
  leftOut: 0,
})

describe('the revisions that were published', () => {
  it('are the last of each protocol and subject, in whatever order and however often they are read', () => {
    const found = publishedRevisions(PROTOCOLS)
    const three = [1, 3, 2].map((revision) => verdictOf({ revision, final: revision === 3 }))
    for (const one of [...three, ...three, verdictOf({ protocol: 'hate' }), verdictOf({ tenant: 'other' })])
      found.take(one)
    expect(found.subjects.size).toBe(2)
    const own = found.subjects.get('default/post:p')
    expect([...(own?.last.values() ?? [])].map(({ protocol, revision, final }) => [protocol, revision, final])).toEqual(
      [
        ['rumor', 3, true],
        ['hate', 1, true],
      ],
    )
  })

  it('keep a reply apart from the post of the same id', () => {
    const found = publishedRevisions(PROTOCOLS)
    for (const one of [
      verdictOf(),
      verdictOf({ protocol: 'counterspeech' }),
      verdictOf({ protocol: 'hate', crossKind: true }),
    ])
      found.take(one)
    expect([...found.subjects.keys()]).toEqual(['default/post:p', 'default/reply:p'])
    const reply = found.subjects.get('default/reply:p')
    expect([...(reply?.last.keys() ?? [])]).toEqual(['counterspeech', 'hate'])
  })

  it('have seen what the transcript of the last one shows, and not that of an earlier one', () => {
    const found = publishedRevisions(PROTOCOLS)
    const [first, second] = [verdictOf(), verdictOf({ revision: 2 })]
    for (const one of [first, second]) found.take(one)
    found.see({ verdictId: second.id, subject: thread('a', 'b'), cut: [] })
    found.see({ verdictId: first.id, subject: thread('a'), cut: [] })
    const last = found.subjects.get('default/post:p')?.last.get('rumor')
    expect(last?.seen).toEqual(seenIn(thread('a', 'b')))
  })

  it('leave nothing new of what a list kept back, of which the transcript has hashes, or has less', () => {
    const now = thread('a', 'b')
    const isNothingNew = (change: Partial<Verdict>, shown: Snapshot) => {
      const found = publishedRevisions(PROTOCOLS)
      const one = verdictOf(change)
      found.take(one)
      found.see({ verdictId: one.id, subject: shown, cut: [] })
      const seen = found.subjects.get('default/post:p')?.last.get('rumor')?.seen ?? null
      return [true, false].map((sealed) => nothingNew(seen, seenIn(now), sealed))
    }
    const hashes = { ...thread(), post: { ...now.post, text: 'sha256:0f' } }
    expect(isNothingNew({ decidedBy: 'veto' }, hashes)).toEqual([true, true])
    const stripped = { ...now, post: { ...now.post, media: [{ kind: 'image' as const }] } }
    const degraded = ['media.0: not compared with every list, and shown to no model: gone']
    expect(isNothingNew({ degraded }, stripped)).toEqual([true, true])
    expect(isNothingNew({}, stripped)).toEqual([false, false])
  })
})

describe('a verdict that people brought about', () => {
  const machine = verdictOf({ final: false, usage: { ...verdictOf().usage, costUsd: 2 } })
  const human = verdictOf({
    revision: 2,
    decidedBy: 'human',
    decidedAt: T0 + HOUR,
    decision: { by: 'ann', against: machine.id, of: '0@1' },
  })
  const proposed = { ...machine, id: 'rumor~p~p3', proposal: 3, beneath: human.id, differs: false, final: true }
  const lastOf = (found: ReturnType<typeof publishedRevisions>) =>
    found.subjects.get('default/post:p')?.last.get('rumor')

  it('costs nothing, and has seen what the machines’ last ruling saw', () => {
    const found = publishedRevisions(PROTOCOLS)
    for (const one of [machine, human]) found.take(one)
    expect(found.meanCost('rumor')).toBe(2)
    expect(found.meanCostDecided('rumor')).toBe(2)
    for (const [verdictId, subject] of [[machine.id, thread('a')] as const, [human.id, null] as const])
      found.see({ verdictId, subject, cut: [] })
    const last = { revision: 2, number: 2, final: false, openedAt: T0, seen: seenIn(thread('a')) }
    expect(lastOf(found)).toMatchObject(last)
    expect(found.decided.get('0@1')).toMatchObject({ id: human.id, revision: 2, stands: true, by: 'ann' })
  })

  it('is followed by the numbers of proposals, and has seen what the last of them saw', () => {
    const found = publishedRevisions(PROTOCOLS)
    for (const one of [machine, human]) found.take(one)
    found.propose(proposed)
    found.propose({ ...proposed, id: 'rumor~p~p1', proposal: 1 })
    found.see({ verdictId: machine.id, subject: thread('a'), cut: [] })
    found.see({ verdictId: proposed.id, subject: thread('a', 'b'), cut: [] })
    expect(lastOf(found)).toMatchObject({ revision: 2, number: 3, final: true, seen: seenIn(thread('a', 'b')) })
  })

  it('and takes the place of one that was withdrawn, has seen what the ruling saw that it repeats', () => {
    const found = publishedRevisions(PROTOCOLS)
    const restored = { from: proposed.id, by: 'ben', why: '', of: '0@2' }
    for (const one of [machine, human, verdictOf({ revision: 4, restored })]) found.take(one)
    found.propose(proposed)
    found.see({ verdictId: proposed.id, subject: thread('a', 'b'), cut: [] })
    expect(lastOf(found)).toMatchObject({ revision: 4, number: 4, openedAt: T0, seen: seenIn(thread('a', 'b')) })
    expect(found.decided.get('0@2')).toMatchObject({ stands: false })
  })
})

describe('a verdict with two contents', () => {
  const [one, other] = ['rumor', 'non-rumor'].map((label) => verdictOf({ label })) as [Verdict, Verdict]
  const lastOf = (...verdicts: Verdict[]) => {
    const found = publishedRevisions(PROTOCOLS)
    for (const each of verdicts) found.take(each)
    found.see({ verdictId: one.id, subject: thread('a'), cut: [] })
    return [...found.subjects.values()][0]?.last.get('rumor')
  }

  it('has seen nothing that a transcript could contain', () => {
    expect(lastOf(one, other)).toMatchObject({ contested: true, seen: null })
    expect(lastOf(one, one)).toMatchObject({ contested: false, seen: seenIn(thread('a')) })
  })

  it('is none where both retract it: a deletion has no other content to settle', () => {
    const gone = (decidedAt: number) => verdictOf({ label: null, degraded: ['deleted'], decidedAt })
    expect(lastOf(gone(T0), gone(T0 + 1))).toMatchObject({ deleted: true, contested: false })
  })
})

describe('a verdict has something new before it', () => {
  const before = seenIn(thread('a', 'b'))
  it.each([
    ['a comment more', thread('a', 'b', 'c')],
    ['a comment less', thread('a')],
    ['an edited comment', thread('a', 'B')],
    ['an edited post', { ...thread('a', 'b'), post: { id: 'p', text: 'It held.', createdAt: T0 } }],
  ])('with %s', (_, now) => {
    expect(nothingNew(before, seenIn(now), false)).toBe(false)
    expect(nothingNew(before, seenIn(thread('a', 'b')), false)).toBe(true)
  })

  it('but not where more people have seen the post by now', () => {
    const seen = (reach: number): Snapshot => ({ ...thread('a', 'b'), post: { ...thread().post, reach } })
    for (const sealed of [false, true]) {
      expect(nothingNew(before, seenIn(seen(120)), sealed)).toBe(true)
      expect(nothingNew(seenIn(seen(120)), seenIn(seen(9_000)), sealed)).toBe(true)
    }
  })

  it('where nobody knows what it saw', () => {
    expect(nothingNew(null, before, false)).toBe(false)
    expect(nothingNew(null, before, true)).toBe(false)
  })

  it('but not for late comments where those do not open it again', () => {
    expect(nothingNew(before, seenIn(thread('a', 'b', 'c')), true)).toBe(true)
    const edited = { ...thread('a', 'b'), post: { id: 'p', text: 'It held.', createdAt: T0 } }
    expect(nothingNew(before, seenIn(edited), true)).toBe(false)
  })

  it('by the comments alone where its transcript was shortened', () => {
    const short = seenIn(thread('a[cut: 900 more characters]', 'b'), false)
    expect(nothingNew(short, seenIn(thread('a'.repeat(1_000), 'b')), false)).toBe(true)
    expect(nothingNew(short, seenIn(thread('a', 'b', 'c')), false)).toBe(false)
  })
})

describe('a subject is over', () => {
  const subjectOf = (...verdicts: Verdict[]) => {
    const found = publishedRevisions(PROTOCOLS)
    for (const one of verdicts) found.take(one)
    const [subject] = found.subjects.values()
    if (subject === undefined) throw new Error('no subject')
    return subject
  }
  const later = T0 + 25 * HOUR

  it('when its last final verdict is older than threads are kept', () => {
    expect(isOver(subjectOf(verdictOf()), KEEP, T0 + 23 * HOUR)).toBe(false)
    expect(isOver(subjectOf(verdictOf()), KEEP, later)).toBe(true)
    const hate = verdictOf({ protocol: 'hate', decidedAt: T0 + 2 * HOUR })
    expect(isOver(subjectOf(verdictOf(), hate), KEEP, later)).toBe(false)
  })

  it('not while a final verdict is to come, or is owed by a protocol that has given none', () => {
    expect(isOver(subjectOf(verdictOf({ final: false })), KEEP, later)).toBe(false)
    expect(isOver({ ...subjectOf(verdictOf()), owed: true }, KEEP, later)).toBe(false)
  })

  it.each([
    ['a comment an hour before its last case was opened', 'comment', -HOUR, true],
    ['a comment that was sent before that, and may have been taken after', 'comment', 1 - HOUR, false],
    ['a comment after its end', 'comment', 1, false],
    ['a comment after it would be forgotten', 'comment', 24 * HOUR + 1, true],
    ['an edit after its end', 'post', 1, false],
    ['an edit after it would be forgotten', 'post', 24 * HOUR + 1, true],
  ] as const)('or not, with %s', (_, kind, at, over) => {
    const subject = subjectOf(verdictOf())
    noteMessage(subject, 'post', T0 - 1, KEEP)
    noteMessage(subject, kind, T0 + at, KEEP)
    expect(isOver(subject, KEEP, later)).toBe(over)
  })

  it('whatever is said beneath it, where nobody reads comments', () => {
    const subject = subjectOf(verdictOf({ protocol: 'hate' }))
    noteMessage(subject, 'post', T0 - 1, KEEP)
    noteMessage(subject, 'comment', T0 + 1, KEEP)
    expect(isOver(subject, KEEP, later)).toBe(true)
  })

  it('when it was deleted, not before its tombstone goes', () => {
    const gone = verdictOf({ label: null, degraded: ['deleted'], revision: 2 })
    expect(isOver(subjectOf(gone), KEEP, later)).toBe(false)
    expect(isOver(subjectOf(gone, verdictOf({ protocol: 'hate' })), KEEP, later)).toBe(true)
    expect(isOver({ ...subjectOf(gone), newestComment: T0 + 1 }, KEEP, T0 + 8 * 24 * HOUR)).toBe(true)
  })
})
