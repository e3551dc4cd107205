import { expect, it } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { RecordedWord, SubjectRecord } from '../../src/contracts/ports/record.ts'
import { judgementsOf } from '../../src/record/judgements.ts'
import { aVerdict } from '../support/verdicts.ts'

const SUBJECT = { tenant: 'default', postId: 'p', kind: 'post' } as const
const AT = '2026-03-01T00:00:00Z'

function recorded(change: Partial<Verdict>, flags: { standing?: boolean; sampled?: boolean } = {}) {
  const verdict = aVerdict(AT, {
    versions: { script: 1, prompts: 'h', settings: '' },
    models: { a: 'm', b: 'm' },
    ...change,
  })
  return {
    verdict,
    sent: '',
    standing: false,
    contested: false,
    conflicting: false,
    erased: false,
    sampled: false,
    ...flags,
  }
}
const human = (change: Partial<Verdict> = {}, standing = true) =>
  recorded(
    {
      revision: 3,
      label: 'non-rumor',
      decidedBy: 'human',
      decision: { by: 'ann', against: null, of: '0@0' },
      ...change,
    },
    { standing },
  )
function opinion(by: string, label: string, against: number): RecordedWord {
  return {
    said: 'decision',
    id: `${by}${label}`,
    protocol: 'rumor',
    label,
    by,
    at: 0,
    message: { opinion: true, against },
  }
}
const of = (verdicts: SubjectRecord['verdicts'], said: readonly RecordedWord[] = []) =>
  judgementsOf({ subject: SUBJECT, lang: 'de', deletedAt: null, verdicts, said })

it('sets a standing human verdict beside the machines’ last one before it', () => {
  const machines = [recorded({ label: 'non-rumor' }), recorded({ revision: 2 }, { sampled: true })]
  expect(of([...machines, human()])).toEqual([
    {
      subject: SUBJECT,
      protocol: 'rumor',
      lang: 'de',
      label: 'non-rumor',
      by: 'ann',
      audited: true,
      opinions: [],
      machine: { label: 'rumor', models: ['m'], prompts: 'h' },
    },
  ])
})

it('leaves out what stands no longer, and human verdicts beneath human ones', () => {
  expect(of([human({}, false), recorded({ revision: 4 }, { standing: true })])).toEqual([])
  expect(of([recorded({}), human({ revision: 2 }, false), human()])).toMatchObject([{ machine: { label: 'rumor' } }])
  expect(of([recorded({ label: null, decidedBy: 'none' }), human()])).toMatchObject([{ machine: null }])
  expect(of([human(), recorded({ protocol: 'hate' })])).toMatchObject([{ machine: null, audited: false }])
})

it('leaves out verdicts and opinions of people to whom an image could not be shown: they are no example', () => {
  const unseen = human({ decision: { by: 'ann', against: null, of: '0@0', unseen: true } })
  expect(of([recorded({}), unseen])).toEqual([])
  const blind = opinion('ben', 'rumor', 3)
  const said = { ...blind, message: { opinion: true, against: 3, unseen: true } }
  expect(of([human()], [blind])).toMatchObject([{ opinions: [{ by: 'ben' }] }])
  expect(of([human()], [said])).toMatchObject([{ opinions: [] }])
  // Nor of who had seen the label.
  const sighted = { ...blind, message: { opinion: true, against: 3, sawLabel: true } }
  expect(of([human()], [sighted])).toMatchObject([{ opinions: [] }])
})

it('counts the last word of each other person on this verdict', () => {
  const said = [
    opinion('ben', 'rumor', 3),
    opinion('ben', 'non-rumor', 3),
    opinion('ann', 'rumor', 3),
    opinion('cem', 'rumor', 2),
    { ...opinion('dia', 'rumor', 3), said: 'feedback' } as const,
    { ...opinion('eva', 'rumor', 3), protocol: 'hate' },
  ]
  expect(of([human()], said)[0]?.opinions).toEqual([{ by: 'ben', label: 'non-rumor' }])
})
