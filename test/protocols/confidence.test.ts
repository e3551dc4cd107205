import { describe, expect, it } from 'vitest'
import type { ConfidenceBasis } from '../../src/protocols/kind.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'

function confidence(name: string, verdict: ConfidenceBasis): number | null | undefined {
  return PROTOCOLS.find((kind) => kind.name === name)?.confidence?.(verdict)
}

describe('how sure a verdict of schema 1 is of its label', () => {
  it.each<[string, string | null, Record<string, number>, number | null]>([
    ['four of five on its side', 'hate', { hate: 4, nonHate: 1 }, 0.8],
    ['one of five on its side', 'hate', { hate: 1, nonHate: 4 }, 0.2],
    ['three of four, one abstained', 'non-hate', { hate: 1, nonHate: 3 }, 0.75],
    ['all against it', 'non-hate', { hate: 5, nonHate: 0 }, 0],
    ['nobody took a side', 'non-hate', { hate: 0, nonHate: 0 }, null],
    ['no scores', 'hate', {}, null],
    ['no label', null, { hate: 2, nonHate: 2 }, null],
  ])('hate, the share of the perspectives: %s', (_, label, scores, share) => {
    for (const decidedBy of ['consensus', 'majority'] as const)
      expect(confidence('hate', { label, scores, decidedBy, models: {} })).toBe(share)
    // A judge's label is not theirs.
    expect(confidence('hate', { label, scores, decidedBy: 'judge', models: {} })).toBeNull()
  })

  it('rumor and safety do not say: a risk is no confidence', () => {
    for (const decidedBy of ['consensus', 'judge'] as const)
      expect(
        confidence('rumor', { label: 'rumor', scores: { support: 3, oppose: 0 }, decidedBy, models: {} }),
      ).toBeNull()
    const scores = { strict: 1, loose: 0.25, final: 0.75 }
    expect(confidence('safety', { label: 'unsafe', scores, decidedBy: 'arbiter', models: {} })).toBeNull()
  })

  it('counterspeech has no labels to be sure of', () => {
    const kind = PROTOCOLS.find(({ name }) => name === 'counterspeech')
    expect(kind).toBeDefined()
    expect(kind?.confidence).toBeUndefined()
  })
})
