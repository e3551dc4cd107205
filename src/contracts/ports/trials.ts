import type { ComparedSides, VariantComparison } from '../facts/variant-comparison.ts'
import type { WhatIfReport } from '../facts/what-if-report.ts'

/** Whose verdicts, decided in which time, in ms since 1970. */
export interface TrialFilter {
  readonly since: number
  readonly until: number
  readonly tenants?: readonly string[] | undefined
}

/** A variant that judges a part of subjects itself. */
export interface RampTrial {
  readonly protocol: string
  readonly variant: string
  /** By the settings as they are now. */
  readonly ramp: number
  /** When the first of its verdicts that count was decided, ms since 1970; null if there is none. What others said before does not count. */
  readonly begun: number | null
  readonly sides: ComparedSides
}

/** A variant in the shadow. */
export interface ShadowTrial {
  readonly protocol: string
  readonly comparison: VariantComparison
}

/** Trials, as far as they were read: older verdicts may count as well if `isCut`. */
export interface TrialList<Trial> {
  readonly trials: readonly Trial[]
  readonly isCut: boolean
}

/** A report of `gavel what-if`, and when it was written, ms since 1970. */
export interface KeptWhatIf {
  readonly name: string
  readonly at: number
  readonly report: WhatIfReport
}

/** What is tried beside the live settings, for people to look at. */
export interface TrialDesk {
  ramps(filter: TrialFilter): Promise<TrialList<RampTrial>>
  /** Rejects if they can't be read. Null: they are not connected here. */
  readonly shadows: ((filter: TrialFilter, signal: AbortSignal) => Promise<TrialList<ShadowTrial>>) | null
  /** The newest reports that are about these tenants alone, the newest first. */
  whatIfs(tenants: readonly string[] | undefined): Promise<readonly KeptWhatIf[]>
}
