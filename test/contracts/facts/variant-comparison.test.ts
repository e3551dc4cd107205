import { describe, expect, it } from 'vitest'
import type { ShadowVerdict } from '../../../src/contracts/facts/shadow-verdict.ts'
import {
  comparedSides,
  gateStates,
  type VariantGates,
  variantComparison,
} from '../../../src/contracts/facts/variant-comparison.ts'
import { noUsage } from '../../../src/contracts/facts/verdict.ts'

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
    const broken = (one: typeof compared, gates: VariantGates) =>
      gateStates(one, gates)
        .filter(({ isHeld }) => !isHeld)
        .map(({ says }) => says)
    expect(broken(compared, { mostFlips: 0.7, people: true })).toEqual([])
    expect(broken(compared, { mostFlips: 0.6 })).toEqual(['66.7 % of verdicts flip; at most 60.0 % may'])
    const worse = { ...compared, people: { ...compared.people, variant: { count: 1, of: 3, interval: null } } }
    expect(broken(worse, { people: true })).toEqual([
      'people agree with 1 of 3 of its labels, and with 2 of 3 of the live ones',
    ])
    const empty = variantComparison('new', [], () => null)
    expect(broken(empty, { mostFlips: 1, people: true })).toHaveLength(2)
    expect(empty.usdPerThousand).toEqual({ live: null, variant: null })
  })

  it('has each side’s labels, and as a ramp sides of other sizes, which agree with people by their shares', () => {
    expect(compared.labels).toEqual([
      { label: 'hate', live: 3, variant: 3 },
      { label: 'non-hate', live: 1, variant: 1 },
    ])
    const said = (label: string, person: string | null) => ({ label, person, isDegraded: false, costUsd: 0 })
    const live = [said('hate', 'hate'), said('hate', 'non-hate'), said('hate', 'hate'), said('hate', null)]
    const held = (variant: typeof live) => gateStates(comparedSides(live, variant), { mostFlips: 0, people: true })
    expect(held([said('hate', 'hate')])).toMatchObject([{ gate: 'people', isHeld: true }])
    expect(held([said('hate', 'hate'), said('hate', 'non-hate')])).toMatchObject([{ isHeld: false }])
    expect(held([said('hate', null)])).toMatchObject([{ isHeld: false }])
  })
})
