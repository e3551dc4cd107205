import { describe, expect, it } from 'vitest'
import type { ShadowVerdict } from '../../../src/contracts/facts/shadow-verdict.ts'
import { noUsage } from '../../../src/contracts/facts/verdict.ts'
import { brokenGates, variantComparison } from '../../../src/lab/evaluation/variant-comparison.ts'

const shadow = (subjectId: string, live: string | null, label: string | null, over: Partial<ShadowVerdict> = {}) =>
  ({
    schema: 1,
    id: `hate~${subjectId}~r1~v~new`,
    variant: 'new',
    of: `hate~${subjectId}~r1`,
    subjectId,
    subjectKind: 'post',
    tenant: 'default',
    protocol: 'hate',
    revision: 1,
    label,
    live: { label: live, decidedBy: 'consensus', costUsd: 0.001, faults: [] },
    decidedBy: 'consensus',
    faults: [],
    usage: { ...noUsage(), costUsd: 0.002 },
    models: {},
    versions: { script: 7, prompts: 'p', settings: 's' },
    at: '2026-05-01T10:00:00.000Z',
    ...over,
  }) satisfies ShadowVerdict

const compared = variantComparison(
  'new',
  [
    shadow('a', 'hate', 'hate'),
    shadow('b', 'non-hate', 'hate', { clauses: ['H1', 'H2'] }),
    // An earlier revision of the same subject counts no more.
    shadow('c', 'hate', 'non-hate', { revision: 2 }),
    shadow('c', 'hate', 'hate', { revision: 1 }),
    shadow('d', null, 'hate', {
      clauses: ['H1'],
      live: { label: null, decidedBy: 'none', costUsd: 0.001, faults: ['model'] },
    }),
    shadow('e', 'hate', null, { faults: ['ours'] }),
  ],
  ({ subjectId }) => ({ a: 'hate', b: 'hate', c: 'hate' })[subjectId] ?? null,
)

describe('a variant beside the live verdicts', () => {
  it('is compared by subject: flips, what is undecided, cost, clauses, and what people said', () => {
    expect(compared).toMatchObject({
      subjects: 5,
      flips: { count: 2, of: 3 },
      undecided: { live: 1, variant: 1 },
      degraded: { live: 1, variant: 1 },
      people: { live: { count: 2, of: 3 }, variant: { count: 2, of: 3 } },
      clauses: { H1: 2, H2: 1 },
    })
    expect(compared.usdPerThousand.live).toBeCloseTo(1, 9)
    expect(compared.usdPerThousand.variant).toBeCloseTo(2, 9)
    expect(compared.directions).toHaveLength(4)
    expect(compared.directions).toContainEqual({ from: 'non-hate', to: 'hate', count: 1 })
  })

  it('holds to gates, or is told which it does not; without a case none is held to', () => {
    expect(brokenGates(compared, { mostFlips: 0.7, people: true })).toEqual([])
    expect(brokenGates(compared, { mostFlips: 0.6 })).toEqual(['66.7 % of verdicts flip; at most 60.0 % may'])
    const worse = { ...compared, people: { ...compared.people, variant: { count: 1, of: 3, interval: null } } }
    expect(brokenGates(worse, { people: true })).toHaveLength(1)
    const empty = variantComparison('new', [], () => null)
    expect(brokenGates(empty, { mostFlips: 1, people: true })).toHaveLength(2)
    expect(empty.usdPerThousand).toEqual({ live: null, variant: null })
  })
})
