import { describe, expect, it } from 'vitest'
import type { ConfidenceBasis } from '../../src/protocols/kind.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'

function confidence(name: string, verdict: ConfidenceBasis): number | null | undefined {
  return PROTOCOLS.find((kind) => kind.name === name)?.confidence?.(verdict)
}

describe('how sure a verdict is of its label', () => {
  it.each<[string, string | null, Record<string, number>, number | null]>([
    ['four of five on its side', 'hate', { hate: 4, nonHate: 1 }, 0.8],
    ['one of five on its side', 'hate', { hate: 1, nonHate: 4 }, 0.2],
    ['three of four, one abstained', 'non-hate', { hate: 1, nonHate: 3 }, 0.75],
    ['all against it', 'non-hate', { hate: 5, nonHate: 0 }, 0],
    ['nobody took a side', 'non-hate', { hate: 0, nonHate: 0 }, null],
    ['no scores', 'hate', {}, null],
    ['no label', null, { hate: 2, nonHate: 2 }, null],
  ])('hate, the share of the perspectives: %s', (_, label, scores, share) => {
    for (const decidedBy of ['judge', 'majority'] as const)
      expect(confidence('hate', { label, scores, decidedBy, models: {} })).toBe(share)
  })

  it.each<[string, string | null, Record<string, number>, number | null]>([
    ['unsafe at 0.75', 'unsafe', { strict: 1, loose: 0.25, final: 0.75 }, 0.75],
    ['safe at 0.25', 'safe', { strict: 1, loose: 0.25, final: 0.25 }, 0.75],
    ['safe in spite of 0.75', 'safe', { final: 0.75 }, 0.25],
    ['no score of the arbiter', 'unsafe', { strict: 1, loose: 1 }, null],
    ['no label', null, { final: 0.75 }, null],
  ])('safety, the arbiter’s risk score: %s', (_, label, scores, sure) => {
    expect(confidence('safety', { label, scores, decidedBy: 'arbiter', models: {} })).toBe(sure)
  })

  it('rumor does not say', () => {
    const scores = { support: 3, oppose: 0 }
    for (const decidedBy of ['consensus', 'judge'] as const)
      expect(confidence('rumor', { label: 'rumor', scores, decidedBy, models: {} })).toBeNull()
  })

  it('counterspeech has no labels to be sure of', () => {
    const kind = PROTOCOLS.find(({ name }) => name === 'counterspeech')
    expect(kind).toBeDefined()
    expect(kind?.confidence).toBeUndefined()
  })
})
