import type { MacroF1Difference } from './paired-macro-f1.ts'

/** One way to decide, beside the others. */
export interface ComparedWay {
  readonly row: string
  /** Of the items that people decided, how many it decides; of those that are unverified for people, how many it calls so. */
  readonly decided: number
  readonly calledUnverified: number
  /** On the items that every way decides. */
  readonly macroF1: number | null
  readonly costUsd: number
  /** Its macro-F1 less each other way's. */
  readonly against: readonly (MacroF1Difference & { readonly row: string })[]
  /** `as-good`: at most three points below each other way. `worse`: more than three below one. `open`: the items do not say. */
  readonly is: 'as-good' | 'worse' | 'open'
}

/** Which of several ways to decide is the default, by the rule of docs/readers.md. */
export interface WayChoice {
  readonly data: string
  /** Items that people decided, those of them that every way decides, and items that are unverified for people; each time that one is judged. */
  readonly items: { readonly decided: number; readonly compared: number; readonly unverified: number }
  /** The cheapest first. */
  readonly ways: readonly ComparedWay[]
  /** The cheapest way that is not worse, if it is as good; null while that is open. */
  readonly chosen: string | null
  /** The way whose being as good is open, if there is one. */
  readonly open: string | null
}
