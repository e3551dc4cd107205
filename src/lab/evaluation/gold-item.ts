import type { StanceCounts } from '../../data-files/thread-sets.ts'

/** What people say of one subject of a data set, in a protocol's labels. */
export interface GoldItem {
  /** Its line in the file, or its place in a file that is one JSON list; from 1. */
  readonly line: number
  /** The subject's id, as its verdict has it. */
  readonly id: string
  /** What is judged, in words. */
  readonly text?: string
  /** Set if it has images or clips beside its words, or in their place. */
  readonly hasMedia?: true
  /** Equal for items with the same words; left out where a data set has no text twice. */
  readonly textKey?: string
  /** Null where the item is left out, and `why` is the reason; or where it is rated, and has no label. */
  readonly label: string | null
  readonly why?: string
  /**
   * What each annotator said, where the data set has several. `label` is what most of them said, unless the data set gives a
   * label of its own.
   */
  readonly annotations?: readonly string[] | undefined
  /** By aspect what each rater gave, on the aspect's scale. */
  readonly ratings?: Readonly<Record<string, readonly number[]>>
  /** A reply, and what somebody wrote in its place, where the data set has that. */
  readonly pair?: { readonly reply: string; readonly reference: string }
  /** How many of a thread's comments have which stance, where the data set labels them. */
  readonly stances?: StanceCounts | undefined
  /** What was sampled together with it: its event, its author; by itself where nothing is known. */
  readonly unit: string
  /** The data set's own split, such as `train`, where it is said in the file. */
  readonly split?: string | undefined
  /** By which chance it was drawn, where it was drawn at random and its file says so. */
  readonly chance?: number | undefined
  /** The groups by which results can be split: the `length` of the judged text, and the data set's own. */
  readonly slices: Readonly<Record<string, string>>
}

/** What gold labels and ratings are given in. */
export interface GoldProtocol {
  readonly name: string
  readonly labels: readonly string[]
  /** By aspect the lowest and the highest rating; left out where a protocol gives none. */
  readonly scales?: Readonly<Record<string, readonly [lowest: number, highest: number]>> | undefined
}
