import { expect, it } from 'vitest'
import { FEWEST_TOLD, type HumanRow, type PersonNoteRow, qualityOf } from '../../src/record/people-quality.ts'

const said = (s: number, by: string, change: Partial<PersonNoteRow> = {}): PersonNoteRow => ({
  s,
  protocol: 'rumor',
  by,
  at: s,
  label: 'rumor',
  against: 1,
  opinion: null,
  seconds: null,
  ...change,
})
const verdict = (s: number, decider: string, change: Partial<HumanRow> = {}): HumanRow => ({
  s,
  protocol: 'rumor',
  number: 2,
  label: 'rumor',
  decider,
  standing: 1,
  ...change,
})
const UNTIL = 1_000

it('counts what took effect, once, and what others overturned or withdrew', () => {
  const many = Array.from({ length: FEWEST_TOLD + 1 }, (_, s) => s)
  const notes = [
    ...many.map((s) => said(s, 'ann')),
    // Sent twice, refused, of another time, and an opinion of one's own: none of them is a decision that took effect.
    said(0, 'ann'),
    said(50, 'ann'),
    said(51, 'ann', { at: UNTIL }),
    said(52, 'ann', { opinion: 1, against: 2 }),
    // Ben overrules one, cay withdraws another, ann herself a third, which took effect no more; dan says the same as ann.
    said(1, 'ben', { against: 2, label: 'non-rumor', at: UNTIL + 5 }),
    said(2, 'cay', { against: 2, label: null }),
    said(3, 'ann', { against: 2, label: null }),
    said(4, 'dan', { against: 2 }),
    // Too late: it still stands.
    said(5, 'cay', { against: 2, label: null }),
  ]
  const verdicts = [
    ...many.map((s) => verdict(s, 'ann', { standing: s >= 1 && s <= 4 ? 0 : 1 })),
    verdict(51, 'ann'),
    verdict(52, 'ann'),
    verdict(1, 'ben', { number: 3, label: 'non-rumor' }),
    verdict(4, 'dan', { number: 3 }),
  ]
  const none = { opinions: 0, blindAgreement: null, golden: null, seconds: null, overturned: null }
  expect(qualityOf(notes, verdicts, UNTIL)).toEqual([
    {
      by: 'ann',
      decisions: 10,
      opinions: 0,
      blindAgreement: null,
      golden: null,
      seconds: null,
      overturned: { times: 2, of: 10 },
    },
    { by: 'dan', decisions: 1, ...none },
  ])
})

it('counts a second opinion for both, the last word of each, and tells no share of few', () => {
  const few = Array.from({ length: FEWEST_TOLD - 1 }, (_, s) => s)
  const opinions = (s: number) => [
    said(s, 'ben', { opinion: 1, against: 2, label: 'non-rumor' }),
    said(s, 'ben', { opinion: 1, against: 2, label: s === 0 ? 'non-rumor' : 'rumor' }),
  ]
  const of = (subjects: readonly number[]) =>
    qualityOf(
      subjects.flatMap(opinions),
      subjects.map((s) => verdict(s, 'ann')),
      UNTIL,
    )
  expect(of(few)).toEqual([
    { by: 'ben', decisions: 0, opinions: 9, blindAgreement: null, golden: null, seconds: null, overturned: null },
  ])
  const blindAgreement = { times: 9, of: 10 }
  expect(of([...few, 9])).toEqual([
    { by: 'ann', decisions: 0, opinions: 0, blindAgreement, golden: null, seconds: null, overturned: null },
    { by: 'ben', decisions: 0, opinions: 10, blindAgreement, golden: null, seconds: null, overturned: null },
  ])
})

it('tells the median time of ten or more decisions and answers that say how long they took', () => {
  const seconds = [40, 5, 9, 1_000, 7, 8, 6, 10, 11]
  const notes = seconds.map((one, s) => said(s, 'ann', { seconds: one }))
  const verdicts = [...seconds.keys(), 9, 10].map((s) => verdict(s, s < 9 ? 'ann' : 'ben'))
  const of = (more: readonly PersonNoteRow[]) =>
    qualityOf([...notes, ...more], verdicts, UNTIL).find(({ by }) => by === 'ann')?.seconds
  expect(of([said(10, 'ann', { opinion: 1, against: 2 })])).toBeNull()
  expect(of([said(9, 'ann', { opinion: 3, against: 2, seconds: 12 })])).toBe(9.5)
  expect(of([said(9, 'ann', { opinion: 1, against: 2, seconds: 2 }), said(10, 'ann', { at: 10, seconds: 1 })])).toBe(8)
})

it('measures nobody by a key that was wrong, whoever found that', () => {
  const few = Array.from({ length: FEWEST_TOLD }, (_, s) => s)
  const answers = few.map((s) => said(s, 'ben', { opinion: 3, against: 2, label: 'non-rumor' }))
  const golden = (more: readonly PersonNoteRow[], verdicts: readonly HumanRow[]) =>
    qualityOf([...answers, ...more], [...few.slice(1).map((s) => verdict(s, 'ann')), ...verdicts], UNTIL)[0]?.golden
  expect(golden([], [verdict(0, 'ann')])).toEqual({ times: 0, of: 10 })
  for (const by of ['ann', 'cay']) {
    const corrected = verdict(0, by, { number: 3, label: 'non-rumor' })
    expect(golden([], [verdict(0, 'ann', { standing: 0 }), corrected])).toBeNull()
    const withdrawn = said(0, by, { against: 2, label: null })
    expect(golden([withdrawn], [verdict(0, 'ann', { standing: 0 })])).toBeNull()
  }
})
