import type { RumorSettings } from './settings.ts'

/** How deep a case is gone into. */
export interface Depth extends Pick<RumorSettings, 'rounds' | 'k' | 'sampleSize'> {
  /** Comments scored anew at most. */
  readonly comments: number
}

/** The settings' depth, or what is left of it under load. */
export function depthOf(settings: RumorSettings, overloaded: boolean): Depth {
  const { rounds, k, sampleSize, pressedRounds, pressedK, pressedComments } = settings
  const atMost = (full: number, limit: number | null) => (overloaded && limit !== null ? Math.min(full, limit) : full)
  return {
    rounds: atMost(rounds, pressedRounds),
    k: atMost(k, pressedK),
    sampleSize: atMost(sampleSize, pressedK === null ? null : 2 * pressedK),
    comments: atMost(Number.POSITIVE_INFINITY, pressedComments),
  }
}
