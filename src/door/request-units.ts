/** The parts of a request that its key is charged for. */
export interface ChargedParts {
  /** Messages that it carries, as items of a list or as a post and its comments. */
  readonly messages?: number
  /** Calls of models that score for it. */
  readonly scoreCalls?: number
  readonly debates?: number
}

/** How many units of its key's rate a request costs: one for each of these parts, and at least one. */
export function requestUnits({ messages = 0, scoreCalls = 0, debates = 0 }: ChargedParts): number {
  return Math.max(1, messages + scoreCalls + debates)
}
