import { describe, expect, it } from 'vitest'
import { command, tellPlan } from '../../../src/app/commands/judge-again.ts'
import type { Verdict } from '../../../src/contracts/facts/verdict.ts'
import { type AgainFilter, type AgainPlan, againPlan } from '../../../src/recovery/again-plan.ts'
import { publishedRevisions } from '../../../src/recovery/published.ts'
import { aVerdict } from '../../support/verdicts.ts'

const FILTER: AgainFilter = { since: null, until: null, protocol: null, tenant: null, fault: null, reason: null }
const NOTHING = againPlan({ subjects: new Map(), meanCostDecided: () => null }, [], FILTER)

function told(plan: Partial<AgainPlan>, filter: Partial<AgainFilter> = {}): string {
  const lines: string[] = []
  tellPlan(
    { ...NOTHING, ...plan },
    { rate: 5, filter: { ...FILTER, ...filter } },
    (line) => void lines.push(String(line)),
  )
  return lines.join('\n')
}
const priced = (costUsd: number | null) =>
  told({ verdicts: 2, byProtocol: [{ protocol: 'rumor', verdicts: 2, costUsd }] })

describe('what a run would ask for', () => {
  it('is said where it is nothing, with what the topic has', () => {
    expect(told({ looked: 12 })).toBe('No last verdict without a label fits; the verdicts topic has 12 subjects.')
    expect(told({}, { tenant: 'acme' })).toContain('has 0 subjects of tenant acme.')
    expect(told({ off: 3 })).toContain('3 verdicts without a label of protocols that are off')
  })

  it('names the times as they were understood', () => {
    const since = Date.parse('2026-01-31T12:00:00+02:00')
    expect(told({}, { since })).toContain('Decided from 2026-01-31T10:00:00.000Z:')
    expect(told({}, { until: since })).toContain('Decided to 2026-01-31T10:00:00.000Z:')
  })

  it('costs nothing where it is on a list', () => {
    const byProtocol = [{ protocol: 'rumor', verdicts: 2, costUsd: 0 }]
    expect(told({ verdicts: 2, byProtocol }, { listed: true })).toMatch(
      /2 verdicts of what is on a list, .*\n *rumor: 2, at no cost: no model is asked/,
    )
  })

  it('has a price that is known, or says why there is none', () => {
    expect(priced(1.234)).toContain('rumor: 2, about $1.23, by the mean')
    expect(priced(0.001)).toContain('less than $0.01')
    expect(priced(0)).toMatch(/unknown price: .* cost nothing, as where models\.prices lacks the model/)
    expect(priced(null)).toContain('unknown price: no verdict of it on the topic decided anything')
  })
})

describe('--listed', () => {
  it('leaves out whoever asks as a paper did: it compares with no list, and would ask models', () => {
    const rumor = { name: 'rumor', subject: 'thread' } as const
    const published = publishedRevisions([rumor])
    published.take(aVerdict('2026-01-31T12:00:00Z', { subjectId: 'p', schema: 2 }))
    const [last] = [...published.subjects.values()].flatMap(({ last }) => [...last.values()])
    const lists = new Map([[last?.sawBy ?? '', 'spam']])
    const plan = (faithful: boolean) =>
      againPlan(published, [{ ...rumor, faithful }], { ...FILTER, listed: true }, lists)
    expect(plan(false)).toMatchObject({ verdicts: 1, off: 0 })
    expect(plan(true)).toMatchObject({ verdicts: 0, off: 1 })
    expect(told(plan(true), { listed: true })).toContain('compare with no list (preset: paper): left as they are')
  })
})

describe('--unverified', () => {
  const published = publishedRevisions([{ name: 'rumor', subject: 'thread' }])
  const torn = { label: 'unverified', unverified: { reason: 'torn' } }
  const verdicts: Readonly<Record<string, Partial<Verdict>>> = {
    labelled: {},
    none: { label: null, decidedBy: 'none', degraded: ['judge failed: unreadable'] },
    torn,
    early: { label: 'unverified', unverified: { reason: 'early' }, decidedBy: 'scores' },
    byPerson: { ...torn, decidedBy: 'human' },
  }
  for (const [subjectId, change] of Object.entries(verdicts))
    published.take(aVerdict('2026-01-31T12:00:00Z', { ...change, subjectId, schema: 2 }))
  const plan = (filter: Partial<AgainFilter>) =>
    againPlan(published, [{ name: 'rumor', subject: 'thread' }], { ...FILTER, ...filter })
  const subjects = (filter: Partial<AgainFilter>) => plan(filter).subjects.map(({ ref }) => ref.postId)

  it('asks for what the machines left unverified, in the place of what has no label', () => {
    expect(subjects({})).toEqual(['none'])
    expect(subjects({ unverified: true })).toEqual(['torn', 'early'])
    expect(subjects({ unverified: true, reason: 'unverified: torn' })).toEqual(['torn'])
  })

  it('says so, and why', () => {
    const said = told(plan({ unverified: true }), { unverified: true })
    expect(said).toContain('2 verdicts labelled unverified, of 2 subjects')
    expect(said).toMatch(/unverified: early │ 1 .*\n.*unverified: torn {2}│ 1 /)
    expect(told({}, { unverified: true })).toContain('No last verdict labelled unverified fits')
  })
})

it.each([
  [{ since: 2, until: 1 }, '--since is later than --until'],
  [{ listed: true, unverified: true }, '--listed takes neither --unverified nor --fault nor --reason'],
  [{ listed: true, reason: 'x' }, '--listed takes neither --unverified nor --fault nor --reason'],
])('%j is a mistake of usage', (options, says) => {
  const misused = (message: string): never => {
    throw new Error(message)
  }
  const invocation = { options: { ...options, rate: 5 }, misused } as unknown as Parameters<typeof command.run>[0] // Nothing else of it is used.
  expect(() => command.run(invocation)).toThrow(says)
})
