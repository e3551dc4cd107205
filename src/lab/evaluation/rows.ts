import type { Settings } from '../../../config/schema.ts'
import type { Predictions } from './predictions.ts'
import type { Overlap } from './statistics/overlap.ts'

/** How the items of one row of a table are judged. */
export interface RowPlan {
  /** As the table names it; unique within the table. */
  readonly name: string
  readonly how: RowMethod
  /** In place of the evaluation's settings. */
  readonly settings?: Settings
  /** What tells it from the table's own rows. */
  readonly variant?: RowVariant
  /** The models of this row by role, over those of the settings. */
  readonly models?: Readonly<Record<string, string>>
  /**
   * Its shelf is its own: empty before the first of its data sets, which are batches of one, and then filled with what the curator
   * makes of each case that it has judged.
   */
  readonly learns?: true
  /** How often the whole row is judged, each time with draws of its own; the row's figures are over all of them. 1 by default. */
  readonly repeats?: number
  /** Comments that came longer after their post than this are left out, in ms; left out, threads are judged whole. */
  readonly finalAge?: number
  /** Of each thread only so many comments are judged, the earliest by time and then id; left out, all of them. */
  readonly firstComments?: number
}

/** A row that is judged otherwise than the settings say: by this model, or under this settings file or preset. */
export interface RowVariant {
  readonly model?: string
  readonly settings?: string
  readonly preset?: string
}

/**
 * What judges a row: the protocol, with some of its switches set; one prompt in its place; a vote of people's stances towards
 * the claim, or a similarity to a reference reply, or what another system predicted, which ask no model; or nothing, and why.
 */
export type RowMethod =
  | { readonly by: 'protocol'; readonly switches: Readonly<Record<string, unknown>> }
  | { readonly by: 'one-prompt'; readonly ask: 'zero-shot' | 'chain-of-thought' }
  | { readonly by: 'self-consistency'; readonly draws: number | 'as-many-tokens-as-the-first-row' }
  | { readonly by: 'gold-stances' }
  | { readonly by: 'overlap'; readonly metric: Overlap }
  | { readonly by: 'predictions'; readonly of: Predictions }
  | { readonly by: 'nothing'; readonly why: string }
