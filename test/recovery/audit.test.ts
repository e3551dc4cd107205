import { expect, it } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { verdictAudit } from '../../src/recovery/audit.ts'
import { aVerdict } from '../support/verdicts.ts'

const AT = '2025-03-01T10:00:00Z'

function audited(verdicts: readonly Verdict[]) {
  const audit = verdictAudit()
  for (const one of verdicts) audit.take(one, JSON.stringify(one))
  return audit.result()
}

it('repeats that are byte-identical are counted, and two contents named, in whatever order they come', () => {
  const [one, other] = ['rumor', 'non-rumor'].map((label) => aVerdict(AT, { label })) as [Verdict, Verdict]
  expect(audited([one, one])).toEqual({ records: 2, unreadable: 0, ids: 1, repeats: 1, contested: [] })
  const contested = [{ id: one.id, contents: 2, superseded: false }]
  for (const order of [
    [one, other, one, other],
    [one, one, other, other],
  ])
    expect(audited(order)).toEqual({ records: 4, unreadable: 0, ids: 1, repeats: 2, contested })
})

it('a later revision settles it, be it before or behind them, and no other subject’s does', () => {
  const [one, other] = ['rumor', 'non-rumor'].map((label) => aVerdict(AT, { label })) as [Verdict, Verdict]
  const next = aVerdict(AT, { revision: 2 })
  expect(audited([one, other, next]).contested).toMatchObject([{ superseded: true }])
  expect(audited([next, one, other]).contested).toMatchObject([{ superseded: true }])
  for (const elsewhere of [{ subjectId: 'q' }, { protocol: 'hate' }, { tenant: 't' }, { crossKind: true }])
    expect(audited([one, other, aVerdict(AT, { revision: 2, ...elsewhere })]).contested).toMatchObject([
      { superseded: false },
    ])
})

it('records that are no verdicts are counted, because their content is unknown', () => {
  const audit = verdictAudit()
  audit.take(aVerdict(AT), 'a verdict')
  audit.skip()
  audit.skip()
  expect(audit.result()).toEqual({ records: 3, unreadable: 2, ids: 1, repeats: 0, contested: [] })
})

it('an id that does not end with its revision counts with those of its own subject', () => {
  const foreign = (change: Partial<Verdict>, id: string) => ({ ...aVerdict(AT, change), id })
  const [one, other] = ['rumor', 'non-rumor'].map((label) => foreign({ label }, 'x')) as [Verdict, Verdict]
  const again = [foreign({ revision: 2 }, 'y'), foreign({ revision: 2, subjectId: 'q' }, 'z')] as const
  expect(audited([one, other, again[0]]).contested).toMatchObject([{ id: 'x', superseded: true }])
  expect(audited([one, other, again[1]]).contested).toMatchObject([{ id: 'x', superseded: false }])
})
