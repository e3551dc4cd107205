import type { RumorSettings } from './settings.ts'

/** How much is asked for one case. */
export interface Depth extends Pick<RumorSettings, 'rounds' | 'k' | 'sampleSize'> {
  /** Most comments scored anew. */
  readonly comments: number
}

/** The depth of the settings, reduced if the case was opened under overload. */
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
