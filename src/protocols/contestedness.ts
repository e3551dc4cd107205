import type { Verdict } from '../contracts/facts/verdict.ts'
import type { ConfidenceBasis } from './kind.ts'
import { PROTOCOLS } from './registry.ts'

/**
 * How near a thing a verdict was, by its protocol's own rules: not at all where the protocol is not known here. How sure it is, it
 * says itself since schema 2.
 */
export function contestedness(verdict: ConfidenceBasis & Pick<Verdict, 'protocol' | 'confidence'>): {
  contested: boolean
  confidence: number | null
} {
  const kind = PROTOCOLS.find(({ name }) => name === verdict.protocol)
  if (verdict.decidedBy === 'human') return { contested: false, confidence: null }
  const { confidence: stated } = verdict
  return {
    contested: kind?.contested?.(verdict) ?? isSplit(kind?.votes?.(verdict) ?? []),
    confidence: stated === undefined ? (kind?.confidence?.(verdict) ?? null) : stated.value,
  }
}

/** As three to two: one voter more would not have been enough. */
function isSplit(votes: readonly number[]): boolean {
  const [most = 0, next = 0] = votes.toSorted((a, b) => b - a)
  return next > 0 && most - next <= 1
}
